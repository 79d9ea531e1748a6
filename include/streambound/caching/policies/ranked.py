"""Policies that rank keys by something that only a reference to the key can change.

Such a policy is one array: the rank that each reference leaves its key with. The least rank is evicted, the
least recently used of equal ranks. LFU (perfect), LRU-k, A0 and LFD are of this kind.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.caching.compiled import kernel
from streambound.caching.decisions import CachingDecisions, filled
from streambound.caching.heap import add, replace_least, rise, sink
from streambound.caching.problems import Integers, References


def ranked(references: References, ranks: Integers, size: int, bypass: bool) -> CachingDecisions:
    """Keep the keys of the highest ranks.

    Args:
        ranks: from 0 to the number of steps: what each step's key has after this step.
    """
    # A rank and the time in one number, so that ties go to the least recently used.
    whole = ranks * (references.steps + 1) + np.arange(references.steps)
    return filled(references, size, _ranked, whole, bypass)


@kernel
def _ranked(
    requests: Integers,
    keys: int,
    size: int,
    ranks: Integers,
    bypass: bool,
    hits: NDArray[np.bool_],
    evicted: Integers,
) -> None:
    order = np.empty(min(size, keys), np.int64)
    place = np.full(keys, -1, np.int64)
    rank = np.empty(keys, np.int64)
    used = 0
    for step in range(len(requests)):
        key = requests[step]
        at = place[key]
        if at >= 0:
            hits[step] = True
            earlier = rank[key]
            rank[key] = ranks[step]
            if ranks[step] >= earlier:
                sink(order, place, rank, used, at)
            else:
                rise(order, place, rank, at)
            continue
        rank[key] = ranks[step]
        if used < size:
            used = add(order, place, rank, used, key)
        elif bypass and ranks[step] < rank[order[0]]:
            evicted[step] = key
        else:
            evicted[step] = replace_least(order, place, rank, used, key)
