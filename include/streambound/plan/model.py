"""The compact plan: the tables that stand for all tuples of the streams.

A plan never keeps tuples, it keeps *representatives*: rows that no tuple of another stream can
tell from the tuples that they stand for, so that the query's own comparisons between streams,
evaluated on representatives, give the answer (Schiff & Özçep: Q(t) = Q(Syn(t))).

The tuples of a stream that pass its filters fall into *cells* by local conditions. In a cell a
tuple is filed under its *keys*: columns of which only finitely many classes matter (Arasu et al.,
Theorem 4.2: bounded attributes, clipped to what their partners can tell apart). Under a key a
duplicate-preserving plan counts; a duplicate-eliminating one keeps the extremum of the columns
that wait for one and the same set of partners (Theorem 5.2), or only that there was a tuple.

Where application timestamps are compared, streams that precede others in time come first, so what has to be
remembered are *partial matches* of sets of streams that are closed under "precedes" and linked by time
conditions (other sets are products of those): a choice of one tuple for each that meets all conditions among
them. A partial match is a tuple of a wider stream, so its table is laid out like that of a stream. Without
conditions on time every set is a single stream.

When composites enter (see ``clock``), new partial matches of a set W are, over all non-empty parts X
of it that enter now, the products of what is kept of the linked parts of W without X, and of X. An
answer is such a match of all streams (Schiff & Özçep, section 4, whose synopses these generalise).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any, ClassVar, Literal

from streambound.plan.clock import Clock, Composite
from streambound.plan.ending import Ending
from streambound.query.column_types import Value
from streambound.query.model import Atom, Attribute, Join, Op, Query, Relation

# A comparison of an occurrence's own column (left) with one of another occurrence.
Pair = tuple[Attribute, Op, Attribute]
Streams = frozenset[str]


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
    def max_units(self) -> int:
        """Keys times entries times width: the worst case of the table."""
        patterns = prod(2 ** len(e.attributes) - 1 for e in self.extrema if e.mixed)
        entries = patterns * self.points * 2 ** sum(count for _, count in self.unequal)
        return int(prod(key.size for key in self.keys) * entries * self.width)


@dataclass(frozen=True)
class StreamSynopsis:
    """What counts of one occurrence of a stream.

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


@dataclass(frozen=True)
class Split:
    """A way to make a match: ``new`` composites with kept partial matches of each set in ``kept``."""

    new: tuple[Composite, ...]
    kept: tuple[Streams, ...]


@dataclass(frozen=True)
class TablePlan:
    """What is kept of the partial matches of a set of streams.

    ``ages`` has for some of the streams how many of their last timestamps are told apart, and for
    how long (see ``Clock.margin``); ``splits`` are the ways in which new matches are made.
    """

    streams: tuple[str, ...]
    cells: tuple[Cell, ...]
    ages: tuple[tuple[str, int, int], ...]
    splits: tuple[Split, ...]

    @property
    def max_units(self) -> int:
        """The sum over the cells, for every combination of ages."""
        return prod(number + 1 for _, number, _ in self.ages) * sum(cell.max_units for cell in self.cells)


@dataclass(frozen=True)
class Buffer:
    """Tuples of a stream that are held as they came for ``hold``, and before that until their timestamp is
    complete, ``late`` after it: ``ticks`` timestamps in all.

    ``rows`` is the declared number of tuples at each timestamp, ``most`` what a rate says of all of them
    together; a tuple takes ``width`` units.
    """

    alias: str
    relation: str
    hold: int
    ticks: int
    width: int
    rows: int | None
    most: int | None = field(default=None, compare=False)
    late: int = 0

    def max_units(self, rows: int | None) -> int:
        """Stored values with so many tuples at each timestamp; None where a rate alone is declared."""
        return _least(self.ticks, rows, self.most) * self.width

    def formula(self, relations: Mapping[str, Relation]) -> str:
        """How many where none is declared; by name the relations."""
        return f"{self.width} x rows of {self.relation} {relations[self.relation].within(self.ticks)}"


def _least(ticks: int, rows: int | None, most: int | None) -> int:
    """The least of the bounds of a number of tuples, of which there is one."""
    return min(bound for bound in (None if rows is None else ticks * rows, most) if bound is not None)


@dataclass(frozen=True)
class Remembered:
    """The answer rows of a DISTINCT query that may come again: at most ``number``, for each choice of
    a tuple of the ``recent`` ones of some streams: (stream, timestamps, declared tuples at each).

    ``most`` is what a rate says of each of these, None where none is declared.
    """

    number: int = 0
    recent: tuple[tuple[str, int, int | None], ...] = ()
    most: tuple[int | None, ...] = field(default=(), compare=False)

    def size(self, rows: Mapping[str, int | None]) -> int:
        """How many there are with so many tuples at each timestamp."""
        return self.number * prod(_least(ticks, rows[name], most) for (name, ticks, _), most in self.rated)

    @property
    def rated(self) -> list[tuple[tuple[str, int, int | None], int | None]]:
        """The recent ones, each with what a rate says of them."""
        return list(zip(self.recent, self.most or [None] * len(self.recent), strict=True))

    def formula(self, relations: Mapping[str, Relation]) -> str:
        """How many there are where tuples at a timestamp are not declared; by name the relations."""
        factors, number = [], self.number
        for (relation, ticks, declared), most in self.rated:
            if declared is None and most is None:
                factors.append(f"rows of {relation} {relations[relation].within(ticks)}")
            else:
                number *= _least(ticks, declared, most)
        return " x ".join([str(number)] * (number > 1 or not factors) + factors)


