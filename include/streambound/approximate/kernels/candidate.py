"""What every policy is: one function from what is known of a tuple to what it is worth to keep.

Who holds tuples knows these facts in his own way: a nightly evaluation from models learned from the past, the
paper's simulator from what it counts. He drops the tuples that nothing can join any more, and then those of
the least worth, of equals the oldest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

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
    """Which facts that take time to find a policy asks for; what is not asked for says nothing."""

    chance: bool
    left: bool
    benefit: bool
    lot: bool


class Compiled(NamedTuple):
    """A policy as kernels take it: where its function lies, and the facts that it asks for."""

    address: int
    facts: Facts


def facts_of(worth: Worth) -> Facts:
    """The facts that a policy asks for: those that its code names.

    >>> facts_of(lambda candidate: candidate.chance * candidate.left)
    Facts(chance=True, left=True, benefit=False, lot=False)
    """
    named = worth.__code__.co_names
    return Facts(*(fact in named for fact in Facts._fields))


@cache
def _callback(worth: Worth) -> Any:
    return callback(worth, SIGNATURE)


@cache
def compiled(worth: Worth) -> Compiled:
    """A policy for kernels, each of which is compiled once for all policies."""
    return Compiled(_callback(worth).address, facts_of(worth))


def _called(typing: Any, address: Any, candidate: Any) -> Any:

    def called(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = [context.get_value_type(kind) for kind in (signature.return_type, signature.args[1])]
        function = ir.FunctionType(kinds[0], kinds[1:])
        return builder.call(builder.inttoptr(values[0], function.as_pointer()), [values[1]])

    return SIGNATURE.return_type(address, candidate), called


# In a kernel: what the function at an address says of a candidate. Numba hands over functions as well, but
# takes longer to than a whole step of a small cache.
worth_of: Any = intrinsic(_called)
