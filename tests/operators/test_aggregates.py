"""Accumulators: what they say is what the definition says of all rows that came, however these came."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.errors import PlanError
from streambound.operators.grouping.aggregates import Accumulator, accumulator, of_column
from streambound.operators.rows.operator import Row, ordering
from streambound.plan.widths import width
from streambound.query.column_types import NAN, parse_type
from streambound.query.operators import Aggregate, AggregateKind

INT, DOUBLE, DECIMAL, TEXT, BOOLEAN = map(parse_type, ("int", "double", "decimal(5,2)", "string", "boolean"))
# What rows hold: a time, an int, a double, a decimal, a string and a truth value.
KINDS = (INT, INT, DOUBLE, DECIMAL, TEXT, BOOLEAN)
TIME, WHOLE, REAL, EXACT, WORD, TRUTH = range(6)
SAME = {p: p for p in range(len(KINDS))}
ONE = Fraction(1)


def of(kind: AggregateKind, function: str, *arguments: int, **more: Any) -> Aggregate:
    return Aggregate(kind, f"{function}(...)", arguments, function=function, **more)


def columns(
    function: str, kind: AggregateKind, positions: Sequence[int] = (WHOLE, REAL, EXACT), **more: Any
) -> list[Aggregate]:
    return [of(kind, function, p, **more) for p in positions]


SUMMED = ((ONE, (WHOLE, EXACT)), (Fraction(-2), (WHOLE,)), (Fraction(3), ()))
MEANS = ("AVG", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")
AGGREGATES = [
    of(AggregateKind.COUNT, "COUNT"),
    *columns("COUNT", AggregateKind.COUNT, (WHOLE, REAL, WORD)),
    of(AggregateKind.COUNT, "COUNT", WHOLE, WORD),
    of(AggregateKind.COUNT, "COUNT", WHOLE, WORD, distinct=True),
    *columns("COUNT", AggregateKind.COUNT, (WHOLE, REAL, WORD), distinct=True),
    *columns("SUM", AggregateKind.SUM),
    *columns("SUM", AggregateKind.SUM, distinct=True),
    of(AggregateKind.SUM, "SUM", WHOLE, EXACT, polynomial=SUMMED),
    of(AggregateKind.SUM, "SUM", WHOLE, REAL, polynomial=((ONE, (WHOLE,)), (ONE, (REAL,)))),
    *(one for function in MEANS for one in columns(function, AggregateKind.MEAN)),
    *columns("AVG", AggregateKind.MEAN, distinct=True),
    of(AggregateKind.MEAN, "COVAR_POP", WHOLE, REAL),
    of(AggregateKind.MEAN, "CORR", WHOLE, EXACT),
    *columns("MIN", AggregateKind.LEAST, (WHOLE, REAL, EXACT, WORD, TRUTH)),
    *columns("MAX", AggregateKind.GREATEST, (WHOLE, REAL, EXACT, WORD, TRUTH)),
    of(AggregateKind.GREATEST, "MAX", WHOLE, EXACT, polynomial=SUMMED),
    of(AggregateKind.LEAST, "BIT_AND", WHOLE),
    of(AggregateKind.ANY, "ANY_VALUE", WORD),
    of(AggregateKind.FIRST, "FIRST", WORD),
    of(AggregateKind.LAST, "LAST", WORD),
    of(AggregateKind.FIRST, "FIRST IGNORE NULLS", WORD),
    of(AggregateKind.LAST, "LAST IGNORE NULLS", WORD),
    of(AggregateKind.LEAST, "ARG_MIN", WHOLE, by=WHOLE, value=WORD),
    of(AggregateKind.GREATEST, "ARG_MAX", WHOLE, by=WHOLE, value=WORD),
    *columns("ARRAY_AGG", AggregateKind.LIST, (WHOLE, WORD)),
    of(AggregateKind.LIST, "ARRAY_AGG", WORD, distinct=True),
]


def defined(one: Aggregate, bag: Mapping[Row, int]) -> Any:
    """The value of an aggregate over a bag, from all its rows."""
    rows = [row for row, count in bag.items() for _ in range(count)]
    if one.counts_rows:
        return len(rows)
    if one.kind in (AggregateKind.FIRST, AggregateKind.LAST) or one.by is not None:
        return _chosen(one, rows)
    found = [tuple(row[p] for p in one.arguments) for row in rows]
    found = [values for values in found if None not in values]
    if one.distinct:
        found = list(dict.fromkeys(found))
    if one.kind is AggregateKind.COUNT:
        return len(found)
    if not found:
        return "[]" if one.kind is AggregateKind.LIST else None
    if one.function == "CORR":
        return _correlation(found)
    if one.function == "COVAR_POP":
        if any(map(_endless, (v for values in found for v in values))):
            return NAN
        pairs = [(Fraction(y), Fraction(x)) for y, x in found]
        y, x = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
        return float(sum((a - y) * (b - x) for a, b in pairs) / len(pairs))
    values = [value for (value,) in found] if len(one.arguments) == 1 else [_computed(one, v) for v in found]
    if one.function == "BIT_AND":
        return reduce(and_, values)
    if one.kind in (AggregateKind.LEAST, AggregateKind.ANY):
        return sorted(values)[0]
    if one.kind is AggregateKind.GREATEST:
        return sorted(values)[-1]
    if one.kind is AggregateKind.LIST:
        return f"[{', '.join(KINDS[one.arguments[0]].text(value) for value in sorted(values))}]"
    real = one.type_of(lambda p: KINDS[p]).resolution is None
    if one.kind is AggregateKind.SUM:
        total = _total(values)
        return total if total == NAN or not real else float(total)
    if any(map(_endless, values)):
        return _total(values) if one.function == "AVG" else NAN
    exact = [Fraction(v) for v in values]
    mean = sum(exact) / len(exact)
    if one.function == "AVG":
        return float(mean)
    if one.function.endswith("SAMP") and len(exact) == 1:
        return None
    square = sum((v - mean) ** 2 for v in exact) / (len(exact) - one.function.endswith("SAMP"))
    return float(square) if one.function.startswith("VAR") else math.sqrt(square)


def _endless(value: Any) -> bool:
    return value == NAN or (isinstance(value, float) and math.isinf(value))


def _total(values: Sequence[Any]) -> Any:
    if not any(map(_endless, values)):
        return sum(map(Fraction, values))
    total = sum(math.nan if v == NAN else float(v) for v in values)
    return NAN if math.isnan(total) else total


def _computed(one: Aggregate, values: tuple[Any, ...]) -> Any:
    known = dict(zip(one.arguments, values, strict=True))
    assert one.polynomial is not None
    if any(map(_endless, values)):
        return _total([known[p] for _, positions in one.polynomial for p in positions])
    found = sum(
        (by * math.prod(Fraction(known[p]) for p in positions) for by, positions in one.polynomial),
        Fraction(0),
    )
    return float(found) if REAL in one.arguments and one.kind is not AggregateKind.SUM else found


def _correlation(found: Sequence[tuple[Any, ...]]) -> Any:
    ys, xs = ([Fraction(v) for v in column] for column in zip(*found, strict=True))
    if len(set(ys)) == 1 or len(set(xs)) == 1:
        return None
    return pytest.approx(statistics.correlation(list(map(float, ys)), list(map(float, xs))), abs=1e-9)


def _chosen(one: Aggregate, rows: Sequence[Row]) -> Any:
    position = TIME if one.by is None else one.by
    value = one.arguments[0] if one.value is None else one.value
    found = [(row[position], row[value]) for row in rows if row[position] is not None]
    if one.function.endswith("IGNORE NULLS"):
        found = [pair for pair in found if pair[1] is not None]
    if not found:
        return None
    end = (min if one.kind in (AggregateKind.FIRST, AggregateKind.LEAST) else max)(by for by, _ in found)
    tied = sorted(((shown,) for by, shown in found if by == end), key=ordering)
    return tied[-1 if one.kind in (AggregateKind.LAST, AggregateKind.GREATEST) else 0][0]


reals = st.sampled_from([0.5, 0.1, 0.2, -7.25, 1e17, 1e-9, math.inf, -math.inf, NAN])
rows = st.tuples(
    st.integers(0, 3),
    st.none() | st.integers(-3, 3),
    st.none() | reals,
    st.none() | st.sampled_from([Fraction(1, 4), Fraction(-3, 2), 2]),
    st.none() | st.sampled_from("ab"),
    st.none() | st.integers(0, 1),
)


@st.composite
def changes(draw: st.DrawFn, retracts: bool) -> list[tuple[Row, int]]:
    """Rows that come, and (``retracts``) some of them that are taken back, in any order of the two."""
    came = draw(st.lists(st.tuples(rows, st.integers(1, 3)), max_size=8))
    if not retracts:
        return came
    back = [(row, -draw(st.integers(0, count))) for row, count in came]
    return draw(st.permutations([one for one in (*came, *back) if one[1]]))


def made(one: Aggregate, retracts: bool, given_: Sequence[tuple[Row, int]] = ()) -> Accumulator:
    found = accumulator(one, SAME, retracts, KINDS, TIME)
    for row, count in given_:
        found.add(row, count)
    return found


def same(one: Any, other: Any) -> bool:
    return bool(one == other and (isinstance(one, float) is isinstance(other, float) or one == NAN))


@pytest.mark.parametrize("retracts", [False, True])
@given(data=st.data())
def test_the_value_is_that_of_all_rows_however_they_came(retracts: bool, data: st.DataObject) -> None:
    given_ = data.draw(changes(retracts))
    bag = Counter[Row]()
    for row, count in given_:
        bag[row] += count
    cut = data.draw(st.integers(0, len(given_)))
    for one in AGGREGATES:
        whole, merged = made(one, retracts, given_), made(one, retracts, given_[:cut])
        merged.merge(made(one, retracts, given_[cut:]))
        loaded = made(one, retracts)
        loaded.load(json.loads(json.dumps(made(one, retracts, given_[:cut]).dump())))
        for row, count in given_[cut:]:
            loaded.add(row, count)
        final = made(one, retracts, list((+bag).items()))
        expected = defined(one, +bag)
        assert whole.value() == expected, one
        for other in (whole, merged, loaded):
            assert json.dumps(other.dump()) == json.dumps(final.dump()), one
            assert other.value() == whole.value(), one
        number, each = width(one, lambda p: KINDS[p], retracts)
        assert whole.stored_units <= number + each * len(bag), one


def test_a_sum_of_integers_never_wraps_and_doubles_are_rounded_once() -> None:
    whole = made(of(AggregateKind.SUM, "SUM", WHOLE), False, [((0, 2**63 - 1, None, None, None, None), 4)])
    assert whole.value() == 4 * (2**63 - 1)
    values = [((0, 0, v, 0, "", 0), 1) for v in (1e16, 1.0, -1e16)]
    assert made(of(AggregateKind.SUM, "SUM", REAL), False, values).value() == 1.0


def test_what_is_shown_has_the_type_of_the_aggregate() -> None:
    row = ((0, 1, 1.0, 1, "a", 1), 1)
    found = {p: made(of(AggregateKind.SUM, "SUM", p), False, [row]).value() for p in (WHOLE, REAL, EXACT)}
    assert {p: type(v) for p, v in found.items()} == {WHOLE: int, REAL: float, EXACT: int}
    assert isinstance(made(of(AggregateKind.MEAN, "AVG", WHOLE), False, [row]).value(), float)
    kinds = {
        p: of(AggregateKind.SUM, "SUM", p).type_of(lambda p: KINDS[p]).name for p in (WHOLE, REAL, EXACT)
    }
    assert kinds == {WHOLE: "bigint", REAL: "double", EXACT: "decimal(38,2)"}
    squared = of(AggregateKind.SUM, "SUM", EXACT, polynomial=((ONE, (EXACT, EXACT)),))
    assert squared.type_of(lambda p: KINDS[p]).name == "decimal(38,4)"


def test_an_expression_is_aggregated_where_it_was_computed() -> None:
    one = of(AggregateKind.GREATEST, "MAX", WHOLE, REAL, formula="o0 * o1")
    with pytest.raises(PlanError, match="has not been computed"):
        made(one, False)
    found = accumulator(of_column(one, 6), {6: 6}, False, (*KINDS, DOUBLE))
    found.add((0, 1, 2.0, None, None, None, 2.0), 1)
    assert found.value() == 2.0


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (of(AggregateKind.SKETCH, "APPROX_COUNT_DISTINCT", WHOLE), "APPROX_COUNT_DISTINCT is not computed"),
        (of(AggregateKind.ANY, "TOPONE"), "TOPONE is not computed"),
        (of(AggregateKind.ANY, "ANY_VALUE"), "reads no column"),
        (of(AggregateKind.LIST, "HISTOGRAM", WHOLE), "HISTOGRAM is not computed"),
        (of(AggregateKind.MEAN, "SKEWNESS", WHOLE), "SKEWNESS is not computed"),
        (of(AggregateKind.FIRST, "FIRST", WHOLE), "its rows have no time"),
    ],
)
def test_what_has_no_accumulator_is_named(one: Aggregate, why: str) -> None:
    with pytest.raises(PlanError, match=why):
        accumulator(one, SAME, False, KINDS)
