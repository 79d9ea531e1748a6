"""Groups of the definition, and what aggregates say of rows.

Sums are exact: of doubles too, rounded once at the end. A quotient, a variance, a correlation is a quotient
of exact sums, rounded at the end. NULL is passed over, as in SQL; an aggregate of nothing is NULL, a count 0.
Of rows that tie, ARG_MIN and FIRST take that with the least value, ARG_MAX and LAST that with the greatest;
NULL is the least. ANY_VALUE is the least that is not NULL. A list holds what is not NULL, in order; of
nothing it is empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any, TypeAlias

from streambound.errors import UnsupportedError
from streambound.evaluation.definition_rows import HOLDS, Pair, Row, over_values, row_key, shown
from streambound.query.column_types import NAN, NotANumber, Type, parse_type
from streambound.query.operators import (
    Aggregate,
    AggregateKind,
    Grouping,
    Having,
    Over,
    Polynomial,
    Test,
    Tests,
)
from streambound.query.scope import BOOLEAN, DOUBLE, INTEGER, STRING
from streambound.query.windows import SESSIONS

Aggregated: TypeAlias = Callable[[Sequence[Row]], Any]

# Aggregates that say when a session begins and ends.
SESSION_START, SESSION_END = SESSIONS


def groups(then: Grouping, rows: Sequence[Row], types: Sequence[Type]) -> Iterator[Row]:
    """A row of each group that passes HAVING; of no rows one, where there are no keys."""
    of = [_value(aggregate, then, types) for aggregate in then.aggregates]
    pairs = []
    keys = [key.type for key in then.by]
    for group in groups_of(then, rows, types):
        said = tuple(value(group) for value in of)
        own = _outputs(then, group) if group else (None,) * len(types)
        pairs.append(((*own, *_keys(then, group[:1], types)[0]) if then.by else own, said))
    values = [value_type(aggregate, types) for aggregate in then.aggregates]
    kept = _having(then.having, types, values, pairs, keys)
    yield from map(Row, shown(then.shown, types, values, kept, keys))


def _keys(then: Grouping, rows: Sequence[Row], types: Sequence[Type]) -> list[tuple[Any, ...]]:
    """What each row is grouped by."""
    if not then.by:
        return [row.values[: then.keys] for row in rows]
    return shown(then.by, types, [], [(row.values, ()) for row in rows])


def _outputs(then: Grouping, group: Sequence[Row]) -> tuple[Any, ...]:
    """The outputs of a row of a group; those that are shown are keys, or depend on them."""
    read = {position for column in then.shown if column.plain or not then.by for position in column.outputs}
    if len({tuple(row.values[position] for position in read) for row in group}) > 1:
        raise UnsupportedError("what is shown of a group is not the same in all of its rows")
    return group[0].values


def groups_of(then: Grouping, rows: Sequence[Row], types: Sequence[Type]) -> Iterator[list[Row]]:
    """The rows of each group; of each session."""
    groups_: dict[Any, list[Row]] = {}
    for row, key in zip(rows, _keys(then, rows, types), strict=True):
        groups_.setdefault(key, []).append(row)
    if then.session is not None:
        yield from (session for group in groups_.values() for session in _sessions(group, then))
    elif not then.keys:
        yield list(rows)
    else:
        yield from groups_.values()


def moment_of(then: Grouping, row: Row) -> int:
    """The time that tells which session a row belongs to."""
    assert then.moment is not None
    return int(row.values[then.moment])


def _sessions(rows: Sequence[Row], then: Grouping) -> Iterator[list[Row]]:
    """The sessions of a key: a row belongs to the one before it if less than the gap lies between."""
    session: list[Row] = []
    of = partial(moment_of, then)
    for row in sorted(rows, key=of):
        if session and of(row) - of(session[-1]) >= (then.session or 0):
            yield session
            session = []
        session.append(row)
    if session:
        yield session


def _moment(row: Row) -> int:
    if row.moment is None:
        raise UnsupportedError("the time of a row is not known, and what is asked depends on it")
    return row.moment


def _value(aggregate: Aggregate, then: Grouping, types: Sequence[Type]) -> Aggregated:
    """What computes an aggregate, or says when the session begins or ends."""
    if aggregate.function == SESSION_START:
        return lambda rows: min(moment_of(then, row) for row in rows)
    if aggregate.function == SESSION_END:
        return lambda rows: max(moment_of(then, row) for row in rows) + (then.session or 0)
    return aggregated(aggregate, types)


# HAVING.


def _having(
    having: Having | None,
    outputs: Sequence[Type],
    values: Sequence[Type],
    pairs: list[Pair],
    keys: Sequence[Type],
) -> list[Pair]:
    if having is None:
        return pairs
    if having.formula is not None:
        true = over_values(having.formula, outputs, values, BOOLEAN, pairs, keys)
        return [pair for pair, holds in zip(pairs, true, strict=True) if holds]
    if having.tests is None:
        raise UnsupportedError("HAVING is decided, and cannot be computed", location=having.location)
    tests = having.tests
    return [pair for pair in pairs if _passes(tests, pair[1])]


def _passes(tests: Test | Tests, said: tuple[Any, ...]) -> bool:
    if isinstance(tests, Tests):
        return (all if tests.every else any)(_passes(part, said) for part in tests.parts)
    value = said[tests.aggregate]
    return value is not None and bool(HOLDS[tests.op](value, tests.value))


# Aggregates.


def value_type(function: Aggregate | Over, types: Sequence[Type]) -> Type:
    """The type of what an aggregate or a window function says."""
    if isinstance(function, Over):
        if function.name in ("PERCENT_RANK", "CUME_DIST"):
            return DOUBLE
        if function.arguments:
            return types[function.arguments[0]]
        if function.aggregate is None:
            return INTEGER
        function = function.aggregate
    if function.kind in (AggregateKind.COUNT, AggregateKind.SKETCH):
        return INTEGER
    if function.kind is AggregateKind.MEAN:
        return DOUBLE
    if function.kind is AggregateKind.LIST:
        return STRING
    if function.computed is not None:
        return function.computed
    if function.polynomial is not None:
        return _sum_type(function.polynomial, types)
    read = function.arguments if function.value is None else (function.value,)
    return types[read[0]] if read else INTEGER


def _sum_type(polynomial: Polynomial, types: Sequence[Type]) -> Type:
    """The type of a sum of products: of exact numbers exact, of one column its own."""
    if len(polynomial) == 1 and polynomial[0][0] == 1 and len(polynomial[0][1]) == 1:
        return types[polynomial[0][1][0]]
    scale = 0
    for factor, positions in polynomial:
        resolutions = [types[position].resolution for position in positions]
        units = Fraction(1, factor.denominator)
        for resolution in resolutions:
            units *= resolution or 0
        if not units:
            return DOUBLE
        scale = max(scale, next((n for n in range(38) if (units * 10**n).denominator == 1), 38))
    return DOUBLE if scale > 37 else parse_type(f"decimal(38,{scale})") if scale else INTEGER


def aggregated(aggregate: Aggregate, types: Sequence[Type]) -> Aggregated:
    """What computes an aggregate from the rows of a group.

    Raises:
        UnsupportedError: it is decided, and its value is not defined here.
    """
    argument = _argument(aggregate, types)
    if (
        aggregate.kind not in (AggregateKind.SKETCH, AggregateKind.ANY)
        and aggregate.function not in _COMPUTED[aggregate.kind]
    ):
        raise UnsupportedError(
            f"{aggregate.text} is decided, and cannot be computed", location=aggregate.location
        )
    if aggregate.by is not None:
        return lambda rows: _by_column(aggregate, rows, argument(rows) if aggregate.further else None)
    if aggregate.kind is AggregateKind.COUNT:
        return lambda rows: len(_present(aggregate, argument(rows)))
    if aggregate.kind is AggregateKind.SUM:
        dense = value_type(aggregate, types).resolution is None
        return lambda rows: _sum(_present(aggregate, argument(rows)), dense)
    if aggregate.kind is AggregateKind.MEAN:
        return lambda rows: _mean(aggregate, _present(aggregate, argument(rows)))
    if aggregate.kind in (AggregateKind.LEAST, AggregateKind.GREATEST):
        return lambda rows: _extremum(aggregate, _present(aggregate, argument(rows)))
    if aggregate.kind in (AggregateKind.FIRST, AggregateKind.LAST):
        return lambda rows: _in_time(aggregate, argument(rows), rows)
    if aggregate.kind is AggregateKind.ANY and aggregate.function in ("ANY_VALUE", "ANY_VALUE IGNORE NULLS"):
        return lambda rows: min(_present(aggregate, argument(rows)), default=None)
    if aggregate.kind is AggregateKind.LIST and (aggregate.computed or len(aggregate.arguments) == 1):
        kind = aggregate.computed or types[aggregate.arguments[0]]
        return lambda rows: _list(sorted(_present(aggregate, argument(rows))), kind)
    if aggregate.kind is AggregateKind.SKETCH and aggregate.function == "APPROX_COUNT_DISTINCT":
        return lambda rows: len(set(_present(aggregate, argument(rows))))
    raise UnsupportedError(
        f"{aggregate.text} is decided, and cannot be computed", location=aggregate.location
    )


def _argument(aggregate: Aggregate, types: Sequence[Type]) -> Callable[[Sequence[Row]], list[Any]]:
    """What an aggregate reads of each row: a value, or those of several columns (None: one is NULL)."""
    if aggregate.formula is not None:
        formula, kind = aggregate.formula, aggregate.computed or DOUBLE
        return lambda rows: over_values(formula, types, (), kind, [(row.values, ()) for row in rows])
    if aggregate.polynomial is not None and aggregate.kind is not AggregateKind.COUNT:
        return lambda rows: [_polynomial(aggregate, row.values) for row in rows]
    if len(aggregate.arguments) == 1:
        return lambda rows: [row.values[aggregate.arguments[0]] for row in rows]

    def values(row: Row) -> Any:
        arguments = tuple(row.values[position] for position in aggregate.arguments)
        return None if None in arguments else arguments

    return lambda rows: list(map(values, rows))


def _polynomial(aggregate: Aggregate, values: tuple[Any, ...]) -> Any:
    """A sum of products, exactly: of doubles too."""
    assert aggregate.polynomial is not None
    if any(values[position] is None for position in aggregate.arguments):
        return None
    if aggregate.polynomial == ((Fraction(1), aggregate.arguments),) and len(aggregate.arguments) == 1:
        # A column, which need not be a number: of texts too there is a least one.
        return values[aggregate.arguments[0]]
    products = (reduce(_times, map(values.__getitem__, factors), by) for by, factors in aggregate.polynomial)
    return total(products)


def _times(left: Any, right: Any) -> Any:
    if isinstance(left, NotANumber) or isinstance(right, NotANumber):
        return NAN
    if _infinite(left) or _infinite(right):
        made = float(left) * float(right)
        return NAN if math.isnan(made) else made
    return Fraction(left) * Fraction(right)


def _infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _present(aggregate: Aggregate, given: Iterable[Any]) -> list[Any]:
    """What is not NULL; of DISTINCT each once."""
    present = [value for value in given if value is not None]
    return list(dict.fromkeys(present)) if aggregate.distinct else present


def total(values: Iterable[Any]) -> Any:
    """The exact sum of numbers; NULL of nothing.

    >>> total([0.5, 0.25]), total([1e308, 1e308, -1e308]) == 1e308, total([])
    (Fraction(3, 4), True, None)
    """
    numbers = list(values)
    if not numbers:
        return None
    if any(isinstance(value, NotANumber) for value in numbers):
        return NAN
    infinite = {value for value in numbers if _infinite(value)}
    if infinite:
        return infinite.pop() if len(infinite) == 1 else NAN
    exact = sum(map(Fraction, numbers), Fraction(0))
    return int(exact) if exact.denominator == 1 else exact


def _sum(values: Iterable[Any], dense: bool) -> Any:
    summed = total(values)
    return rounded(Fraction(summed)) if dense and isinstance(summed, (int, Fraction)) else summed


def rounded(exact: Fraction) -> float:
    """The nearest double; beyond the largest, infinity."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _extremum(aggregate: Aggregate, values: Sequence[Any]) -> Any:
    if not values:
        return None
    if aggregate.function in ("BIT_AND", "BIT_OR"):
        return reduce(
            (lambda a, b: a & b) if aggregate.function == "BIT_AND" else (lambda a, b: a | b), values
        )
    return min(values) if aggregate.kind is AggregateKind.LEAST else max(values)


