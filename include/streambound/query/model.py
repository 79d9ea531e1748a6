"""The frozen model: relations with their columns and domains, and select-project-join queries.

A query is ``SELECT [DISTINCT] outputs FROM occurrences WHERE atoms`` (a conjunction), as in
Arasu et al. section 2.2 and Schiff & Özçep Definition 4; its ring says what the weights of its rows are
(see ``ring``). Constants in it are encoded (see ``column_types``); attributes name an occurrence (the alias),
so a stream may occur more than once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING, Any

from streambound.errors import Location, UnsupportedError
from streambound.query.column_types import Family, Type, Value
from streambound.query.ring import Ring

if TYPE_CHECKING:
    from streambound.query.statement import Statement

# How rows of a query in FROM are called that has no name there.
SUB_QUERY = "sub_query"


class RelationKind(Enum):
    """How much of a relation there will ever be (Schiff & Özçep, Definitions 2 and 3)."""

    STREAM = "stream"
    FINITE = "finite"
    STATIC = "static"
    # Keyed and changing: its latest row of each key is what it holds.
    VERSIONED = "versioned"


@dataclass(frozen=True)
class Domain:
    """Declared values of a column, encoded: an interval (either end may be open) or an enumeration."""

    minimum: Value | None = None
    maximum: Value | None = None
    values: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class Column:
    """A column of a relation.

    A *derived* column is an expression ``of`` others of the same tuple (see ``derived``); ``onto`` says
    whether it takes every value of its domain, ``assumed`` whether it calls a function that is not known,
    and ``formula`` is the expression in Spark SQL (None: it cannot be computed; ``uncomputed`` may say why).
    A *bucket* is a monotone function of the application timestamp that is never so far from it
    (microseconds, or ticks): the ``start`` or ``end`` of a window, the ``floor`` of a day (``edge``).
    ``observed`` are values that rows had once: numbers for suggestions, and no promise. ``cardinality`` is
    how many different values it has at most, nobody knows which. A column ``within`` a time (encoded) is
    never before its stream's timestamp, and at most so long after it. Where a row is in several windows,
    ``bucket`` is their length; the value is that of the last one, and each other is ``slide`` before the
    next, or (``cumulative``) ends so before it.
    """

    name: str
    type: Type
    domain: Domain | None = None
    nullable: bool = True
    of: tuple[str, ...] = ()
    onto: bool = True
    assumed: bool = False
    bucket: int | None = None
    edge: str = ""
    # What is added to the one column that it is computed from, where that is all.
    shift: int = 0
    observed: Domain | None = None
    cardinality: int | None = None
    within: int | None = None
    formula: str | None = field(default=None, compare=False)
    uncomputed: str = field(default="", compare=False)
    slide: int | None = None
    cumulative: bool = False
    # Whether each of its values is computed from endless values, above and below any.
    fibres: bool = False

    @property
    def uncounted(self) -> str | None:
        """The promise about it that no evaluation of a history checks; None if there is none."""
        return "cardinality" if self.cardinality is not None else "times" if self.within is not None else None


# Microseconds of each granularity that a catalog may declare; a tick is one, whatever it stands for.
TICKS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "tick": 1,
}


def duration(text: str) -> int:
    """A number and a unit, such as ``2 days``, in microseconds."""
    number, unit = text.split()
    return int(Fraction(number) * TICKS[unit.removesuffix("s")])


def in_words(microseconds: int) -> str:
    """A length of time as people say it.

    >>> in_words(5_400_000_000), in_words(345_610_000_000)
    ('1 hour 30 minutes', '4 days 10 seconds')
    """
    words = []
    for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
        number, microseconds = divmod(microseconds, TICKS[unit])
        if number:
            words.append(f"{number:,} {unit}{'s' * (number > 1)}")
    return " ".join(words) or "no time"


# Formats of histories: files that this project reads itself, and tables that only Spark knows.
PARQUET, TABLE = "parquet", "table"


@dataclass(frozen=True)
class History:
    """Where the history lies: a folder or address, and the key of its partition folders.

    ``partition_by='date'`` means folders ``date=YYYY-MM-DD`` by UTC day of the application
    timestamp; any other key sorts by its text; None means files directly in the folder. Of the format
    ``table`` the path is the name of a table or view of Spark, and the key one of its columns.
    """

    path: str
    partition_by: str | None = None
    format: str = PARQUET

    @property
    def direct(self) -> bool:
        """Whether it is read without Spark's readers."""
        return self.format == PARQUET


