"""LFD (Belady): the key whose next reference is farthest away leaves (section 5.1).

Optimal offline: of all that must admit what they fetch, and with bypass of all.

A cached key is known by the step of its next reference; the greatest step leaves. Steps that come in beyond
all others are kept in order, for they leave soonest, and the rest as bits. Keys that are never referenced
again leave before all others, the one that came to that first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.simulator.bits import clear_bit, greatest_bit, no_bits, set_bit
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, filled
from streambound.simulator.problems import References, next_references

# So many steps are kept in order: most evictions find their key there, and few have to be moved for another.
ORDERED = 16


def lfd(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream."""
    following = next_references(references.requests, references.keys)
    return filled(references, memory.size, _lfd, following, *no_bits(references.steps), memory.bypass)


@kernel
def _lfd(
    requests: Integers,
    keys: int,
    size: int,
    following: Integers,
    words: Integers,
    begins: Integers,
    bypass: bool,
    hits: NDArray[np.bool_],
    evicted: Integers,
) -> None:
    # No function for the set as a whole: a call with four arrays costs more than all that it does.
    # A hit is written when its key is kept. Bits of steps gone by stay: there is always a greater one.
    steps = len(requests)
    ordered, count, bound = np.empty(ORDERED + 1, np.int64), 0, -1
    useless, first, last = np.empty(min(size, keys) + 1, np.int64), 0, 0
    used = 0
    for step in range(steps):
        again = following[step]
        if hits[step]:
            pass
        elif used < size:
            used += 1
        elif first != last:
            evicted[step] = useless[first]
            first = first + 1 if first + 1 < len(useless) else 0
        else:
            if count == 0:
                # All bits are of steps below ``bound``, all in order are not.
                bound = greatest_bit(words, begins)
                clear_bit(words, begins, bound)
                ordered[0], count = bound, 1
            farthest = ordered[count - 1]
            if bypass and again > farthest:
                evicted[step] = requests[step]
                continue
            count -= 1
            evicted[step] = requests[farthest]
            hits[farthest] = False
        if again == steps:
            useless[last] = requests[step]
            last = last + 1 if last + 1 < len(useless) else 0
            continue
        hits[again] = True
        if again < bound:
            set_bit(words, begins, again)
            continue
        at = count
        while at > 0 and ordered[at - 1] > again:
            ordered[at] = ordered[at - 1]
            at -= 1
        ordered[at] = again
        count += 1
        if count > ORDERED:
            bound = ordered[0] + 1
            set_bit(words, begins, ordered[0])
            count -= 1
            for at in range(count):
                ordered[at] = ordered[at + 1]
