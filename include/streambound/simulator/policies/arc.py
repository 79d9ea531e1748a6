"""ARC (Megiddo, Modha, FAST 2003): recency and frequency lists that adapt to each other by their ghosts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, filled
from streambound.simulator.linked import Links, clear, move
from streambound.simulator.problems import References

# The lists: referenced once (T1), often (T2), and the keys that left each (B1, B2). OUT: in none.
T1, T2, B1, B2, OUT = 0, 1, 2, 3, 4


def arc(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream; the fetched key is never the one discarded."""
    return filled(references, memory.size, _arc)


@kernel
def _arc(requests: Integers, keys: int, size: int, hits: NDArray[np.bool_], evicted: Integers) -> None:
    before, after = np.empty(keys + 4, np.int32), np.empty(keys + 4, np.int32)
    clear(before, after)
    where = np.full(keys, OUT, np.int8)
    count = np.zeros(5, np.int64)
    aim = 0.0
    for step in range(len(requests)):
        key = requests[step]
        member = where[key]
        if member <= T2:
            hits[step] = True
        elif member == B1:
            aim = min(aim + max(1.0, count[B2] / count[B1]), size)
            evicted[step] = _replace(before, after, where, count, keys, aim, False)
        elif member == B2:
            aim = max(aim - max(1.0, count[B1] / count[B2]), 0.0)
            evicted[step] = _replace(before, after, where, count, keys, aim, True)
        else:
            evicted[step] = _room(before, after, where, count, keys, size, aim)
        move(before, after, where, count, keys, key, T1 if member == OUT else T2)


@kernel
def _replace(
    before: Links,
    after: Links,
    where: NDArray[np.int8],
    count: Integers,
    keys: int,
    aim: float,
    in_b2: bool,
) -> int:
    """REPLACE of the paper's Figure 4: the key that leaves the cache for its ghost list."""
    from_t1 = count[T1] > 0 and (count[T1] > aim or (in_b2 and count[T1] == aim))
    gone = before[keys + (T1 if from_t1 else T2)]
    move(before, after, where, count, keys, gone, B1 if from_t1 else B2)
    return int(gone)


@kernel
def _room(
    before: Links,
    after: Links,
    where: NDArray[np.int8],
    count: Integers,
    keys: int,
    size: int,
    aim: float,
) -> int:
    """Case IV: room for a key that no list knows; the key that leaves the cache, -1 if none."""
    if count[T1] == size:
        gone = before[keys + T1]
        move(before, after, where, count, keys, gone, OUT)
        return int(gone)
    if count[T1] + count[T2] < size:
        return -1
    if count[T1] + count[B1] == size:
        move(before, after, where, count, keys, before[keys + B1], OUT)
    elif count[T1] + count[T2] + count[B1] + count[B2] == 2 * size:
        move(before, after, where, count, keys, before[keys + B2], OUT)
    return _replace(before, after, where, count, keys, aim, False)
