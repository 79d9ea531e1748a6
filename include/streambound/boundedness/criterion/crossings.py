"""Comparisons between columns of different composites that constants do not decide.

A *crossing* is an implied ``low <= high`` between attributes of two infinite streams that are not of
one composite, with the zones in which both can lie together. Where it has none, constants or static
values separate the two attributes and the comparison costs no memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from streambound.constraints.closure import Difference, below
from streambound.constraints.search import Disjunction
from streambound.constraints.time import TimeOrder
from streambound.constraints.zones import Zone, zones
from streambound.query.column_types import Family
from streambound.query.model import Attribute, Join, Op, Query


@dataclass(frozen=True)
class Crossing:
    """``low <= high`` is implied, or holds wherever ``if_`` does; both can lie in any one of ``zones``."""

    low: Attribute
    high: Attribute
    zones: tuple[Zone, ...]
    if_: tuple[Difference, ...] = ()

    def within(self, zone: Zone) -> Situation:
        """That both attributes lie in ``zone``, with nothing known between them."""
        return lying(zone, self.low, self.high, self.if_)


# Constraints and choices that are asked about together.
Situation = tuple[list[Difference], list[Disjunction]]


def lying(zone: Zone, low: Attribute, high: Attribute, further: tuple[Difference, ...] = ()) -> Situation:
    """That ``low`` and ``high`` (``low <= high``) lie in one part of a zone."""
    return [*zone.holds(low), *zone.holds(high), *further], zone.between(low, high)


def infinite_attributes(time: TimeOrder) -> list[Attribute]:
    """The mentioned attributes of infinite streams, timestamps and their buckets aside."""
    query = time.facts.query
    return [a for a in time.facts.space.mentioned if a.occurrence in time.infinite and not query.is_time(a)]


def crossings(time: TimeOrder) -> list[Crossing]:
    """All crossings of a satisfiable query that have a zone, in order of attributes."""
    attributes = infinite_attributes(time)
    return [crossing for low in attributes for high in attributes if (crossing := _crossing(time, low, high))]


def shared_zones(
    time: TimeOrder, low: Attribute, high: Attribute, further: tuple[Difference, ...] = ()
) -> Iterator[Zone]:
    """The zones in which ``low <= high`` take infinitely many values, satisfiably together."""
    facts = time.facts
    if facts.space.family(low) is not facts.space.family(high):
        return
    assert facts.closure is not None
    also = _zones(time, high)
    for zone in _zones(time, low):
        if zone not in also:
            continue
        literals, cuts = lying(zone, low, high, further)
        # Most zones are far from a column's bounds: one look at each says so.
        if all(map(facts.closure.allows, literals)) and facts.satisfiable(literals, cuts):
            yield zone


def _zones(time: TimeOrder, attribute: Attribute) -> dict[Zone, None]:
    """The zones of an attribute, in order."""
    kept, key = time.facts.kept, (attribute, time.finite, time.kept)
    if key not in kept:
        kept[key] = dict.fromkeys(zones(time, attribute))
    cached: dict[Zone, None] = kept[key]
    return cached


def _crossing(time: TimeOrder, low: Attribute, high: Attribute) -> Crossing | None:
    assert time.facts.closure is not None
    if time.together(low.occurrence, high.occurrence) or not time.facts.closure.orders(low, high):
        return None
    kept, key = time.facts.kept, (low, high, time.finite, time.kept)
    if key not in kept:
        kept[key] = tuple(shared_zones(time, low, high))
    return Crossing(low, high, kept[key]) if kept[key] else None


def unbounded_zone(time: TimeOrder, attribute: Attribute) -> Zone | None:
    """A zone that an attribute can lie in, so that it takes infinitely many values; else None."""
    if attribute.occurrence not in time.infinite:
        return None
    if time.facts.query.is_time(attribute):
        return Zone(Family.TIME, None, None)
    return next(shared_zones(time, attribute, attribute), None)


def unequal_crossings(time: TimeOrder) -> Iterator[tuple[Join, Crossing]]:
    """Each ``<>`` between different composites in either order, where some zone leaves it open."""
    infinite = set(infinite_attributes(time))
    for atom in time.facts.query.joins:
        if atom.op is not Op.NE:
            continue
        apart = not time.together(atom.left.occurrence, atom.right.occurrence)
        if apart and {atom.left, atom.right} <= infinite:
            for low, high in (atom.attributes, atom.attributes[::-1]):
                order = (below(low, high),)
                if shared := tuple(shared_zones(time, low, high, order)):
                    yield atom, Crossing(low, high, shared, order)


def evidence(query: Query, low: Attribute, high: Attribute) -> list[Join]:
    """The user's comparisons that chain from ``low`` up to ``high``, fewest first found."""
    edges: dict[Attribute, list[tuple[Attribute, Join]]] = {}
    for atom in query.joins:
        if query.is_time(atom.left):
            continue
        if atom.op in (Op.LT, Op.LE, Op.EQ):
            edges.setdefault(atom.left, []).append((atom.right, atom))
        if atom.op in (Op.GT, Op.GE, Op.EQ):
            edges.setdefault(atom.right, []).append((atom.left, atom))
    paths: dict[Attribute, list[Join]] = {low: []}
    queue = deque([low])
    while queue and high not in paths:
        here = queue.popleft()
        for there, atom in edges.get(here, []):
            if there not in paths:
                paths[there] = [*paths[here], atom]
                queue.append(there)
    return paths.get(high, [])
