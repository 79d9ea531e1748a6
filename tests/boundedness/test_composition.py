"""Sub-queries that are not written out, and tables that change."""

from __future__ import annotations

import pytest
from tests.boundedness.statement_cases import said


@pytest.mark.parametrize(
    ("sql", "verdict", "final"),
    [
        (
            "SELECT S.K, r.m FROM S JOIN (SELECT K, MAX(B) AS m FROM T GROUP BY K) r ON S.K = r.K",
            "bounded",
            "never-final",
        ),
        (
            "SELECT S.A, r.m FROM S JOIN (SELECT K, MAX(B) AS m FROM T GROUP BY K) r ON S.K = r.K",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT 1 FROM S JOIN (SELECT K, MAX(B) AS m FROM T GROUP BY K) r ON S.A < r.m",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT r.m, COUNT(*) FROM (SELECT K, MAX(B) AS m FROM T GROUP BY K) r GROUP BY r.m",
            "bounded",
            "never-final",
        ),
        ("SELECT S.A FROM S JOIN V ON S.K = V.K", "unbounded", "never-final"),
        ("SELECT S.K, W.A FROM S JOIN W ON S.K = W.K", "bounded", "never-final"),
        ("SELECT a.K, b.K FROM W a JOIN W b ON a.A < b.A", "bounded", "never-final"),
        ("SELECT K, A FROM V", "unbounded", "never-final"),
        (
            "SELECT COUNT(*) FROM (SELECT A FROM S GROUP BY A HAVING COUNT(*) > 3) r",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT T.B FROM T WHERE T.A NOT IN (SELECT A FROM S GROUP BY A HAVING COUNT(*) < 20)",
            "unbounded",
            None,
        ),
        ("SELECT MAX(r.c) FROM (SELECT A, COUNT(*) AS c FROM S GROUP BY A) r", "unknown", None),
    ],
)
def test_verdicts(sql: str, verdict: str, final: str | None) -> None:
    assert said(sql) == (verdict, final)
