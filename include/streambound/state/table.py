"""The tables of a plan: how a tuple or a partial match enters them, and how two tables merge.

A table maps (cell, key) to what is kept there: a count, and *entries*: once for each *sub-key* the *ends*
(least or greatest values) of some columns, or one real match. The sub-key has the values of the columns that
take part in ``<>`` between streams, and of a real match how good it is in each extremum.

Law: ``merge`` is associative and commutative up to which of two equally good entries stands for both, and the
table of two bags together is the merge of their tables, so partitions are summarised in any order and in
parallel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from streambound.plan.model import Cell, Extremum, Keep, Key, StreamSynopsis
from streambound.plan.tables.keys import position
from streambound.query.column_types import Value
from streambound.query.model import Atom, Attribute, Join, Membership, Never, NullTest, Op
from streambound.query.ring import Ring, Weight

Tuple = Mapping[str, Any]
# The values of a tuple, or of a partial match of several streams, by column. Where a representative is not
# faithful to all comparisons of a column, it has further values: by comparison, or by (column, NE).
Values = dict[Any, Any]
Bucket = tuple[int, tuple[Any, ...]]
# What is kept under a key, by sub-key.
Entries = dict[tuple[Any, ...], tuple[Any, ...]]


class Anything:
    """Stands in a representative for a column that no comparison still asks for."""

    def __repr__(self) -> str:
        return "*"


ANY = Anything()


def passes(atoms: Iterable[Atom], row: Tuple) -> bool:
    """Whether a tuple (encoded values by column) meets conditions on its own columns."""
    return all(_meets(atom, row) for atom in atoms)


def _meets(atom: Atom, row: Tuple) -> bool:
    if isinstance(atom, Never):
        return False
    if isinstance(atom, NullTest):
        return (row[atom.attribute.column] is None) is atom.null
    if isinstance(atom, Membership):
        value = row[atom.attribute.column]
        return value is not None and any(value == member.value for member in atom.values)
    if isinstance(atom, Join):
        left, right = row[atom.left.column], row[atom.right.column]
        return left is not None and right is not None and atom.op.holds(left, right)
    left, constant = row[atom.attribute.column], atom.constant.value
    return left is not None and constant is not None and atom.op.holds(left, constant)


def class_of(key: Key, value: Value | None) -> Any:
    """The class of a value under a key: the clipped value, or the position among the points."""
    if value is None:
        return None
    if key.points is not None:
        return position(key.points, value)
    outside = key.high is not None and value > key.high
    if key.alike and (outside or value == key.high):
        return key.low
    if outside:
        return key.high
    return key.low if key.low is not None and value < key.low else value


@dataclass(frozen=True)
class Layout:
    """How the entries of one cell are made."""

    cell: Cell

    def accepts(self, values: Values) -> bool:
        """Whether a tuple or partial match belongs to the cell."""
        return all(c.op.holds(values[c.attribute], c.value) for c in self.cell.conditions)

    def bucket(self, values: Values) -> tuple[Any, ...]:
        """The key of a tuple; mixed extrema add which columns attain the greatest (least)."""
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

    def subkey(self, values: Values) -> tuple[Any, ...]:
        """The values of the ``<>`` columns, then how good a real match is in each extremum."""
        unequal = tuple(values[a] for a, _ in self.cell.unequal)
        if self.cell.whole is None:
            return unequal
        return (*unequal, *(_combined(e, values) for e in self.cell.extrema))

    def entry(self, values: Values) -> tuple[Any, ...]:
        """What is kept of a single tuple or partial match beside its key and its sub-key."""
        if self.cell.whole is not None:
            return tuple(values[a] for a in self.cell.whole)
        ends = (_combined(end, values) if isinstance(end, Extremum) else values[end] for end, _ in self.ends)
        return (*ends, *(self._value(key, values) for key in self._positions))

    @cached_property
    def ends(self) -> tuple[tuple[Extremum | Attribute, Keep], ...]:
        """Which ends of which columns an entry has, before values that stand for classes by position."""
        ends: list[tuple[Extremum | Attribute, Keep]] = []
        for extremum in self.cell.extrema:
            columns = extremum.attributes if extremum.mixed else (extremum,)
            ends.extend((column, extremum.keep) for column in columns)
        return (*ends, *self.cell.follow)

    @cached_property
    def _positions(self) -> tuple[Key, ...]:
        return tuple(key for key in self.cell.keys if key.points is not None)

    def together(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        """What stands for two entries of one sub-key."""
        if self.cell.whole is not None:
            return min(left, right)
        return tuple(
            min(a, b) if least else max(a, b) for a, b, least in zip(left, right, self._least, strict=True)
        )

    @cached_property
    def _least(self) -> tuple[bool, ...]:
        """Of each value of an entry of ends, whether the least of several counts."""
        return (*(keep is Keep.LEAST for _, keep in self.ends), *(True for _ in self._positions))

    def undominated(self, entries: Entries) -> Entries:
        """The entries that the others do not serve.

        An entry is served if for every choice of forbidden values that it avoids, some other entry as good
        avoids them too. At most 2^m remain for m comparisons ``<>`` (skew Bollobás pairs).
        """
        slots = [i for i, (_, count) in enumerate(self.cell.unequal) for _ in range(count)]
        kept, good = dict(entries), {s: self._quality(s, entry) for s, entry in entries.items()}

        def better(subkey: tuple[Any, ...]) -> int:
            mine = good[subkey]
            return sum(self._as_good(q, mine) and not self._as_good(mine, q) for q in good.values())

        # The worst entries first, so that a chain keeps its best end; then the greatest: of values that
        # differ the least remain, in however many parts they came (tasks keep the least of a part as well).
        for subkey in sorted(sorted(entries, reverse=True), key=better, reverse=True):
            rest = [s for s in kept if s != subkey and self._as_good(good[s], good[subkey])]
            if not _escapes(subkey, rest, slots):
                del kept[subkey]
        return kept

    def _quality(self, subkey: tuple[Any, ...], entry: tuple[Any, ...]) -> tuple[Any, ...]:
        """How good an entry is in each extremum.

        What other ends are compared with follows from these; of a mixed one only the columns count that
        attain it.
        """
        if self.cell.whole is not None:
            return subkey[len(self.cell.unequal) :]
        quality, rest = [], iter(entry)
        for extremum in self.cell.extrema:
            mine = [next(rest) for _ in (extremum.attributes if extremum.mixed else (extremum,))]
            quality.append(max(mine) if extremum.keep is Keep.LEAST else min(mine))
        return tuple(quality)

    def _as_good(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
        return all(
            a <= b if extremum.keep is Keep.LEAST else a >= b
            for extremum, a, b in zip(self.cell.extrema, left, right, strict=True)
        )

    def representative(self, key: tuple[Any, ...], subkey: tuple[Any, ...], entry: tuple[Any, ...]) -> Values:
        """The values of what stands for an entry; columns not named are ANY.

        An extremum gives a column the value that serves its comparisons by order; of those by ``<>`` it has
        a value of its own.
        """
        # A mixed extremum adds its pattern to the key.
        values: Values = dict(zip(self._exact, key, strict=False))
        values.update(self._settled)
        if self._positions:
            del values[None]
        if self.cell.same:
            values.update((local, values[mate]) for local, mate in self.cell.same)
        if not entry and not subkey:
            return values
        if self.cell.whole is not None:
            values.update(zip(self.cell.whole, entry, strict=True))
            return values
        for (end, _), value in zip(self.ends, entry, strict=False):
            if isinstance(end, Extremum):
                shifts = zip(end.attributes, end.shifts, strict=True)
                values.update((a, value - shift if shift else value) for a, shift in shifts)
            else:
                values[end] = value
        for names, value in zip(self._served, entry[len(self.ends) :], strict=True):
            values.update(dict.fromkeys(names, value))
        values.update(((a, Op.NE), value) for (a, _), value in zip(self.cell.unequal, subkey, strict=True))
        return values

    @cached_property
    def _settled(self) -> Values:
        return dict.fromkeys(self.cell.settled, ANY)

    @cached_property
    def _exact(self) -> list[Attribute | None]:
        """The column of each key; None for a class by position, which a value of the entry stands for."""
        return [key.attribute if key.points is None else None for key in self.cell.keys]

    @cached_property
    def _served(self) -> list[list[Any]]:
        """What the value that stands for each class by position is the value of."""
        return [
            [pair for pair in self.cell.apart if pair[0] == key.attribute] if key.apart else [key.attribute]
            for key in self._positions
        ]


def _combined(extremum: Extremum, values: Values) -> Any:
    shifted = [
        values[a] + s if s else values[a] for a, s in zip(extremum.attributes, extremum.shifts, strict=True)
    ]
    return max(shifted) if extremum.keep is Keep.LEAST else min(shifted)


@dataclass
class Table:
    """The tuples of a stream, or the partial matches of several, or what stands for them.

    ``changed`` are the buckets that changed since somebody cleared it, in order.
    """

    cells: tuple[Cell, ...]
    ring: Ring
    counts: dict[Bucket, Weight] = field(default_factory=dict)
    entries: dict[Bucket, Entries] = field(default_factory=dict)
    changed: dict[Bucket, None] = field(default_factory=dict, compare=False)

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layout of each cell."""
        return tuple(map(Layout, self.cells))

    @property
    def buckets(self) -> Iterable[Bucket]:
        """The buckets under which something is kept."""
        return self.entries if self.ring.idempotent else self.counts

    def add(self, values: Values, weight: Weight = 1) -> None:
        """Take in a tuple or partial match of a weight."""
        for number, layout in enumerate(self.layouts):
            if layout.accepts(values):
                bucket = (number, layout.bucket(values))
                self.put(bucket, weight, layout.subkey(values), layout.entry(values))

    def put(self, bucket: Bucket, weight: Weight, subkey: tuple[Any, ...], entry: tuple[Any, ...]) -> None:
        """Take in what is filed under a key, with its weight."""
        if not self.ring.idempotent:
            self._count(bucket, weight)
        # Under classes by position a value that stands for them is needed as well as the count.
        if entry or self.ring.idempotent:
            self._file(bucket, {subkey: entry})

    def _count(self, bucket: Bucket, weight: Weight) -> None:
        self.ring.put(self.counts, bucket, weight)
        self.changed[bucket] = None

    def _file(self, bucket: Bucket, entries: Entries) -> None:
        stored, layout = self.entries.get(bucket, {}), self.layouts[bucket[0]]
        filed = dict(stored)
        for subkey, entry in entries.items():
            filed[subkey] = layout.together(filed[subkey], entry) if subkey in filed else entry
        if len(filed) > 1 and filed != stored:
            filed = layout.undominated(filed)
        # What is held already changes nothing: whatever those tuples answer has been answered.
        if filed != stored:
            self.entries[bucket] = filed
            self.changed[bucket] = None

    def merge(self, table: Table) -> None:
        """Take in the table of other tuples or partial matches of the same streams."""
        for bucket, count in table.counts.items():
            self._count(bucket, count)
        for bucket, entries in table.entries.items():
            self._file(bucket, entries)

    def representatives(self, bucket: Bucket) -> Iterator[tuple[Values, Weight]]:
        """(values, weight) of what stands for each entry of a bucket."""
        number, key = bucket
        layout, weight = self.layouts[number], self.counts.get(bucket, self.ring.one)
        for subkey, entry in self.entries.get(bucket, _NOTHING).items():
            yield layout.representative(key, subkey, entry), weight

    @property
    def stored_units(self) -> int:
        """Stored values and counts at this moment."""
        if not self.ring.idempotent:
            return len(self.counts)
        return sum(len(entries) * self.cells[number].width for (number, _), entries in self.entries.items())