def _by_column(aggregate: Aggregate, rows: Sequence[Row], values: Sequence[Any] | None) -> Any:
    """The value of the row that another column chooses; rows where that is NULL are none of them.

    Args:
        values: what is computed of each row; None: it is a column.
    """
    assert aggregate.by is not None
    if values is None and aggregate.value is None:
        raise UnsupportedError(
            f"{aggregate.text} is decided, and cannot be computed", location=aggregate.location
        )
    values = values or [row.values[aggregate.value or 0] for row in rows]
    keys = [row.values[aggregate.by] for row in rows]
    pairs = [(key, value) for key, value in zip(keys, values, strict=True) if key is not None]
    choose = min if aggregate.kind in (AggregateKind.LEAST, AggregateKind.FIRST) else max
    return choose(pairs, key=row_key, default=(None, None))[1]


def _in_time(aggregate: Aggregate, values: Sequence[Any], rows: Sequence[Row]) -> Any:
    pairs = [(_moment(row), value) for row, value in zip(rows, values, strict=True)]
    if aggregate.function.endswith("IGNORE NULLS"):
        pairs = [pair for pair in pairs if pair[1] is not None]
    return (min if aggregate.kind is AggregateKind.FIRST else max)(pairs, key=row_key, default=(None, None))[
        1
    ]


