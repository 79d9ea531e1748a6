"""A set of numbers 0 .. n - 1 that knows its greatest, as bits in levels.

Level 0 has a bit a number, each further level one for each word of the level below it that has any; the last
level is one word. All levels lie end to end in one array of words; every operation costs at most a word a
level.
"""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.kernels.compiled import kernel

# Bits a word: half of what a number holds, so that no shift meets its sign.
SHIFT, BITS = 5, 32


def no_bits(count: int) -> tuple[Integers, Integers]:
    """The empty set of numbers below ``count``: its words, and where each level begins among them.

    >>> words, begins = no_bits(100)
    >>> for number in (7, 99, 40):
    ...     set_bit(words, begins, number)
    >>> clear_bit(words, begins, 99)
    >>> greatest_bit(words, begins)
    40
    """
    lengths = [(count >> SHIFT) + 1]
    while lengths[-1] > 1:
        lengths.append((lengths[-1] + BITS - 1) >> SHIFT)
    begins = np.cumsum([0, *lengths])
    return np.zeros(begins[-1], np.int64), begins[:-1]


@kernel
def set_bit(words: Integers, begins: Integers, number: int) -> None:
    """Put a number in."""
    for level in range(len(begins)):
        at = begins[level] + (number >> SHIFT)
        before = words[at]
        words[at] = before | (1 << (number & (BITS - 1)))
        if before:
            # The levels above know of this word already.
            return
        number >>= SHIFT


@kernel
def clear_bit(words: Integers, begins: Integers, number: int) -> None:
    """Take out a number that is in."""
    for level in range(len(begins)):
        at = begins[level] + (number >> SHIFT)
        words[at] &= ~(1 << (number & (BITS - 1)))
        if words[at]:
            return
        number >>= SHIFT


@kernel
def greatest_bit(words: Integers, begins: Integers) -> int:
    """The greatest number of a set that is not empty."""
    greatest = 0
    for level in range(len(begins) - 1, -1, -1):
        word = words[begins[level] + greatest]
        # The number of its highest bit is the exponent of the double that it is exactly.
        greatest = (greatest << SHIFT) | int((np.float64(word).view(np.int64) >> 52) - 1023)
    return greatest
