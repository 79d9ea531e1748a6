"""Copies of an assignment as events: slots with a fixed, an optional and a suffix part.

The tuples of slot k that precede the pivot are its fixed part, the pivot's tuple its optional part; the rest
of the copy is its suffix. Slots follow each other in time at distances that exceed every offset of the
query, the suffixes after all of them; the tuples of finite streams come first, once, for all copies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Any

from streambound.certificate.layout import Copy, Layout
from streambound.certificate.obstructions import Obstruction, Suffix
from streambound.evaluation.corpus import plain
from streambound.query.column_types import Family, Value
from streambound.query.model import Attribute, Column, Domain, Occurrence, RelationKind

Event = dict[str, Any]


@dataclass(frozen=True)
class Slot:
    """One slot of a witness: events as ``streambound run`` reads them, each part in time order."""

    fixed: tuple[Event, ...]
    optional: tuple[Event, ...]
    suffix: tuple[Event, ...]


@dataclass(frozen=True)
class Builder:
    """The events of the copies of one layout."""

    obstruction: Obstruction
    layout: Layout
    copies: list[Copy]
    # Whether the tuples of streams without a timestamp need a time all the same.
    dated: bool
    # At least how far slots lie apart in time, in ticks or microseconds.
    apart: int = 0

    def slots(self, size: int) -> tuple[Slot, ...]:
        """The slots; ``copies`` holds one more than ``size`` where the suffix probes with another copy."""
        time, pivot = self.layout.time, self.obstruction.pivot
        before = [a for a in time.infinite if a in time.down(pivot)]
        after = [a for a in time.infinite if a not in before]
        first = self._events(self._lasting, 0, 0)
        made = []
        for k in range(size):
            fixed = self._events((a for a in before if a != pivot), k, k + 1)
            suffix = self._events(
                time.infinite if self.obstruction.suffix is Suffix.AGAIN else after, k, size + 1
            )
            if self.obstruction.suffix is Suffix.PROBE:
                suffix = (*self._events(after, size, size + 1), *self._events(after, k, size + 2))
            made.append(Slot((*first, *fixed), self._events([pivot], k, k + 1), suffix))
            first = ()
        return tuple(made)

    @property
    def _lasting(self) -> list[str]:
        """The finite streams."""
        kinds = {o.alias: o.relation.kind for o in self.obstruction.query.occurrences}
        return [
            a
            for a, kind in kinds.items()
            if kind is not RelationKind.STATIC and a not in self.layout.time.infinite
        ]

    def static(self) -> dict[str, list[Event]]:
        """The rows of the static relations: one for each occurrence."""
        rows: dict[str, list[Event]] = {}
        for occurrence in self.obstruction.query.statics:
            row = self._row(occurrence, self.copies[0])
            rows.setdefault(occurrence.relation.name, []).append(row)
        return rows

    def _events(self, aliases: Iterable[str], copy: int, shift: int) -> tuple[Event, ...]:
        """The tuples of some occurrences, ``shift`` slots later than the assignment has them."""
        query = self.obstruction.query
        dated = []
        for alias in aliases:
            occurrence = query.occurrence(alias)
            moment = self._moment(alias, shift)
            row = {"stream": occurrence.relation.name, **self._row(occurrence, self.copies[copy])}
            stamp = occurrence.relation.timestamp
            if stamp is not None:
                row[stamp] = plain(occurrence.relation.column(stamp).type.decode(moment))
            elif self.dated:
                row["ts"] = moment
            dated.append((moment, row))
        return tuple(row for _, row in sorted(dated, key=lambda pair: pair[0]))

    @cached_property
    def _stamps(self) -> dict[str, Attribute]:
        """The timestamps that the assignment has a number of."""
        return {a: stamp for a, stamp in self.layout.time.stamps.items() if stamp in self.layout.numbers}

    def _moment(self, alias: str, shift: int) -> int:
        stamp = self._stamps.get(alias)
        if stamp is None:
            return self._first_moment(alias) + shift * self._distance
        return int(self.layout.numbers[stamp]) + shift * self._distance

    def _first_moment(self, alias: str) -> int:
        """When a tuple arrives whose timestamp no condition mentions; finite streams come first."""
        time, numbers = self.layout.time, self.layout.numbers
        dict_items = self._stamps.items()
        ended = [int(numbers[s]) for a, s in dict_items if a not in time.infinite]
        going_on = [int(numbers[s]) for a, s in dict_items if a in time.infinite]
        if alias in time.infinite:
            first = min(going_on) if going_on else max(ended, default=0)
        else:
            first = min((*ended, *going_on), default=0)
        resolution = self._tick
        return first // resolution * resolution

    @cached_property
    def _tick(self) -> int:
        query, space = self.obstruction.query, self.layout.time.facts.space
        stamps = ((o.alias, o.relation.timestamp) for o in query.occurrences)
        return lcm(*(space.tick(Attribute(alias, name)) for alias, name in stamps if name is not None))

    @cached_property
    def _distance(self) -> int:
        """From slot to slot: more than any two timestamps of a copy and any offset lie apart."""
        time, numbers = self.layout.time, self.layout.numbers
        stamps = [int(numbers[stamp]) for stamp in self._stamps.values()]
        spread = max(stamps, default=0) - min(stamps, default=0)
        offsets = sum(abs(atom.offset) for atom in time.facts.query.joins)
        tick = self._tick
        return -(-(spread + max(offsets + tick, self.apart)) // tick) * tick

    def _row(self, occurrence: Occurrence, copy: Copy) -> Event:
        values = {a.column: value for a, value in copy.items() if a.occurrence == occurrence.alias}
        relation = occurrence.relation
        return {
            c.name: plain(c.type.decode(values[c.name] if c.name in values else _any(c)))
            for c in relation.columns
            if c.name != relation.timestamp
        }


def _any(column: Column) -> Value | None:
    """A value of a column that no condition mentions: NULL where it may be."""
    domain = column.domain or Domain()
    declared = (*(domain.values or ()), domain.minimum, domain.maximum)
    fallback = "" if column.type.family is Family.STRING else 0
    return None if column.nullable else next((v for v in declared if v is not None), fallback)