def sum_of(formulas: Iterable[str]) -> str:
    """Formulas added up; those of the same rows are one.

    >>> sum_of(["5", "2 x rows of S within 1 hour", "rows of S within 1 hour", "3"])
    '8 + 3 x rows of S within 1 hour'
    """
    numbers, products = dict[str, int](), list[str]()
    for formula in formulas:
        if "(" in formula:
            products.append(formula)
            continue
        for term in formula.split(" + "):
            number, _, rows = term.partition(" x ") if term[0].isdigit() else ("1", "", term)
            numbers[rows] = numbers.get(rows, 0) + int(number)
    counted = numbers.items()
    terms = [rows if rows and n == 1 else f"{n} x {rows}".removesuffix(" x ") for rows, n in counted]
    return " + ".join([*terms, *products])


@dataclass(frozen=True)
class Plan:
    """How a bounded query is evaluated in one pass.

    ``joins`` are the comparisons between streams other than of timestamps, to be evaluated on
    representatives and static rows; ``streams`` say which tuples count at all, ``synopses`` what is kept.
    ``answers`` are the ways in which a match of all streams comes about: at a timestamp, or without time as
    one stream is taken in after the other. A row of a DISTINCT
    query is new if it did not follow from what was kept before, or where that does not say so, if it is not
    ``remembered`` as answered. Where the timestamp of a stream is projected, a row is forgotten once it
    cannot come again; ``linger`` is for how long after such a timestamp a row may come again at least (other
    parts of a statement may have it later). ``empty`` means that the answer is always empty. With an
    ``ending`` all tuples are kept until streams end, and what to keep then is planned then.
    """

    query: Query
    clock: Clock
    joins: tuple[Join, ...] = ()
    streams: tuple[StreamSynopsis, ...] = ()
    synopses: tuple[TablePlan, ...] = ()
    answers: tuple[Split, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    remembered: Remembered | None = None
    linger: int = 0
    empty: bool = False
    # Follows from the query, and says all that there is to say of such a plan.
    ending: Ending | None = field(default=None, compare=False)
    approximate: ClassVar[Literal[False]] = False

    @property
    def timed(self) -> bool:
        """Whether tuples have to be taken in by their timestamps."""
        return bool(self.clock.conditions) or self.remembered is not None or self.ending is not None

    @property
    def stateless(self) -> bool:
        """Whether nothing is kept: each tuple of its one stream is answered at once."""
        return len(self.streams) == 1 and not (self.timed or self.synopses)

    @property
    def max_units(self) -> int | None:
        """Stored values and counts in the worst case; None if rows at a timestamp are not declared, or
        streams have to end first.
        """
        if self.undeclared or self.ending is not None:
            return None
        return self.size({name: rows for name, rows, _ in self._sizing})

    @property
    def ends(self) -> dict[int, int]:
        """The outputs after whose timestamp a row cannot come again, and how long after."""
        if self.ending is not None:
            return self.ending.ends
        if self.remembered is None or self.empty:
            return {}
        terms = ((position, output.term) for position, output in enumerate(self.query.select))
        return {
            position: max(self.linger, self.clock.reach(term.occurrence))
            for position, term in terms
            if isinstance(term, Attribute) and self.query.is_timestamp(term)
        }

    def until(self, row: tuple[Any, ...]) -> int | None:
        """The last moment at which an answered row (encoded) can come again; None if there is none."""
        return min((row[position] + after for position, after in self.ends.items()), default=None)

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The streams whose number of tuples at a timestamp sizes the state and is not declared."""
        return tuple(dict.fromkeys(n for n, rows, most in self._sizing if rows is None and most is None))

    @property
    def _sizing(self) -> list[tuple[str, int | None, int | None]]:
        buffered = [(b.relation, b.rows, b.most) for b in self.buffers]
        remembered = [] if self.remembered is None else self.remembered.rated
        return buffered + [(relation, rows, most) for (relation, _, rows), most in remembered]

    def extreme(self, alias: str) -> int | None:
        """For how long before the end of a batch all tuples of a stream are needed, beside the first and the
        last of those that differ in time alone; None if all are.

        Where answers are asked for at the end of a batch of many timestamps these two stand for all: a match
        with another is one with the first if the stream only precedes others, with the last if it only
        follows. What is held, or told apart by its timestamp, is needed as it is.
        """
        if self.ending is not None:
            return None
        own = [order for order in self.clock.orders if alias in (order.early, order.late)]
        sides = {order.early == alias for order in own}
        projected = any(a.occurrence == alias and self.query.is_timestamp(a) for a in self.query.projected)
        if not self.query.ring.idempotent or projected or len(sides) > 1:
            return None
        if any(order.op is Op.NE for order in own):
            return None
        ages = (margin for s in self.synopses for stream, _, margin in s.ages if stream == alias)
        return max(self.clock.hold(alias), *ages, 0)

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The relations that are read, by name."""
        return {o.relation.name: o.relation for o in self.query.occurrences}

    @property
    def tables(self) -> int:
        """The units of all tables."""
        return sum(synopsis.max_units for synopsis in self.synopses)

    def size(self, rows: Mapping[str, int | None]) -> int:
        """Units with so many tuples at each timestamp of the relations that are held."""
        buffered = sum(buffer.max_units(rows[buffer.relation]) for buffer in self.buffers)
        return self.tables + buffered + (0 if self.remembered is None else self.remembered.size(rows))

    @property
    def formula(self) -> str:
        """The units where they depend on what is not declared, or not known yet."""
        if self.ending is not None:
            return self.ending.formula
        buffered = [
            str(b.max_units(b.rows))
            if b.rows is not None or b.most is not None
            else b.formula(self.relations)
            for b in self.buffers
        ]
        some = self.remembered is not None and self.remembered.number
        remembered = [self.remembered.formula(self.relations)] if self.remembered and some else []
        return sum_of([str(self.tables)] * bool(self.tables) + buffered + remembered)