@dataclass(frozen=True)
class Payload:
    """What a column of a source holds: rows as ``json`` or ``avro``.

    ``schema`` is that of Avro: a file beside the catalog, or its text. Of a payload that a schema registry
    frames, ``schema_id`` is the number that stands before it.
    """

    format: str
    column: str = "value"
    options: tuple[tuple[str, str], ...] = ()
    schema: str | None = None
    schema_id: int | None = None


@dataclass(frozen=True)
class Live:
    """A source of Spark's from which a stream arrives (see ``live_sources``).

    ``columns`` say where the source has what; ``lateness`` is in microseconds, or in ticks.
    """

    format: str
    options: tuple[tuple[str, str], ...] = ()
    value: Payload | None = None
    columns: tuple[tuple[str, str], ...] = ()
    epoch: str | None = None
    lateness: int = 0
    late: str = "refuse"
    malformed: str = "refuse"


@dataclass(frozen=True)
class Rate:
    """At most ``rows`` rows in each interval of ``length`` (encoded: ticks, or microseconds).

    The intervals are those that begin at whole multiples of the length: each hour or day of UTC. Without
    ``per``, the text of the catalog, they are single timestamps.
    """

    rows: int
    length: int = 1
    per: str | None = None

    def most(self, ticks: int, step: int) -> int:
        """The most rows at so many timestamps in a row, all multiples of a step.

        >>> Rate(50, 60, "60").most(60, 1), Rate(50, 60, "60").most(1, 60), Rate(50).most(3, 1)
        (100, 50, 150)
        """
        if ticks < 1:
            return 0
        # The first of them lies as late in its interval as it can.
        latest = self.length - gcd(self.length, step)
        return self.rows * ((latest + step * (ticks - 1)) // self.length + 1)


@dataclass(frozen=True)
class Relation:
    """A relation of the catalog: a stream, a finite stream, a static or a versioned relation."""

    name: str
    kind: RelationKind
    columns: tuple[Column, ...]
    timestamp: str | None = None
    granularity: str | None = None
    description: str = ""
    max_rows_per_timestamp: int | None = None
    allowed_lateness: str | None = None
    history: History | None = None
    live: Live | None = None
    primary_key: tuple[str, ...] = ()
    # Columns of types that are not supported, with their types: a query that reads one is refused.
    opaque: tuple[tuple[str, str], ...] = ()
    # The statement whose answers its rows are, where it is a sub-query or view that is not written out.
    fed: Statement | None = None
    rate: Rate | None = None

    @property
    def rates(self) -> tuple[Rate, ...]:
        """What is promised of numbers of rows: at each timestamp, and in each longer interval."""
        single = () if self.max_rows_per_timestamp is None else (Rate(self.max_rows_per_timestamp),)
        return single if self.rate is None else (*single, self.rate)

    @property
    def own(self) -> tuple[Column, ...]:
        """The columns that its rows have; the others are computed from them."""
        return tuple(column for column in self.columns if not column.of)

    @property
    def computed(self) -> tuple[Column, ...]:
        """The derived columns whose values can be computed."""
        return tuple(column for column in self.columns if column.of and column.formula is not None)

    def with_computed(self, relation: Relation) -> Relation:
        """The relation with the derived columns of another one as well, and those that lie within others.

        Raises:
            UnsupportedError: of one name they are computed differently, as in different dialects.
        """
        by_name = {column.name: column for column in self.columns}
        within = (column for column in relation.own if len(relation.path(column.name)) > 1)
        for column in (*within, *relation.computed):
            mine = by_name.setdefault(column.name, column)
            if (mine.formula, mine.type) != (column.formula, column.type):
                both = f"{mine.formula} in one query and {column.formula} in another"
                raise UnsupportedError(
                    f"{self.name}.{column.name} is {both}",
                    fix="evaluate queries of different dialects apart",
                )
        return self if len(by_name) == len(self.columns) else replace(self, columns=tuple(by_name.values()))

    def path(self, column: str) -> tuple[str, ...]:
        """The names by which a column lies within one that is not read whole; of others its own."""
        path = column.split(".")
        nested = len(path) > 1 and any(name == path[0] for name, _ in self.opaque)
        return tuple(path) if nested else (column,)

    def stored(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of its rows that some columns are, or are computed from; each once."""
        own = {column.name for column in self.own}

        def of(base: str) -> str:
            """The column that has it, or that it lies within."""
            while base not in own and "." in base:
                base = base.rpartition(".")[0]
            return base

        columns = dict.fromkeys(of(base) for name in names for base in self.column(name).of or (name,))
        return tuple(name for name in columns if name in own)

    def read(self, names: Iterable[str]) -> tuple[str, ...]:
        """Some columns with those that they are computed from; each once."""
        wanted = tuple(names)
        return tuple(dict.fromkeys((*wanted, *self.stored(wanted))))

    @property
    def lateness(self) -> int:
        """How far behind its latest row a row may still come, in units of the timestamp (encoded).

        0 for a stream that is read from a history alone: a partition that is late is put in its place there.
        """
        if self.live is not None:
            return self.live.lateness
        if self.timestamp is None or self.allowed_lateness is None or self.history is not None:
            return 0
        # A duration says nothing of ticks.
        timed = self.column(self.timestamp).type.family is Family.TIMESTAMP
        return duration(self.allowed_lateness) if timed else 0

    def most(self, ticks: int) -> int | None:
        """The most rows at so many timestamps in a row; None where nothing is promised of it."""
        bounds = [] if self.rate is None else [self.rate.most(ticks, self.tick)]
        if self.max_rows_per_timestamp is not None:
            bounds.append(ticks * self.max_rows_per_timestamp)
        return min(bounds, default=None)

    def within(self, ticks: int) -> str:
        """So many timestamps in a row, in words that say of rows when they came."""
        if ticks == 1:
            return "at a timestamp"
        if self.timestamp is None or self.column(self.timestamp).type.family is not Family.TIMESTAMP:
            return f"at {ticks:,} timestamps"
        # Where both ends of a condition count, an hour is one tick more.
        lengths = (in_words(number * self.tick) for number in (ticks, ticks - 1))
        return f"within {min(lengths, key=lambda words: words.count(' '))}"

    def unrated(self) -> Relation:
        """Without what is promised of numbers of rows, and of how whole timestamps are."""
        return replace(self, granularity=None, max_rows_per_timestamp=None, rate=None)

    def column(self, name: str) -> Column:
        """The column of that exact name.

        Raises:
            KeyError: there is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def tick(self) -> int:
        """What every application timestamp (encoded) is a multiple of: the granularity; of ticks 1."""
        if self.granularity is None or self.timestamp is None:
            return 1
        return TICKS[self.granularity] if self.column(self.timestamp).type.family is Family.TIMESTAMP else 1


@dataclass(frozen=True, order=True)
class Attribute:
    """A column of one occurrence of a relation in a query: ``S.A``."""

    occurrence: str
    column: str

    def __str__(self) -> str:
        return f"{self.occurrence}.{self.column}"


@dataclass(frozen=True)
class Constant:
    """A literal, encoded, with the text that the user wrote."""

    value: Value | None
    text: str
    type: Type

    def __str__(self) -> str:
        return self.text


Term = Attribute | Constant


class Op(Enum):
    """Comparison operators."""

    LT = "<"
    LE = "<="
    EQ = "="
    NE = "<>"
    GE = ">="
    GT = ">"

    @property
    def mirrored(self) -> Op:
        """The operator with its sides exchanged."""
        return _MIRRORED[self]

    @property
    def negated(self) -> Op:
        """The operator that holds of two values exactly where this one does not."""
        return _NEGATED[self]

    def holds(self, left: Value, right: Value) -> bool:
        """Whether two encoded, non-NULL values of one family compare so."""
        return bool(self.compared(left, right))

    @property
    def compared(self) -> Callable[[Any, Any], Any]:
        """Whether it holds of two values, or of arrays element by element."""
        return _COMPARED[self]


_COMPARED: dict[Op, Callable[[Any, Any], Any]] = {
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.GE: operator.ge,
    Op.GT: operator.gt,
}
_NEGATED = {Op.LT: Op.GE, Op.LE: Op.GT, Op.EQ: Op.NE, Op.NE: Op.EQ, Op.GE: Op.LT, Op.GT: Op.LE}
_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.EQ: Op.EQ, Op.NE: Op.NE, Op.GE: Op.LE, Op.GT: Op.LT}


def is_null(term: object) -> bool:
    """Whether a term is the constant NULL."""
    return isinstance(term, Constant) and term.value is None


@dataclass(frozen=True)
class Filter:
    """``attribute op constant``; never true where the attribute is NULL. The constant is not."""

    attribute: Attribute
    op: Op
    constant: Constant
    location: Location = field(compare=False, default=Location(1, 1))

    def __str__(self) -> str:
        return f"{self.attribute} {self.op.value} {self.constant}"

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attribute compared."""
        return (self.attribute,)


@dataclass(frozen=True)
class Join:
    """``left op right + offset``, columns of one occurrence or of two; never true where a side is NULL.

    An offset (encoded: ticks, or microseconds) occurs between application timestamps of two occurrences only;
    between other columns it is moved into derived ones (see ``offsets``).
    """

    left: Attribute
    op: Op
    right: Attribute
    location: Location = field(compare=False, default=Location(1, 1))
    offset: int = 0
    offset_text: str = field(compare=False, default="")
    # The second times that it only follows from, by promises, and whether it bounds each from below.
    follows: tuple[tuple[str, bool], ...] = field(compare=False, default=())

    def __str__(self) -> str:
        return f"{self.left} {self.op.value} {self.right}{self.offset_text}"

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The two attributes compared."""
        return (self.left, self.right)


@dataclass(frozen=True)
class Membership:
    """``attribute IN (values)``; never true where the attribute is NULL."""

    attribute: Attribute
    values: tuple[Constant, ...]
    location: Location = field(compare=False, default=Location(1, 1))

    def __str__(self) -> str:
        return f"{self.attribute} IN ({', '.join(value.text for value in self.values)})"

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attribute tested."""
        return (self.attribute,)


@dataclass(frozen=True)
class Never:
    """A condition that is false or NULL for every tuple, such as ``1 = 2`` or ``S.A = NULL``."""

    text: str
    location: Location = field(compare=False, default=Location(1, 1))
    attributes: tuple[Attribute, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class NullTest:
    """``attribute IS NULL`` or ``attribute IS NOT NULL``."""

    attribute: Attribute
    null: bool
    location: Location = field(compare=False, default=Location(1, 1))

    def __str__(self) -> str:
        return f"{self.attribute} IS {'' if self.null else 'NOT '}NULL"

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attribute tested."""
        return (self.attribute,)


Atom = Filter | Join | Membership | NullTest | Never


@dataclass(frozen=True)
class Occurrence:
    """One mention of a relation in FROM, under its alias."""

    alias: str
    relation: Relation
    location: Location = field(compare=False, default=Location(1, 1))


@dataclass(frozen=True)
class Output:
    """A projected column or constant, and the name of the answer column."""

    name: str
    term: Term
    location: Location = field(compare=False, default=Location(1, 1))
    # Shown only within an expression over several tuples: the row has no more of it than that.
    within: bool = False
    # Which column of the answer it is, or is a part of.
    item: int = field(compare=False, default=0)
    # How much more than the value of the row its term is: conditions compare that, or it is a time moved.
    moved: int | Fraction = 0


class Reads:
    """What is read, by its kind, in the order of ``occurrences``."""

    if TYPE_CHECKING:

        @property
        def occurrences(self) -> tuple[Occurrence, ...]:
            """What FROM names."""

    @property
    def streams(self) -> tuple[Occurrence, ...]:
        """The occurrences of infinite streams."""
        return tuple(o for o in self.occurrences if o.relation.kind is RelationKind.STREAM)

    @property
    def arriving(self) -> tuple[Occurrence, ...]:
        """The occurrences of infinite and finite streams."""
        return tuple(o for o in self.occurrences if o.relation.kind is not RelationKind.STATIC)

    @property
    def statics(self) -> tuple[Occurrence, ...]:
        """The occurrences of static relations."""
        return tuple(o for o in self.occurrences if o.relation.kind is RelationKind.STATIC)


@dataclass(frozen=True)
class Query(Reads):
    """A select-project-join query over streams and static relations.

    A match weighs the product of the columns ``weight``, which are not NULL; without any it weighs one.
    """

    name: str
    sql: str
    ring: Ring
    select: tuple[Output, ...]
    occurrences: tuple[Occurrence, ...]
    where: tuple[Atom, ...]
    metadata: tuple[tuple[str, str], ...] = ()
    weight: tuple[Attribute, ...] = ()

    @property
    def projection(self) -> str:
        """``eliminating`` for DISTINCT, else ``preserving``."""
        return "eliminating" if self.ring.idempotent else "preserving"

    @property
    def outputs(self) -> tuple[tuple[str, Type], ...]:
        """Name and type of each answer column."""
        return tuple((o.name, self.type_of(o.term)) for o in self.select)

    def occurrence(self, alias: str) -> Occurrence:
        """The occurrence under that alias; KeyError if there is none."""
        return self._by_alias[alias]

    @cached_property
    def _by_alias(self) -> dict[str, Occurrence]:
        return {occurrence.alias: occurrence for occurrence in self.occurrences}

    def column(self, attribute: Attribute) -> Column:
        """The catalog column behind an attribute."""
        return self.occurrence(attribute.occurrence).relation.column(attribute.column)

    def type_of(self, term: Term) -> Type:
        """The type of an attribute or a constant."""
        return term.type if isinstance(term, Constant) else self.column(term).type

    def numbered(self, attribute: Attribute) -> bool:
        """Whether a column has a declared number of different values."""
        return self.column(attribute).cardinality is not None

    def is_static(self, attribute: Attribute) -> bool:
        """Whether the attribute belongs to a static relation."""
        return self.occurrence(attribute.occurrence).relation.kind is RelationKind.STATIC

    def is_timestamp(self, attribute: Attribute) -> bool:
        """Whether the attribute is the application timestamp of its stream."""
        return self.occurrence(attribute.occurrence).relation.timestamp == attribute.column

    def is_time(self, attribute: Attribute) -> bool:
        """Whether the attribute is a timestamp of its stream, or a bucket of it."""
        return self.moment(attribute) is not None

    def moment(self, attribute: Attribute) -> tuple[Attribute, int] | None:
        """The timestamp that a time is, or is a bucket of, and how far from it at most; else None."""
        if self.is_timestamp(attribute):
            return attribute, 0
        near, stamp = self.column(attribute).bucket, self.occurrence(attribute.occurrence).relation.timestamp
        if near is None or stamp is None:
            return None
        return Attribute(attribute.occurrence, stamp), near

    def span(self, attribute: Attribute) -> tuple[int, int] | None:
        """How far before and after a time the timestamp can be that it is, or is a bucket of; else None."""
        near, column = self.moment(attribute), self.column(attribute)
        if near is None or column.type.family not in (self.column(near[0]).type.family, Family.DATE):
            return None
        if not near[1]:
            return 0, 0
        last = near[1] - 1
        return (near[1], -1) if column.edge == "end" else (0, last) if column.edge else (near[1], near[1])

    def calendar(self, attribute: Attribute) -> tuple[int, int] | None:
        """As ``span``, of a bucket that is written as digits of the calendar, the year first; else None."""
        near, column = self.moment(attribute), self.column(attribute)
        if (
            near is None
            or column.edge != "digits"
            or self.column(near[0]).type.family is not Family.TIMESTAMP
        ):
            return None
        return 0, near[1] - 1

    def nullable(self, attribute: Attribute) -> bool:
        """Whether the attribute may be NULL; an application timestamp never is."""
        return self.column(attribute).nullable and not self.is_timestamp(attribute)

    @property
    def nulls(self) -> frozenset[Attribute]:
        """The attributes that a condition wants to be NULL."""
        return frozenset(a.attribute for a in self.where if isinstance(a, NullTest) and a.null)

    @property
    def present(self) -> frozenset[Attribute]:
        """The attributes that conditions let pass only if they are not NULL."""
        return frozenset(
            x for a in self.where if not (isinstance(a, NullTest) and a.null) for x in a.attributes
        )

    @property
    def timed(self) -> bool:
        """Whether conditions compare application timestamps."""
        return any(self.is_timestamp(a) for atom in self.where for a in atom.attributes)

    @cached_property
    def projected(self) -> tuple[Attribute, ...]:
        """The distinct attributes in the SELECT list, in order."""
        return self.shown(len(self.select))

    def shown(self, number: int) -> tuple[Attribute, ...]:
        """The distinct attributes in so many first columns of the SELECT list, in order."""
        return tuple(dict.fromkeys(o.term for o in self.select[:number] if isinstance(o.term, Attribute)))

    @property
    def joins(self) -> Iterator[Join]:
        """The atoms that compare two attributes."""
        return (atom for atom in self.where if isinstance(atom, Join))

    def weighing(self, alias: str) -> tuple[Attribute, ...]:
        """The columns of an occurrence that a match weighs."""
        return tuple(a for a in self.weight if a.occurrence == alias)

    def over(self, occurrences: Iterable[Occurrence]) -> Query:
        """The query over some of its occurrences, with what these weigh; its conditions are left alone."""
        some = tuple(occurrences)
        aliases = {occurrence.alias for occurrence in some}
        return replace(
            self, occurrences=some, weight=tuple(a for a in self.weight if a.occurrence in aliases)
        )

    @cached_property
    def mentioned(self) -> tuple[Attribute, ...]:
        """Every attribute in the SELECT list or a condition, sorted; others cost nothing."""
        used = {a for atom in self.where for a in atom.attributes}
        return tuple(sorted(used | set(self.projected)))
