"""Statements with guards, outer joins and as-of joins: their changes are those of the definition."""

from __future__ import annotations

import json
from collections import deque
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.beyond import Beyond, statements_beyond

from streambound.boundedness.statements import decide
from streambound.errors import PlanError, StreamboundError
from streambound.evaluation.events import batches
from streambound.evaluation.flow import FlowPass
from streambound.evaluation.reference import reference
from streambound.plan.flow import units_of
from streambound.plan.trees.flow_planner import flow
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read
from streambound.query.statement import Statement

COLUMNS = {"A": "int", "B": "int", "K": "int", "ts": "int"}
BODY = {"columns": COLUMNS, "timestamp": "ts", "domains": {"K": {"min": 0, "max": 2}}, "not_null": ["A"]}
CATALOG = catalog_from_mapping({name: {**BODY, "max_rows_per_timestamp": 3} for name in "STU"})


def equal(statement: Statement, events: list[dict[str, Any]]) -> FlowPass:
    """Its evaluation, once its changes at each marker are the definition's."""
    made = FlowPass(statement, flow(statement), {})
    some = list(batches(statement, events))
    assert list(made.run(some)) == list(reference(statement, some, {})), statement.sql
    return made


@given(case=statements_beyond("guards", "outer joins", "sets", "as-of", "closing", "earlier"))
def test_changes_are_those_of_the_definition(case: Beyond) -> None:
    try:
        statement = read(case.line.sql, case.line.catalog).statement
        if not decide(statement).verdict.bounded:
            return
        flow(statement)
    except StreamboundError:
        return
    equal(statement, [dict(event) for event in case.line.events])


def events(seed: int, size: int, step: int = 1) -> list[dict[str, Any]]:
    """Tuples of all streams, at most three of each at a time; A and B grow by ``step``."""
    r, found = Random(seed), []
    for moment in range(0, size):
        for name in "STU":
            for _ in range(r.choice([0, 1, 1, 3])):
                row = {
                    "A": r.randint(0, 3) + moment * step,
                    "B": r.choice([None, r.randint(0, 3) + moment * step]),
                }
                found.append({"stream": name, "ts": moment, **row, "K": r.choice([None, 0, 1, 2])})
    return found


