"""Policies that rank keys by something that only a reference to the key can change.

Such a policy is one array: the rank that each reference leaves its key with. The least rank is evicted, the
least recently used of equal ranks. LFU (perfect), LRU-k and A0 are of this kind.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.approximate.kernels.heap import add, rise, sink
from streambound.simulator.decisions import CachingDecisions, filled
from streambound.simulator.problems import References


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
    # The heap is of slots, not of keys: what it compares then fits into the nearest cache of the processor.
    room = min(size, keys)
    order, position, rank = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    slot_of, key_of = np.full(keys, -1, np.int32), np.empty(room, np.int64)
    used = 0
    for step in range(len(requests)):
        key = requests[step]
        slot = slot_of[key]
        if slot >= 0:
            hits[step] = True
            later = ranks[step] >= rank[slot]
            rank[slot] = ranks[step]
            if later:
                sink(order, position, rank, used, position[slot])
            else:
                rise(order, position, rank, position[slot])
            continue
        if used < size:
            slot = used
            rank[slot] = ranks[step]
            used = add(order, position, rank, used, slot)
        elif bypass and ranks[step] < rank[order[0]]:
            evicted[step] = key
            continue
        else:
            slot = order[0]
            evicted[step] = key_of[slot]
            slot_of[key_of[slot]] = -1
            rank[slot] = ranks[step]
            sink(order, position, rank, used, 0)
        key_of[slot] = key
        slot_of[key] = slot
