"""Sliding windows (section 7) and dominance (4.2) of ECBs, each up to their last step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streambound.approximate.kernels.arrays import Floats


def windowed(ecb: Floats, left: int) -> Floats:
    """Section 7: the ECB of a tuple that stays in its window for ``left`` more steps.

    >>> windowed(np.array([1.0, 2.0, 3.0]), 2).tolist(), windowed(np.array([1.0]), 0).tolist()
    ([1.0, 2.0, 2.0], [0.0])
    """
    if left <= 0:
        return np.zeros_like(ecb)
    limited = ecb.copy()
    limited[left:] = limited[min(left, len(ecb)) - 1]
    return limited


def dominates(left: Floats, right: Floats) -> bool:
    """Whether B_left(d) >= B_right(d) for all d."""
    return bool((left >= right).all())


def strongly_dominates(left: Floats, right: Floats) -> bool:
    """Whether B_left(d) > B_right(d) for all d. Two that are zero somewhere do not (see 5.4)."""
    return bool((left > right).all())


def dominated_subset(ecbs: Sequence[Floats], most: int) -> list[int]:
    """Corollary 2: a largest dominated subset of at most ``most`` tuples: it may be discarded.

    If v is in a dominated subset, so is every u that does not dominate it: the subsets are the sets that are
    closed under this, and of any two each one's own tuples equal the other's.

    >>> dominated_subset([np.array([1.0, 1.0]), np.array([0.0, 2.0]), np.array([0.0, 0.5])], 2)
    [2]
    """
    count = len(ecbs)
    required = [[u for u in range(count) if u != v and not dominates(ecbs[u], ecbs[v])] for v in range(count)]
    chosen: set[int] = set()
    for closure in sorted((_closure(v, required) for v in range(count)), key=len):
        if len(chosen | closure) <= most:
            chosen |= closure
    return sorted(chosen)


def _closure(start: int, required: Sequence[Sequence[int]]) -> set[int]:
    reached, open_ = {start}, [start]
    while open_:
        for each in required[open_.pop()]:
            if each not in reached:
                reached.add(each)
                open_.append(each)
    return reached
