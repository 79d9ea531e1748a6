"""S3-FIFO (Yang et al., SOSP 2023): a small queue that most keys pass once, a main queue, and a ghost queue.

The small queue is a tenth of the cache, the ghost queue remembers nine tenths of its size in keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, filled
from streambound.simulator.linked import Links, clear, move
from streambound.simulator.problems import References

SMALL, MAIN, GHOST, OUT = 0, 1, 2, 3
MOST_USES, USES_FOR_MAIN = 3, 2


def s3_fifo(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream; the fetched key is never the one discarded."""
    return filled(references, memory.size, _s3_fifo, max(1, memory.size // 10), memory.size * 9 // 10)


@kernel
def _s3_fifo(
    requests: Integers,
    keys: int,
    size: int,
    small: int,
    ghosts: int,
    hits: NDArray[np.bool_],
    evicted: Integers,
) -> None:
    before, after = np.empty(keys + 3, np.int32), np.empty(keys + 3, np.int32)
    clear(before, after)
    where = np.full(keys, OUT, np.int8)
    uses = np.zeros(keys, np.int8)
    count = np.zeros(4, np.int64)
    full = False
    for step in range(len(requests)):
        key = requests[step]
        queue = where[key]
        if queue <= MAIN:
            hits[step] = True
            uses[key] = min(uses[key] + 1, MOST_USES)
            continue
        if queue == GHOST:
            move(before, after, where, count, keys, key, OUT)
        if count[SMALL] + count[MAIN] == size:
            full = True
            evicted[step] = _evict(before, after, where, uses, count, keys, size, small, ghosts)
        # Until the cache is full for the first time, the small queue overflows into the main one.
        spill = not full and count[SMALL] >= small
        uses[key] = 0
        move(before, after, where, count, keys, key, MAIN if queue == GHOST or spill else SMALL)


@kernel
def _evict(
    before: Links,
    after: Links,
    where: NDArray[np.int8],
    uses: NDArray[np.int8],
    count: Integers,
    keys: int,
    size: int,
    small: int,
    ghosts: int,
) -> int:
    """The key that leaves the cache."""
    while True:
        from_main = count[SMALL] == 0 or count[MAIN] > size - small
        while not from_main and count[SMALL] > 0:
            key = before[keys + SMALL]
            if uses[key] < USES_FOR_MAIN:
                move(before, after, where, count, keys, key, GHOST)
                if count[GHOST] > ghosts:
                    move(before, after, where, count, keys, before[keys + GHOST], OUT)
                return int(key)
            uses[key] = 0
            move(before, after, where, count, keys, key, MAIN)
        while from_main:
            key = before[keys + MAIN]
            if uses[key] == 0:
                move(before, after, where, count, keys, key, OUT)
                return int(key)
            uses[key] -= 1
            move(before, after, where, count, keys, key, MAIN)
