"""What an aggregate keeps of the rows of a group (section "Aggregates" of docs/theory.md).

Each kind of aggregate is an *accumulator*: a fold over rows with counts. What it keeps is a commutative
monoid, so neither the order of rows nor how they come in batches matters. Counts, sums and the moments behind
AVG, STDDEV, CORR and their like (polynomials of the row) are a group: taken-back rows are subtracted. An
extremum is one value where rows only come, and a value with its count for each different one where they are
taken back.

Arithmetic is exact (integers and fractions); a double is added as the fraction that it is, and what is shown
is rounded once. So a sum does not depend on how history is cut.

NULL: as in SQL, aggregates pass over rows of which an argument is NULL. FIRST, LAST and what ARG_MIN shows
may be NULL. Ties are broken by the value: FIRST and ARG_MIN take the least of them, LAST and ARG_MAX the
greatest; NULL is the least. Any one value (ANY_VALUE) is the least that is not NULL.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from operator import and_, or_
from typing import Any, TypeAlias

from streambound.errors import PlanError
from streambound.operators.rows.operator import Row, ordering
from streambound.query.column_types import NAN, Type
from streambound.query.operators import Aggregate, AggregateKind, Polynomial
from streambound.state.serial import plain, value_of

# The arguments of an aggregate in one row; None: it passes over the row.
Read: TypeAlias = Callable[[Row], tuple[Any, ...] | None]
# One of several values.
Pick: TypeAlias = Callable[[Iterable[tuple[Any, ...]]], tuple[Any, ...]]
# An int where it is whole, else a Fraction.
Exact: TypeAlias = Any

# Powers of the arguments whose sums are kept; the first sum is the number of rows.
_FIRST = ((0,), (1,))
_SECOND = ((0,), (1,), (2,))
_PAIRS = ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (1, 1))


class Accumulator(ABC):
    """What one aggregate keeps of a group."""

    @property
    @abstractmethod
    def stored_units(self) -> int:
        """Stored values and counts now."""

    @abstractmethod
    def add(self, row: Row, count: int) -> None:
        """Take in so many equal rows (encoded), or take them back (negative)."""

    @abstractmethod
    def merge(self, accumulator: Any) -> None:
        """Take in all that another accumulator of the same aggregate has."""

    @abstractmethod
    def value(self) -> Any:
        """What is shown of the rows, encoded; None is NULL."""

    @abstractmethod
    def dump(self) -> Any:
        """What it keeps as plain JSON values, in canonical order."""

    @abstractmethod
    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave."""


def accumulator(
    aggregate: Aggregate,
    positions: Mapping[int, int],
    retracts: bool,
    kinds: Sequence[Type],
    time: int | None = None,
) -> Accumulator:
    """An empty accumulator of an aggregate (see ``accumulators``)."""
    return accumulators(aggregate, positions, retracts, kinds, time)()


def accumulators(
    aggregate: Aggregate,
    positions: Mapping[int, int],
    retracts: bool,
    kinds: Sequence[Type],
    time: int | None = None,
) -> Callable[[], Accumulator]:
    """What makes empty accumulators of an aggregate.

    Args:
        positions: where in its rows the positions are that the aggregate reads.
        retracts: whether rows are taken back.
        kinds: the types of its rows.
        time: where in its rows their time is, for FIRST and LAST without a column.

    Raises:
        PlanError: there is none for this aggregate.
    """
    if not aggregate.evaluated:
        raise _none(aggregate, f"{aggregate.function or 'it'} is not computed")
    shown = aggregate.type_of(lambda p: kinds[positions[p]])
    if aggregate.kind in (AggregateKind.COUNT, AggregateKind.SUM, AggregateKind.MEAN):
        read = _arguments(aggregate, positions, None)
        powers, finish = _moments(aggregate, shown)
        dense = any(kinds[positions[p]].resolution is None for p in aggregate.arguments)
        sums = partial(Sums, read, powers, finish, dense and aggregate.kind is not AggregateKind.COUNT)
        return (lambda: Distinct(read, sums(), retracts)) if aggregate.distinct else sums
    read, combine = _reader_of_chosen(aggregate, positions, shown, time)
    if aggregate.kind is AggregateKind.LIST:
        return partial(Bag, read, _of_list(aggregate, kinds[positions[aggregate.arguments[0]]]), "[]")
    return partial(Settling if retracts else Best, read, combine)


def of_column(aggregate: Aggregate, column: int) -> Aggregate:
    """An aggregate of an expression as that of a column where the expression has been computed."""
    plain = replace(aggregate, polynomial=None, formula=None, computed=None)
    return replace(plain, value=column) if aggregate.further else replace(plain, arguments=(column,))


