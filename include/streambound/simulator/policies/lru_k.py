"""LRU-k (O'Neil, O'Neil, Weikum): the key whose k-th last reference is longest ago leaves.

A key with fewer than k references comes first, the least recently used of them; references to a key
are remembered while it is not cached (the retained information is not limited).
"""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Integers
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions
from streambound.simulator.policies.ranked import ranked
from streambound.simulator.problems import References


def lru_k(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream, k being ``memory.history``."""
    return ranked(references, kth_last(references.requests, memory.history), memory.size, memory.bypass)


def kth_last(requests: Integers, k: int) -> Integers:
    """One more than the step of the k-th last reference to each step's key, itself included; 0 if none.

    >>> kth_last(np.array([5, 5, 6, 5]), 2).tolist()
    [0, 1, 0, 2]
    """
    order = np.argsort(requests, kind="stable")
    last = np.zeros(len(requests), np.int64)
    if k <= len(order):
        now, then = order[k - 1 :], order[: len(order) - k + 1]
        same = requests[now] == requests[then]
        last[now[same]] = then[same] + 1
    return last
