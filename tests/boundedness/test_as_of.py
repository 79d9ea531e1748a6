"""As-of joins: the last tuple of each key."""

from __future__ import annotations

import pytest
from tests.boundedness.statement_cases import said


@pytest.mark.parametrize(
    ("sql", "verdict", "final"),
    [
        ("SELECT S.A, T.B FROM S ASOF JOIN T ON S.K = T.K AND T.ts <= S.ts", "bounded", "bounded"),
        ("SELECT S.A, T.B FROM S ASOF JOIN T ON S.A = T.A AND T.ts <= S.ts", "unbounded", "unbounded"),
        (
            "SELECT S.A, T.B FROM S ASOF JOIN T ON S.A = T.A AND T.ts <= S.ts WHERE S.A BETWEEN 1 AND 3",
            "bounded",
            "bounded",
        ),
        (
            "SELECT S.A, T.B FROM S ASOF JOIN T ON S.A = T.A AND T.ts <= S.ts AND T.ts >= S.ts - 2",
            "bounded",
            "bounded",
        ),
        (
            "SELECT S.A, T.B FROM S ASOF JOIN T ON S.K = T.K AND T.B < S.A AND T.ts <= S.ts",
            "unbounded",
            "unbounded",
        ),
        (
            "SELECT S.A, T.B FROM S ASOF JOIN T ON S.K = T.K AND T.ts <= S.ts WHERE T.B < S.A",
            "bounded",
            "bounded",
        ),
        ("SELECT S.A, T.B FROM S ASOF LEFT JOIN T ON S.K = T.K AND S.ts < T.ts", "unbounded", "unbounded"),
        # Of several each is asked with what the others look up as columns of the rows.
        (
            "SELECT S.A, T.B, U.B FROM S ASOF LEFT JOIN T ON S.K = T.K AND S.ts >= T.ts"
            " ASOF LEFT JOIN U ON S.K = U.K AND S.ts > U.ts",
            "bounded",
            "bounded",
        ),
        (
            "SELECT S.A, U.B FROM S ASOF JOIN T ON S.K = T.K AND S.ts >= T.ts"
            " ASOF JOIN U ON T.B = U.A AND S.ts >= U.ts",
            "unbounded",
            "unbounded",
        ),
        (
            "SELECT S.A, U.B FROM S ASOF JOIN T ON S.K = T.K AND S.ts >= T.ts"
            " ASOF JOIN U ON T.B = U.K AND S.ts >= U.ts",
            "bounded",
            "bounded",
        ),
        (
            "SELECT T.B, COUNT(*) FROM S ASOF JOIN T ON S.K = T.K AND T.ts <= S.ts GROUP BY T.B",
            "unbounded",
            "never-final",
        ),
    ],
)
def test_verdicts(sql: str, verdict: str, final: str | None) -> None:
    assert said(sql) == (verdict, final)