class Folding(Accumulator):
    """What takes in rows one by one, or what tasks found that they come to."""

    @abstractmethod
    def fold(self, numbers: Sequence[Any]) -> None:
        """Take in what rows came to where they were (see ``flow.Reads.measures``)."""


class Sums(Folding):
    """Sums of products of powers of the arguments: of no power the number of rows.

    ``dense``: arguments may be NaN or infinite. Such rows are counted apart, so they can be taken back.
    """

    def __init__(
        self,
        read: Read,
        powers: tuple[tuple[int, ...], ...],
        finish: Callable[[list[Exact]], Any],
        dense: bool,
    ) -> None:
        self._read, self._powers, self._finish, self._dense = read, powers, finish, dense
        self._totals: list[Exact] = [0] * len(powers)
        # Rows that are NaN, above and below all numbers.
        self._endless = [0, 0, 0]

    @property
    def stored_units(self) -> int:
        return len(self._totals) + 3 * self._dense

    def add(self, row: Row, count: int) -> None:
        values = self._read(row)
        if values is not None:
            self.put(values, count)

    def put(self, values: tuple[Any, ...], count: int) -> None:
        """Take in arguments, none of them NULL."""
        if self._dense:
            endless = [value for value in values if not _finite(value)]
            if endless:
                alone = len(values) == 1 and endless[0] != NAN
                self._endless[0 if not alone else 1 if endless[0] > 0 else 2] += count
                return
            values = tuple(map(_exact, values))
        totals = self._totals
        for number, power in enumerate(self._powers):
            term: Exact = count
            for value, times in zip(values, power, strict=False):
                if times:
                    term *= value if times == 1 else value**times
            totals[number] += term

    def fold(self, numbers: Sequence[Exact]) -> None:
        self._totals = [total + more for total, more in zip(self._totals, numbers, strict=True)]

    def merge(self, sums: Sums) -> None:
        self._totals = [total + more for total, more in zip(self._totals, sums._totals, strict=True)]
        self._endless = [number + more for number, more in zip(self._endless, sums._endless, strict=True)]

    def value(self) -> Any:
        nan, above, below = self._endless
        if nan or (above and below) or ((above or below) and len(self._powers) > len(_FIRST)):
            return NAN
        if above or below:
            return math.inf if above else -math.inf
        return self._finish(self._totals)

    def dump(self) -> Any:
        return [*map(plain, map(_whole, self._totals)), *(self._endless if self._dense else ())]

    def load(self, document: Any) -> None:
        size = len(self._powers)
        self._totals = [value_of(value) for value in document[:size]]
        self._endless = [int(n) for n in document[size:]] or [0, 0, 0]


