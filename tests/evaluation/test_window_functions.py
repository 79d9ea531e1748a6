"""Statements with window functions and ranks: as the definition says, within what is planned."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.errors import PlanError
from streambound.evaluation.corpus import evaluated
from streambound.plan.flow import units_of
from streambound.plan.trees.flow_planner import flow
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement
from streambound.query.parse.corpus import CorpusLine

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
def overs(draw: st.DrawFn, keys: str, order: str) -> str:
    """A function of rows in the order of time."""
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
    kind = draw(
        st.sampled_from(["shift", "rank", "rows", "running", *(["range"] if "," not in order else [])])
    )
    if kind == "shift":
        return f"{draw(st.sampled_from(['LAG', 'LEAD']))}(A, {draw(st.integers(1, 2))}) OVER {plain}"
    if kind == "rank" or (kind == "running" and order == "ts DESC"):
        rank = draw(st.sampled_from(["ROW_NUMBER", "RANK", "DENSE_RANK"]))
        return f"{rank}() OVER {plain}" if order != "ts DESC" else f"LAG(A) OVER {plain}"
    function = draw(st.sampled_from(PLACES[:2] + PLACES[3:] if order == "ts DESC" else PLACES))
    if kind == "running":
        return f"{function} OVER {plain}"
    return f"{function} OVER ({keys}ORDER BY {order} {kind.upper()} BETWEEN {low} AND {high})"


@st.composite
def statements(draw: st.DrawFn) -> str:
    keys = draw(st.sampled_from(["", "PARTITION BY K ", "PARTITION BY K, L "]))
    shown = draw(st.lists(st.sampled_from([*COLUMNS, "window(ts, 4).end"]), max_size=3, unique=True))
    order = draw(st.sampled_from(["ts", "ts DESC", "ts, A", "ts, W DESC"]))
    functions = draw(st.lists(overs(keys, order), min_size=1, max_size=3))
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


@given(sql=statements(), given_=events)
def test_window_functions_over_time(sql: str, given_: list[tuple[Any, ...]]) -> None:
    check(sql, given_)


@given(sql=ranked_statements(), given_=events)
def test_rows_of_some_ranks(sql: str, given_: list[tuple[Any, ...]]) -> None:
    check(sql, given_)


@pytest.mark.parametrize(
    ("edge", "expected"),
    [
        ("window(ts, 4).start", {(0, 7): 1, (4, 5): 1}),
        ("window(ts, 4).end", {(4, 7): 1, (8, 5): 1}),
        ("window(ts, 4)", {(0, 7): 1, (4, 5): 1}),
        ("TUMBLE_START(ts, 4)", {(0, 7): 1, (4, 5): 1}),
    ],
)
def test_the_best_of_each_window_however_it_is_written(
    edge: str, expected: dict[tuple[int, int], int]
) -> None:
    sql = f"SELECT {edge} AS w, A FROM S QUALIFY ROW_NUMBER() OVER (PARTITION BY {edge} ORDER BY A DESC) = 1"
    line = line_of(sql, [(0, 0, a, None, ts) for a, ts in ((3, 0), (7, 3), (5, 4), (1, 7))])
    total = Counter[tuple[Any, ...]]()
    for answer in evaluated(line, "onepass")["answers"]:
        total[tuple(answer["row"])] += answer["count"]
    assert {row: count for row, count in total.items() if count} == expected
    assert units_of(flow(statement(sql, catalog_from_mapping(STREAMS), "q"))) is not None


def test_a_function_that_looks_ahead_beside_another_order_is_refused_by_name() -> None:
    sql = "SELECT LEAD(A) OVER (PARTITION BY K ORDER BY ts), COUNT(*) OVER (ORDER BY ts) FROM S"
    with pytest.raises(
        PlanError, match="LEAD cannot be evaluated beside functions with another PARTITION BY"
    ):
        flow(statement(sql, catalog_from_mapping(STREAMS), "q"))


@pytest.mark.parametrize(
    ("functions", "rows"),
    [
        # Rows of one tick are forgotten one by one, beside a rank that counts the ticks.
        ("DENSE_RANK() OVER (ORDER BY ts), LAG(A, 2) OVER (ORDER BY ts)", [0, 0, 0, 1, 1, 2, 2, 3]),
        (
            "DENSE_RANK() OVER (ORDER BY ts, W DESC), COUNT(A) OVER (ORDER BY ts, W DESC ROWS 1 PRECEDING)",
            [0, 0, 0, 2, 4],
        ),
        # A range after a row keeps all its ticks.
        ("COUNT(*) OVER (ORDER BY ts DESC RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)", [6, 7, 8]),
        ("COUNT(*) OVER (ORDER BY ts RANGE BETWEEN 3 PRECEDING AND CURRENT ROW)", [5, 6, 7, 8, 9]),
    ],
)
def test_ticks_that_are_kept_in_part_or_as_a_whole(functions: str, rows: list[int]) -> None:
    check(f"SELECT {functions} FROM S", [(0, None, 0.5, "a", ts) for ts in rows])


def test_later_ranks_by_time_keep_no_history() -> None:
    """A rank that is shown does not change any more once its time is over."""
    ranks = "SELECT A, K, ROW_NUMBER() OVER (PARTITION BY K ORDER BY ts, A) AS n FROM S"
    catalog = catalog_from_mapping(
        {
            "S": {
                "columns": {"A": "int", "K": "int", "ts": "int"},
                "timestamp": "ts",
                "not_null": ["A"],
                "domains": {"K": {"min": 0, "max": 1}},
                "max_rows_per_timestamp": 2,
            }
        }
    )
    events = [{"stream": "S", "A": n % 7, "K": n % 2, "ts": n // 2} for n in range(80)]
    line = CorpusLine("q", f"SELECT A, n FROM ({ranks}) WHERE n > 2", catalog, tuple(events))
    found, wanted = (evaluated(line, engine) for engine in ("onepass", "reference"))
    assert found["answers"] == wanted["answers"] and len(found["answers"]) == 76
    assert found["peak_units"] <= 18
