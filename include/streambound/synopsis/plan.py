"""The compact plan: per stream the tables that stand for all of its tuples.

A plan never keeps tuples, it keeps *representatives*: rows that no tuple of another stream can
tell from the tuples that they stand for, so that the query's own comparisons between streams,
evaluated on representatives, give the answer (Schiff & Özçep: Q(t) = Q(Syn(t))).

The tuples of a stream that pass its filters fall into *cells* by local conditions. In a cell a
tuple is filed under its *keys*: columns of which only finitely many classes matter (Arasu et al.,
Theorem 4.2: bounded attributes, clipped to what their partners can tell apart). Under a key a
duplicate-preserving plan counts; a duplicate-eliminating one keeps the extremum of the columns
that wait for one and the same set of partners (Theorem 5.2), or only that there was a tuple.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod

from streambound.query.model import Atom, Attribute, Comparison, Op, Query
from streambound.query.values import Value

# A comparison of an occurrence's own column (left) with one of another occurrence.
Pair = tuple[Attribute, Op, Attribute]


@dataclass(frozen=True)
class Condition:
    """A comparison of a column with an encoded constant that no user wrote: derived, or of a cell."""

    attribute: Attribute
    op: Op
    value: Value

    def __str__(self) -> str:
        return f"{self.attribute} {self.op.value} {self.value}"


@dataclass(frozen=True)
class Key:
    """A column and the classes of its values.

    Without ``points`` the class is the value itself, raised to ``low`` and cut to ``high``; with
    ``alike`` both sides outside are one class. With ``points`` (sorted) it is the position among
    them: 2i below point i, 2i + 1 at it; a key ``apart`` has the values of static or other finite
    columns for points and serves the comparisons with those alone. ``size`` is the number of classes.
    """

    attribute: Attribute
    size: int
    low: Value | None = None
    high: Value | None = None
    alike: bool = False
    points: tuple[Value, ...] | None = None
    apart: bool = False


class Keep(Enum):
    """Which end of a column is kept."""

    LEAST = "min"
    GREATEST = "max"

    @property
    def other(self) -> Keep:
        """The other end."""
        return Keep.GREATEST if self is Keep.LEAST else Keep.LEAST


@dataclass(frozen=True)
class Extremum:
    """Columns that wait for one set of partners, and which end of them is kept.

    ``LEAST``: the columns must be below their partners; of a tuple the greatest counts, and of
    several tuples the least such. ``shifts`` turns ``<`` into ``<=`` for discrete columns: the
    column counts as value + shift. ``mixed`` columns (dense, some compared strictly) cannot be
    shifted: tuples are told apart by which columns attain their greatest.
    """

    keep: Keep
    attributes: tuple[Attribute, ...]
    shifts: tuple[Value, ...]
    mixed: bool = False


@dataclass(frozen=True)
class Cell:
    """A part of the tuples of a stream, or of the partial matches of several, and how its table is laid out.

    Duplicate-preserving, they are counted by ``keys``. Duplicate-eliminating, of those that no other serves
    in all ``extrema`` are kept either ends of columns, or one real match (the values of ``whole``): at most
    ``points`` for each key, times two for each comparison ``<>`` of the ``unequal`` columns (with the number
    of comparisons of each). ``follow`` are columns whose comparisons follow from others in this cell: an end
    of them is kept for evaluation. ``context`` restricts which representatives of other streams those of
    this cell meet: what must be kept of a tuple may depend on where its partner lies. ``settled`` are the
    comparisons with other occurrences that hold for every tuple of this cell: representatives are not asked,
    since of such columns they need not be faithful. ``apart`` are those that a key apart serves. ``same``
    are columns that always equal a key.
    """

    conditions: tuple[Condition, ...]
    keys: tuple[Key, ...]
    extrema: tuple[Extremum, ...] = ()
    follow: tuple[tuple[Attribute, Keep], ...] = ()
    unequal: tuple[tuple[Attribute, int], ...] = ()
    context: tuple[Condition, ...] = ()
    settled: frozenset[Pair] = frozenset()
    apart: frozenset[Pair] = frozenset()
    same: tuple[tuple[Attribute, Attribute], ...] = ()
    whole: tuple[Attribute, ...] | None = None
    points: int = 1

    @property
    def width(self) -> int:
        """Stored values or counts of one entry."""
        if self.whole is not None:
            return max(1, len(self.whole))
        ends = sum(len(e.attributes) if e.mixed else 1 for e in self.extrema)
        return max(1, ends + len(self.follow) + len(self.unequal))

    @property
    def units(self) -> int:
        """Keys times entries times width: the worst case of the table."""
        patterns = prod(2 ** len(e.attributes) - 1 for e in self.extrema if e.mixed)
        entries = patterns * self.points * 2 ** sum(count for _, count in self.unequal)
        return int(prod(key.size for key in self.keys) * entries * self.width)


@dataclass(frozen=True)
class StreamSynopsis:
    """What is kept of one occurrence of a stream.

    A tuple counts if its ``required`` columns are not NULL and it passes ``filters`` (the user's),
    ``derived`` (bounds that follow) and ``members`` (columns that equal an enumerated or a static
    column, with the values that can match); of it the ``carried`` columns may matter to an answer.
    """

    alias: str
    filters: tuple[Atom, ...]
    required: tuple[Attribute, ...]
    derived: tuple[Condition, ...]
    members: tuple[tuple[Attribute, tuple[Value, ...]], ...]
    carried: tuple[Attribute, ...]
    cells: tuple[Cell, ...]

    @property
    def units(self) -> int:
        """The sum over the cells."""
        return sum(cell.units for cell in self.cells)


@dataclass(frozen=True)
class Plan:
    """How a bounded query is evaluated in one pass.

    ``joins`` are the comparisons between occurrences, to be evaluated on representatives and
    static rows. A ``stateless`` plan keeps nothing: each tuple of its one stream is answered at
    once. ``empty`` means that the answer is always empty.
    """

    query: Query
    joins: tuple[Comparison, ...]
    synopses: tuple[StreamSynopsis, ...]
    stateless: bool = False
    empty: bool = False

    @property
    def units(self) -> int:
        """Stored values and counts in the worst case."""
        return 0 if self.stateless or self.empty else sum(s.units for s in self.synopses)

    def synopsis(self, alias: str) -> StreamSynopsis:
        """The synopsis of an occurrence; KeyError if it has none."""
        for synopsis in self.synopses:
            if synopsis.alias == alias:
                return synopsis
        raise KeyError(alias)
