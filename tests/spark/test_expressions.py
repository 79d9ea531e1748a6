"""What is computed of an expression in Spark SQL is what Spark computes (ANSI mode off)."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pytest
from tests.expressions import COLUMNS, expressions, rows

from streambound.operators.rows.expressions import compiled
from streambound.query.column_types import NAN, Family, parse_type
from streambound.query.computing.translate import type_of

pytestmark = pytest.mark.spark
KINDS = {name: parse_type(kind) for name, kind in COLUMNS.items()}
AT_ONCE = 40


def plain(value: Any) -> Any:
    """A value as both may give it."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


@pytest.mark.parametrize("number", [100, pytest.param(300, marks=pytest.mark.heavy)])
def test_expressions_mean_what_spark_says(number: int, spark: Any) -> None:
    given, asked = rows(3, 40), expressions(4, number)
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    order = [tuple(row[name] for name in COLUMNS) for row in given]
    before = {key: spark.conf.get(key) for key in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")}
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        numbered = [(number, *utc(row)) for number, row in enumerate(order)]
        spark.createDataFrame(numbered, f"number int, {schema}").coalesce(1).createOrReplaceTempView("given")
        encoded = [tuple(KINDS[c].encode(v) for c, v in zip(COLUMNS, row, strict=True)) for row in order]
        differing = []
        for start in range(0, len(asked), AT_ONCE):
            some = asked[start : start + AT_ONCE]
            columns = ", ".join(f"{in_spark(text)} AS c{n}" for n, (text, _) in enumerate(some))
            said = spark.sql(f"SELECT {columns} FROM given ORDER BY number").collect()
            for number, (text, _) in enumerate(some):
                kind = type_of(text, KINDS) or parse_type("string")
                kind = parse_type("double") if kind.name.startswith("decimal") else kind
                found = compiled(text, list(KINDS.items()), kind)(encoded)
                right = [value_of(kind, row[number]) for row in said]
                wrong = [
                    (row, left, spark_)
                    for row, left, spark_ in zip(given, map(plain_of, found), right, strict=True)
                    if left != spark_
                ]
                if wrong:
                    row, left, spark_ = wrong[0]
                    used = {name: value for name, value in row.items() if name in text}
                    differing.append(f"{text}: {left!r}, Spark {spark_!r}, of {used}")
        assert not differing, "\n".join(differing)
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def in_spark(text: str) -> str:
    """With decimals as doubles, of which both have the same."""
    kind = type_of(text, KINDS)
    return f"CAST({text} AS DOUBLE)" if kind is not None and kind.name.startswith("decimal") else text


def utc(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(v.replace(tzinfo=dt.UTC) if isinstance(v, dt.datetime) else v for v in row)


def value_of(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dt.datetime):
        # Spark gives moments in the machine's own zone.
        return kind.encode(value.astimezone(dt.UTC))
    return (
        plain(float(value))
        if kind.family is Family.NUMBER and kind.resolution is None
        else kind.encode(value)
    )


def plain_of(value: Any) -> Any:
    return "NaN" if value is NAN or value == NAN else plain(value)
