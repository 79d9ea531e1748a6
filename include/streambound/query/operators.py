"""What is done to the rows of a block before they are answers: grouped, ranked, or seen in frames.

The rows are those of the block's selections, added up; positions are those of their outputs, which are the
same in each selection. What is shown may be computed from several of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from math import prod
from typing import TypeAlias

from streambound.errors import Location
from streambound.query.column_types import Family, Type, parse_type
from streambound.query.model import Op


class AggregateKind(Enum):
    """What an aggregate keeps of the rows of its group."""

    # Numbers of rows, and sums of polynomials in their columns (one for each monomial).
    COUNT = "count"
    SUM = "sum"
    # A quotient of sums: AVG, STDDEV, VARIANCE.
    MEAN = "mean"
    LEAST = "least"
    GREATEST = "greatest"
    # Of the earliest or latest row, or of that with the least or greatest value of another column.
    FIRST = "first"
    LAST = "last"
    ANY = "any"
    # The rows themselves.
    LIST = "list"
    # Of fixed size, whatever comes: approximate numbers of different values, approximate quantiles.
    SKETCH = "sketch"


# The names of what is computed, of each kind.
_COMPUTED: dict[AggregateKind, tuple[str, ...]] = {
    AggregateKind.COUNT: ("COUNT",),
    AggregateKind.SUM: ("SUM",),
    AggregateKind.MEAN: (
        *("AVG", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"),
        *("COVAR_POP", "COVAR_SAMP", "CORR"),
    ),
    AggregateKind.LEAST: ("MIN", "BOOL_AND", "ARG_MIN", "BIT_AND"),
    AggregateKind.GREATEST: ("MAX", "BOOL_OR", "ARG_MAX", "BIT_OR"),
    AggregateKind.FIRST: ("FIRST", "FIRST IGNORE NULLS"),
    AggregateKind.LAST: ("LAST", "LAST IGNORE NULLS"),
    AggregateKind.ANY: ("ANY_VALUE", "ANY_VALUE IGNORE NULLS"),
    AggregateKind.LIST: ("ARRAY_AGG", "ARRAY_AGG FILTER"),
}

# A sum of monomials, each a factor and the positions that it multiplies.
Polynomial: TypeAlias = tuple[tuple[Fraction, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a group.

    ``arguments`` are the positions that it reads, none of ``COUNT(*)``; ``by`` is the column that tells which
    row is first or last, None: time. ``polynomial`` is what is summed, where it is one. ``function`` is its
    name in upper case. Where a row is chosen by another column, ``value`` is the position that is shown of
    it; ``formula`` is what is aggregated where that is neither one column nor a polynomial (see ``Shown``),
    and ``computed`` its type; of a row that is chosen it reads the positions ``further``.
    """

    kind: AggregateKind
    text: str
    arguments: tuple[int, ...] = ()
    polynomial: Polynomial | None = None
    distinct: bool = False
    by: int | None = None
    location: Location = field(compare=False, default=Location(1, 1))
    function: str = ""
    value: int | None = None
    formula: str | None = None
    computed: Type | None = None
    further: tuple[int, ...] = ()

    @property
    def idempotent(self) -> bool:
        """Whether a row counts once, however often it comes."""
        return self.kind in (AggregateKind.LEAST, AggregateKind.GREATEST)

    @property
    def evaluated(self) -> bool:
        """Whether its values are computed: of any other it is decided alone what is kept."""
        return self.function in _COMPUTED.get(self.kind, ())

    @property
    def counts_rows(self) -> bool:
        """Whether it is ``COUNT(*)`` or as good: the number of all rows."""
        return self.kind is AggregateKind.COUNT and not self.arguments

    def type_of(self, kind: Callable[[int], Type]) -> Type:
        """The type of what it shows, by those of the positions that it reads."""
        kinds = [kind(p) for p in self.arguments] if self.computed is None else [self.computed]
        if self.kind is AggregateKind.SKETCH and self.function == "PERCENTILE_APPROX":
            return _DOUBLE
        if self.kind in (AggregateKind.COUNT, AggregateKind.SKETCH):
            return _WHOLE
        if self.kind is AggregateKind.SUM:
            return _of_sum(self.polynomial, kind, kinds)
        if self.kind is AggregateKind.LIST:
            return _TEXT
        if self.kind is AggregateKind.MEAN or not kinds:
            return _DOUBLE
        if self.value is not None:
            return kind(self.value)
        if self.polynomial is not None and self.polynomial != ((Fraction(1), self.arguments),):
            return _of_sum(self.polynomial, kind, kinds)
        return kinds[0]


