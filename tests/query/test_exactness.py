"""Comparisons of numbers mean what Spark SQL means, or are refused with what to declare instead.

``spark_rule`` is Spark's rule for pairs of numbers; tests/spark/test_pairs.py holds it against Spark itself.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.errors import DataError, QueryError
from streambound.evaluation.events import batches
from streambound.evaluation.reference import reference
from streambound.query.catalog import catalog_from_mapping
from streambound.query.column_types import NAN, Type, parse_type
from streambound.query.model import Filter, Op
from streambound.query.parse import parse, statement
from streambound.query.statement import Statement

TYPES = ["tinyint", "int", "bigint", "decimal(3,1)", "decimal(15,0)", "decimal(16,0)", "decimal(15,5)"]
TYPES += ["decimal(20,10)", "decimal(38,0)", "decimal(38,38)", "decimal(38,2)", "float", "double"]
# Neighbours of what doubles hold, and what they do not.
WHOLE = [0, 1, -1, 2, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, 10**15 - 1, 2**24 + 1]
PARTS = ["0.1", "0.5", "-0.1", "0.3", "2.5", "99.9", "0.10000", "1e-10", "0.30000000000000004", "1e-38"]
NUMBERS = [*map(str, WHOLE), *PARTS]
LITERALS = [*NUMBERS, "1e0", "1e-1", "3e-1", "9007199254740992e0", "9007199254740993e0", "1e22", "0.5e0"]
LITERALS += ["2e-300"]


def value_of(kind: Type, text: str) -> Any:
    """The value of a type next to a number; None if it has none."""
    number = Fraction(Decimal(text))
    if kind.resolution is not None:
        number = Fraction(round(number / kind.resolution)) * kind.resolution
    try:
        return kind.encode(number)
    except DataError:
        return None


def near(value: Any) -> Any:
    return value if value is NAN or isinstance(value, float) else float(value)


def spark_rule(op: Op, one: Any, other: Any, doubles: bool) -> bool:
    """What Spark answers: with a double among them numbers are compared as doubles."""
    return op.holds(near(one), near(other)) if doubles else op.holds(one, other)


def is_double(kind: str) -> bool:
    return kind in ("float", "double")


@st.composite
def columns(draw: st.DrawFn) -> tuple[str, dict[str, Any] | None]:
    kind = draw(st.sampled_from(TYPES))
    low = draw(st.sampled_from([None, None, 0, -(2**53)]))
    high = draw(st.sampled_from([None, None, 9, 2**53, 2**60]))
    ends = {key: end for key, end in (("min", low), ("max", high)) if end is not None}
    if kind != "bigint" and kind != "decimal(38,0)":
        return kind, None
    return kind, ends or None


def inside(value: Any, domain: dict[str, Any] | None) -> bool:
    return domain is None or domain.get("min", value) <= value <= domain.get("max", value)


def values(kind: str, domain: dict[str, Any] | None) -> list[Any]:
    found = [value_of(parse_type(kind), text) for text in NUMBERS]
    return [v for v in found if v is not None and inside(v, domain)] or [0]


def catalog_of(**kinds: tuple[str, dict[str, Any] | None]) -> Any:
    body = {
        name: {"columns": {"c": kind}, **({"domains": {"c": domain}} if domain else {})}
        for name, (kind, domain) in kinds.items()
    }
    return catalog_from_mapping(body)


@given(one=columns(), other=columns(), op=st.sampled_from(list(Op)), data=st.data())
def test_columns_compare_as_in_spark_or_not_at_all(one: Any, other: Any, op: Op, data: st.DataObject) -> None:
    try:
        query = parse(f"SELECT 1 FROM S, T WHERE S.c {op.value} T.c", catalog_of(S=one, T=other))
    except QueryError as error:
        assert "Spark SQL" in error.message and error.accepted and "declare" in str(error.fix)
        return
    (atom,) = query.joins
    doubles = is_double(one[0]) or is_double(other[0])
    for _ in range(5):
        left, right = (data.draw(st.sampled_from(values(*side))) for side in (one, other))
        found = atom.op.holds(left, right) if atom.left.occurrence == "S" else atom.op.holds(right, left)
        assert found is spark_rule(op, left, right, doubles), (one, other, op, left, right)


@given(side=columns(), op=st.sampled_from(list(Op)), literal=st.sampled_from(LITERALS), data=st.data())
def test_literals_compare_as_in_spark_or_not_at_all(
    side: Any, op: Op, literal: str, data: st.DataObject
) -> None:
    # As in Spark SQL a number with an exponent is a double, and one without is exact.
    doubles = is_double(side[0]) or "e" in literal
    kind, domain = side
    try:
        query = parse(f"SELECT 1 FROM S WHERE S.c {op.value} {literal}", catalog_of(S=(kind, domain)))
    except QueryError as error:
        assert "Spark SQL" in error.message and "write" in str(error.fix)
        return
    (atom,) = query.where
    assert isinstance(atom, Filter)
    for value in data.draw(st.lists(st.sampled_from(values(kind, domain)), max_size=5)):
        wanted = spark_rule(op, value, float(literal) if doubles else Fraction(Decimal(literal)), doubles)
        assert atom.op.holds(value, atom.constant.value) is wanted, (side, op, literal, value)


@given(
    kind=st.sampled_from(["int", "bigint", "decimal(15,5)", "decimal(20,10)"]),
    listed=st.lists(st.sampled_from(LITERALS), min_size=1, max_size=3),
    data=st.data(),
)
def test_lists_compare_in_the_type_of_all(kind: str, listed: list[str], data: st.DataObject) -> None:
    try:
        query = parse(f"SELECT 1 FROM S WHERE S.c IN ({', '.join(listed)})", catalog_of(S=(kind, None)))
    except QueryError as error:
        assert "Spark SQL" in error.message
        return
    doubles = any("e" in text for text in listed)
    (atom,) = query.where
    held = [constant.value for constant in atom.values]  # type: ignore[union-attr]
    for value in data.draw(st.lists(st.sampled_from(values(kind, None)), max_size=5)):
        numbers = [float(t) if doubles else Fraction(Decimal(t)) for t in listed]
        wanted = any(spark_rule(Op.EQ, value, number, doubles) for number in numbers)
        assert (value in held) is wanted, (kind, listed, value)


REFUSED = {
    "decimal(10,2)": "declare S.c double in the stream catalog",
    "bigint": "declare S.c int in the stream catalog if no value is beyond 2^53, or double",
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("other", ["double", "float"])
@pytest.mark.parametrize("op", [op.value for op in Op])
def test_what_doubles_do_not_hold_is_refused_beside_them(kind: str, other: str, op: str) -> None:
    catalog = catalog_of(S=(kind, None), T=(other, None))
    for sql in (f"S.c {op} T.c", f"T.c {op} S.c"):
        with pytest.raises(QueryError) as caught:
            parse(f"SELECT 1 FROM S, T WHERE {sql}", catalog)
        assert REFUSED[kind] in str(caught.value.fix) and caught.value.location is not None


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        ("int", None),
        ("smallint", None),
        ("decimal(15,0)", None),
        ("bigint", {"min": 0, "max": 2**53}),
        ("decimal(5,2)", {"values": ["0.25", "0.5"]}),
        ("decimal(38,0)", {"min": -5, "max": 5}),
    ],
)
def test_what_doubles_hold_is_compared_with_them(kind: str, domain: Any) -> None:
    assert parse("SELECT 1 FROM S, T WHERE S.c = T.c", catalog_of(S=(kind, domain), T=("double", None)))


def test_a_declared_double_reads_decimals_as_spark_casts_them() -> None:
    catalog = catalog_from_mapping({"S": {"c": "double"}, "T": {"c": "double"}})
    query = parse("SELECT 1 FROM S, T WHERE S.c = T.c AND S.c > 0 AND S.c < 1 AND S.c IN (0.1)", catalog)
    arriving = batches(Statement.of(query), [{"stream": "S", "c": "0.10"}, {"stream": "T", "c": 0.1}])
    assert [a.count for found in reference(Statement.of(query), arriving, {}) for a in found] == [1]


@pytest.mark.parametrize(
    ("first", "second"),
    [("S.c FROM S", "T.c FROM T"), ("T.c FROM T", "0.1 FROM S"), ("U.c FROM U", "T.c FROM T")],
)
def test_a_union_that_spark_would_round_is_refused(first: str, second: str) -> None:
    catalog = catalog_of(S=("decimal(10,2)", None), T=("double", None), U=("bigint", None))
    for one, other in ((first, second), (second, first)):
        with pytest.raises(QueryError, match="Spark SQL rounds numbers of column 1"):
            statement(f"SELECT {one} UNION SELECT {other}", catalog)
        # All rows stay, each rounded as Spark does.
        assert statement(f"SELECT {one} UNION ALL SELECT {other}", catalog)
    assert statement("SELECT T.c FROM T UNION SELECT 1e-1 FROM S", catalog)


def test_columns_in_a_list_compare_in_the_type_of_all() -> None:
    catalog = catalog_of(S=("int", None), T=("bigint", None), U=("double", None))
    with pytest.raises(QueryError, match="as doubles"):
        parse("SELECT 1 FROM S, T, U WHERE S.c IN (T.c, U.c)", catalog)


@pytest.mark.parametrize("condition", ["0.1 = 1e-1", "9007199254740993 = 9007199254740992e0"])
def test_constants_compare_as_in_spark(condition: str) -> None:
    assert not parse(f"SELECT 1 FROM S WHERE {condition}", catalog_of(S=("int", None))).where


def test_nan_is_the_largest_double() -> None:
    assert parse_type("float").encode(math.nan) is NAN
