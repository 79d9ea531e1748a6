"""The state of a plan: its tables, how a tuple enters them, and how two states merge.

A table maps (cell, key) to what is kept there: a count, or the *ends* (least or greatest values)
of some columns, once for each combination of values of the columns that take part in ``<>``.

Law: ``merge`` is associative and commutative, and the state of two bags of tuples together is the
merge of their states, so partitions are summarised in any order and in parallel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from streambound.query.conditions import holds
from streambound.query.model import Atom, Attribute, Join, Membership, Never, NullTest, Op
from streambound.query.ring import Ring, Weight
from streambound.query.values import Value
from streambound.synopsis.keys import position
from streambound.synopsis.plan import Cell, Condition, Keep, Key, Plan, StreamSynopsis

Tuple = Mapping[str, Any]
Bucket = tuple[int, tuple[Any, ...]]


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
        return left is not None and right is not None and holds(atom.op, left, right)
    left, constant = row[atom.attribute.column], atom.constant.value
    return left is not None and constant is not None and holds(atom.op, left, constant)


def meets_conditions(conditions: Iterable[Condition], row: Tuple) -> bool:
    """Whether a tuple meets conditions of the plan's own."""
    return all(holds(c.op, row[c.attribute.column], c.value) for c in conditions)


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
    """How the entries of one cell are made: which ends of which columns are kept, in order."""

    cell: Cell
    ends: tuple[tuple[Attribute | None, Keep], ...]

    def bucket(self, row: Tuple) -> tuple[Any, ...]:
        """The key of a tuple; mixed extrema add which columns attain the greatest (least)."""
        key = tuple(class_of(k, row[k.attribute.column]) for k in self.cell.keys)
        extremum = self.cell.extremum
        if extremum is None or not extremum.mixed:
            return key
        values = [row[a.column] for a in extremum.attributes]
        best = max(values) if extremum.keep is Keep.LEAST else min(values)
        return (*key, tuple(value == best for value in values))

    def entry(self, row: Tuple) -> tuple[Any, ...]:
        """The ends of a single tuple."""
        return tuple(self._combined(row) if a is None else row[a.column] for a, _ in self.ends)

    def _combined(self, row: Tuple) -> Any:
        extremum = self.cell.extremum
        assert extremum is not None
        shifted = [
            row[a.column] + s if s else row[a.column]
            for a, s in zip(extremum.attributes, extremum.shifts, strict=True)
        ]
        return max(shifted) if extremum.keep is Keep.LEAST else min(shifted)

    def unequal(self, row: Tuple) -> tuple[Any, ...]:
        """The values of the columns that take part in ``<>`` between streams."""
        return tuple(row[a.column] for a, _ in self.cell.unequal)

    def better(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        """The ends of two entries together."""
        return tuple(
            min(a, b) if keep is Keep.LEAST else max(a, b)
            for a, b, (_, keep) in zip(one, other, self.ends, strict=True)
        )

    def as_good(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        """Whether an entry with ends ``one`` joins with all partners of one with ``other``, ``<>`` aside.

        What other ends are compared with follows from the extremum; of a mixed one only the columns count
        that attain it.
        """
        extremum = self.cell.extremum
        if extremum is None:
            return True
        width = len(extremum.attributes) if extremum.mixed else 1
        least = extremum.keep is Keep.LEAST
        mine, others = (max(e[:width]) if least else min(e[:width]) for e in (one, other))
        return bool(mine <= others if least else mine >= others)

    def representative(
        self, key: tuple[Any, ...], unequal: tuple[Any, ...], ends: tuple[Any, ...]
    ) -> dict[str, Any]:
        """The column values of an entry's representative; columns not named are ANY.

        Values of ``<>`` columns have names of their own: an extremum gives such a column the value that
        serves its other comparisons.
        """
        if not ends and not unequal:
            return dict(zip(self._columns, key, strict=True))
        # A mixed extremum adds its pattern to the key.
        values = {name: value for name, value in zip(self._keys, key, strict=False) if name is not None}
        values.update(zip(self._names, ends, strict=True))
        values.update(zip(self._apart, unequal, strict=True))
        extremum = self.cell.extremum
        if extremum is not None and not extremum.mixed:
            end = values.pop(_COMBINED)
            for a, shift in zip(extremum.attributes, extremum.shifts, strict=True):
                values[a.column] = end - shift if shift else end
        return values

    @cached_property
    def _keys(self) -> list[str | None]:
        """The column of each key; None for a class by position, whose representative is an end."""
        return [key.attribute.column if key.points is None else None for key in self.cell.keys]

    @cached_property
    def _columns(self) -> list[str]:
        """The column of each key."""
        return [key.attribute.column for key in self.cell.keys]

    @cached_property
    def _apart(self) -> list[str]:
        """The name under which a representative has each value of a ``<>`` column."""
        return [unequal_name(a.column) for a, _ in self.cell.unequal]

    @cached_property
    def _names(self) -> list[str]:
        """The name under which a representative has each end."""
        points = [key for key in self.cell.keys if key.points is not None]
        main = [_COMBINED if a is None else a.column for a, _ in self.ends[: len(self.ends) - len(points)]]
        return main + [apart_name(k.attribute.column) if k.apart else k.attribute.column for k in points]


_COMBINED = "(combined)"


def apart_name(column: str) -> str:
    """The name of a column's representative for the comparisons that a key apart serves."""
    return f"{column} (apart)"


def unequal_name(column: str) -> str:
    """The name of a column's value for ``<>`` between streams."""
    return f"{column} (<>)"


def layout(cell: Cell) -> Layout:
    """The layout of a cell."""
    ends: list[tuple[Attribute | None, Keep]] = []
    if cell.extremum is not None:
        if cell.extremum.mixed:
            ends.extend((a, cell.extremum.keep) for a in cell.extremum.attributes)
        else:
            ends.append((None, cell.extremum.keep))
    ends.extend(cell.follow)
    ends.extend((key.attribute, Keep.LEAST) for key in cell.keys if key.points is not None)
    return Layout(cell, tuple(ends))


# What is kept under a key: a count, or in an idempotent ring ends by the values of <> columns.
Entries = dict[tuple[Any, ...], tuple[Any, ...]]


@dataclass
class Table:
    """The state of one stream occurrence."""

    synopsis: StreamSynopsis
    ring: Ring
    counts: dict[Bucket, Weight] = field(default_factory=dict)
    entries: dict[Bucket, Entries] = field(default_factory=dict)
    layouts: tuple[Layout, ...] = ()

    def __post_init__(self) -> None:
        self.layouts = self.layouts or tuple(layout(cell) for cell in self.synopsis.cells)

    def add(self, row: Tuple) -> None:
        """Take in one tuple, given as encoded values by column."""
        if not accepts(self.synopsis, row):
            return
        for number, shape in enumerate(self.layouts):
            if not meets_conditions(shape.cell.conditions, row):
                continue
            bucket = (number, shape.bucket(row))
            if not self.ring.idempotent:
                # Under classes by position a representative value is needed as well as the count.
                self.add_count(bucket, self.ring.one, shape.entry(row))
            else:
                self.add_entry(bucket, shape.unequal(row), shape.entry(row))

    def add_count(self, bucket: Bucket, count: Weight, ends: tuple[Any, ...]) -> None:
        """Count tuples under a key."""
        self.ring.put(self.counts, bucket, count)
        if ends:
            self._join_ends(bucket, (), ends)

    def add_entry(self, bucket: Bucket, unequal: tuple[Any, ...], ends: tuple[Any, ...]) -> None:
        """Keep the ends of tuples under a key, dropping entries that others serve."""
        self._join_ends(bucket, unequal, ends)
        if unequal:
            self.entries[bucket] = irredundant(self.layouts[bucket[0]], self.entries[bucket])

    def _join_ends(self, bucket: Bucket, unequal: tuple[Any, ...], ends: tuple[Any, ...]) -> None:
        held = self.entries.setdefault(bucket, {})
        shape = self.layouts[bucket[0]]
        held[unequal] = shape.better(held[unequal], ends) if unequal in held else ends

    def merge(self, other: Table) -> list[Bucket]:
        """Take in the state of other tuples of the same stream; returns the buckets that this changed.

        Ends that are held already change nothing: whatever those tuples answer has been answered.
        """
        before = {bucket: Entries(self.entries.get(bucket, ())) for bucket in other.entries}
        for bucket, held in other.entries.items():
            for unequal, ends in held.items():
                self._join_ends(bucket, unequal, ends)
            if any(held):
                self.entries[bucket] = irredundant(self.layouts[bucket[0]], self.entries[bucket])
        if self.ring.idempotent:
            return [bucket for bucket, held in before.items() if self.entries[bucket] != held]
        for bucket, count in other.counts.items():
            self.ring.put(self.counts, bucket, count)
        return list(other.counts)

    def representatives(self, bucket: Bucket) -> list[tuple[dict[str, Any], Weight]]:
        """(column values, weight) of every entry of a bucket."""
        number, key = bucket
        shape, held = self.layouts[number], self.entries.get(bucket)
        weight = self.counts.get(bucket, self.ring.one)
        if held is None:
            return [(shape.representative(key, (), ()), weight)]
        return [(shape.representative(key, unequal, ends), weight) for unequal, ends in held.items()]

    @property
    def units(self) -> int:
        """Stored values and counts at this moment."""
        if not self.ring.idempotent:
            return len(self.counts)
        return sum(
            len(held) * max(1, len(unequal) + sum(a not in self._points(number) for a, _ in shape.ends))
            for (number, _), held in self.entries.items()
            for shape in (self.layouts[number],)
            for unequal in (shape.cell.unequal,)
        )

    def _points(self, number: int) -> set[Attribute]:
        # The representative of a class by position stands for the class itself: it is the key.
        return {key.attribute for key in self.layouts[number].cell.keys if key.points is not None}


def accepts(synopsis: StreamSynopsis, row: Tuple) -> bool:
    """Whether a tuple of the stream can be part of an answer at all."""
    return (
        all(row[a.column] is not None for a in synopsis.required)
        and passes(synopsis.filters, row)
        and meets_conditions(synopsis.derived, row)
        and all(row[a.column] in values for a, values in synopsis.members)
    )


def irredundant(shape: Layout, entries: Entries) -> Entries:
    """The entries that the rest does not serve.

    An entry is served if for every choice of forbidden values that it avoids, some other entry with
    ends as good avoids them too. At most 2^m remain for m comparisons ``<>`` (skew Bollobás pairs).
    """
    slots = [i for i, (_, count) in enumerate(shape.cell.unequal) for _ in range(count)]
    kept = dict(entries)
    # The worst entries first, so that a chain keeps its best end; then by value, so that what remains does
    # not depend on the order in which entries came.
    for unequal in sorted(sorted(entries), key=lambda u: _rank(shape, entries, u), reverse=True):
        rest = [u for u in kept if u != unequal and shape.as_good(kept[u], kept[unequal])]
        if not escapes(unequal, rest, slots):
            del kept[unequal]
    return kept


def _rank(shape: Layout, entries: Entries, unequal: tuple[Any, ...]) -> int:
    """How many entries are strictly better."""
    mine = entries[unequal]
    return sum(shape.as_good(e, mine) and not shape.as_good(mine, e) for e in entries.values())


def escapes(mine: tuple[Any, ...], others: list[tuple[Any, ...]], slots: list[int]) -> bool:
    """Whether forbidden values can hit every other entry but not this one."""
    if not others:
        return True
    first = others[0]
    for index, slot in enumerate(slots):
        if first[slot] != mine[slot]:
            unhit = [o for o in others if o[slot] != first[slot]]
            if escapes(mine, unhit, slots[:index] + slots[index + 1 :]):
                return True
    return False


def fresh(plan: Plan) -> dict[str, Table]:
    """Empty tables for a plan, by occurrence."""
    return {s.alias: Table(s, plan.query.ring) for s in plan.synopses}


def units(tables: Mapping[str, Table]) -> int:
    """Stored values and counts of all tables."""
    return sum(table.units for table in tables.values())


def op_between(op: Op, left: Any, right: Any) -> bool:
    """A comparison between two representatives' columns."""
    if left is ANY or right is ANY:
        return True
    return left is not None and right is not None and holds(op, left, right)
