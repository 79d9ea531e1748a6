"""Comparisons between columns of different composites that constants do not decide.

A *crossing* is an implied ``low <= high`` between attributes of two infinite streams that are not of
one composite, with the zones in which both can lie together. Where it has none, constants or static
values separate the two attributes and the comparison costs no memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from streambound.constraints.closure import Difference
from streambound.constraints.system import finite
from streambound.constraints.time import TimeOrder
from streambound.constraints.zones import Zone, zones
from streambound.query.model import Attribute, Comparison, Op, Query


@dataclass(frozen=True)
class Crossing:
    """``low <= high`` is implied, and both can lie in any one of ``zones``."""

    low: Attribute
    high: Attribute
    zones: tuple[Zone, ...]

    def within(self, zone: Zone) -> list[Difference]:
        """That both attributes lie in ``zone``."""
        return [*zone.holds(self.low), *zone.holds(self.high)]


def infinite_attributes(time: TimeOrder) -> list[Attribute]:
    """The mentioned attributes of infinite streams, application timestamps aside."""
    query = time.facts.query
    return [a for a in query.mentioned if a.occurrence in time.infinite and not query.is_timestamp(a)]


def crossings(time: TimeOrder) -> list[Crossing]:
    """All crossings of a satisfiable query that have a zone, in order of attributes."""
    attributes = infinite_attributes(time)
    return [found for low in attributes for high in attributes if (found := _crossing(time, low, high))]


def shared_zones(time: TimeOrder, one: Attribute, other: Attribute) -> Iterator[Zone]:
    """The zones in which both attributes take infinitely many values, satisfiably together."""
    facts = time.facts
    if facts.space.family(one) is not facts.space.family(other):
        return
    also = set(zones(time, other))
    for zone in zones(time, one):
        if zone in also and facts.satisfiable([*zone.holds(one), *zone.holds(other)]):
            yield zone


def _crossing(time: TimeOrder, low: Attribute, high: Attribute) -> Crossing | None:
    assert time.facts.closure is not None
    if time.together(low.occurrence, high.occurrence) or not time.facts.closure.orders(low, high):
        return None
    if any(_separates(time, low, middle, high) for middle in time.facts.query.mentioned):
        return None
    shared = tuple(shared_zones(time, low, high))
    return Crossing(low, high, shared) if shared else None


def _separates(time: TimeOrder, low: Attribute, middle: Attribute, high: Attribute) -> bool:
    """Whether an attribute with finitely many values always lies between: a branch fixes its value."""
    closure, space = time.facts.closure, time.facts.space
    assert closure is not None
    if middle in (low, high) or space.family(middle) is not space.family(low):
        return False
    between = closure.orders(low, middle) and closure.orders(middle, high)
    return between and finite(space, closure, middle)


def unequal_pairs(time: TimeOrder) -> Iterator[tuple[Comparison, Zone]]:
    """Each ``<>`` between different composites that some zone leaves open, with that zone."""
    infinite = set(infinite_attributes(time))
    for atom in time.facts.query.comparisons:
        if atom.op is not Op.NE or not isinstance(atom.right, Attribute):
            continue
        apart = not time.together(atom.left.occurrence, atom.right.occurrence)
        if apart and {atom.left, atom.right} <= infinite:
            for zone in shared_zones(time, atom.left, atom.right):
                yield atom, zone
                break


def evidence(query: Query, low: Attribute, high: Attribute) -> list[Comparison]:
    """The user's comparisons that chain from ``low`` up to ``high``, fewest first found."""
    edges: dict[Attribute, list[tuple[Attribute, Comparison]]] = {}
    for atom in query.comparisons:
        if not isinstance(atom.right, Attribute) or query.is_timestamp(atom.left):
            continue
        if atom.op in (Op.LT, Op.LE, Op.EQ):
            edges.setdefault(atom.left, []).append((atom.right, atom))
        if atom.op in (Op.GT, Op.GE, Op.EQ):
            edges.setdefault(atom.right, []).append((atom.left, atom))
    paths: dict[Attribute, list[Comparison]] = {low: []}
    queue = deque([low])
    while queue and high not in paths:
        here = queue.popleft()
        for there, atom in edges.get(here, []):
            if there not in paths:
                paths[there] = [*paths[here], atom]
                queue.append(there)
    return paths.get(high, [])