class Counted(Accumulator):
    """What keeps the different values of its arguments, with their counts."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._counts: dict[tuple[Any, ...], int] = {}

    def add(self, row: Row, count: int) -> None:
        values = self._read(row)
        if values is not None:
            self._put(values, count)

    @abstractmethod
    def _put(self, values: tuple[Any, ...], count: int) -> None:
        """Count values so many times more, or fewer."""

    def merge(self, accumulator: Counted) -> None:
        for values, count in accumulator._counts.items():
            self._put(values, count)

    def dump(self) -> Any:
        return [[plain(values), self._counts[values]] for values in sorted(self._counts, key=ordering)]

    def load(self, document: Any) -> None:
        for values, count in document:
            self._put(value_of(values), count)


class Distinct(Counted):
    """An aggregate of the different values of its arguments."""

    def __init__(self, read: Read, sums: Sums, retracts: bool) -> None:
        super().__init__(read)
        self._sums, self._retracts = sums, retracts

    @property
    def stored_units(self) -> int:
        return sum(len(values) + self._retracts for values in self._counts)

    def _put(self, values: tuple[Any, ...], count: int) -> None:
        before = self._counts.get(values, 0)
        after = before + count if self._retracts else 1
        if after:
            self._counts[values] = after
        else:
            self._counts.pop(values, None)
        if bool(before) is not bool(after):
            self._sums.put(values, 1 if after else -1)

    def value(self) -> Any:
        return self._sums.value()


class Best(Folding):
    """What is chosen of all values, where they only come."""

    def __init__(self, read: Read, combine: Pick) -> None:
        self._read, self._combine = read, combine
        self._best: tuple[Any, ...] | None = None

    @property
    def stored_units(self) -> int:
        return 0 if self._best is None else len(self._best)

    @property
    def chosen(self) -> tuple[Any, ...] | None:
        """The values that were chosen; None of no row."""
        return self._best

    def add(self, row: Row, count: int) -> None:
        self._put(self._read(row))

    def _put(self, values: tuple[Any, ...] | None) -> None:
        if values is not None:
            self._best = values if self._best is None else self._combine((self._best, values))

    def fold(self, numbers: Sequence[Any]) -> None:
        self._put(None if None in numbers else tuple(numbers))

    def merge(self, best: Best) -> None:
        self._put(best._best)

    def value(self) -> Any:
        return None if self._best is None else self._best[-1]

    def dump(self) -> Any:
        return plain(self._best)

    def load(self, document: Any) -> None:
        self._best = value_of(document)


class Settling(Accumulator):
    """What is chosen of values that may be taken back: these with their counts, of others the best."""

    def __init__(self, read: Read, combine: Pick) -> None:
        self._open = Bag(read, lambda values: combine(values))
        self._settled, self._combine = Best(read, combine), combine

    @property
    def stored_units(self) -> int:
        return self._open.stored_units + self._settled.stored_units

    def add(self, row: Row, count: int) -> None:
        self._open.add(row, count)

    def settle(self, row: Row, count: int) -> None:
        """Keep this number of equal rows for good: they are no longer retracted."""
        self._open.add(row, -count)
        self.add_lasting(row, count)

    def add_lasting(self, row: Row, count: int) -> None:
        """Take in so many equal rows that are not taken back."""
        self._settled.add(row, count)

    def merge(self, settling: Settling) -> None:
        self._open.merge(settling._open)
        self._settled.merge(settling._settled)

    def value(self) -> Any:
        parts = [value for value in (self._open.value(), self._settled.chosen) if value is not None]
        return self._combine(parts)[-1] if parts else None

    def dump(self) -> Any:
        return [self._open.dump(), self._settled.dump()]

    def load(self, document: Any) -> None:
        self._open.load(document[0])
        self._settled.load(document[1])


class Bag(Counted):
    """All values with their counts, of which something is shown, and of none ``empty``."""

    def __init__(
        self, read: Read, finish: Callable[[Mapping[tuple[Any, ...], int]], Any], empty: Any = None
    ) -> None:
        super().__init__(read)
        self._finish, self._empty = finish, empty

    @property
    def stored_units(self) -> int:
        return sum(len(values) + 1 for values in self._counts)

    def _put(self, values: tuple[Any, ...], count: int) -> None:
        after = self._counts.get(values, 0) + count
        if after:
            self._counts[values] = after
        else:
            self._counts.pop(values, None)

    def value(self) -> Any:
        return self._finish(self._counts) if self._counts else self._empty


def _arguments(aggregate: Aggregate, positions: Mapping[int, int], shown: Type | None) -> Read:
    """What an aggregate reads of a row: its arguments, or its polynomial (exact where ``shown`` is None)."""
    indices = tuple(positions[p] for p in aggregate.arguments)
    polynomial = aggregate.polynomial
    if (
        aggregate.kind is AggregateKind.COUNT
        or polynomial is None
        or polynomial in [((Fraction(1), (p,)),) for p in positions]
    ):
        if aggregate.formula is not None:
            raise _none(aggregate, "what it aggregates is an expression that has not been computed")

        def read(row: Row) -> tuple[Any, ...] | None:
            values = tuple([row[position] for position in indices])
            return None if None in values else values

        return read
    terms = tuple((factor, tuple(positions[p] for p in factors)) for factor, factors in polynomial)

    def computed(row: Row) -> tuple[Any, ...] | None:
        if any(row[position] is None for position in indices):
            return None
        value = _polynomial(terms, row)
        return (value if shown is None else _as(value, shown),)

    return computed


def _polynomial(terms: Polynomial, row: Row) -> Any:
    if all(_finite(row[position]) for _, positions in terms for position in positions):
        return sum(
            factor * math.prod(_exact(row[position]) for position in positions) for factor, positions in terms
        )
    total = 0.0
    for factor, positions in terms:
        total += math.prod((_near(row[position]) for position in positions), start=_near(factor))
    return NAN if math.isnan(total) else total


def _reader_of_chosen(
    aggregate: Aggregate, positions: Mapping[int, int], shown: Type, time: int | None
) -> tuple[Read, Pick]:
    """What an aggregate reads of a row, its last value what it shows; and which of several it chooses."""
    kind, first = (
        aggregate.kind,
        aggregate.kind in (AggregateKind.FIRST, AggregateKind.LEAST, AggregateKind.ANY),
    )
    if kind in (AggregateKind.FIRST, AggregateKind.LAST) or aggregate.by is not None:
        by = time if aggregate.by is None else positions[aggregate.by]
        if by is None:
            raise _none(aggregate, "its rows have no time")
        position = positions[aggregate.arguments[0] if aggregate.value is None else aggregate.value]

        present = aggregate.function.endswith("IGNORE NULLS")

        def read(row: Row) -> tuple[Any, ...] | None:
            passed = row[by] is None or (present and row[position] is None)
            return None if passed else (row[by], row[position])

        return read, _least if first else _greatest
    if not aggregate.arguments:
        raise _none(aggregate, "it reads no column")
    bits = {"BIT_AND": and_, "BIT_OR": or_}.get(aggregate.function)
    if bits is not None:
        return _arguments(aggregate, positions, shown), lambda values: (reduce(bits, (v for (v,) in values)),)
    return _arguments(aggregate, positions, shown), _least if first else _greatest


def _least(values: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    return min(values, key=ordering)


def _greatest(values: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    return max(values, key=ordering)


def _of_list(aggregate: Aggregate, kind: Type) -> Callable[[Mapping[tuple[Any, ...], int]], Any]:
    """What is shown of all values: a list, in order, each as SQL writes it."""

    def listed(counts: Mapping[tuple[Any, ...], int]) -> Any:
        ordered = sorted(counts, key=ordering)
        texts = (kind.text(v[0]) for v in ordered for _ in range(1 if aggregate.distinct else counts[v]))
        return f"[{', '.join(texts)}]"

    return listed


def _moments(
    aggregate: Aggregate, shown: Type
) -> tuple[tuple[tuple[int, ...], ...], Callable[[list[Exact]], Any]]:
    """The powers whose sums an aggregate keeps, and what is shown of the sums."""
    if aggregate.kind is AggregateKind.COUNT:
        return ((),), lambda totals: totals[0]
    if aggregate.kind is AggregateKind.SUM:
        return _FIRST, lambda totals: _as(totals[1], shown) if totals[0] else None
    powers, finish = _MEANS[aggregate.function]

    def mean(totals: list[Exact]) -> Any:
        moment = finish(*totals) if totals[0] else None
        return None if moment is None else _as(moment, shown)

    return powers, mean


# Of sums of powers, exactly; the first is the number of rows.
def _mean(n: int, x: Exact) -> Exact:
    return Fraction(x) / n


def _variance(sample: int) -> Callable[[int, Exact, Exact], Exact | None]:
    return lambda n, x, xx: Fraction(n * xx - x * x) / (n * (n - sample)) if n > sample else None


def _covariance(sample: int) -> Callable[..., Exact | None]:
    return lambda n, y, x, yy, xx, yx: Fraction(n * yx - y * x) / (n * (n - sample)) if n > sample else None


def _deviation(sample: int) -> Callable[[int, Exact, Exact], Exact | None]:
    def value(n: int, x: Exact, xx: Exact) -> Exact | None:
        square = _variance(sample)(n, x, xx)
        return None if square is None else math.sqrt(_near(square))

    return value


def _correlation(n: int, y: Exact, x: Exact, yy: Exact, xx: Exact, yx: Exact) -> Exact | None:
    both = math.sqrt(_near(Fraction(n * yy - y * y) / n * Fraction(n * xx - x * x) / n))
    return _near(Fraction(n * yx - y * x) / n) / both if both else None


_MEANS: dict[str, tuple[tuple[tuple[int, ...], ...], Callable[..., Exact | None]]] = {
    "AVG": (_FIRST, _mean),
    "VAR_POP": (_SECOND, _variance(0)),
    "VAR_SAMP": (_SECOND, _variance(1)),
    "STDDEV_POP": (_SECOND, _deviation(0)),
    "STDDEV_SAMP": (_SECOND, _deviation(1)),
    "COVAR_POP": (_PAIRS, _covariance(0)),
    "COVAR_SAMP": (_PAIRS, _covariance(1)),
    "CORR": (_PAIRS, _correlation),
}


def _finite(value: Any) -> bool:
    return (
        type(value) is int
        or isinstance(value, Fraction)
        or (isinstance(value, float) and math.isfinite(value))
    )


def _exact(value: Any) -> Exact:
    if type(value) is int:
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else Fraction(value)


def _whole(value: Exact) -> Exact:
    return value if type(value) is int or value.denominator != 1 else value.numerator


def _near(value: Any) -> float:
    """The nearest double; beyond the largest it is infinite."""
    if value == NAN:
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _not_nan(value: float) -> Any:
    return NAN if math.isnan(value) else value


def _as(value: Any, kind: Type) -> Any:
    """A number, exact or not finite, as a value of a type: rounded once where that holds doubles."""
    if kind.resolution is None:
        return _not_nan(_near(value))
    return value if type(value) is int else _whole(Fraction(value))


def _none(aggregate: Aggregate, why: str) -> PlanError:
    return PlanError(f"{aggregate.text} cannot be evaluated: {why}", location=aggregate.location)
