"""LFU: the least frequently used key leaves, the least recently used of equals.

*In cache* counts references since the key was admitted; *perfect* counts all references, and remembers the
counts of keys that are not cached (the paper's PROB on a reference stream).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.approximate.kernels.heap import add, replace_least, sink
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, filled
from streambound.simulator.policies.ranked import ranked
from streambound.simulator.problems import References, occurrences


def perfect_lfu(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream, by the counts of the whole history."""
    return ranked(references, occurrences(references.requests) + 1, memory.size, memory.bypass)


def lfu(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream, by the counts since admission."""
    return filled(references, memory.size, _lfu, memory.bypass)


@kernel
def _lfu(
    requests: Integers, keys: int, size: int, bypass: bool, hits: NDArray[np.bool_], evicted: Integers
) -> None:
    order = np.empty(min(size, keys), np.int64)
    slot = np.full(keys, -1, np.int64)
    rank = np.empty(keys, np.int64)
    count = np.zeros(keys, np.int64)
    scale = len(requests) + 1
    used = 0
    for step in range(len(requests)):
        key = requests[step]
        if slot[key] >= 0:
            hits[step] = True
            count[key] += 1
            rank[key] = count[key] * scale + step
            sink(order, slot, rank, used, slot[key])
            continue
        count[key] = 1
        rank[key] = scale + step
        if used < size:
            used = add(order, slot, rank, used, key)
        elif bypass and rank[key] < rank[order[0]]:
            evicted[step] = key
        else:
            evicted[step] = replace_least(order, slot, rank, used, key)
