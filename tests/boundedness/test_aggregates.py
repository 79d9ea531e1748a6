"""GROUP BY: Theorems L, M and D, HAVING, sessions; the counterexamples of docs/theory.md."""

from __future__ import annotations

import pytest
from tests.boundedness.statement_cases import said

from streambound.errors import UnsupportedError


@pytest.mark.parametrize(
    ("sql", "verdict", "final"),
    [
        (
            "SELECT T.ts, S.A, COUNT(*) FROM S, T WHERE S.ts <= T.ts + 2 AND T.ts <= S.ts + 2 "
            "GROUP BY T.ts, S.A",
            "bounded",
            "bounded",
        ),
        ("SELECT COUNT(*) FROM S GROUP BY S.A", "unbounded", "never-final"),
        ("SELECT 1 FROM S GROUP BY S.A", "unbounded", "unbounded"),
        ("SELECT AVG(5) FROM S, T WHERE S.A < T.B", "bounded", "bounded"),
        ("SELECT SUM(S.A - T.B) FROM S, T WHERE S.A = T.B", "unbounded", "unbounded"),
        ("SELECT AVG(S.K) FROM S, T WHERE S.A < T.B AND S.K = 4", "bounded", "bounded"),
        ("SELECT AVG(S.C) FROM S, T WHERE S.A < T.B", "unbounded", "never-final"),
        ("SELECT MIN(S.A) FROM S, T WHERE S.A < T.B", "bounded", "never-final"),
        ("SELECT MAX(S.A) FROM S, T WHERE S.A < T.B", "unbounded", "never-final"),
        ("SELECT MAX(T.D) FROM S, T WHERE S.B < T.C AND S.ts < T.ts", "bounded", "never-final"),
        ("SELECT MAX(T.D) FROM S, T WHERE S.B < T.C AND T.ts < S.ts", "unbounded", "never-final"),
        ("SELECT MAX(S.A + T.B) FROM S, T", "bounded", "never-final"),
        ("SELECT MAX(-S.A) FROM S, T WHERE S.A < T.B", "bounded", "never-final"),
        ("SELECT window(S.ts, 10).start, MAX(S.A) FROM S GROUP BY window(S.ts, 10)", "bounded", "bounded"),
        ("SELECT MIN(S.X) FILTER (WHERE T.K > 3) FROM S LEFT JOIN S T ON S.K = T.K", "unknown", None),
        (
            "SELECT S.X, MIN(S.X) FILTER (WHERE T.K > 3) FROM S LEFT JOIN S T ON S.K = T.K GROUP BY S.X",
            "unbounded",
            "unbounded",
        ),
        ("SELECT COUNT(DISTINCT S.K) FROM S", "bounded", "bounded"),
        ("SELECT COUNT(DISTINCT S.A) FROM S", "unbounded", "never-final"),
        ("SELECT COUNT(DISTINCT S.ts) FROM S GROUP BY S.A", "unbounded", "never-final"),
        ("SELECT ARRAY_AGG(S.A) FROM S", "unbounded", "never-final"),
        ("SELECT S.ts, ARRAY_AGG(S.A) FROM S GROUP BY S.ts", "bounded", "bounded"),
        ("SELECT 1 FROM S, T WHERE S.A < T.B HAVING COUNT(*) > 2", "bounded", "bounded"),
        ("SELECT 1 FROM S, T WHERE S.A < T.B HAVING COUNT(*) = 2", "bounded", None),
        ("SELECT S.K FROM S GROUP BY S.K HAVING COUNT(*) < 1", "bounded", "bounded"),
        ("SELECT COUNT(*) FROM S, T WHERE S.A < T.B HAVING COUNT(*) > 2", "unbounded", "never-final"),
        ("SELECT 1 FROM S, T WHERE S.A < T.B HAVING MAX(S.C) > 5", "bounded", "bounded"),
        ("SELECT 1 FROM S, T WHERE S.A = T.B HAVING MAX(S.C) > 5", "unbounded", "unbounded"),
        ("SELECT 1 FROM S, T WHERE S.A < T.B AND S.A > 0 HAVING SUM(S.A) >= 100", "bounded", "bounded"),
        ("SELECT 1 FROM S, T WHERE S.A < T.B HAVING AVG(S.C) > 40", "unknown", None),
        ("SELECT K, SUM(A) FROM S GROUP BY K UNION ALL SELECT B, B FROM T", "bounded", "bounded"),
        (
            "SELECT K, COUNT(*) FROM S GROUP BY K UNION ALL SELECT A, COUNT(*) FROM T GROUP BY A",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT session_window(ts, 3).start, COUNT(*) FROM S GROUP BY session_window(ts, 3), A",
            "bounded",
            "bounded",
        ),
        ("SELECT COUNT(DISTINCT B) FROM S GROUP BY session_window(ts, 3), A", "unbounded", "unbounded"),
    ],
)
def test_verdicts(sql: str, verdict: str, final: str | None) -> None:
    assert said(sql) == (verdict, final)


@pytest.mark.parametrize(
    ("key", "verdict"),
    [
        ("ABS(S.ts)", "unknown"),
        ("weird(S.ts)", "unknown"),
        ("S.ts + 5", "bounded"),
        ("S.ts % 7", "unbounded"),
        ("S.B % 7", "unbounded"),
    ],
)
def test_what_is_computed_of_a_time_may_close_groups(key: str, verdict: str) -> None:
    """A value that time passes by has no rows any more, however many others there are in its group."""
    assert said(f"SELECT {key}, S.A, COUNT(*) FROM S GROUP BY {key}, S.A")[0] == verdict
    assert said(f"SELECT DISTINCT {key}, S.A FROM S")[0] == verdict


_NEAR = "FROM S JOIN T ON S.ts >= T.ts AND S.ts <= T.ts + 5"
_DAYS = f"SELECT S.A, S.ts - T.ts AS k, T.B {_NEAR}"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT S.A, S.ts - T.ts, COUNT(*) {_NEAR} GROUP BY S.A, S.ts - T.ts",
        f"SELECT S.ts + T.B, COUNT(*) {_NEAR} GROUP BY S.ts + T.B",
        f"SELECT GREATEST(S.ts, T.B), COUNT(*) {_NEAR} GROUP BY GREATEST(S.ts, T.B)",
        f"SELECT COALESCE(T.ts, S.ts), COUNT(*) {_NEAR} GROUP BY COALESCE(T.ts, S.ts)",
        f"SELECT x.A, x.k, MAX(x.B) FROM ({_DAYS}) x GROUP BY x.A, x.k",
        f"SELECT S.K, COUNT(DISTINCT S.ts + T.B) {_NEAR} GROUP BY S.K",
        f"SELECT S.A, COUNT(*) OVER (PARTITION BY S.A, S.ts - T.ts) {_NEAR}",
        f"SELECT A FROM (SELECT A, ROW_NUMBER() OVER (PARTITION BY A, k ORDER BY B) AS n FROM ({_DAYS}) x) y"
        " WHERE n = 1",
    ],
)
def test_a_key_over_times_of_several_streams_is_refused(sql: str) -> None:
    """S.ts - T.ts has six values, each of rows that come for ever: no group of (A, S.ts - T.ts) is over."""
    with pytest.raises(UnsupportedError, match="a key over timestamps of several streams"):
        said(sql)


def test_the_latest_of_several_times_is_one() -> None:
    key = "GREATEST(S.ts, T.ts)"
    assert said(f"SELECT {key}, S.A, COUNT(*) {_NEAR} GROUP BY {key}, S.A")[0] == "bounded"
