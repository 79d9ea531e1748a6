"""Splitting a cell by the constants around one column.

Outside the range of the known bounds of the columns that it is linked with, a comparison with one
of them may be decided or follow from another; inside, a discrete column has finitely many values.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from streambound.constraints.closure import Closure, Difference, at_least, at_most
from streambound.plan.model import Condition
from streambound.plan.tables.facts import Facts
from streambound.query.model import Attribute, Op


@dataclass(frozen=True)
class Split:
    """A part of a cell; ``finite`` if the column has finitely many values in it."""

    closure: Closure
    conditions: tuple[Condition, ...]
    finite: bool


def splits(facts: Facts, closure: Closure, attribute: Attribute) -> list[Split]:
    """The parts of a cell by one column's position among the bounds around it; empty if there are none."""
    edges = _edges(facts, closure, attribute)
    if not edges:
        return []
    parts = []
    for floor, ceiling in _intervals(edges, facts.facts.space.resolution(attribute) is not None):
        split = _part(facts, closure, attribute, floor, ceiling)
        if split is not None:
            parts.append(split)
    return parts if len(parts) > 1 else []


def halves(facts: Facts, closure: Closure, attribute: Attribute) -> list[tuple[Split, Split]]:
    """The ways to cut a column's range in two at one of the bounds around it."""
    pairs = []
    for edge in _edges(facts, closure, attribute):
        for strict in (True, False):
            low = _part(facts, closure, attribute, None, (edge, strict))
            high = _part(facts, closure, attribute, (edge, not strict), None)
            if low is not None and high is not None:
                pairs.append((low, high))
    return pairs


def cut(facts: Facts, closure: Closure, condition: Condition) -> list[Split]:
    """The part of a cell where a condition holds and the part where it does not, if there are both."""
    attribute = condition.attribute
    edge = facts.facts.space.embed(facts.facts.space.family(attribute), condition.value)
    strict = condition.op in (Op.LT, Op.GE)
    low = _part(facts, closure, attribute, None, (edge, strict))
    high = _part(facts, closure, attribute, (edge, not strict), None)
    return [part for part in (low, high) if part is not None]


_Edge = tuple[int, bool] | None


def _intervals(edges: list[int], discrete: bool) -> list[tuple[_Edge, _Edge]]:
    """(lower, upper) ends as (value, strict): outside, and each point and gap (one range if discrete)."""
    below: tuple[_Edge, _Edge] = (None, (edges[0], True))
    above: tuple[_Edge, _Edge] = ((edges[-1], True), None)
    if discrete:
        return [below, ((edges[0], False), (edges[-1], False)), above]
    points: list[tuple[_Edge, _Edge]] = [((e, False), (e, False)) for e in edges]
    gaps: list[tuple[_Edge, _Edge]] = [((low, True), (high, True)) for low, high in itertools.pairwise(edges)]
    return [below, *points, *gaps, above]


def _part(facts: Facts, closure: Closure, attribute: Attribute, floor: _Edge, ceiling: _Edge) -> Split | None:
    space, family = facts.facts.space, facts.facts.space.family(attribute)
    literals: list[Difference] = []
    conditions: list[Condition] = []
    if floor is not None:
        literals.append(at_least(attribute, *floor))
        op = Op.GT if floor[1] else Op.GE
        conditions.append(Condition(attribute, op, space.value(family, floor[0])))
    if ceiling is not None:
        literals.append(at_most(attribute, *ceiling))
        op = Op.LT if ceiling[1] else Op.LE
        conditions.append(Condition(attribute, op, space.value(family, ceiling[0])))
    narrowed = closure.assume(literals)
    if narrowed is None:
        return None
    both = floor is not None and ceiling is not None
    finite = both and (space.resolution(attribute) is not None or floor == ceiling)
    return Split(narrowed, tuple(conditions), finite)


def _edges(facts: Facts, closure: Closure, attribute: Attribute) -> list[int]:
    edges: set[int] = set()
    for partner in facts.linked(attribute):
        for bound in (closure.lower(partner), closure.upper(partner)):
            if bound is not None:
                edges.add(bound[0])
    return sorted(edges)
