"""LIFE (Das, Gehrke, Riedewald): PROB's probability times the steps for which the tuple can still join."""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.errors import DataError
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import JoiningDecisions
from streambound.simulator.joining import Setup, keep_best, meet, place, played
from streambound.simulator.policies.prob import count_arrivals, partner_count
from streambound.simulator.problems import Streams


def life(streams: Streams, memory: Memory) -> JoiningDecisions:
    """Decisions on joined streams: tuples that can join nothing any more leave first.

    Raises:
        DataError: nothing says how long a tuple lives.
    """
    if streams.window is None and memory.expires is None:
        raise DataError(
            "life needs the lifetime of a tuple: there is neither a window nor a model of bounded values",
            fix="give a window, or a model such as tower, roof or floor",
        )
    return played(streams, memory, _life)


@kernel
def _life(setup: Setup, results: Floats, kept_until: Integers) -> None:
    slots, score = setup.slots, setup.score
    seen = np.zeros((setup.arrivals.shape[0], setup.keys))
    used = 0
    for step in range(setup.arrivals.shape[1]):
        results[step] = meet(setup, slots, used, step)
        count_arrivals(setup, seen, step)
        used = place(setup, slots, used, step)
        for at in range(used):
            stream, born = slots[at, 0], slots[at, 1]
            left = setup.expires[stream, born] - step
            score[at] = -1.0 if left <= 0 else left * partner_count(setup, seen, stream, born)
        used = keep_best(setup, slots, score, used, step, kept_until)
