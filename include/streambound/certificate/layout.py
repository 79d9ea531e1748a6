"""The values of N copies of one assignment: the same order in each copy, apart from copy to copy.

An assignment puts each attribute on something *known* (a constant, the value of a static or finite
attribute, or one of finitely many values between two of them), or into a gap between two known
values that has infinitely many. Conditions on values only compare, so a copy may move the attributes
of a gap as long as their order stays: the copies form blocks that ascend or descend along the gap
(Arasu et al., Appendix A, Lemma A.1, and the chains in the proofs of Lemmas A.5 and A.6). Each copy
then meets every condition.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import lcm

from streambound.certificate.ladder import between
from streambound.constraints.assignment import Numbers
from streambound.constraints.time import TimeOrder
from streambound.query.column_types import Family, Value
from streambound.query.model import Attribute

Copy = dict[Attribute, Value]
Gap = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True)
class Turn:
    """The attributes from ``low`` up to ``high`` ascend from copy to copy, or descend."""

    low: Attribute
    high: Attribute
    ascending: bool


def directed(numbers: Numbers, turns: tuple[Turn, ...], number: Fraction) -> bool:
    """Whether the blocks of a gap ascend at a number: as the first turn to reach it, else the last."""
    ordered = sorted(turns, key=lambda turn: numbers[turn.low])
    turn = next((t for t in ordered if number <= numbers[t.high]), ordered[-1] if ordered else None)
    return turn is None or turn.ascending


@dataclass(frozen=True)
class Layout:
    """One assignment of a query and the turns that its copies take.

    ``still``: what lies in a gap where no turn is taken is the same in each copy.
    """

    time: TimeOrder
    numbers: Numbers
    turns: tuple[Turn, ...]
    still: bool = False

    def copies(self, count: int) -> list[Copy] | None:
        """The values of ``count`` copies, application timestamps aside; None if a gap has no room."""
        copies: list[Copy] = [dict.fromkeys(self.time.facts.query.nulls) for _ in range(count)]
        for family in Family:
            attributes = self._members(family)
            if family is not Family.TIME and attributes and not self._fill(family, attributes, copies):
                return None
        return copies

    def _members(self, family: Family) -> list[Attribute]:
        space, nulls = self.time.facts.space, self.time.facts.query.nulls
        return [a for a in self.numbers if space.family(a) is family and a not in nulls]

    def _fill(self, family: Family, attributes: list[Attribute], copies: list[Copy]) -> bool:
        fixed = self._fixed_values(family, attributes)
        if fixed is None:
            return False
        loose = [a for a in attributes if self.numbers[a] not in fixed]
        for gap, members in _by_gap(loose, self.numbers, sorted(fixed)).items():
            if not self._blocks(family, _ends(fixed, gap), members, copies):
                return False
        for copy in copies:
            copy.update({a: fixed[self.numbers[a]] for a in attributes if self.numbers[a] in fixed})
        return True

    def _fixed_values(self, family: Family, attributes: list[Attribute]) -> dict[Fraction, Value] | None:
        """The values that are the same in each copy, by number; None if a gap has no room."""
        space = self.time.facts.space
        constants = {Fraction(c): space.value(family, c) for c in space.constants(family)}
        grid = [a for a in attributes if space.resolution(a) is not None]
        moving = {a for turn in self.turns for a in (turn.low, turn.high)}
        lasting = [a for a in attributes if a.occurrence not in self.time.infinite or a in self.time.kept]
        if self.still:
            gaps = _by_gap(attributes, self.numbers, sorted(constants)).values()
            lasting += [a for members in gaps if not moving & set(members) for a in members]
        fixed = {**constants, **self._on_grid(family, (a for a in lasting if a in grid))}
        walls = sorted({*fixed, *(self.numbers[a] for a in lasting)})
        for gap, members in _by_gap(grid, self.numbers, walls).items():
            # Between two known values a grid has finitely many others, unless a turn is to be taken there.
            if None not in gap and not moving & set(members):
                fixed |= self._on_grid(family, members)
        dense = [a for a in lasting if self.numbers[a] not in fixed]
        for gap, members in _by_gap(dense, self.numbers, sorted(fixed)).items():
            levels = sorted({self.numbers[a] for a in members})
            values = between(family, *_ends(fixed, gap), len(levels), None)
            if values is None:
                return None
            fixed |= dict(zip(levels, values, strict=True))
        return fixed

    def _on_grid(self, family: Family, attributes: Iterable[Attribute]) -> dict[Fraction, Value]:
        space = self.time.facts.space
        return {self.numbers[a]: space.value(family, int(self.numbers[a])) for a in attributes}

    def _blocks(
        self,
        family: Family,
        ends: tuple[Value | None, Value | None],
        members: list[Attribute],
        copies: list[Copy],
    ) -> bool:
        levels = sorted({self.numbers[a] for a in members})
        turns = tuple(turn for turn in self.turns if turn.low in members)
        slots: list[tuple[Fraction, int]] = []
        for ascending, run in groupby(levels, lambda level: directed(self.numbers, turns, level)):
            block = list(run)
            order = range(len(copies)) if ascending else reversed(range(len(copies)))
            slots += [(level, k) for k in order for level in block]
        values = between(family, *ends, len(slots), self._step(members))
        if values is None:
            return False
        for (level, k), value in zip(slots, values, strict=True):
            copies[k].update({a: value for a in members if self.numbers[a] == level})
        return True

    def _step(self, members: list[Attribute]) -> Fraction | None:
        """The coarsest grid that all types of the members share; with doubles, one of integers."""
        kinds = [self.time.facts.query.column(a).type for a in members]
        resolutions = [kind.resolution for kind in kinds if kind.resolution is not None]
        if not resolutions:
            return None
        resolutions += [Fraction(1)] if any(kind.resolution is None for kind in kinds) else []
        below = lcm(*(resolution.denominator for resolution in resolutions))
        return Fraction(lcm(*(int(resolution * below) for resolution in resolutions)), below)


def _by_gap(
    attributes: Iterable[Attribute], numbers: Numbers, walls: list[Fraction]
) -> dict[Gap, list[Attribute]]:
    """The attributes between walls, by the gap that they lie in; those on a wall are left out."""
    by_gap: dict[Gap, list[Attribute]] = {}
    for attribute in attributes:
        at = bisect_left(walls, numbers[attribute])
        if at < len(walls) and walls[at] == numbers[attribute]:
            continue
        gap = (walls[at - 1] if at else None, walls[at] if at < len(walls) else None)
        by_gap.setdefault(gap, []).append(attribute)
    return by_gap


def _ends(fixed: Mapping[Fraction, Value], gap: Gap) -> tuple[Value | None, Value | None]:
    low, high = gap
    return (None if low is None else fixed[low], None if high is None else fixed[high])