_WHOLE, _DOUBLE, _TEXT = parse_type("bigint"), parse_type("double"), parse_type("string")
# What a decimal holds.
DIGITS = 38


def _of_sum(polynomial: Polynomial | None, kind: Callable[[int], Type], kinds: list[Type]) -> Type:
    """Whole numbers stay whole, decimals get the digits that they need; else doubles."""
    terms = (
        [(Fraction(1), kinds)] if polynomial is None else [(f, [kind(p) for p in ps]) for f, ps in polynomial]
    )
    scale = 0
    for factor, factors in terms:
        if any(kind.family is not Family.NUMBER or kind.resolution is None for kind in factors):
            return _DOUBLE
        resolution = Fraction(1, factor.denominator) * prod(
            (kind.resolution or 1 for kind in factors), start=Fraction(1)
        )
        digits = next((n for n in range(DIGITS + 1) if (resolution * 10**n).denominator == 1), None)
        if digits is None:
            return _DOUBLE
        scale = max(scale, digits)
    return parse_type(f"decimal({DIGITS},{scale})") if scale else _WHOLE


@dataclass(frozen=True)
class Shown:
    """A column of the answer, computed from outputs of the rows and from aggregates (or frames) of them.

    ``plain`` says that it is one of them as it is; else different ones may look the same in it. ``formula``
    is the expression then: Spark SQL over columns ``o0``, ``o1``, ... (outputs) and ``v0``, ``v1``, ...
    (aggregates, or what window functions say).
    """

    name: str
    type: Type
    outputs: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    plain: bool = True
    # The values that are not shown as they are, and of which different ones can be told all the same.
    distinguishable: tuple[int, ...] = ()
    location: Location = field(compare=False, default=Location(1, 1))
    formula: str | None = None


@dataclass(frozen=True)
class Test:
    """``aggregate op value`` of HAVING."""

    aggregate: int
    op: Op
    value: Fraction


@dataclass(frozen=True)
class Tests:
    """Tests under AND (``every``) or OR."""

    every: bool
    parts: tuple[Test | Tests, ...]


@dataclass(frozen=True)
class Having:
    """A condition on groups: the aggregates that it reads; ``tests`` where it is made of comparisons.

    ``formula`` is the whole condition, as that of ``Shown``.
    """

    aggregates: tuple[int, ...]
    tests: Test | Tests | None = None
    location: Location = field(compare=False, default=Location(1, 1))
    formula: str | None = None


# In formulas outputs from this number on are what rows are grouped ``by``.
KEYS = 1_000


@dataclass(frozen=True)
class Grouping:
    """GROUP BY: the first ``keys`` outputs of each row are its group; none: one group of all rows.

    Where a key is computed of several outputs ``by`` has all keys, over those: a group has one value of each.
    """

    keys: int
    aggregates: tuple[Aggregate, ...]
    shown: tuple[Shown, ...]
    having: Having | None = None
    # A session: a group lives until nothing of its other keys came for so long (microseconds, or ticks).
    session: int | None = None
    # The greatest length of a session, where it has one.
    longest: int | None = None
    by: tuple[Shown, ...] = ()
    # The position of the time of a row that sessions are told by.
    moment: int | None = None

    def with_key(self) -> Grouping:
        """The grouping with one more key, after the others; what is shown keeps its old positions."""

        def at(position: int) -> int:
            return position if position < self.keys else position + 1

        def of(aggregate: Aggregate) -> Aggregate:
            polynomial = aggregate.polynomial
            return replace(
                aggregate,
                arguments=tuple(map(at, aggregate.arguments)),
                by=None if aggregate.by is None else at(aggregate.by),
                polynomial=polynomial and tuple((f, tuple(map(at, ps))) for f, ps in polynomial),
            )

        moment = None if self.moment is None else at(self.moment)
        return replace(self, keys=self.keys + 1, aggregates=tuple(map(of, self.aggregates)), moment=moment)


