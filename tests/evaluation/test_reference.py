"""The definition against DuckDB running the plain SQL on the same finite data."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.final_answers import answer_by_definition, answer_by_duckdb
from tests.strategies import Case, cases, events, statements, static, timed_cases, timed_events

from streambound.evaluation.events import batches
from streambound.evaluation.reference import reference
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement
from streambound.query.parse.corpus import CorpusLine

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
    line = CorpusLine("q", case.sql, case.catalog, tuple(arrivals), rows)
    assert answer_by_definition(line) == answer_by_duckdb(line, case.sql), case.sql


def test_a_finite_stream_arrives_like_any_other() -> None:
    streams = {"S": {"A": "int"}, "F": {"kind": "finite", "columns": {"B": "int"}}}
    query = statement("SELECT A FROM S, F WHERE A = B", catalog_from_mapping(streams))
    events = [{"stream": "F", "B": 1}, {"stream": "S", "A": 1}]
    found = [answer for marker in reference(query, batches(query, events), {}) for answer in marker]
    assert [(answer.marker, answer.row, answer.count) for answer in found] == [(1, (1,), 1)]