PLANNED = [
    # Within a time: any columns.
    "SELECT S.A FROM S WHERE {} (SELECT 1 FROM T WHERE T.B = S.B AND T.ts BETWEEN S.ts AND S.ts + 3)",
    "SELECT S.A FROM S WHERE {} (SELECT 1 FROM T WHERE T.A <= S.B AND T.ts BETWEEN S.ts - 2 AND S.ts)",
    # What is grouped or ranked by time waits as long as its rows do.
    "SELECT S.ts, COUNT(*) AS n FROM S WHERE {} (SELECT 1 FROM T WHERE T.K = S.K AND T.ts BETWEEN S.ts"
    " AND S.ts + 3) GROUP BY S.ts",
    "SELECT S.ts, S.A FROM S WHERE {} (SELECT 1 FROM T WHERE T.B = S.B AND T.ts BETWEEN S.ts AND S.ts + 2)"
    " QUALIFY RANK() OVER (PARTITION BY S.ts ORDER BY S.A) = 1",
    # The past: what matters of it is kept.
    "SELECT S.A FROM S WHERE {} (SELECT 1 FROM T WHERE T.K = S.K AND T.ts < S.ts)",
    "SELECT S.A FROM S WHERE {} (SELECT 1 FROM T WHERE S.A < T.B AND T.ts <= S.ts)",
    "SELECT S.A FROM S WHERE {} (SELECT 1 FROM T, U WHERE T.K = U.K AND T.ts < U.ts AND U.ts <= S.ts)",
    # The future: rows wait, told apart by finitely many values.
    "SELECT S.K FROM S WHERE {} (SELECT 1 FROM T WHERE T.K = S.K AND S.ts <= T.ts)",
    "SELECT S.K FROM S WHERE {} (SELECT 1 FROM T WHERE T.K = S.K)",
    "SELECT DISTINCT S.K FROM S WHERE {} (SELECT 1 FROM T WHERE T.K = S.K)",
    "SELECT S.K FROM S WHERE S.K IS NOT NULL AND {} (SELECT 1 FROM T, U WHERE T.K = S.K AND U.ts = T.ts)",
    # Tuples that do not meet each other: each as by itself.
    "SELECT S.K FROM S WHERE {} (SELECT 1 FROM T, U WHERE U.A < U.B AND T.K = S.K AND T.ts < S.ts)",
    "SELECT S.K FROM S WHERE {} (SELECT 1 FROM T, U WHERE U.K = 1 AND T.B IS NULL AND T.ts <= S.ts)",
    # Of one stream of a join: what it leaves is joined with the others.
    "SELECT 1 FROM S, U WHERE S.ts < U.ts AND {} (SELECT 1 FROM T WHERE T.ts < S.ts AND T.B < S.A)",
    "SELECT S.K, U.K FROM S, U WHERE S.ts < U.ts - 2 AND {} (SELECT 1 FROM T WHERE T.ts < S.ts AND T.A = 1)",
    # A join outside; conditions on one side alone; OR.
    "SELECT S.K, T.K FROM S, T WHERE S.ts = T.ts AND {} (SELECT 1 FROM U WHERE U.K = T.K AND U.ts >= S.ts)",
    "SELECT S.A FROM S WHERE {} (SELECT 1 FROM T WHERE (T.K = S.K OR T.B IS NULL) AND T.ts = S.ts"
    " AND S.A > 3)",
]
OTHERS = [
    "SELECT S.K FROM S WHERE S.K NOT IN (SELECT T.K FROM T)",
    "SELECT S.K FROM S WHERE S.K IN (SELECT T.K FROM T) AND S.K NOT IN (SELECT U.K FROM U WHERE U.ts > S.ts)",
    "SELECT S.K FROM S EXCEPT SELECT T.K FROM T",
    # Of the rows that are shown as one the hardest to match stands for all.
    "SELECT DISTINCT S.K FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE S.A < T.A)",
    "SELECT DISTINCT 1 FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE S.A >= T.B AND T.K = S.K)",
    "SELECT S.K FROM S INTERSECT SELECT T.K FROM T",
    "SELECT S.A, T.B FROM S LEFT JOIN T ON S.K = T.K AND T.ts BETWEEN S.ts AND S.ts + 2",
    "SELECT S.K, T.K FROM S FULL JOIN T ON S.K = T.K AND T.ts = S.ts",
    "SELECT S.A FROM S LEFT SEMI JOIN T ON S.K = T.K AND T.ts < S.ts",
    "SELECT S.A FROM S LEFT ANTI JOIN T ON S.K = T.K AND T.ts < S.ts",
    "SELECT S.A, T.B FROM S ASOF JOIN T ON S.K = T.K AND S.ts >= T.ts",
    "SELECT S.A, T.B FROM S ASOF JOIN T ON S.K = T.K AND S.ts <= T.ts AND T.ts <= S.ts + 3",
    "SELECT S.A, T.B, T.ts FROM S ASOF LEFT JOIN T ON S.A = T.A AND S.ts > T.ts AND T.ts >= S.ts - 2",
    "SELECT S.A, T.B FROM S ASOF LEFT JOIN T ON S.K = T.K AND S.ts >= T.ts WHERE T.B < S.A OR T.B IS NULL",
    "SELECT S.A, T.B, U.B FROM S ASOF LEFT JOIN T ON S.K = T.K AND S.ts >= T.ts"
    " ASOF LEFT JOIN U ON S.K = U.K AND S.ts > U.ts",
    "SELECT S.A, U.B FROM S ASOF JOIN T ON S.K = T.K AND S.ts >= T.ts"
    " ASOF JOIN U ON T.B = U.K AND S.ts >= U.ts",
    "SELECT S.A, T.B FROM S ASOF JOIN T ON S.K = T.K AND S.ts >= T.ts"
    " WHERE NOT EXISTS (SELECT 1 FROM U WHERE U.A = T.B AND U.ts BETWEEN S.ts AND S.ts + 1)",
    "SELECT S.K, T.K AS k, COUNT(*) AS n, SUM(T.B) AS b FROM S ASOF LEFT JOIN T ON S.K = T.K AND S.ts > T.ts"
    " GROUP BY S.K, T.K",
    # Times of rows that are before all that comes are forgotten.
    "SELECT S.K FROM S, T WHERE S.K = T.K AND S.ts <= T.ts AND EXISTS (SELECT 1 FROM U WHERE U.ts < S.ts)",
    "SELECT T.ts FROM (SELECT DISTINCT ts FROM S) x, T WHERE x.ts <= T.ts",
    "SELECT x.K, T.K AS k FROM (SELECT ts, K, COUNT(*) AS n FROM S GROUP BY ts, K) x, T WHERE x.ts < T.ts",
    "SELECT K FROM T WHERE EXISTS (SELECT 1 FROM (SELECT ts, K, COUNT(*) AS n FROM S GROUP BY ts, K) x"
    " WHERE x.K = T.K AND x.ts < T.ts)",
]
PLANNED_ALL = [one.format(word) for one in PLANNED for word in ("EXISTS", "NOT EXISTS")] + OTHERS


