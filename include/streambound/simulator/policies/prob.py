"""PROB (Das, Gehrke, Riedewald): the tuple leaves whose value arrives least often on the other streams.

The probability of a value is the share that it had of the arrivals so far. On a reference stream this is
the perfect LFU.
"""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import JoiningDecisions
from streambound.simulator.joining import Setup, keep_best, meet, place, played
from streambound.simulator.problems import Streams


def prob(streams: Streams, memory: Memory) -> JoiningDecisions:
    """Decisions on joined streams: tuples that can join nothing any more leave first."""
    return played(streams, memory, _prob)


@kernel
def count_arrivals(setup: Setup, seen: Floats, step: int) -> None:
    """Add the arrivals of a step, by their weight, to the counts by stream and key."""
    for stream in range(setup.arrivals.shape[0]):
        seen[stream, setup.arrivals[stream, step]] += setup.worth[stream, step]


@kernel
def partner_count(setup: Setup, seen: Floats, stream: int, born: int) -> float:
    """How often a tuple's value arrived on its partner streams so far, times its weight."""
    total = 0.0
    for other in range(setup.arrivals.shape[0]):
        if setup.partners[stream, other]:
            total += seen[other, setup.arrivals[stream, born]]
    return float(total * setup.worth[stream, born])


@kernel
def _prob(setup: Setup, results: Floats, kept_until: Integers) -> None:
    slots, score = setup.slots, setup.score
    seen = np.zeros((setup.arrivals.shape[0], setup.keys))
    used = 0
    for step in range(setup.arrivals.shape[1]):
        results[step] = meet(setup, slots, used, step)
        count_arrivals(setup, seen, step)
        used = place(setup, slots, used, step)
        for at in range(used):
            stream, born = slots[at, 0], slots[at, 1]
            expired = setup.expires[stream, born] <= step
            score[at] = -1.0 if expired else partner_count(setup, seen, stream, born)
        used = keep_best(setup, slots, score, used, step, kept_until)
