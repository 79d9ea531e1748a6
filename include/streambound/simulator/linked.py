"""Doubly linked lists of keys in two arrays: list number i has the sentinel ``keys + i``.

``after[sentinel]`` is the first key of a list, ``before[sentinel]`` the last.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.kernels.compiled import kernel

# Half the width of a key: what is read per reference is what these kernels' time is spent on.
Links = NDArray[np.int32]


@kernel
def clear(before: Links, after: Links) -> None:
    """Make every list empty."""
    for node in range(len(after)):
        after[node] = node
        before[node] = node


@kernel
def unlink(before: Links, after: Links, key: int) -> None:
    """Take a key out of its list."""
    after[before[key]] = after[key]
    before[after[key]] = before[key]


@kernel
def push_first(before: Links, after: Links, sentinel: int, key: int) -> None:
    """Put a key at the head of a list."""
    second = after[sentinel]
    after[key] = second
    before[key] = sentinel
    before[second] = key
    after[sentinel] = key


@kernel
def move(
    before: Links, after: Links, where: NDArray[np.int8], count: Integers, keys: int, key: int, to: int
) -> None:
    """Take a key out of its list, and put it at the head of another.

    ``where`` is the number of each key's list and ``count`` how many a list has; the last number of
    ``count`` stands for no list at all.
    """
    nowhere = len(count) - 1
    if where[key] != nowhere:
        unlink(before, after, key)
        count[where[key]] -= 1
    if to != nowhere:
        push_first(before, after, keys + to, key)
        count[to] += 1
    where[key] = to
