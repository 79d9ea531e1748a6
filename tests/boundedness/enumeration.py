"""The exact criterion by enumeration: every branch, every local order, the conditions as written.

A branch fixes for each attribute its zone (or that it is finite) and for any two attributes of a
stream in one zone how they compare. In a branch the conditions (a)-(c) and (P), (E), (N) are read
off the closure. Exponential, and independent of the shortcuts in ``boundedness/criterion/exact``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product

from streambound.constraints.closure import Closure, Difference, at_least, at_most, below
from streambound.constraints.search import consistent
from streambound.constraints.system import System, system
from streambound.constraints.time import TimeOrder
from streambound.constraints.zones import Zone
from streambound.query.model import Attribute, Op, Query

Placed = dict[Attribute, Zone | None]


def bounded_by_enumeration(query: Query) -> bool:
    """Whether every satisfiable branch of a query without static relations is bounded."""
    facts = system(query)
    if facts.closure is None or not facts.satisfiable():
        return True
    time = TimeOrder(facts)
    if len(time.composites) < 2 and not query.ring.idempotent:
        return True
    return not any(_obstructed(time, closure, placed) for closure, placed in _branches(facts))


def _branches(facts: System) -> Iterator[tuple[Closure, Placed]]:
    assert facts.closure is not None
    time = TimeOrder(facts)
    ordinary = [a for a in facts.query.mentioned if not facts.query.is_timestamp(a)]
    infinite = [a for a in ordinary if a.occurrence in time.infinite]
    pending: list[tuple[Closure, Placed, list[Attribute]]] = [(facts.closure, {}, infinite)]
    while pending:
        closure, placed, rest = pending.pop()
        if rest:
            attribute, *others = rest
            for zone, literals in _places(time, attribute):
                if (narrowed := closure.assume(literals)) is not None:
                    pending.append((narrowed, {**placed, attribute: zone}, others))
            continue
        for ordered in _ordered(closure, _local_pairs(placed)):
            if consistent(ordered, facts.disjunctions):
                yield ordered, placed


def _places(time: TimeOrder, attribute: Attribute) -> Iterator[tuple[Zone | None, list[Difference]]]:
    facts = time.facts
    known = sorted(set(facts.space.constants(facts.space.family(attribute))))
    for zone in _pieces(time, attribute):
        yield zone, zone.holds(attribute)
    if known and facts.space.resolution(attribute) is not None:
        yield None, [at_least(attribute, known[0]), at_most(attribute, known[-1])]
    elif known:
        for value in known:
            yield None, [at_least(attribute, value), at_most(attribute, value)]
    for other in facts.query.mentioned:
        if other.occurrence in time.finite and facts.space.family(other) is facts.space.family(attribute):
            yield None, [below(attribute, other, strict=False), below(other, attribute, strict=False)]


def _pieces(time: TimeOrder, attribute: Attribute) -> Iterator[Zone]:
    """The infinite zones of an attribute, cut at every attribute of a finite stream."""
    space = time.facts.space
    family = space.family(attribute)
    ends = [None, *space.constants(family), None]
    intervals = [(ends[-2], None), (None, ends[1])] if len(ends) > 2 else [(None, None)]
    if not any(space.resolution(a) is not None for a in _equal(time.facts, attribute)):
        intervals += list(pairwise(ends[1:-1]))
    unknown = [a for a in space.mates(attribute) if a.occurrence in time.finite]
    for (floor, ceiling), sides in product(intervals, product((True, False), repeat=len(unknown))):
        yield Zone(family, floor, ceiling, tuple(zip(unknown, sides, strict=True)))


def _equal(facts: System, attribute: Attribute) -> list[Attribute]:
    assert facts.closure is not None
    return [a for a in facts.space.mates(attribute) if facts.closure.equates(a, attribute)]


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


def _obstructed(time: TimeOrder, closure: Closure, placed: Placed) -> bool:
    query = time.facts.query
    if any(_unbounded(time, a, placed) for a in query.projected):
        return True
    return _groups_clash(time, closure, placed) if query.ring.idempotent else _linked(time, closure, placed)


def _unbounded(time: TimeOrder, attribute: Attribute, placed: Placed) -> bool:
    """(a), (P): whether a projected attribute is an obstruction."""
    query, stamp = time.facts.query, time.facts.query.is_timestamp(attribute)
    if attribute.occurrence not in time.infinite:
        return False
    # Rows that carry the timestamp of a last stream are new with each batch: DISTINCT remembers none of them.
    dated = any(query.is_timestamp(a) and _last(time, a.occurrence) for a in query.projected)
    if _last(time, attribute.occurrence) and (dated or not query.ring.idempotent):
        return False
    return stamp or placed[attribute] is not None


def _last(time: TimeOrder, alias: str) -> bool:
    return all(time.precedes(x, alias) for x in time.infinite)


def _crossing(time: TimeOrder, closure: Closure, placed: Placed) -> Iterator[tuple[Attribute, Attribute]]:
    for low in placed:
        for high in placed:
            same_zone = placed[low] is not None and placed[low] == placed[high]
            apart = not time.together(low.occurrence, high.occurrence)
            if not apart or not same_zone or not closure.orders(low, high):
                continue
            fixed = (a for a, zone in placed.items() if zone is None)
            if not any(closure.orders(low, a) and closure.orders(a, high) for a in fixed):
                yield low, high


def _linked(time: TimeOrder, closure: Closure, placed: Placed) -> bool:
    if next(_crossing(time, closure, placed), None) is not None:
        return True
    return any(
        atom.op is Op.NE
        and set(atom.attributes) <= set(placed)
        and not time.together(atom.left.occurrence, atom.right.occurrence)
        and placed[atom.left] is not None
        and placed[atom.left] == placed[atom.right]
        for atom in time.facts.query.joins
    )


def _groups_clash(time: TimeOrder, closure: Closure, placed: Placed) -> bool:
    """(E), or (N) at some stream."""
    pairs = list(_crossing(time, closure, placed))
    if any((high, low) in pairs for low, high in pairs):
        return True
    return any(_clash_at(time, stream, pairs, placed) for stream in time.infinite)


def _clash_at(time: TimeOrder, stream: str, pairs: list[tuple[Attribute, Attribute]], placed: Placed) -> bool:
    down = {s for s in time.infinite if time.precedes(s, stream)}
    groups: dict[Attribute, set[tuple[str, frozenset[Attribute]]]] = {}
    for attribute in (a for a in placed if a.occurrence in down):
        up = frozenset(high for low, high in pairs if low == attribute and high.occurrence not in down)
        under = frozenset(low for low, high in pairs if high == attribute and low.occurrence not in down)
        groups[attribute] = {(name, found) for name, found in (("up", up), ("down", under)) if found}
    open_here = any(groups[a] for a in groups if a.occurrence == stream)
    return open_here and len(set().union(*groups.values())) > 1
