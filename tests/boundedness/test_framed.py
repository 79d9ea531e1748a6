"""OVER: frames by rows, by time, and those that change old rows."""

from __future__ import annotations

import pytest
from tests.boundedness.statement_cases import said


@pytest.mark.parametrize(
    ("sql", "verdict", "final"),
    [
        ("SELECT A, COUNT(*) OVER (PARTITION BY K ORDER BY ts) FROM S", "bounded", "bounded"),
        ("SELECT A, COUNT(*) OVER (PARTITION BY A ORDER BY ts) FROM S", "unbounded", "unbounded"),
        (
            "SELECT A, SUM(A) OVER (PARTITION BY P ORDER BY ts RANGE BETWEEN 5 PRECEDING AND "
            "CURRENT ROW) FROM S",
            "bounded",
            "bounded",
        ),
        (
            "SELECT A, MAX(A) OVER (PARTITION BY P ORDER BY ts ROWS BETWEEN 1 PRECEDING AND "
            "CURRENT ROW) FROM S",
            "unbounded",
            "unbounded",
        ),
        ("SELECT A, COUNT(*) OVER () FROM S", "unbounded", "never-final"),
        ("SELECT K, COUNT(*) OVER () FROM S", "bounded", "never-final"),
        ("SELECT K, RANK() OVER (ORDER BY A) FROM S", "unbounded", "never-final"),
        ("SELECT COUNT(DISTINCT A) OVER (ORDER BY ts) FROM S", "unbounded", "unbounded"),
        # The numbers of a partition from one up are as many as it has rows, whatever orders them.
        ("SELECT ROW_NUMBER() OVER (ORDER BY A) FROM S", "bounded", "never-final"),
        ("SELECT K, ROW_NUMBER() OVER (PARTITION BY K ORDER BY A) FROM S", "bounded", "never-final"),
        ("SELECT NTILE(4) OVER (PARTITION BY K ORDER BY A) FROM S", "bounded", "never-final"),
        ("SELECT ROW_NUMBER() OVER (PARTITION BY A ORDER BY B) FROM S", "unbounded", "never-final"),
        ("SELECT P, ROW_NUMBER() OVER (ORDER BY A) FROM S", "unbounded", "never-final"),
        ("SELECT RANK() OVER (ORDER BY A) FROM S", "unbounded", "never-final"),
        (
            "SELECT ROW_NUMBER() OVER (ORDER BY A), ROW_NUMBER() OVER (ORDER BY B) FROM S",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT A % 3 AS k, ROW_NUMBER() OVER (PARTITION BY A % 3 ORDER BY A) AS n FROM S",
            "unknown",
            None,
        ),
        ("SELECT A, LEAD(A) OVER (PARTITION BY K ORDER BY ts) FROM S", "bounded", "bounded"),
    ],
)
def test_verdicts(sql: str, verdict: str, final: str | None) -> None:
    assert said(sql) == (verdict, final)
