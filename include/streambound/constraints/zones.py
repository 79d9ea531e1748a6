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
from itertools import pairwise

from streambound.constraints.closure import Difference, at_least, at_most, below
from streambound.constraints.search import Disjunction
from streambound.constraints.system import System
from streambound.constraints.time import TimeOrder
from streambound.query.column_types import Family
from streambound.query.model import Attribute


@dataclass(frozen=True)
class Zone:
    """An infinite zone of one family: between two known constants (None: open).

    ``sides`` tells on which side of some attributes it lies (True: above), those of static relations
    and of finite streams. ``cuts`` are further ones, on either side of which a zone of its own lies: a
    zone with cuts stands for exponentially many, and is asked about as one choice at each cut.
    """

    family: Family
    floor: int | None
    ceiling: int | None
    sides: tuple[tuple[Attribute, bool], ...] = ()
    cuts: tuple[Attribute, ...] = ()

    def holds(self, attribute: Attribute) -> list[Difference]:
        """That ``attribute`` lies between the constants and on those sides, as constraints."""
        literals = []
        if self.floor is not None:
            literals.append(at_least(attribute, self.floor, strict=True))
        if self.ceiling is not None:
            literals.append(at_most(attribute, self.ceiling, strict=True))
        for bound, above in self.sides:
            literals.append(below(bound, attribute) if above else below(attribute, bound))
        return literals

    def between(self, low: Attribute, high: Attribute, by: int = 0) -> list[Disjunction]:
        """That every cut lies below ``low`` or above ``high``, where ``low <= high``, and ``by`` away."""
        return [(Difference(cut, low, -by, True), Difference(high, cut, -by, True)) for cut in self.cuts]

    def apart(self, low: Attribute, high: Attribute, by: int) -> list[Difference]:
        """That the attributes of known sides lie ``by`` below ``low``, or above ``high``."""
        return [
            Difference(attribute, low, -by, True) if above else Difference(high, attribute, -by, True)
            for attribute, above in self.sides
        ]

    @property
    def open_above(self) -> bool:
        """Whether the values in it have no upper bound."""
        return self.ceiling is None and not self.cuts and all(above for _, above in self.sides)

    @property
    def open_below(self) -> bool:
        """Whether the values in it have no lower bound."""
        return self.floor is None and not self.cuts and not any(above for _, above in self.sides)


def zones(time: TimeOrder, attribute: Attribute) -> Iterator[Zone]:
    """The zones in which ``attribute`` takes infinitely many values, HIGH first.

    Where an attribute of a finite stream can cut a zone, the parts above all and below all such
    attributes come first, then the zone with its cuts, which covers both.
    """
    mates = time.facts.space.mates(attribute)
    # An attribute of a finite stream is a constant not known yet: either side of it is a zone. So is one of
    # which a declared number of values is kept.
    unknown = tuple(a for a in mates if a.occurrence in time.finite or a in time.kept)
    for zone in _bases(time.facts, attribute):
        if not unknown:
            yield zone
            continue
        for above in (True, False):
            yield replace(zone, sides=(*zone.sides, *((a, above) for a in unknown)))
        yield replace(zone, cuts=tuple(dict.fromkeys((*zone.cuts, *unknown))))


def _bases(facts: System, attribute: Attribute) -> Iterator[Zone]:
    family, query = facts.space.family(attribute), facts.space.query
    constants = facts.space.constants(family)
    statics = tuple(a for a in facts.space.mates(attribute) if query.is_static(a))
    if not constants and not statics:
        yield Zone(family, None, None)
        return
    ends: list[int | None] = [None, *constants, None]
    yield Zone(family, ends[-2], None, tuple((s, True) for s in statics))
    yield Zone(family, None, ends[1], tuple((s, False) for s in statics))
    if on_a_grid(facts, attribute):
        return
    # Between known values a discrete attribute is finite, so it cuts the zone as a static one does.
    discrete = (a for a in facts.space.mates(attribute) if facts.space.resolution(a) is not None)
    cuts = tuple(dict.fromkeys((*statics, *discrete)))
    for floor, ceiling in pairwise(ends):
        if statics or (floor is not None and ceiling is not None):
            yield Zone(family, floor, ceiling, (), cuts)


def on_a_grid(facts: System, attribute: Attribute) -> bool:
    """Whether the type of an attribute, or of one that it always equals, is discrete."""
    space, closure = facts.space, facts.closure
    if space.resolution(attribute) is not None:
        return True
    equal = (a for a in space.mates(attribute) if closure is not None and closure.equates(a, attribute))
    return any(space.resolution(a) is not None for a in equal)