@dataclass(frozen=True)
class Ranking:
    """The rows whose rank among those with the same ``partition`` is ``op limit``; ORDER BY ... LIMIT too.

    ``function`` is ROW_NUMBER, RANK or DENSE_RANK; ``order`` are positions, each with whether it descends,
    none where any rows will do. ``ranked`` says that the rank itself is shown, of finitely many (else see
    ``WindowCalls``). Ranks up to ``above`` are left out: OFFSET. Where the partition is computed of several
    outputs, ``keys`` are its positions instead, those from KEYS on of ``by``.
    """

    function: str
    partition: tuple[int, ...]
    order: tuple[tuple[int, bool], ...]
    op: Op
    limit: int
    shown: tuple[Shown, ...]
    ranked: bool = False
    above: int = 0
    keys: tuple[int, ...] = ()
    by: tuple[Shown, ...] = ()

    def parted(self, width: int) -> Ranking:
        """The same over rows of so many outputs with what they are partitioned ``by`` after these."""
        return replace(self, partition=_parted(self.partition, self.keys, width), keys=(), by=())

    @property
    def ranks(self) -> tuple[tuple[int, int | None], ...]:
        """The ranks that are kept, as ranges with both ends; None is without an end."""
        n = self.limit
        ranges: dict[Op, tuple[tuple[int, int | None], ...]] = {
            Op.LT: ((1, n - 1),),
            Op.LE: ((1, n),),
            Op.EQ: ((n, n),),
            Op.NE: ((1, n - 1), (n + 1, None)),
            Op.GE: ((n, None),),
            Op.GT: ((n + 1, None),),
        }
        bounds = ((max(low, 1 + self.above), high) for low, high in ranges[self.op])
        return tuple((low, high) for low, high in bounds if high is None or low <= high)

    @property
    def beyond(self) -> bool:
        """Whether all ranks after ``last`` are kept."""
        return any(high is None for _, high in self.ranks)

    @property
    def last(self) -> int:
        """The last rank that is told from later ones: a row after it is kept for ever, or never."""
        return max((low - 1 if high is None else high for low, high in self.ranks), default=0)

    def keeps_all(self, retracts: bool) -> bool:
        """Whether a row after ``last`` still matters: it can get another rank."""
        return bool(self.ranks) and retracts and (self.last > 0 or self.ranked)


@dataclass(frozen=True)
class Frame:
    """Which rows around a row: by number (``rows``) or by range of the order; None is without an end.

    ``before`` and ``after`` are rows, or microseconds or ticks of time; negative ``after`` ends before it.
    """

    rows: bool
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Over:
    """A window function: its aggregate or its name (``LAG``, ``ROW_NUMBER``), and the frame that it sees.

    A function without an aggregate reads ``arguments``; LAG and LEAD look ``offset`` rows away. Where the
    partition is computed of several outputs, ``keys`` are its positions instead, those from KEYS on of what
    ``WindowCalls`` has ``by``.
    """

    name: str
    aggregate: Aggregate | None
    partition: tuple[int, ...]
    order: tuple[tuple[int, bool], ...]
    frame: Frame
    location: Location = field(compare=False, default=Location(1, 1))
    arguments: tuple[int, ...] = ()
    offset: int = 1
    keys: tuple[int, ...] = ()


@dataclass(frozen=True)
class WindowCalls:
    """Each row with what window functions say of the rows around it."""

    functions: tuple[Over, ...]
    shown: tuple[Shown, ...]
    # Of a rank that is shown; the rows of which it does not hold are left out.
    having: Having | None = None
    by: tuple[Shown, ...] = ()

    def parted(self, width: int) -> WindowCalls:
        """The same over rows of so many outputs with what they are partitioned ``by`` after these."""
        functions = (
            replace(function, partition=_parted(function.partition, function.keys, width), keys=())
            for function in self.functions
        )
        return replace(self, functions=tuple(functions), by=())


def _parted(partition: tuple[int, ...], keys: tuple[int, ...], width: int) -> tuple[int, ...]:
    return tuple(p if p < KEYS else width + p - KEYS for p in keys or partition)


Operator: TypeAlias = Grouping | Ranking | WindowCalls
