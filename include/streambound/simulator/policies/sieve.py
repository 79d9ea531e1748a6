"""SIEVE (Zhang et al., NSDI 2024): one queue, one bit a key, and a hand that spares visited keys once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, filled
from streambound.simulator.linked import clear, push_first, unlink
from streambound.simulator.problems import References


def sieve(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream; the fetched key is never the one discarded."""
    return filled(references, memory.size, _sieve)


@kernel
def _sieve(requests: Integers, keys: int, size: int, hits: NDArray[np.bool_], evicted: Integers) -> None:
    before, after = np.empty(keys + 1, np.int32), np.empty(keys + 1, np.int32)
    clear(before, after)
    cached, visited = np.zeros(keys, np.bool_), np.zeros(keys, np.bool_)
    hand = keys
    used = 0
    for step in range(len(requests)):
        key = requests[step]
        if cached[key]:
            hits[step] = True
            visited[key] = True
            continue
        if used == size:
            if hand == keys:
                hand = before[keys]
            while visited[hand]:
                visited[hand] = False
                hand = before[hand]
                if hand == keys:
                    hand = before[keys]
            gone = hand
            hand = before[gone]
            unlink(before, after, gone)
            cached[gone] = False
            evicted[step] = gone
            used -= 1
        push_first(before, after, keys, key)
        cached[key] = True
        visited[key] = False
        used += 1
