"""FIFO: the key that was admitted first leaves, or the tuple that arrived first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, filled
from streambound.simulator.problems import References


def fifo(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream; the fetched key is the newest and never the one discarded."""
    return filled(references, memory.size, _fifo)


@kernel
def _fifo(requests: Integers, keys: int, size: int, hits: NDArray[np.bool_], evicted: Integers) -> None:
    ring = np.full(min(size, keys), -1, np.int64)
    cached = np.zeros(keys, np.bool_)
    at = 0
    for step in range(len(requests)):
        key = requests[step]
        if cached[key]:
            hits[step] = True
            continue
        if ring[at] >= 0:
            cached[ring[at]] = False
            evicted[step] = ring[at]
        ring[at] = key
        cached[key] = True
        at = (at + 1) % len(ring)
