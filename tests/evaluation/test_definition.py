"""The definition of groups, windows, ranks, frames, guards and as-of joins, judged by DuckDB and by hand."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.beyond import Beyond, beyond, statements_beyond
from tests.final_answers import answer_by_definition, answer_by_duckdb

from streambound.errors import UnsupportedError
from streambound.evaluation.corpus import evaluated
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse.corpus import CorpusLine, read_corpus

CORPUS = Path(__file__).parents[1] / "corpus" / "answers_beyond.jsonl"
LINES = list(read_corpus(CORPUS))
EXPECTED = {line["id"]: line for line in map(json.loads, CORPUS.read_text().splitlines())}


def changes(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """The answers of a document by marker and row."""
    return Counter({(one["ts"], *one["row"]): one["count"] for one in rows})


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.id)
def test_the_changes_of_the_corpus(line: CorpusLine) -> None:
    expected, found = EXPECTED[line.id], evaluated(line, "reference")
    assert changes(found["answers"]) == changes(expected["answers"])
    assert [one["row"] for one in found.get("initial", [])] == expected["initial"]


@given(st.one_of(statements_beyond(), statements_beyond("retold")))
def test_the_changes_add_up_to_the_answer_of_duckdb(case: Beyond) -> None:
    assert answer_by_definition(case.line) == answer_by_duckdb(case.line, case.judge), f"{case}\n{case.judge}"


def test_a_number_of_no_rows_is_not_null() -> None:
    number = "SELECT COUNT(*) FROM S t0 WHERE t0.ts = s0.ts AND t0.K = s0.K AND t0.A > 0"
    sql = f"SELECT s0.A, ({number}) AS n FROM S s0"
    for seed in range(5):
        case = beyond(seed, "retold")
        line = replace(case.line, sql=sql)
        assert answer_by_definition(line) == answer_by_duckdb(line, sql), line


TICKS = {"columns": {"K": "int", "A": "int", "ts": "int"}, "timestamp": "ts"}
CLOCK = {"columns": {"K": "int", "A": "int", "ts": "timestamp"}, "timestamp": "ts"}
S, T = "S", "T"


def event(stream: str, ts: Any, k: int | None, a: int | None) -> dict[str, Any]:
    return {"stream": stream, "ts": ts, "K": k, "A": a}


def answer(
    sql: str, events: list[dict[str, Any]], stream: dict[str, Any] = TICKS
) -> dict[tuple[Any, ...], int]:
    """The answer over all events."""
    streams = {S: stream, T: stream}
    line = CorpusLine("q", sql, catalog_from_mapping(streams), tuple(events), streams=streams)
    found = evaluated(line, "reference")
    rows: Counter[tuple[Any, ...]] = Counter()
    for one in [*found.get("initial", []), *found["answers"]]:
        rows[tuple(one["row"])] += one["count"]
    return dict(+rows)


FIVE = [event(S, 1, 0, 3), event(S, 1, 0, 2), event(S, 2, 0, None), event(S, 2, 1, 2), event(S, 4, 1, 2)]


SESSION, HOP = "session_window(ts, 2)", "window(ts, 4, 2)"
LAST = "SELECT K, A, ROW_NUMBER() OVER (PARTITION BY K ORDER BY ts DESC) AS n FROM S"
OPEN: list[tuple[str, dict[tuple[Any, ...], int]]] = [
    # Of rows that tie ARG_MIN and FIRST take the least value, ARG_MAX and LAST the greatest.
    (
        "SELECT K, MIN_BY(A, ts), MAX_BY(A, ts), FIRST(A), LAST(A) FROM S GROUP BY K",
        {(0, 2, None, 2, None): 1, (1, 2, 2, 2, 2): 1},
    ),
    (
        "SELECT K, COUNT(DISTINCT K, A), ARRAY_AGG(A) FROM S GROUP BY K",
        {(0, 2, "[2, 3]"): 1, (1, 1, "[2, 2]"): 1},
    ),
    ("SELECT COUNT(*), SUM(A), AVG(A), VAR_SAMP(A) FROM S WHERE A > 5", {(0, None, None, None): 1}),
    # A session ends as long after its last row as another would still belong to it.
    (
        f"SELECT K, {SESSION}.start, {SESSION}.end, COUNT(*) FROM S GROUP BY {SESSION}, K",
        {(0, 1, 4, 3): 1, (1, 2, 4, 1): 1, (1, 4, 6, 1): 1},
    ),
    (
        f"SELECT {HOP}.start, COUNT(*) FROM S GROUP BY ({HOP})",
        {(-2, 2): 1, (0, 4): 1, (2, 3): 1, (4, 1): 1},
    ),
    # Ties of ROW_NUMBER are broken by the row, NULL first.
    (f"SELECT K, A FROM ({LAST}) q WHERE n = 1", {(0, None): 1, (1, 2): 1}),
    ("SELECT A FROM S ORDER BY A NULLS LAST LIMIT 1", {(2,): 1}),
    ("SELECT A FROM S ORDER BY A DESC NULLS FIRST LIMIT 1", {(None,): 1}),
    ("SELECT A, ts FROM S ORDER BY ts, A LIMIT 2 OFFSET 1", {(3, 1): 1, (None, 2): 1}),
    ("SELECT NTILE(2) OVER (ORDER BY ts, A) FROM S", {(1,): 3, (2,): 2}),
    # Groups of a constant are groups: of no rows there is none. Without a key there is one.
    ("SELECT 5, COUNT(*) FROM T GROUP BY 1", {}),
    ("SELECT K, COUNT(*) FROM T GROUP BY ROLLUP (K)", {(None, 0): 1}),
    (
        "SELECT A, COUNT(*) OVER (ORDER BY A RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) FROM S",
        {(None, 1): 1, (2, 1): 3, (3, 4): 1},
    ),
]


@pytest.mark.parametrize(("sql", "expected"), OPEN)
def test_what_sql_leaves_open(sql: str, expected: dict[tuple[Any, ...], int]) -> None:
    assert answer(sql, FIVE) == expected


def test_an_as_of_join_takes_all_tuples_of_the_last_time() -> None:
    events = [event(T, 1, 0, 1), event(T, 3, 0, 5), event(T, 3, 0, 6), event(S, 4, 0, 9), event(S, 4, 1, 8)]
    sql = "SELECT S.A, T.A FROM S ASOF LEFT JOIN T ON S.K = T.K AND S.ts >= T.ts"
    assert answer(sql, events) == {(9, 5): 1, (9, 6): 1, (8, None): 1}


NEAR = [event(T, 1, 0, 1), event(S, 3, 0, 7), event(S, 4, 0, 8), event(T, 6, 0, 2)]


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("S.ts >= T.ts AND T.ts >= S.ts - 2", {(7, 1): 1, (8, None): 1}),
        ("T.ts > S.ts - 3 AND T.ts <= S.ts", {(7, 1): 1, (8, None): 1}),
        ("S.ts - 2 < T.ts AND S.ts >= T.ts", {(7, None): 1, (8, None): 1}),
        ("S.ts <= T.ts", {(7, 2): 1, (8, 2): 1}),
        ("S.ts <= T.ts AND T.ts <= S.ts + 2", {(7, None): 1, (8, 2): 1}),
        ("S.ts <= T.ts AND S.ts < T.ts", {(7, 2): 1, (8, 2): 1}),
    ],
)
def test_a_tolerance_is_as_long_as_it_is_written(on: str, expected: dict[tuple[Any, ...], int]) -> None:
    assert answer(f"SELECT S.A, T.A FROM S ASOF LEFT JOIN T ON S.K = T.K AND {on}", NEAR) == expected


@pytest.mark.parametrize(
    ("on", "said"),
    [
        ("S.ts >= T.ts + 2", "a time with an offset"),
        ("S.ts >= T.ts AND T.ts >= S.ts - 2 AND T.ts > S.ts - 4", "several tolerances"),
    ],
)
def test_times_of_an_as_of_join_that_would_be_read_otherwise_are_refused(on: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        answer(f"SELECT S.A, T.A FROM S ASOF JOIN T ON S.K = T.K AND {on}", NEAR)


def test_null_is_null_to_except_and_intersect() -> None:
    events = [event(S, 1, None, 1), event(S, 1, 1, 1), event(T, 2, None, 2), event(T, 2, 3, 2)]
    assert answer("SELECT K FROM S EXCEPT SELECT K FROM T", events) == {(1,): 1}
    assert answer("SELECT K FROM S INTERSECT SELECT K FROM T", events) == {(None,): 1}


def test_a_condition_on_groups_may_name_the_query_around() -> None:
    events = [event(S, 1, 0, 2), event(S, 1, 0, 7), event(T, 2, 4, 4), event(T, 3, 4, 4)]
    counts = "SELECT K, COUNT(*) AS n FROM T GROUP BY K"
    sql = f"SELECT S.A FROM S WHERE EXISTS (SELECT 1 FROM ({counts}) q WHERE q.n = S.A)"
    assert answer(sql, events) == {(2,): 1}


def test_bounds_of_sessions_are_timestamps() -> None:
    events = [event(S, "2026-01-01 00:00:01", 0, 1), event(S, "2026-01-01 00:00:02", 0, 1)]
    session = "session_window(ts, '5 seconds')"
    sql = f"SELECT {session}.end, COUNT(*) FROM S GROUP BY ({session})"
    assert answer(sql, events, CLOCK) == {("2026-01-01T00:00:07+00:00", 2): 1}


def test_a_key_that_a_grouping_set_leaves_out_has_its_type() -> None:
    events = [event(S, "2026-01-01 00:00:01", 0, 1)]
    found = answer("SELECT ts, K, COUNT(*) FROM S GROUP BY ROLLUP (K, ts)", events, CLOCK)
    assert found == {("2026-01-01T00:00:01+00:00", 0, 1): 1, (None, 0, 1): 1, (None, None, 1): 1}
