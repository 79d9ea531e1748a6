"""The definition against DuckDB running the plain SQL on the same finite data."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from typing import Any

import duckdb
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import Case, cases, events, statements, static, timed_cases, timed_events

from streambound.evaluation.events import batches, encode_static
from streambound.evaluation.reference import reference
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import RelationKind
from streambound.query.parse import statement

MIXED = ("int", "double", "decimal(3,1)", "string", "boolean", "date")


@given(data=st.data())
def test_the_reference_equals_duckdb(data: st.DataObject) -> None:
    case = data.draw(cases(MIXED))
    _equals_duckdb(case, data.draw(events(case)), data.draw(static(case)))


@given(data=st.data())
def test_the_reference_equals_duckdb_with_or_not_null_and_union(data: st.DataObject) -> None:
    case = data.draw(statements(MIXED))
    _equals_duckdb(case, data.draw(events(case)), data.draw(static(case)))


@given(data=st.data())
def test_the_reference_equals_duckdb_where_timestamps_are_compared(data: st.DataObject) -> None:
    case = data.draw(timed_cases())
    _equals_duckdb(case, data.draw(timed_events(case)), {})


def _equals_duckdb(case: Case, arrivals: list[dict[str, Any]], rows: dict[str, Any]) -> None:
    found: Counter[tuple[Any, ...]] = Counter()
    for marker in reference(
        case.statement, batches(case.statement, arrivals), encode_static(case.statement, rows)
    ):
        for answer in marker:
            found[_comparable(answer.row)] += answer.count
    assert found == _plain_sql(case, arrivals, rows), case.sql


def _plain_sql(case: Case, arrivals: list[dict[str, Any]], rows: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for relation in {o.relation.name: o.relation for o in case.query.occurrences}.values():
            columns = ", ".join(f"{c.name} {c.type.name}" for c in relation.columns)
            connection.execute(f"CREATE TABLE {relation.name} ({columns})")
            tuples = (
                rows[relation.name]
                if relation.kind is RelationKind.STATIC
                else [event for event in arrivals if event["stream"] == relation.name]
            )
            for row in tuples:
                marks = ", ".join("?" for _ in relation.columns)
                values = [row[c.name] for c in relation.columns]
                connection.execute(f"INSERT INTO {relation.name} VALUES ({marks})", values)
        return Counter(_comparable(row) for row in connection.execute(case.sql).fetchall())


def _comparable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_plain(value) for value in row)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dt.date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


def test_a_finite_stream_arrives_like_any_other() -> None:
    streams = {"S": {"A": "int"}, "F": {"kind": "finite", "columns": {"B": "int"}}}
    query = statement("SELECT A FROM S, F WHERE A = B", catalog_from_mapping(streams))
    events = [{"stream": "F", "B": 1}, {"stream": "S", "A": 1}]
    found = [answer for marker in reference(query, batches(query, events), {}) for answer in marker]
    assert [(answer.marker, answer.row, answer.count) for answer in found] == [(1, (1,), 1)]
