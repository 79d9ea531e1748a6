"""The classic policies on joined streams: FIFO, LRU and LFU, where joining a tuple is using it."""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import JoiningDecisions
from streambound.simulator.joining import Setup, joined, keep_best, place, played
from streambound.simulator.problems import Streams

ARRIVED, LAST_JOINED, TIMES_JOINED = 0, 1, 2


def joining_fifo(streams: Streams, memory: Memory) -> JoiningDecisions:
    """Decisions on joined streams: the tuple that arrived first leaves."""
    return played(streams, memory, _recent, ARRIVED)


def joining_lru(streams: Streams, memory: Memory) -> JoiningDecisions:
    """Decisions on joined streams: the tuple leaves that arrived or was joined longest ago."""
    return played(streams, memory, _recent, LAST_JOINED)


def joining_lfu(streams: Streams, memory: Memory) -> JoiningDecisions:
    """Decisions on joined streams: the tuple that produced least leaves, of equals the oldest."""
    return played(streams, memory, _recent, TIMES_JOINED)


@kernel
def _recent(setup: Setup, kind: int, results: Floats, kept_until: Integers) -> None:
    slots, score = setup.slots, setup.score
    value = np.zeros(setup.arrivals.shape)
    used = 0
    for step in range(setup.arrivals.shape[1]):
        for at in range(used):
            stream, born = slots[at, 0], slots[at, 1]
            made = joined(setup, stream, born, step)
            results[step] += made
            if made > 0 and kind == LAST_JOINED:
                value[stream, born] = step
            elif kind == TIMES_JOINED:
                value[stream, born] += made
        used = place(setup, slots, used, step)
        for at in range(used):
            stream, born = slots[at, 0], slots[at, 1]
            if born == step and kind != TIMES_JOINED:
                value[stream, born] = step
            expired = setup.expires[stream, born] <= step
            score[at] = -1.0 if expired else value[stream, born]
        used = keep_best(setup, slots, score, used, step, kept_until)
