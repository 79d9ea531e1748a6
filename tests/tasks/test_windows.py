"""Which queries go by windows, and how little of a partition the driver sees of them.

``test_timed`` and ``test_statement`` hold that answers and states are those of one pass, however time is cut.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark import histories
from tests.spark.histories import Registered
from tests.spark.moments import expected, write, write_statics
from tests.spark.nights import from_scratch, left, night
from tests.strategies import Case

from streambound.compiler import compile
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from streambound.tasks.edges import dump_edges, load_edges, summaries
from streambound.tasks.embedded_engine import opened
from streambound.tasks.plans import StatementPlan, statement_plan
from streambound.tasks.windows import window_plan

STREAM: dict[str, Any] = {
    "columns": {"A": "int", "B": "int", "ts": "int"},
    "timestamp": "ts",
    "not_null": ["A", "B"],
}
CATALOG = catalog_from_mapping({name: STREAM for name in "STU"})
WITHIN = "S.ts <= T.ts AND T.ts <= S.ts + 9"


def planned(sql: str) -> StatementPlan:
    found = compile(sql, CATALOG, "q")
    assert found.verdict.bounded
    return statement_plan(found.statement, found.planned_parts)


@pytest.mark.parametrize(
    ("sql", "by_windows"),
    [
        (f"SELECT S.A, T.B FROM S, T WHERE S.A = T.A AND {WITHIN}", True),
        (f"SELECT S.A, T.B, S.ts FROM S, T WHERE S.B < T.B AND {WITHIN}", True),
        (f"SELECT S.A FROM S, T, U WHERE {WITHIN} AND U.ts = T.ts", True),
        ("SELECT DISTINCT S.A, S.ts FROM S", True),
        ("SELECT A, ts FROM S UNION SELECT A, ts FROM T", True),
        # Some matches lie further apart than any window.
        ("SELECT S.B FROM S, T WHERE S.B = T.B AND S.B IN (1, 2) AND S.ts <= T.ts + 5", False),
        (f"SELECT U.B FROM S, T, U WHERE {WITHIN} AND U.ts > T.ts AND U.B IN (1, 2)", False),
        # The answer has another type than the part.
        ("SELECT DISTINCT A, ts FROM S UNION SELECT DISTINCT 1, ts FROM T WHERE A > 1 AND A < 1", False),
    ],
)
def test_matches_within_a_window_are_joined_in_tasks(sql: str, by_windows: bool) -> None:
    assert (window_plan(planned(sql)) is not None) is by_windows


@pytest.mark.parametrize(
    ("sql", "extreme"),
    [
        ("SELECT DISTINCT S.A FROM S, T WHERE S.A = T.A AND S.A IN (1, 2) AND S.ts < T.ts", {"S": 0, "T": 0}),
        # T is between: the first and the last of alike tuples may both fail where another matches.
        ("SELECT DISTINCT 1 FROM S, T, U WHERE S.ts < T.ts AND T.ts < U.ts", {"S": 0, "U": 0}),
        ("SELECT DISTINCT 1 FROM S, T, U WHERE S.ts < T.ts AND S.ts <> U.ts", {"T": 0}),
        ("SELECT S.B FROM S, T WHERE S.B IN (1, 2) AND S.ts < T.ts", {}),
        ("SELECT DISTINCT T.ts FROM S, T WHERE S.ts < T.ts", {"S": 0}),
        # What is held or told apart by its timestamp is needed as it is.
        ("SELECT DISTINCT 1 FROM S, T WHERE S.ts <= T.ts + 5", {"S": 0, "T": 5}),
        ("SELECT DISTINCT 1 FROM S, T WHERE S.ts <= T.ts - 5", {"S": 4, "T": 0}),
    ],
)
def test_of_tuples_alike_the_first_and_the_last_may_stand_for_all(sql: str, extreme: dict[str, int]) -> None:
    (part,) = planned(sql).parts
    assert not part.plan.approximate
    found = {alias: part.plan.extreme(alias) for alias in part.plan.clock.streams}
    assert {alias: last for alias, last in found.items() if last is not None} == extreme


def test_the_driver_sees_a_window_of_a_partition() -> None:
    plan = window_plan(planned(f"SELECT S.A, T.B FROM S, T WHERE S.A = T.A AND {WITHIN}"))
    assert plan is not None
    moments = list(range(1_000, 11_000))
    columns = {"streambound part": [0] * len(moments), "A": moments, "B": moments, "ts": moments}
    with opened() as session:
        (found,) = summaries(plan, session, {name: pa.table(columns) for name in ("S", "T")}, 1)
    assert found.moments == {"": (1_000, "S", 10_999)}
    assert found.answers is not None and len(found.answers) == found.digest.rows == len(moments)
    # A T may come up to 9 after its S, and no S after its T.
    assert (len(found.heads["S"]), len(found.heads["T"])) == (0, 9)
    assert (len(found.tails["S"]), len(found.tails["T"])) == (9, 0)
    again = load_edges(dump_edges(found))
    assert (again.answers, again.heads, again.tails) == (found.answers, found.heads, found.tails)
    assert (again.moments, again.digest) == (found.moments, found.digest)


def rows_of(name: str, *rows: tuple[str, int, int]) -> list[dict[str, Any]]:
    return [{"stream": stream, name: value, "ts": ts} for stream, value, ts in rows]


NAMES = ["n", "P", "p", "N", "c0", "t", "count", "bounds", "Found", "answered", "before", "inside"]
NAMES += ["tuples", "first"]
FORMS = {"bag": "", "distinct": "DISTINCT "}


@pytest.mark.parametrize(
    ("name", "distinct"),
    [
        # Each name in one form, and all of both in the heavy run.
        pytest.param(name, word, id=f"{name}-{form}", marks=[pytest.mark.heavy] * ((at + number) % 2))
        for at, name in enumerate(NAMES)
        for number, (form, word) in enumerate(FORMS.items())
    ],
)
def test_names_of_users_are_none_of_ours(name: str, distinct: str, tmp_path: Path) -> None:
    """Columns, aliases and outputs with the names of tables and columns that tasks and driver make."""
    relation = {"columns": {name: "int", "ts": "int"}, "timestamp": "ts", "not_null": [name]}
    streams = {"S": relation, "T": {**relation, "max_rows_per_timestamp": 2}}
    sql = (
        f"SELECT {distinct}`{name}`.`{name}`, y.ts AS `{name}2` FROM S `{name}`, T y "
        f"WHERE `{name}`.`{name}` = y.`{name}` AND `{name}`.ts <= y.ts AND y.ts <= `{name}`.ts + 3"
    )
    catalog = catalog_from_mapping(streams)
    case = Case(streams, sql, catalog, parse(sql, catalog))
    parts = [
        rows_of(name, ("S", 1, 1), ("T", 1, 2), ("S", 2, 4), ("S", 2, 4)),
        rows_of(name, ("T", 2, 5), ("T", 1, 6), ("S", 1, 6), ("T", 2, 7)),
        rows_of(name, ("T", 1, 9)),
    ]
    query, placed = Registered("q", sql), write_statics(case, {}, tmp_path)
    for number, part in enumerate(parts):
        write(case, number, part, tmp_path)
        answer = night([query], placed, tmp_path / "nightly")["q"]
        assert answer.error is None
    found = histories.read_answers(tmp_path / "nightly" / "answers" / "q", case.query)
    assert found == expected(case, parts, {}) and sum(found.values(), Counter())
    assert left(tmp_path / "nightly", "q") == from_scratch([query], placed, tmp_path / "whole")["q"]


def test_moments_that_an_offset_would_take_out_of_64_bits_are_refused(tmp_path: Path) -> None:
    sql = f"SELECT S.A FROM S, T WHERE {WITHIN}"
    streams = {name: {**STREAM, "columns": {**STREAM["columns"], "ts": "bigint"}} for name in "ST"}
    read = catalog_from_mapping(streams)
    case = Case(streams, sql, read, parse(sql, read))
    catalog = write_statics(case, {}, tmp_path)
    write(case, 0, [{"stream": "S", "A": 1, "B": 1, "ts": 2**63 - 3}], tmp_path)
    answer = night([Registered("q", sql)], catalog, tmp_path / "home")["q"]
    assert answer.error is not None and "S.ts = 9223372036854775805 is too far from zero" in str(answer.error)


def test_rows_that_may_come_again_are_in_order_whatever_is_summarised_with_them() -> None:
    plan = window_plan(
        planned(
            f"SELECT DISTINCT S.A, T.A FROM S, T WHERE S.A IN (0, 1, 2) AND T.A IN (0, 1, 2) AND {WITHIN}"
        )
    )
    assert plan is not None
    tables = {
        name: pa.table({"streambound part": parts, "A": values, "ts": [5] * len(parts)})
        for name, parts, values in (("S", [0, 0, 1], [1, 0, 2]), ("T", [0, 0, 1], [2, 1, 0]))
    }
    with opened() as session:
        together = summaries(plan, session, tables, 2)
        alone = summaries(plan, session, {name: table.slice(0, 2) for name, table in tables.items()}, 1)
    assert dump_edges(together[0]) == dump_edges(alone[0])
