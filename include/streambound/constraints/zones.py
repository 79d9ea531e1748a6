"""Zones: where an attribute lies relative to everything that is known beforehand.

Known are the query's constants, the bounds and values of declared domains, and the values of
static relations. A zone is a local filter with infinitely many values: below all that is known
(LOW), above all (HIGH), and for dense types each open interval between neighbours. In a zone
nothing known separates two attributes, so a comparison between them is not decided by constants
(theory of the exact criterion, section 0; Schiff & Özçep, Definition 8).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product

from streambound.constraints.closure import Difference, at_least, at_most, below
from streambound.constraints.system import System
from streambound.constraints.time import TimeOrder
from streambound.query.model import Attribute
from streambound.query.values import Family


@dataclass(frozen=True)
class Zone:
    """An infinite zone of one family: between two known constants (None: open), and on which
    side of each static attribute (True: above it)."""

    family: Family
    floor: int | None
    ceiling: int | None
    sides: tuple[tuple[Attribute, bool], ...] = ()

    def holds(self, attribute: Attribute) -> list[Difference]:
        """That ``attribute`` lies in the zone, as constraints."""
        literals = []
        if self.floor is not None:
            literals.append(at_least(attribute, self.floor, strict=True))
        if self.ceiling is not None:
            literals.append(at_most(attribute, self.ceiling, strict=True))
        for static, above in self.sides:
            literals.append(below(static, attribute) if above else below(attribute, static))
        return literals

    @property
    def open_above(self) -> bool:
        """Whether the values in it have no upper bound."""
        return self.ceiling is None and all(above for _, above in self.sides)

    @property
    def open_below(self) -> bool:
        """Whether the values in it have no lower bound."""
        return self.floor is None and not any(above for _, above in self.sides)


def zones(time: TimeOrder, attribute: Attribute) -> Iterator[Zone]:
    """The zones in which ``attribute`` takes infinitely many values, HIGH first."""
    space = time.facts.space
    family = space.family(attribute)
    known = space.constants(family)
    mates = [a for a in space.query.mentioned if space.family(a) is family]
    statics = [a for a in mates if space.query.is_static(a)]
    unknown = [a for a in mates if a.occurrence in time.finite]
    for zone in _bases(time.facts, attribute, known, statics):
        # An attribute of a finite stream is a constant not known yet: either side of it is a zone.
        for sides in product((True, False), repeat=len(unknown)):
            yield replace(zone, sides=(*zone.sides, *zip(unknown, sides, strict=True)))


def _bases(facts: System, attribute: Attribute, known: list[int], statics: list[Attribute]) -> Iterator[Zone]:
    family = facts.space.family(attribute)
    if not known and not statics:
        yield Zone(family, None, None)
        return
    ends: list[int | None] = [None, *sorted(set(known)), None]
    yield Zone(family, ends[-2], None, tuple((s, True) for s in statics))
    yield Zone(family, None, ends[1], tuple((s, False) for s in statics))
    if not _on_a_grid(facts, attribute):
        yield from _between(family, ends, statics)


def _on_a_grid(facts: System, attribute: Attribute) -> bool:
    """Whether the type of an attribute, or of one that it always equals, is discrete."""
    space, closure = facts.space, facts.closure
    if space.step(attribute) is not None:
        return True
    equal = [a for a in space.query.mentioned if closure is not None and closure.equates(a, attribute)]
    family = space.family(attribute)
    return any(space.family(a) is family and space.step(a) is not None for a in equal)


def _between(family: Family, ends: list[int | None], statics: list[Attribute]) -> Iterator[Zone]:
    for floor, ceiling in pairwise(ends):
        for sides in product((True, False), repeat=len(statics)):
            zone = Zone(family, floor, ceiling, tuple(zip(statics, sides, strict=True)))
            if not (zone.open_above or zone.open_below):
                yield zone
