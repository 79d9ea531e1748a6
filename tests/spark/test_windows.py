"""Which queries go by windows, and how little of a partition the driver sees of them.

``test_timed`` and ``test_united`` hold that answers and states are those of one pass, however time is cut.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from streambound.compiler import compile
from streambound.query.catalog import catalog_from_mapping
from streambound.spark.edges import dump_edges, load_edges, summaries
from streambound.spark.engine import opened
from streambound.spark.plans import StatementPlan, statement_plan
from streambound.spark.windows import window_plan
from streambound.synopsis.timed import TimedPlan

STREAM = {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts", "not_null": ["A", "B"]}
CATALOG = catalog_from_mapping({name: STREAM for name in "STU"})
WITHIN = "S.ts <= T.ts AND T.ts <= S.ts + 9"


def planned(sql: str) -> StatementPlan:
    found = compile(sql, CATALOG, "q")
    assert found.statement is not None and found.decision is not None and found.verdict is not None
    assert found.verdict.bounded
    return statement_plan(found.statement, found.decision.parts, {})


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
        ("SELECT DISTINCT S.A FROM S, T WHERE S.A = T.A AND S.A IN (1, 2) AND S.ts < T.ts", {"S", "T"}),
        # T is between: the first and the last of alike tuples may both fail where another matches.
        ("SELECT DISTINCT 1 FROM S, T, U WHERE S.ts < T.ts AND T.ts < U.ts", {"S", "U"}),
        ("SELECT DISTINCT 1 FROM S, T, U WHERE S.ts < T.ts AND S.ts <> U.ts", {"T"}),
        ("SELECT S.B FROM S, T WHERE S.B IN (1, 2) AND S.ts < T.ts", set()),
        ("SELECT DISTINCT T.ts FROM S, T WHERE S.ts < T.ts", {"S"}),
    ],
)
def test_of_tuples_alike_the_first_and_the_last_may_stand_for_all(sql: str, extreme: set[str]) -> None:
    (part,) = planned(sql).parts
    assert isinstance(part.plan, TimedPlan)
    assert {alias for alias in part.plan.clock.streams if part.plan.extreme(alias)} == extreme


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