@pytest.mark.parametrize("sql", PLANNED_ALL)
def test_a_bounded_statement_has_a_plan_whose_state_does_not_grow(sql: str) -> None:
    statement = read(sql, CATALOG).statement
    assert decide(statement).verdict.bounded
    equal(statement, events(1, 12, step=0))
    peaks = [equal(statement, events(2, size)).peak_units for size in (10, 30)]
    units = units_of(flow(statement))
    assert units is None or peaks[1] <= units
    assert peaks[1] <= 2.5 * peaks[0] + 10


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (
            "SELECT 1 FROM S WHERE EXISTS (SELECT 1 FROM T, U WHERE T.A <> U.A AND S.ts < T.ts)",
            "T.ts is projected",
        ),
    ],
)
def test_what_has_no_plan_says_so(sql: str, told: str) -> None:
    statement = read(sql, CATALOG).statement
    assert decide(statement).verdict.bounded
    with pytest.raises(PlanError, match=told):
        flow(statement)


@pytest.mark.parametrize("negation", ["", "NOT "])
def test_groups_of_rows_that_a_later_match_may_change_wait_for_it(negation: str) -> None:
    inner = "SELECT 1 FROM T WHERE T.K = S.K AND T.ts > S.ts AND T.ts < S.ts + 9"
    sql = f"SELECT S.ts, S.K, COUNT(*) FROM S WHERE {negation}EXISTS ({inner}) GROUP BY S.ts, S.K"
    made = equal(read(sql, CATALOG).statement, events(1, 40))
    assert made.max_units is not None and 0 < made.peak_units <= made.max_units


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT window(w, 5).start AS c, SUM(n) AS s, COUNT(*) AS m FROM ({}) q GROUP BY (window(w, 5))",
        "SELECT w, n, LAG(n) OVER (ORDER BY w) AS p FROM ({}) q",
        "SELECT w, SUM(n) OVER (ORDER BY w ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS p FROM ({}) q",
    ],
)
def test_what_is_done_to_groups_of_a_time(sql: str) -> None:
    inner = "SELECT window(S.ts, 2).start AS w, COUNT(*) AS n FROM S GROUP BY (window(S.ts, 2))"
    short, long = (equal(read(sql.format(inner), CATALOG).statement, events(1, n)) for n in (40, 80))
    assert short.max_units is not None and 0 < short.peak_units <= short.max_units
    assert long.peak_units <= short.peak_units + 8


@pytest.mark.parametrize(
    ("shown", "condition"),
    [
        ("MAX(T.A)", "T.K = S.K"),
        ("MAX(T.A), COUNT(*)", "T.K = S.K AND T.ts BETWEEN S.ts - 3 AND S.ts"),
        ("MIN(T.A), SUM(T.B)", "T.K = S.K AND T.ts >= S.ts AND T.ts < S.ts + 3"),
        ("MAX(S.A), COUNT(DISTINCT T.K)", "T.K = S.K"),
    ],
)
def test_groups_over_an_outer_join_keep_what_each_aggregate_needs(shown: str, condition: str) -> None:
    sql = f"SELECT S.K, {shown} FROM S LEFT JOIN T ON {condition} GROUP BY S.K"
    short, long = (equal(read(sql, CATALOG).statement, events(3, n)) for n in (12, 24))
    assert short.max_units is not None and 0 < short.peak_units <= short.max_units
    assert long.peak_units <= short.peak_units + 12


# The columns are of S, of T, or of both.
AGGREGATES = (
    *("MAX({})", "MIN({})", "SUM({})", "AVG({})", "COUNT({})", "COUNT(DISTINCT {})", "ANY_VALUE({})"),
    *("COUNT(*)", "ARG_MAX({}, {})", "ARG_MIN({}, {})"),
    *("SUM({} + {})", "MAX({} - {})", "MAX(COALESCE({}, {}))", "COUNT(COALESCE({}, {}))"),
)