def _list(values: Sequence[Any], kind: Type) -> str:
    return f"[{', '.join(map(kind.text, values))}]"


# Quotients of moments.


def _mean(aggregate: Aggregate, values: Sequence[Any]) -> Any:
    """AVG, and what is made of sums of powers; NULL where there are too few rows."""
    pairs = [value if isinstance(value, tuple) else (value,) for value in values]
    flat = [number for pair in pairs for number in pair]
    if not pairs:
        return None
    if any(isinstance(number, NotANumber) or _infinite(number) for number in flat):
        return total(flat) if aggregate.function == "AVG" else NAN
    columns = [[Fraction(number) for number in column] for column in zip(*pairs, strict=True)]
    return _QUOTIENTS[aggregate.function](*columns)


def _average(values: Sequence[Fraction]) -> float:
    return rounded(sum(values, Fraction(0)) / len(values))


def _moments(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    """The sum of the products of the distances from both means."""
    means = sum(left) / Fraction(len(left)), sum(right) / Fraction(len(right))
    return sum(((a - means[0]) * (b - means[1]) for a, b in zip(left, right, strict=True)), Fraction(0))


def _variance(sample: int, root: bool) -> Callable[[Sequence[Fraction]], float | None]:
    def value(values: Sequence[Fraction]) -> float | None:
        if len(values) <= sample:
            return None
        variance = rounded(_moments(values, values) / (len(values) - sample))
        return math.sqrt(variance) if root else variance

    return value


def _covariance(sample: int) -> Callable[[Sequence[Fraction], Sequence[Fraction]], float | None]:
    def value(left: Sequence[Fraction], right: Sequence[Fraction]) -> float | None:
        return rounded(_moments(left, right) / (len(left) - sample)) if len(left) > sample else None

    return value


def _correlation(left: Sequence[Fraction], right: Sequence[Fraction]) -> float | None:
    both = _moments(left, left) * _moments(right, right)
    return rounded(_moments(left, right)) / math.sqrt(rounded(both)) if both else None


_QUOTIENTS: dict[str, Callable[..., float | None]] = {
    "AVG": _average,
    "STDDEV_SAMP": _variance(1, True),
    "STDDEV_POP": _variance(0, True),
    "VAR_SAMP": _variance(1, False),
    "VAR_POP": _variance(0, False),
    "COVAR_POP": _covariance(0),
    "COVAR_SAMP": _covariance(1),
    "CORR": _correlation,
}
# The names of what is computed, of each kind.
_COMPUTED: dict[AggregateKind, Collection[str]] = {
    AggregateKind.COUNT: ("COUNT",),
    AggregateKind.SUM: ("SUM",),
    AggregateKind.MEAN: _QUOTIENTS,
    AggregateKind.LEAST: ("MIN", "BOOL_AND", "ARG_MIN", "BIT_AND"),
    AggregateKind.GREATEST: ("MAX", "BOOL_OR", "ARG_MAX", "BIT_OR"),
    AggregateKind.FIRST: ("FIRST", "FIRST IGNORE NULLS"),
    AggregateKind.LAST: ("LAST", "LAST IGNORE NULLS"),
    AggregateKind.LIST: ("ARRAY_AGG", "ARRAY_AGG FILTER"),
}
