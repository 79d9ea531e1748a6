"""LRU: the least recently used key leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, filled
from streambound.simulator.linked import clear, push_first, unlink
from streambound.simulator.problems import References


def lru(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream; the fetched key is the newest and never the one discarded."""
    return filled(references, memory.size, _lru)


@kernel
def _lru(requests: Integers, keys: int, size: int, hits: NDArray[np.bool_], evicted: Integers) -> None:
    before, after = np.empty(keys + 1, np.int32), np.empty(keys + 1, np.int32)
    clear(before, after)
    cached = np.zeros(keys, np.bool_)
    used = 0
    for step in range(len(requests)):
        key = requests[step]
        if cached[key]:
            hits[step] = True
            unlink(before, after, key)
        elif used < size:
            used += 1
        else:
            last = before[keys]
            unlink(before, after, last)
            cached[last] = False
            evicted[step] = last
        cached[key] = True
        push_first(before, after, keys, key)
