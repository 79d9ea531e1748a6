"""RAND: any key or tuple leaves, each as likely as the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, JoiningDecisions, filled
from streambound.simulator.joining import Setup, keep_best, meet, place, played
from streambound.simulator.problems import References, Streams


def rand(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream; with bypass the fetched key is one of those that may leave."""
    draws = np.random.default_rng(memory.seed).random(references.steps)
    return filled(references, memory.size, _rand, draws, memory.bypass)


@kernel
def _rand(
    requests: Integers,
    keys: int,
    size: int,
    draws: Floats,
    bypass: bool,
    hits: NDArray[np.bool_],
    evicted: Integers,
) -> None:
    slots = np.empty(min(size, keys), np.int64)
    cached = np.zeros(keys, np.bool_)
    used = 0
    for step in range(len(requests)):
        key = requests[step]
        if cached[key]:
            hits[step] = True
            continue
        at = used
        if used < size:
            used += 1
        else:
            at = int(draws[step] * (size + bypass))
            if at == size:
                evicted[step] = key
                continue
            evicted[step] = slots[at]
            cached[slots[at]] = False
        slots[at] = key
        cached[key] = True


def joining_rand(streams: Streams, memory: Memory) -> JoiningDecisions:
    """Decisions on joined streams: tuples that can join nothing any more leave first."""
    draws = np.random.default_rng(memory.seed).random((streams.steps, memory.size + streams.count))
    return played(streams, memory, _joining_rand, draws)


@kernel
def _joining_rand(setup: Setup, draws: Floats, results: Floats, kept_until: Integers) -> None:
    slots, score = setup.slots, setup.score
    used = 0
    for step in range(setup.arrivals.shape[1]):
        results[step] = meet(setup, slots, used, step)
        used = place(setup, slots, used, step)
        for at in range(used):
            expired = setup.expires[slots[at, 0], slots[at, 1]] <= step
            score[at] = -1.0 if expired else draws[step, at]
        used = keep_best(setup, slots, score, used, step, kept_until)
