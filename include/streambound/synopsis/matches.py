"""The tables of partial matches: how one enters, and how two tables merge.

Law: ``merge`` is associative and commutative up to which of two equally good matches stands for both,
and the table of two bags of partial matches together is the merge of their tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from streambound.query.conditions import holds
from streambound.query.ring import Ring, Weight
from streambound.synopsis.plan import Condition, Extremum, Keep, Key
from streambound.synopsis.state import ANY, Bucket, Entries, class_of, escapes
from streambound.synopsis.timed import MatchCell, MatchSynopsis

# The values of a partial match by column. Where a representative is not faithful to all comparisons
# of a column, it has further values by (column, partner).
Values = dict[Any, Any]


@dataclass(frozen=True)
class MatchLayout:
    """How the entries of one cell are made.

    An entry has the value that stands for each key by position; in an idempotent ring it is filed under
    its standing in each extremum and has the values of one real match.
    """

    cell: MatchCell
    ring: Ring

    def accepts(self, values: Values) -> bool:
        """Whether a partial match belongs to the cell."""
        return all(_meets(condition, values) for condition in self.cell.conditions)

    def bucket(self, values: Values) -> tuple[Any, ...]:
        """The key of a partial match; mixed extrema add which columns attain the greatest (least)."""
        key = [class_of(k, self._value(k, values)) for k in self.cell.keys]
        for extremum in self.cell.extrema:
            if extremum.mixed:
                mine = [values[a] for a in extremum.attributes]
                best = max(mine) if extremum.keep is Keep.LEAST else min(mine)
                key.append(tuple(value == best for value in mine))
        return tuple(key)

    def _value(self, key: Key, values: Values) -> Any:
        if key.apart:
            for pair in self.cell.apart:
                if pair[0] == key.attribute and values.get(pair, ANY) is not ANY:
                    return values[pair]
        return values[key.attribute]

    def standing(self, values: Values) -> tuple[Any, ...]:
        """The values of the ``<>`` columns, then how good the match is in each extremum."""
        unequal = (values[a] for a, _ in self.cell.unequal)
        return (*unequal, *(_combined(e, values) for e in self.cell.extrema))

    def entry(self, values: Values) -> tuple[Any, ...]:
        """What is kept of a single partial match beside its key."""
        if not self.ring.idempotent:
            return tuple(self._value(k, values) for k in self.cell.keys if k.points is not None)
        return tuple(values[a] for a in self.cell.whole)

    def together(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        """The one of two entries of the same standing that stands for both."""
        if not self.ring.idempotent:
            return tuple(min(a, b) for a, b in zip(one, other, strict=True))
        return min(one, other)

    def undominated(self, entries: Entries) -> Entries:
        """The entries that the others do not serve (see ``state.irredundant``)."""
        slots = [i for i, (_, count) in enumerate(self.cell.unequal) for _ in range(count)]
        kept = dict(entries)
        # By value besides, so that what remains does not depend on the order in which entries came.
        for standing in sorted(sorted(entries), key=lambda s: self._rank(s, entries), reverse=True):
            rest = [other for other in kept if other != standing and self._as_good(other, standing)]
            if not escapes(standing, rest, slots):
                del kept[standing]
        return kept

    def _rank(self, standing: tuple[Any, ...], entries: Entries) -> int:
        """How many entries are strictly better."""
        return sum(self._as_good(other, standing) and not self._as_good(standing, other) for other in entries)

    def _as_good(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        skip = len(self.cell.unequal)
        ends = zip(self.cell.extrema, one[skip:], other[skip:], strict=True)
        return all(a <= b if extremum.keep is Keep.LEAST else a >= b for extremum, a, b in ends)

    def match(self, key: tuple[Any, ...], entry: tuple[Any, ...]) -> Values:
        """The values of an entry's partial match, or of what represents it."""
        keyed = list(zip(self.cell.keys, key, strict=False))
        values: Values = {k.attribute: value for k, value in keyed if k.points is None}
        values.update((own, values[mate]) for own, mate in self.cell.same)
        if self.ring.idempotent:
            values.update(zip(self.cell.whole, entry, strict=True))
            return values
        positions = (k for k in self.cell.keys if k.points is not None)
        for k, value in zip(positions, entry, strict=True):
            if k.apart:
                values.update((pair, value) for pair in self.cell.apart if pair[0] == k.attribute)
            else:
                values[k.attribute] = value
        values.update(((own, other), ANY) for own, _, other in self.cell.settled)
        return values


def _meets(condition: Condition, values: Values) -> bool:
    return holds(condition.op, values[condition.attribute], condition.value)


def _combined(extremum: Extremum, values: Values) -> Any:
    shifted = [
        values[a] + s if s else values[a] for a, s in zip(extremum.attributes, extremum.shifts, strict=True)
    ]
    return max(shifted) if extremum.keep is Keep.LEAST else min(shifted)


@dataclass
class MatchTable:
    """The partial matches of a set of streams, or what stands for them.

    ``changed`` are the buckets that changed since somebody cleared it.
    """

    synopsis: MatchSynopsis
    ring: Ring
    counts: dict[Bucket, Weight] = field(default_factory=dict)
    entries: dict[Bucket, Entries] = field(default_factory=dict)
    layouts: tuple[MatchLayout, ...] = ()
    changed: set[Bucket] = field(default_factory=set, compare=False)

    def __post_init__(self) -> None:
        self.layouts = self.layouts or tuple(MatchLayout(cell, self.ring) for cell in self.synopsis.cells)

    def add(self, values: Values, weight: Weight) -> None:
        """Take in a partial match of a weight."""
        for number, shape in enumerate(self.layouts):
            if not shape.accepts(values):
                continue
            bucket = (number, shape.bucket(values))
            if not self.ring.idempotent:
                self.ring.put(self.counts, bucket, weight)
            standing = shape.standing(values) if self.ring.idempotent else ()
            self._file(bucket, standing, shape.entry(values))

    def _file(self, bucket: Bucket, standing: tuple[Any, ...], entry: tuple[Any, ...]) -> None:
        held, shape = self.entries.setdefault(bucket, {}), self.layouts[bucket[0]]
        self.changed.add(bucket)
        if standing in held:
            held[standing] = shape.together(held[standing], entry)
            return
        held[standing] = entry
        if len(held) > 1:
            self.entries[bucket] = shape.undominated(held)

    def merge(self, other: MatchTable) -> None:
        """Take in the table of other partial matches of the same streams."""
        for bucket, count in other.counts.items():
            self.ring.put(self.counts, bucket, count)
        for bucket, held in other.entries.items():
            for standing, entry in held.items():
                self._file(bucket, standing, entry)

    def matches(self, bucket: Bucket) -> Iterator[tuple[Values, Weight]]:
        """The entries of a bucket as (values, weight)."""
        number, key = bucket
        weight = self.counts.get(bucket, self.ring.one)
        for entry in self.entries[bucket].values():
            yield self.layouts[number].match(key, entry), weight

    @property
    def units(self) -> int:
        """Stored values and counts at this moment."""
        if not self.ring.idempotent:
            return len(self.counts)
        return sum(len(held) * self.layouts[n].cell.width for (n, _), held in self.entries.items())
