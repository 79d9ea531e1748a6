"""What Spark drops before rows reach Python: never a row that counts for a query or breaks a promise."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from streambound.evaluation.promises import fault
from streambound.plan.model import StreamSynopsis
from streambound.plan.tables.facts import facts_of
from streambound.plan.tables.table_planner import stream_synopsis
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Relation
from streambound.query.parse import statement
from streambound.spark.pushdown import pushdown
from streambound.state.table import accepts

COLUMNS = {"A": "int", "n": "string", "d": "date", "ts": "timestamp", "p": "decimal(5,2)"}
KINDS = {**COLUMNS, "A": "int"}
FIRST = dt.date(2026, 3, 1)
DAYS = (FIRST - dt.date(1970, 1, 1)).days
EPOCH = dt.datetime(1970, 1, 1)

OPS = st.sampled_from(["<", "<=", "=", "<>", ">=", ">"])
CONDITIONS = st.one_of(
    st.builds("S.A {} {}".format, OPS, st.sampled_from(["2", "2.5", "-1", "99999999999999999999"])),
    st.builds("S.n {} '{}'".format, OPS, st.sampled_from(["a", "b", "", "é", "a\\b", "${x}", "it''s"])),
    st.builds("S.d {} DATE '2026-03-0{}'".format, OPS, st.integers(1, 4)),
    st.builds("S.ts {} TIMESTAMP '1970-01-01 00:00:0{}'".format, OPS, st.integers(0, 3)),
    st.builds("S.p {} 1.5".format, OPS),
)
DOMAINS: dict[str, st.SearchStrategy[Any]] = {
    "A": st.sampled_from([{"min": 0}, {"min": 0, "max": 3}, {"values": [1, 2]}]),
    "n": st.sampled_from([{"values": ["a", "b"]}, {"values": ["a", "it's"]}]),
    "d": st.just({"min": "2026-03-02"}),
    "p": st.just({"max": "2"}),
}
ROWS = st.fixed_dictionaries(
    {
        "A": st.none() | st.integers(-2, 4),
        "n": st.none() | st.sampled_from(["a", "b", "", "é", "a\\b", "${x}", "it's", "A"]),
        "d": st.none() | st.integers(DAYS, DAYS + 4),
        "ts": st.none() | st.integers(0, 3).map(lambda s: s * 1_000_000) | st.just(1_500_000),
        "p": st.none() | st.integers(0, 3),
    }
)


@st.composite
def relations(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.sets(st.sampled_from(sorted(DOMAINS))))
    return {
        "columns": COLUMNS,
        "timestamp": "ts",
        "not_null": draw(st.lists(st.sampled_from(["A", "n"]), unique=True)),
        "domains": {name: draw(DOMAINS[name]) for name in sorted(names)},
        **draw(st.sampled_from([{}, {"granularity": "second"}, {"max_rows_per_timestamp": 3}])),
    }


def synopsis_of(described: dict[str, Any], conditions: list[str]) -> tuple[Relation, StreamSynopsis | None]:
    catalog = catalog_from_mapping({"S": described, "T": {"columns": {"A": "int"}, "timestamp": None}})
    query = statement(f"SELECT S.A FROM S WHERE {' AND '.join(conditions)}", catalog, "q").simple
    assert query is not None
    facts = facts_of(query)
    return query.occurrence("S").relation, None if facts is None else stream_synopsis(facts, "S")


def kept(condition: str, rows: list[dict[str, Any]]) -> list[bool]:
    """Which rows DuckDB, told the condition in its dialect, keeps."""
    table = pa.table(
        {
            "A": pa.array([row["A"] for row in rows], pa.int32()),
            "n": pa.array([row["n"] for row in rows], pa.string()),
            "d": pa.array([row["d"] for row in rows], pa.int32()).cast(pa.date32()),
            "ts": pa.array([row["ts"] for row in rows], pa.timestamp("us")),
            "p": pa.array([row["p"] for row in rows], pa.int32()).cast(pa.decimal128(12, 2)),
        }
    )
    (translated,) = sqlglot.transpile(condition, read="spark", write="duckdb")
    with duckdb.connect() as connection:
        connection.register("told", table)
        found = connection.execute(f"SELECT COALESCE({translated}, FALSE) FROM told").fetchall()
    return [bool(value) for (value,) in found]


@given(
    described=relations(),
    conditions=st.lists(CONDITIONS, min_size=1, max_size=3),
    columns=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, unique=True),
    rows=st.lists(ROWS, min_size=1, max_size=12),
)
def test_no_row_is_dropped_that_counts_or_breaks_a_promise(
    described: dict[str, Any], conditions: list[str], columns: list[str], rows: list[dict[str, Any]]
) -> None:
    relation, synopsis = synopsis_of(described, conditions)
    if synopsis is None:
        return
    condition = pushdown(relation, columns, [synopsis], KINDS)
    if condition is None:
        return
    for row, stays in zip(rows, kept(condition, rows), strict=True):
        broken = any(fault(relation, relation.column(name), row[name], "") for name in columns)
        assert stays or not (accepts(synopsis, row) or broken), (condition, row)


def pushed(conditions: list[str], columns: list[str], **described: Any) -> str | None:
    relation, synopsis = synopsis_of({"columns": COLUMNS, "timestamp": "ts", **described}, conditions)
    assert synopsis is not None
    return pushdown(relation, columns, [synopsis], KINDS)


def test_conditions_are_those_of_the_tasks_in_sparks_dialect() -> None:
    found = pushed(["S.A > 2.5", "S.d < DATE '2026-03-02'"], ["A", "d"], domains={"A": {"min": 0}})
    assert found is not None and "`A` > 2" in found and "`d` < CAST('2026-03-02' AS DATE)" in found
    assert "`A` < 0" in found


@pytest.mark.parametrize("text", ["a\\b", "a\\\\b", "${spark.app.name}", "it''s"])
def test_a_string_that_settings_may_change_is_left_to_the_tasks(text: str) -> None:
    found = pushed([f"S.n <> '{text}'", "S.A > 1"], ["A"])
    assert found is not None and "'" not in found
    assert pushed(["S.A > 1"], ["n"], domains={"n": {"values": [text.replace("''", "'")]}}) is None


def test_all_rows_are_wanted_where_a_promise_is_about_several_or_cannot_be_said() -> None:
    assert pushed(["S.A > 1"], ["ts"], max_rows_per_timestamp=2) is None
    assert pushed(["S.A > 1"], ["p"], domains={"p": {"max": "2"}}) is None
    found = pushed(["S.A > 1"], ["ts"], granularity="second")
    assert found is not None and "UNIX_MICROS(`ts`) % 1000000 <> 0" in found