def groups_with_guards(r: Random) -> str:
    """Groups over an outer join, or a guard, within a window of time."""
    low = r.choice([-2, -1, 0])
    on = f"T.ts BETWEEN S.ts + {low} AND S.ts + {low + r.randint(0, 3)}"
    on += " AND T.K = S.K" * (r.random() < 0.8) + " AND T.A > S.A" * (r.random() < 0.2)
    side = r.choice(["LEFT", "LEFT", "RIGHT", "FULL", "", ""])
    columns = ["S.A", "S.B", *["T.A", "T.B", "T.A", "T.B"] * bool(side)]
    shown = [one.format(*r.sample(columns, 2)) for one in r.sample(AGGREGATES, r.choice([1, 2, 3]))]
    source = f"S {side} JOIN T ON {on}" if side else f"S WHERE NOT EXISTS (SELECT 1 FROM T WHERE {on})"
    key = r.choice(["S.K", "S.K", "S.ts", "window(S.ts, 3).start", ""])
    grouped = f" GROUP BY {'(window(S.ts, 3))' if 'window' in key else key}" if key else ""
    values = (f"{one} AS a{n}" for n, one in enumerate(shown))
    return f"SELECT {', '.join([key] * bool(key) + [*values])} FROM {source}{grouped}"


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_groups_over_rows_that_a_match_takes_back(seed: int) -> None:
    r = Random(seed)
    statement = read(groups_with_guards(r), CATALOG).statement
    if not decide(statement).verdict.bounded:
        return
    try:
        node = flow(statement)
    except PlanError as error:
        assert "expression" in error.message, (statement.sql, error.message)
        return
    rows = events(seed, 10)
    whole, cut = equal(statement, rows), FlowPass(statement, node, {})
    some = list(batches(statement, rows))
    at = r.randrange(len(some))
    deque(cut.run(some[:at]), 0)
    rest = FlowPass(statement, node, {})
    rest.tree.load(json.loads(cut.tree.dump()))
    deque(rest.run(some[at:]), 0)
    assert rest.tree.dump() == whole.tree.dump(), statement.sql


@pytest.mark.parametrize(
    "sql",
    [
        # An expression may have a value though one of its columns has none.
        "SELECT S.K, MAX(COALESCE(T.B, S.A)), COUNT(COALESCE(T.B, S.B)) FROM {} GROUP BY S.K",
        # So may what is chosen by another column.
        "SELECT S.K, ARG_MIN(T.A, S.A) FROM {} GROUP BY S.K",
        # Inputs may come later than others, and may have other groups.
        "SELECT S.ts, COUNT(*), MAX(T.A) FROM {} GROUP BY S.ts",
        "SELECT S.K, MAX(T.B), MAX(S.A) FROM {} GROUP BY S.K",
    ],
)
@pytest.mark.parametrize("side", ["LEFT", "FULL"])
def test_groups_over_an_outer_join_within_a_window(sql: str, side: str) -> None:
    join = f"S {side} JOIN T ON T.K = S.K AND T.ts BETWEEN S.ts AND S.ts + 2"
    equal(read(sql.format(join), CATALOG).statement, events(5, 14))


@pytest.mark.parametrize(
    ("shown", "units"), [("COUNT(*)", 97), ("MAX(T.A)", 106), ("COUNT(*), MAX(T.A), SUM(T.A)", 148)]
)
def test_only_rows_without_a_match_are_kept_to_be_taken_back(shown: str, units: int) -> None:
    sql = f"SELECT window(S.ts, 3).start AS w, S.K, {shown} FROM S LEFT JOIN T ON T.K = S.K "
    sql += "AND T.ts BETWEEN S.ts AND S.ts + 2 GROUP BY (window(S.ts, 3)), S.K"
    assert units_of(flow(read(sql, CATALOG).statement)) == units


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT S.K, FIRST(S.A), LAST(S.A) FROM S, T WHERE S.K = T.K AND T.ts <= S.ts GROUP BY S.K",
        "SELECT T.K, LAST(T.A), FIRST(S.B) FROM S, T WHERE S.K = T.K AND S.ts BETWEEN T.ts - 3 AND T.ts "
        "GROUP BY T.K",
    ],
)
def test_what_is_first_or_last_over_a_join_that_one_stream_completes(sql: str) -> None:
    short, long = (equal(read(sql, CATALOG).statement, events(4, n)) for n in (12, 24))
    assert short.max_units is not None and 0 < short.peak_units <= short.max_units
    assert long.peak_units <= short.peak_units + 12


def test_the_time_of_a_join_that_nothing_orders_is_not_known() -> None:
    sql = "SELECT S.K, FIRST(S.A) FROM S, T WHERE S.K = T.K GROUP BY S.K"
    with pytest.raises(PlanError, match="first or last over such a join"):
        flow(read(sql, CATALOG).statement)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT A, B FROM S EXCEPT SELECT A, B FROM S",
        "SELECT A FROM S WHERE B > 3 EXCEPT SELECT A FROM S",
        "SELECT S.A FROM S WHERE NOT EXISTS (SELECT 1 FROM S y WHERE y.A >= S.A)",
    ],
)
def test_a_stream_without_itself_keeps_nothing_of_it(sql: str) -> None:
    made = equal(read(sql, CATALOG).statement, events(1, 12))
    assert made.peak_units <= 3
