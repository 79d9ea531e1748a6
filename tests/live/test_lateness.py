"""Rows that come late: what waits and what is held of them stays within the units of the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streambound.compiler import compile
from streambound.live.step import Arrival, Beginning, LiveState
from streambound.live.waiting import merged
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.report.verdicts import plan_text
from streambound.tasks.plans import StatementPlan, statement_plan
from streambound.tasks.relations import dump_relation, kinds_of, relation_of, rows_of

SHAPES = {
    "interval": "SELECT S.A, T.A FROM S, T WHERE S.B = T.B AND T.ts BETWEEN S.ts - {0} AND S.ts + {1}",
    "after": "SELECT S.A FROM S, T WHERE S.B = T.B AND T.ts >= S.ts AND T.ts <= S.ts + {0}",
    "distinct": "SELECT DISTINCT S.A, S.ts FROM S, T WHERE S.B = T.B AND S.ts BETWEEN T.ts AND T.ts + {0}",
    "rows": "SELECT DISTINCT S.A, S.ts FROM S",
    "order": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 0 AND 2 AND S.ts < T.ts",
    "self-join": "SELECT s1.A FROM S s1, S s2 WHERE s1.A = s2.A AND s2.ts BETWEEN s1.ts AND s1.ts + {0}",
    "three": "SELECT S.A FROM S, T, U WHERE S.B = T.B AND T.B = U.B AND T.ts BETWEEN S.ts AND S.ts + {0}"
    " AND U.ts BETWEEN T.ts - {1} AND T.ts",
}
# What is done to rows as time goes on: groups that close, ranks, frames, guards.
CHANGING = {
    "groups": "SELECT ts, A, COUNT(*) AS n, MAX(B) AS m FROM S GROUP BY ts, A",
    "joined": "SELECT S.ts, COUNT(*) AS n FROM S, T WHERE S.B = T.B AND S.ts = T.ts + {0} GROUP BY S.ts",
    "ranks": "SELECT A, ts FROM (SELECT A, B, ts, ROW_NUMBER() OVER (PARTITION BY ts ORDER BY B) AS rn"
    " FROM S) q WHERE rn <= 2",
    "frames": "SELECT A, SUM(B) OVER (PARTITION BY A ORDER BY ts RANGE BETWEEN {0} PRECEDING AND CURRENT ROW)"
    " AS s FROM S",
    "guard": "SELECT S.A, S.ts FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE T.B = S.B"
    " AND T.ts BETWEEN S.ts - {0} AND S.ts + {1})",
    "outer join": "SELECT S.A, T.A AS t FROM S LEFT JOIN T ON T.B = S.B AND T.ts BETWEEN S.ts AND S.ts + {0}",
}
ROWS = 2


def catalog(lateness: dict[str, int]) -> Catalog:
    """Streams with so many rows at a timestamp, read from a broker."""
    entry: dict[str, Any] = {
        "columns": {"A": "int", "B": "int", "ts": "int"},
        "timestamp": "ts",
        "not_null": ["A", "B"],
        "max_rows_per_timestamp": ROWS,
    }
    lives = {name: {"format": "kafka", "lateness": late} for name, late in lateness.items()}
    return catalog_from_mapping({name: {**entry, "live": live} for name, live in lives.items()})


def planned(sql: str, lateness: dict[str, int]) -> StatementPlan:
    job = compile(sql, catalog(lateness))
    assert job.verdict.bounded and job.units is not None, sql
    return statement_plan(job.statement, job.planned_parts, job.node)


def arrivals(plan: StatementPlan, number: int, rows: dict[str, list[dict[str, int]]]) -> Iterator[Arrival]:
    """What tasks make of rows of the streams, for each occurrence."""
    for alias, relation in plan.inputs.items():
        ((query, synopsis),) = (
            (p.plan.query, s) for p in plan.parts for s in p.plan.streams if p.label + s.alias == alias
        )
        mine = [row for row in rows[relation.name] if not synopsis.filters or 0 <= row["A"] <= 2]
        counted = Counter((row["ts"], *(row[a.column] for a in synopsis.carried)) for row in mine)
        table = relation_of([(*row, count) for row, count in counted.items()], kinds_of(query, synopsis))
        latest = max(row["ts"] for row in rows[relation.name])
        yield Arrival(relation.name, f"{number}", alias, len(mine), latest, dump_relation(table))


def stored(step: LiveState, plan: StatementPlan, now: int) -> int:
    """The units of all that is stored before a timestamp under way."""
    widths = {part.label + b.alias: b.width for part in plan.parts for b in part.plan.buffers}
    waits = (
        widths[alias]
        for alias, table in step.waiting.tuples.items()
        for moment, *_ in rows_of(merged(table))
        if moment < now
    )
    return step.evaluation.stored_units + sum(waits)


@pytest.mark.parametrize("shape", SHAPES | CHANGING)
@settings(max_examples=settings.default.max_examples // 8)
@given(data=st.data())
def test_what_waits_and_what_is_held_stays_within_the_units(shape: str, data: st.DataObject) -> None:
    small = st.integers(0, 4)
    sql = (SHAPES | CHANGING)[shape].format(data.draw(small), data.draw(small))
    lateness = {name: data.draw(small) for name in "STU"}
    plan = planned(sql, lateness)
    step, seen = LiveState(Beginning(plan, {}), {}), Counter[tuple[str, int]]()
    for now in range(5, 17):
        rows: dict[str, list[dict[str, int]]] = {name: [] for name in lateness}
        for name, late in lateness.items():
            # Streams are in step: each shows a row of now, and late ones.
            for at in (now, *(data.draw(st.integers(now - late, now)) for _ in range(3))):
                if seen[name, at] < ROWS:
                    seen[name, at] += 1
                    rows[name].append({"ts": at, "A": data.draw(small), "B": data.draw(small)})
        step.take(arrivals(plan, now, rows))
        assert plan.max_units is not None and stored(step, plan, now) <= plan.max_units, sql


def two(first: dict[str, Any], second: dict[str, Any]) -> Catalog:
    entry = {"columns": {"k": "int", "ts": "timestamp"}, "timestamp": "ts", "granularity": "minute"}
    return catalog_from_mapping({"A": {**entry, **first}, "B": {**entry, **second}})


INTERVAL = (
    "SELECT A.k FROM A, B WHERE A.k = B.k"
    " AND B.ts BETWEEN A.ts - INTERVAL 2 MINUTES AND A.ts + INTERVAL 2 MINUTES"
)
RATED = {"max_rows_per_timestamp": 3}
# An interval join holds k, ts and the number of a tuple: two values, and three tuples a minute.
GRACE = {
    "none": (RATED, RATED, 2 * 2 * 2 * 3),
    "of both": ({**RATED, "allowed_lateness": "24 hours"},) * 2 + (2 * (2 + 24 * 60) * 2 * 3,),
    # Rows of one wait for those of the other.
    "of one": (RATED, {**RATED, "allowed_lateness": "24 hours"}, 2 * (2 + 24 * 60) * 2 * 3),
    "the longer": (
        {**RATED, "allowed_lateness": "1 minute"},
        {**RATED, "live": {"format": "kafka", "lateness": "8 minutes"}},
        2 * (2 + 8) * 2 * 3,
    ),
    "by rate": (
        {"rate": {"rows": 100, "per": "hour"}, "allowed_lateness": "24 hours"},
        {"rate": {"rows": 10, "per": "day"}},
        2 * 100 * 26 + 2 * 10 * 3,
    ),
    # What is late in files is put in its place, and read again.
    "of files": ({**RATED, "allowed_lateness": "2 days", "history": {"path": "A"}}, RATED, 2 * 2 * 2 * 3),
    "without end": ({**RATED, "allowed_lateness": f"{10**30} days"}, RATED, 12 * (2 + 10**30 * 24 * 60)),
}


@pytest.mark.parametrize(("first", "second", "units"), GRACE.values(), ids=GRACE)
def test_an_interval_join_keeps_both_sides_for_the_lateness_too(
    first: dict[str, Any], second: dict[str, Any], units: int
) -> None:
    job = compile(INTERVAL, two(first, second))
    assert job.units == units
    late = "until its timestamp is complete: rows may come so late" in plan_text(job)
    assert late is any(
        ("allowed_lateness" in one and "history" not in one) or "live" in one for one in (first, second)
    )


def test_open_windows_wait_for_the_lateness() -> None:
    late = {**RATED, "allowed_lateness": "1 hour"}
    sql = (
        "SELECT window(ts, '10 minutes').start AS w, COUNT(*) AS n FROM A GROUP BY (window(ts, '10 minutes'))"
    )
    before, after = compile(sql, two(RATED, RATED)), compile(sql, two(late, RATED))
    # Of a tuple its window waits, with their number.
    assert before.units is not None and after.units == before.units + 60 * 3 * 2
    assert "until its timestamp is complete: rows may come so late" in plan_text(after)


def test_bounds_are_told_in_lengths_of_time() -> None:
    undeclared = compile(INTERVAL, two({}, {"allowed_lateness": "90 seconds"}))
    # A minute more is the granularity: the lateness begins a timestamp.
    assert undeclared.units_formula == "2 x rows of A within 4 minutes + 2 x rows of B within 4 minutes"


def test_what_needs_no_time_keeps_nothing_for_lateness() -> None:
    late = {**RATED, "allowed_lateness": "24 hours"}
    for sql in (
        "SELECT k, ts FROM A",
        "SELECT A.k FROM A, B WHERE A.k = B.k AND A.k BETWEEN 1 AND 3",
        "SELECT DISTINCT k FROM A WHERE k BETWEEN 1 AND 3",
    ):
        assert compile(sql, two(late, late)).units == compile(sql, two(RATED, RATED)).units, sql