_NOTHING: Entries = {(): ()}


def accepts(synopsis: StreamSynopsis, row: Tuple) -> bool:
    """Whether a tuple of the stream can be part of an answer at all."""
    return (
        all(row[a.column] is not None for a in synopsis.required)
        and passes(synopsis.filters, row)
        and all(c.op.holds(row[c.attribute.column], c.value) for c in synopsis.derived)
        and all(row[a.column] in values for a, values in synopsis.members)
    )


def accepted(synopsis: StreamSynopsis, rows: Iterable[Tuple]) -> Iterator[Values]:
    """Of tuples of the stream that can be part of an answer, what may matter to it."""
    return ({a: row[a.column] for a in synopsis.carried} for row in rows if accepts(synopsis, row))


def _escapes(mine: tuple[Any, ...], entries: list[tuple[Any, ...]], slots: list[int]) -> bool:
    """Whether forbidden values can hit every other entry but not this one."""
    if not entries:
        return True
    first = entries[0]
    for index, slot in enumerate(slots):
        if first[slot] != mine[slot]:
            unhit = [o for o in entries if o[slot] != first[slot]]
            if _escapes(mine, unhit, slots[:index] + slots[index + 1 :]):
                return True
    return False


def op_between(op: Op, left: Any, right: Any) -> bool:
    """A comparison between two representatives' columns."""
    if left is ANY or right is ANY:
        return True
    return left is not None and right is not None and op.holds(left, right)
