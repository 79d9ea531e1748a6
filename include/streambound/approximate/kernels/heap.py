"""A binary heap of keys by rank, in which a key's rank may change: the least rank on top.

Three arrays over the keys 0 .. n - 1, each of length n: ``order`` (the first ``size`` are the heap: keys),
``place`` (of each key its position in ``order``; -1: it is not in the heap), ``rank`` (of each key).
Each function takes and returns the number of keys in the heap where it changes.
"""

from __future__ import annotations

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel

Ranks = Integers | Floats


@kernel
def rise(order: Integers, slot: Integers, rank: Ranks, at: int) -> None:
    """Move the key at a position up to where its rank belongs."""
    key = order[at]
    while at > 0:
        above = (at - 1) >> 1
        if rank[order[above]] <= rank[key]:
            break
        order[at] = order[above]
        slot[order[at]] = at
        at = above
    order[at] = key
    slot[key] = at


@kernel
def sink(order: Integers, slot: Integers, rank: Ranks, size: int, at: int) -> None:
    """Move the key at a position down to where its rank belongs."""
    key = order[at]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and rank[order[below + 1]] < rank[order[below]]:
            below += 1
        if rank[order[below]] >= rank[key]:
            break
        order[at] = order[below]
        slot[order[at]] = at
        at = below
    order[at] = key
    slot[key] = at


@kernel
def add(order: Integers, slot: Integers, rank: Ranks, size: int, key: int) -> int:
    """Put a key in; its rank is set."""
    order[size] = key
    rise(order, slot, rank, size)
    return size + 1


@kernel
def replace_least(order: Integers, slot: Integers, rank: Ranks, size: int, key: int) -> int:
    """Put a key where the one with the least rank was; the one that left."""
    gone = order[0]
    slot[gone] = -1
    order[0] = key
    sink(order, slot, rank, size, 0)
    return int(gone)


@kernel
def pop(order: Integers, slot: Integers, rank: Ranks, size: int) -> int:
    """Take out the key with the least rank; the heap is one shorter."""
    least = order[0]
    slot[least] = -1
    if size > 1:
        order[0] = order[size - 1]
        sink(order, slot, rank, size - 1, 0)
    return int(least)
