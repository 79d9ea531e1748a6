"""LFD (Belady): the key whose next reference is farthest away leaves (section 5.1).

Optimal offline: of all that must admit what they fetch, and with bypass of all.
"""

from __future__ import annotations

import numpy as np

from streambound.caching.compiled import kernel
from streambound.caching.contract import Memory
from streambound.caching.decisions import CachingDecisions
from streambound.caching.policies.ranked import ranked
from streambound.caching.problems import Integers, References


def lfd(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream."""
    following = next_references(references.requests, references.keys)
    return ranked(references, references.steps - following, memory.size, memory.bypass)


@kernel
def next_references(requests: Integers, keys: int) -> Integers:
    """The step of the next reference to each step's key; the number of steps if there is none."""
    steps = len(requests)
    following = np.empty(steps, np.int64)
    seen = np.full(keys, steps, np.int64)
    for step in range(steps - 1, -1, -1):
        following[step] = seen[requests[step]]
        seen[requests[step]] = step
    return following
