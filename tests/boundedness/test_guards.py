"""EXISTS, NOT EXISTS, outer joins, EXCEPT: Theorems S and X, and what is final."""

from __future__ import annotations

import pytest
from tests.boundedness.statement_cases import said


@pytest.mark.parametrize(
    ("sql", "verdict", "final"),
    [
        (
            "SELECT S.A FROM S WHERE EXISTS (SELECT 1 FROM T WHERE T.ts < S.ts AND S.A < T.B)",
            "bounded",
            "bounded",
        ),
        ("SELECT 1 FROM S WHERE EXISTS (SELECT 1 FROM T WHERE S.A < T.B)", "unbounded", "unbounded"),
        ("SELECT DISTINCT 1 FROM S WHERE EXISTS (SELECT 1 FROM T WHERE S.A < T.B)", "bounded", "bounded"),
        ("SELECT S.A FROM S WHERE S.A IN (SELECT T.B FROM T)", "unbounded", "unbounded"),
        (
            "SELECT 1 FROM S WHERE EXISTS (SELECT 1 FROM T, U WHERE T.B < U.C AND T.ts < S.ts)",
            "unbounded",
            "unbounded",
        ),
        (
            "SELECT 1 FROM S WHERE EXISTS (SELECT 1 FROM T, U, S r WHERE T.A < U.A AND S.ts < "
            "r.ts AND T.ts < r.ts)",
            "unknown",
            None,
        ),
        (
            "SELECT S.A FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE S.A = T.B AND T.ts BETWEEN "
            "S.ts AND S.ts + 10)",
            "bounded",
            "bounded",
        ),
        ("SELECT 1 FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE S.A < T.B)", "unbounded", "never-final"),
        # A row with A <> 1 waits for T alone, and shows A.
        (
            "SELECT S.A FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE S.ts < T.ts)"
            " AND NOT EXISTS (SELECT 1 FROM U WHERE U.ts <= S.ts AND S.A = 1)",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT DISTINCT 1 FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE S.A < T.B)",
            "bounded",
            "never-final",
        ),
        (
            "SELECT DISTINCT 1 FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE S.A < T.C AND S.B < T.D)",
            "unbounded",
            "never-final",
        ),
        # A row is a match of itself, and what must be there is one of what must not.
        (
            "SELECT S.A FROM S WHERE EXISTS (SELECT 1 FROM T WHERE S.A = T.B)"
            " AND NOT EXISTS (SELECT 1 FROM T WHERE S.A = T.B)",
            "bounded",
            "never-final",
        ),
        (
            "SELECT S.A FROM S, U WHERE S.B = U.B AND NOT EXISTS"
            " (SELECT 1 FROM S r WHERE r.A = S.A AND r.ts = S.ts)",
            "bounded",
            "bounded",
        ),
        (
            "SELECT S.A FROM S, U WHERE S.B = U.B AND NOT EXISTS"
            " (SELECT 1 FROM S r WHERE r.A = S.A AND r.ts = S.ts - 1)",
            "unbounded",
            "unbounded",
        ),
        (
            "SELECT S.A FROM S, U WHERE S.B = U.B AND NOT EXISTS"
            " (SELECT 1 FROM S r WHERE r.A > S.A AND r.ts = S.ts)",
            "unbounded",
            "unbounded",
        ),
        ("SELECT S.K FROM S EXCEPT SELECT T.A FROM T", "bounded", "never-final"),
        ("SELECT S.A FROM S EXCEPT SELECT T.B FROM T", "unbounded", "never-final"),
        (
            "SELECT S.A, T.B FROM S LEFT JOIN T ON S.K = T.K AND T.ts BETWEEN S.ts AND S.ts + 10",
            "bounded",
            "bounded",
        ),
        ("SELECT S.K, T.K FROM S LEFT JOIN T ON S.K = T.K", "bounded", "bounded"),
        ("SELECT S.A, T.K FROM S LEFT JOIN T ON S.K = T.K", "unbounded", "unbounded"),
        ("SELECT S.K, COUNT(*) FROM S LEFT JOIN T ON S.K = T.K GROUP BY S.K", "bounded", "never-final"),
    ],
)
def test_verdicts(sql: str, verdict: str, final: str | None) -> None:
    assert said(sql) == (verdict, final)
