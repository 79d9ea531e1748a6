"""Concrete values that meet the conditions of a query: a model of its constraints.

Numbers are those of ``space``, as exact fractions: dense attributes (and strings, by rank) lie between
the integers. The tight lower bounds of discrete attributes meet all difference bounds together, so
each can be taken in turn without search; a dense attribute takes an inner point of its interval.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from streambound.constraints.closure import Closure, Difference, at_least, at_most
from streambound.constraints.search import Disjunction, resolved
from streambound.constraints.system import System
from streambound.query.model import Attribute

# Points per unit: room for the inner points of dense intervals.
_POINTS = 1 << 40

Numbers = dict[Attribute, Fraction]


@dataclass(frozen=True)
class Wish:
    """What an assignment shall meet besides the query: constraints and choices."""

    literals: tuple[Difference, ...] = ()
    disjunctions: tuple[Disjunction, ...] = ()


def assignment(facts: System, wish: Wish, preset: Iterable[Attribute] = ()) -> Numbers | None:
    """A number for each mentioned attribute, ``preset`` attributes chosen first; None if there is none.

    Raises:
        SearchLimit: the choices need too many steps.
    """
    if facts.closure is None:
        return None
    closure = facts.closure.scaled(_POINTS).assume(map(_finer, wish.literals))
    disjunctions = tuple(
        (_finer(difference), _finer(second))
        for difference, second in (*facts.disjunctions, *wish.disjunctions)
    )
    closure = None if closure is None else resolved(closure, disjunctions)
    numbers: Numbers = {}
    for rank, attribute in enumerate(_order(facts, frozenset(preset))):
        if closure is None:
            return None
        number = _pick(closure, attribute, rank + 1, facts.space.resolution(attribute))
        numbers[attribute] = Fraction(number, _POINTS)
        closure = closure.assume([at_least(attribute, number), at_most(attribute, number)])
    return None if closure is None else numbers


def _finer(difference: Difference) -> Difference:
    return Difference(difference.high, difference.low, difference.by * _POINTS, difference.strict)


def _order(facts: System, attributes: frozenset[Attribute]) -> list[Attribute]:
    """Known attributes first, then from coarse to dense: what is coarse has the least freedom."""
    resolutions = {a: facts.space.resolution(a) for a in facts.query.mentioned}
    return sorted(
        resolutions, key=lambda a: (resolutions[a] is None, a not in attributes, -(resolutions[a] or 0), a)
    )


def _pick(closure: Closure, attribute: Attribute, rank: int, resolution: int | None) -> int:
    lower, upper = closure.lower(attribute), closure.upper(attribute)
    if lower is None and upper is None:
        return rank * (resolution or 1) * _POINTS
    if resolution is not None:
        return lower[0] if lower is not None else upper[0] if upper is not None else 0
    above = max(1, closure.strict_steps(None, attribute))
    under = max(1, closure.strict_steps(attribute, None))
    if lower is None:
        return upper[0] - under * _POINTS if upper is not None else 0
    if upper is None:
        return lower[0] + above * _POINTS
    return lower[0] + (upper[0] - lower[0]) * above // (above + under)
