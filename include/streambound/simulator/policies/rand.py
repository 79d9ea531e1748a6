"""RAND: any key leaves, each as likely as the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, filled
from streambound.simulator.problems import References


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
