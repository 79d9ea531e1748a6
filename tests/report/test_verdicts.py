"""Plans of queries that compare timestamps, in words."""

from __future__ import annotations

from streambound.compiler import compile
from streambound.query.catalog import catalog_from_mapping
from streambound.report.verdicts import plan_text

BODY = {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts"}
CATALOG = catalog_from_mapping({name: BODY for name in "STU"})


def explained(sql: str) -> list[str]:
    return plan_text(compile(sql, CATALOG)).splitlines()


def test_the_worked_example_says_what_is_kept_of_which_streams_and_why() -> None:
    sql = (
        "SELECT S.A, T.B FROM S, T, U WHERE S.ts > T.ts AND T.ts > U.ts AND S.A > T.B AND T.B > 0 AND T.B < 5"
    )
    assert explained(sql) == [
        "S: only tuples with S.A >= 2 count",
        "T: only tuples with T.B > 0 and T.B < 5 count",
        "tuples of U, while S, T may still come: 1 unit",
        "  keep how many there are: 1 unit",
        "partial matches of T, U, while S may still come: 4 units",
        "  per T.B (4 values) keep how many there are: 4 units",
        "Each batch is joined with what is kept, on S.A > T.B and S.ts > T.ts and T.ts > U.ts; so are "
        "partial matches made. S completes every match, so nothing is kept of it.",
    ]


def test_distinct_rows_windows_and_ages() -> None:
    lines = explained("SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A AND S.ts + 3 < T.ts")
    assert "  apart for each of the last 3 timestamps of S, and all older ones" in lines
    assert "  keep those with the least S.A (S.A): 1 unit" in lines
    assert "rows already answered: 1 unit" in lines
    held = explained("SELECT S.A FROM S, T WHERE S.A = T.A AND S.ts <= T.ts AND T.ts <= S.ts + 5")
    assert held[0] == (
        "S: every tuple is held for 5 ticks, since partners may still come: "
        "5 timestamps x 2 values of each tuple"
    )


def test_a_stream_that_ends() -> None:
    (line,) = explained("SELECT S.A FROM S, T WHERE T.ts < 50 AND S.A = T.A")
    assert line.startswith("Until T ends, every tuple is held as it came")
