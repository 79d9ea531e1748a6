"""Comparisons between columns of different infinite streams that constants do not decide.

A *crossing* is an implied ``low <= high`` between attributes of two infinite streams, with the
zones in which both can lie together. Where it has none, constants or static values separate the
two attributes and the comparison costs no memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from streambound.constraints.closure import Difference
from streambound.constraints.system import System
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


def infinite_attributes(query: Query) -> list[Attribute]:
    """The mentioned attributes of infinite streams."""
    streams = {o.alias for o in query.streams}
    return [a for a in query.mentioned if a.occurrence in streams]


def crossings(facts: System) -> list[Crossing]:
    """All crossings of a satisfiable query that have a zone, in order of attributes."""
    attributes = infinite_attributes(facts.query)
    return [found for low in attributes for high in attributes if (found := _crossing(facts, low, high))]


def shared_zones(facts: System, one: Attribute, other: Attribute) -> Iterator[Zone]:
    """The zones in which both attributes take infinitely many values, satisfiably together."""
    if facts.space.family(one) is not facts.space.family(other):
        return
    also = set(zones(facts, other))
    for zone in zones(facts, one):
        if zone in also and facts.satisfiable([*zone.holds(one), *zone.holds(other)]):
            yield zone


def _crossing(facts: System, low: Attribute, high: Attribute) -> Crossing | None:
    assert facts.closure is not None
    if low.occurrence == high.occurrence or not facts.closure.orders(low, high):
        return None
    shared = tuple(shared_zones(facts, low, high))
    return Crossing(low, high, shared) if shared else None


def unequal_pairs(facts: System) -> Iterator[tuple[Comparison, Zone]]:
    """Each ``<>`` between different infinite streams that some zone leaves open, with that zone."""
    infinite = set(infinite_attributes(facts.query))
    for atom in facts.query.comparisons:
        if atom.op is not Op.NE or not isinstance(atom.right, Attribute):
            continue
        if {atom.left, atom.right} <= infinite and atom.left.occurrence != atom.right.occurrence:
            for zone in shared_zones(facts, atom.left, atom.right):
                yield atom, zone
                break


def evidence(query: Query, low: Attribute, high: Attribute) -> list[Comparison]:
    """The user's comparisons that chain from ``low`` up to ``high``, fewest first found."""
    edges: dict[Attribute, list[tuple[Attribute, Comparison]]] = {}
    for atom in query.comparisons:
        if not isinstance(atom.right, Attribute):
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
