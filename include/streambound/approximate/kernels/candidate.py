"""What every policy is: one function from what is known of a tuple to what it is worth to keep.

Who holds tuples knows these facts in his own way: a nightly evaluation from models learned from the past, the
paper's simulator from what it counts. He drops the tuples that nothing can join any more, and then those of
the least worth, of equals the oldest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import types

from streambound.approximate.kernels.compiled import callback


class Candidate(NamedTuple):
    """A tuple that may have to leave.

    Args:
        arrived: the step at which it arrived.
        used: the step at which it last joined, or arrived.
        uses: the results that it produced so far.
        chance: how likely a step brings a partner of it, or how often steps did.
        left: the steps that are left in which a partner of it may come; inf if there is no end.
        benefit: H of section 4.3: the results expected of it, each by the chance that it is still cached.
        lot: a number in [0, 1) drawn for it at this step.
    """

    arrived: float
    used: float
    uses: float
    chance: float
    left: float
    benefit: float
    lot: float


Worth = Callable[[Candidate], float]
# No stub says what it is.
named_tuple: Any = types.NamedUniTuple
SIGNATURE = types.float64(named_tuple(types.float64, len(Candidate._fields), Candidate))


class Facts(NamedTuple):
    """Which facts that take time to find a policy asks for; the others are 0."""

    chance: bool
    left: bool
    benefit: bool
    lot: bool


def facts_of(worth: Worth) -> Facts:
    """The facts that a policy asks for: those that its code names.

    >>> facts_of(lambda candidate: candidate.chance * candidate.left)
    Facts(chance=True, left=True, benefit=False, lot=False)
    """
    # Compiled to a function of its own, it has a code that names every attribute it takes.
    named = worth.__code__.co_names
    return Facts(*(fact in named for fact in Facts._fields))


@cache
def compiled(worth: Worth) -> Any:
    """The function as kernels take it; all kernels are compiled once for all policies."""
    return callback(worth, SIGNATURE)
