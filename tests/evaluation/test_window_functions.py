"""Statements with window functions and ranks: as the definition says, within what is planned."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streambound.evaluation.corpus import evaluated
from streambound.evaluation.flow import statement_pass
from streambound.query.catalog import catalog_from_mapping
from streambound.query.corpus import CorpusLine
from streambound.query.parse import statement
from streambound.synopsis.flow import units_of
from streambound.synopsis.flow_planner import flow

# At most three rows a tick; keys are few, and values are not.
STREAMS: dict[str, Any] = {
    "S": {
        "kind": "stream",
        "columns": {"K": "int", "L": "int", "A": "double", "W": "string", "ts": "int"},
        "timestamp": "ts",
        "max_rows_per_timestamp": 3,
        "domains": {"K": {"min": 0, "max": 1}, "L": {"min": 0, "max": 1}},
        "not_null": ["K"],
    }
}
COLUMNS = ("K", "L", "A", "W", "ts")
AGGREGATES = (
    "COUNT(*)",
    "COUNT(A)",
    "SUM(A)",
    "AVG(A)",
    "MIN(A)",
    "MAX(W)",
    "COUNT(DISTINCT L)",
    "SUM(A * 2 + L)",
)
PLACES = ("FIRST_VALUE(A)", "LAST_VALUE(W)", "NTH_VALUE(A, 2)", *AGGREGATES)

events = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.none() | st.integers(0, 1),
        st.sampled_from([None, 0.5, -1.25, 0.1]),
        st.sampled_from([None, "a", "b"]),
        st.integers(0, 9),
    ),
    max_size=12,
)


@st.composite
def overs(draw: st.DrawFn, keys: str) -> str:
    """A function of rows in the order of time."""
    order = draw(st.sampled_from(["ts", "ts DESC", "ts, A", "ts, W DESC"]))
    plain = f"({keys}ORDER BY {order})"
    edges = st.sampled_from(
        ["UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING"]
    )
    low, high = draw(edges), draw(edges)
    ranks = {
        "UNBOUNDED PRECEDING": -9,
        "2 PRECEDING": -2,
        "1 PRECEDING": -1,
        "CURRENT ROW": 0,
        "1 FOLLOWING": 1,
    }
    if ranks[low] > ranks[high]:
        low, high = high, low
    if high == "UNBOUNDED PRECEDING":
        high = "CURRENT ROW"
    if order.endswith("DESC") and low == "UNBOUNDED PRECEDING" and order.startswith("ts D"):
        low = "2 PRECEDING" if ranks[high] >= -2 else high
    kind = draw(st.sampled_from(["shift", "rank", "rows", "range", "running"]))
    if kind == "shift":
        return f"{draw(st.sampled_from(['LAG', 'LEAD']))}(A, {draw(st.integers(1, 2))}) OVER {plain}"
    if kind == "rank" or (kind == "running" and order == "ts DESC"):
        return f"{draw(st.sampled_from(['ROW_NUMBER', 'RANK', 'DENSE_RANK']))}() OVER ({keys}ORDER BY ts)"
    function = draw(st.sampled_from(PLACES[:2] + PLACES[3:] if order == "ts DESC" else PLACES))
    if kind == "running":
        return f"{function} OVER {plain}"
    if kind == "range":
        order = order.split(",")[0]
    return f"{function} OVER ({keys}ORDER BY {order} {kind.upper()} BETWEEN {low} AND {high})"


@st.composite
def statements(draw: st.DrawFn) -> str:
    keys = draw(st.sampled_from(["", "PARTITION BY K ", "PARTITION BY K, L "]))
    shown = draw(st.lists(st.sampled_from(COLUMNS), max_size=3, unique=True))
    functions = draw(st.lists(overs(keys), min_size=1, max_size=3))
    named = [f"{function} AS f{number}" for number, function in enumerate(functions)]
    return f"SELECT {', '.join([*shown, *named])} FROM S"


@st.composite
def ranked_statements(draw: st.DrawFn) -> str:
    function = draw(st.sampled_from(["ROW_NUMBER", "RANK", "DENSE_RANK"]))
    order = draw(
        st.sampled_from(
            ["ts", "ts DESC", "L, ts DESC", "ts, A DESC"]
            if function == "ROW_NUMBER"
            else ["ts", "ts DESC", "L"]
        )
    )
    shown = draw(
        st.sampled_from(
            ["K, L", "L"] if order == "L" and function != "ROW_NUMBER" else ["K, A", "W, ts", "A"]
        )
    )
    test = draw(st.sampled_from(["= 1", "<= 2", "< 3", "= 2"]))
    keys = draw(st.sampled_from(["", "PARTITION BY K ", "PARTITION BY K, L "]))
    return f"SELECT {shown} FROM S QUALIFY {function}() OVER ({keys}ORDER BY {order}) {test}"


def line_of(sql: str, given_: list[tuple[Any, ...]]) -> CorpusLine:
    """A line with the first three rows of each tick."""
    ticks, rows = Counter[int](), []
    for row in sorted(given_, key=lambda one: one[-1]):
        ticks[row[-1]] += 1
        if ticks[row[-1]] <= 3:
            rows.append({"stream": "S", **dict(zip(COLUMNS, row, strict=True))})
    return CorpusLine("q", sql, catalog_from_mapping(STREAMS), tuple(rows), streams=STREAMS)


def counted(found: Mapping[str, Any]) -> Counter[str]:
    return Counter(json.dumps(answer, default=str) for answer in found["answers"])


def check(sql: str, given_: list[tuple[Any, ...]]) -> None:
    line = line_of(sql, given_)
    assert line.catalog is not None
    query = statement(sql, line.catalog, "q")
    units = units_of(flow(query))
    assert units is not None, sql
    found = evaluated(line, "onepass")
    assert counted(found) == counted(evaluated(line, "reference")), sql
    assert found["peak_units"] <= units, sql
    assert statement_pass(query, {}).stored <= units


@given(sql=statements(), given_=events)
def test_window_functions_over_time(sql: str, given_: list[tuple[Any, ...]]) -> None:
    check(sql, given_)


@given(sql=ranked_statements(), given_=events)
def test_rows_of_some_ranks(sql: str, given_: list[tuple[Any, ...]]) -> None:
    check(sql, given_)
