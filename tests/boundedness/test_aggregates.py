"""GROUP BY: Theorems L, M and D, HAVING, sessions; the counterexamples of docs/theory.md."""

from __future__ import annotations

import pytest
from tests.boundedness.statement_cases import said


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
