"""The exact criterion by enumeration: every branch, every local order, the conditions as written.

A branch fixes for each attribute its zone (or that it is finite) and for any two attributes of a
stream in one zone how they compare. In a branch the conditions (a)-(c) and (P), (E), (N) are read
off the closure. Exponential, and independent of the shortcuts in ``boundedness/exact``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from streambound.constraints.closure import Closure, Difference, at_least, at_most, below
from streambound.constraints.system import System, consistent, system
from streambound.constraints.time import TimeOrder
from streambound.constraints.zones import Zone, zones
from streambound.query.model import Attribute, Op, Query

Placed = dict[Attribute, Zone | None]


def bounded_by_enumeration(query: Query) -> bool:
    """Whether every satisfiable branch of a query without static relations is bounded."""
    facts = system(query)
    if facts.closure is None or not facts.satisfiable():
        return True
    if len(query.streams) == 1 and not query.distinct:
        return True
    return not any(_obstructed(query, closure, placed) for closure, placed in _branches(facts))


def _branches(facts: System) -> Iterator[tuple[Closure, Placed]]:
    assert facts.closure is not None
    pending: list[tuple[Closure, Placed, list[Attribute]]] = [
        (facts.closure, {}, list(facts.query.mentioned))
    ]
    while pending:
        closure, placed, rest = pending.pop()
        if rest:
            attribute, *others = rest
            for zone, literals in _places(facts, attribute):
                if (narrowed := closure.assume(literals)) is not None:
                    pending.append((narrowed, {**placed, attribute: zone}, others))
            continue
        for ordered in _ordered(closure, _local_pairs(placed)):
            if consistent(ordered, facts.choices):
                yield ordered, placed


def _places(facts: System, attribute: Attribute) -> Iterator[tuple[Zone | None, list[Difference]]]:
    known = sorted(set(facts.space.constants(facts.space.family(attribute))))
    for zone in zones(TimeOrder(facts), attribute):
        yield zone, zone.holds(attribute)
    if known and facts.space.step(attribute) is not None:
        yield None, [at_least(attribute, known[0]), at_most(attribute, known[-1])]
    elif known:
        for value in known:
            yield None, [at_least(attribute, value), at_most(attribute, value)]


def _local_pairs(placed: Placed) -> list[tuple[Attribute, Attribute]]:
    return [
        (one, other)
        for one, other in combinations(sorted(placed), 2)
        if one.occurrence == other.occurrence and placed[one] is not None and placed[one] == placed[other]
    ]


def _ordered(closure: Closure, pairs: list[tuple[Attribute, Attribute]]) -> Iterator[Closure]:
    if not pairs:
        yield closure
        return
    (one, other), *rest = pairs
    equal = [below(one, other, strict=False), below(other, one, strict=False)]
    for option in ([below(one, other)], equal, [below(other, one)]):
        if (narrowed := closure.assume(option)) is not None:
            yield from _ordered(narrowed, rest)


def _obstructed(query: Query, closure: Closure, placed: Placed) -> bool:
    if any(placed[a] is not None for a in query.projected):
        return True
    return _groups_clash(closure, placed) if query.distinct else _linked(query, closure, placed)


def _crossing(closure: Closure, placed: Placed) -> Iterator[tuple[Attribute, Attribute]]:
    for low in placed:
        for high in placed:
            same_zone = placed[low] is not None and placed[low] == placed[high]
            if low.occurrence == high.occurrence or not same_zone or not closure.orders(low, high):
                continue
            fixed = (a for a, zone in placed.items() if zone is None)
            if not any(closure.orders(low, a) and closure.orders(a, high) for a in fixed):
                yield low, high


def _linked(query: Query, closure: Closure, placed: Placed) -> bool:
    if next(_crossing(closure, placed), None) is not None:
        return True
    return any(
        atom.op is Op.NE
        and isinstance(atom.right, Attribute)
        and atom.left.occurrence != atom.right.occurrence
        and placed[atom.left] is not None
        and placed[atom.left] == placed[atom.right]
        for atom in query.comparisons
    )


def _groups_clash(closure: Closure, placed: Placed) -> bool:
    pairs = list(_crossing(closure, placed))
    if any((high, low) in pairs for low, high in pairs):
        return True
    for stream in {a.occurrence for a in placed}:
        groups = set()
        for attribute in (a for a in placed if a.occurrence == stream):
            up = frozenset(high for low, high in pairs if low == attribute)
            down = frozenset(low for low, high in pairs if high == attribute)
            groups |= {("up", up)} if up else set()
            groups |= {("down", down)} if down else set()
        if len(groups) > 1:
            return True
    return False
