"""Ranks and LIMIT: what waits for better rows."""

from __future__ import annotations

import pytest
from tests.boundedness.statement_cases import said


@pytest.mark.parametrize(
    ("sql", "verdict", "final"),
    [
        (
            "SELECT A, P FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY K ORDER BY A DESC) n "
            "FROM S) WHERE n <= 2",
            "bounded",
            "never-final",
        ),
        (
            "SELECT A, P FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY A ORDER BY ts) n FROM S) "
            "WHERE n = 1",
            "unbounded",
            "unbounded",
        ),
        (
            "SELECT A, P FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY K ORDER BY ts) n FROM S) "
            "WHERE n = 1",
            "bounded",
            "bounded",
        ),
        (
            "SELECT A, P FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY K ORDER BY A) n FROM S) WHERE n > 2",
            "bounded",
            "bounded",
        ),
        # A better row changes every later rank; one that is hidden is passed on for good.
        (
            "SELECT A, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY K ORDER BY A) n FROM S) WHERE n > 2",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT A, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY K ORDER BY ts) n FROM S) "
            "WHERE n <> 2",
            "bounded",
            "bounded",
        ),
        ("SELECT *, ROW_NUMBER() OVER (ORDER BY A) n FROM S QUALIFY n >= 2", "unbounded", "never-final"),
        # Of the ranks alone a number is known.
        (
            "SELECT n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY K ORDER BY A) n FROM S) WHERE n > 2",
            "bounded",
            "never-final",
        ),
        # With the first one the later ones are all pairs.
        (
            "SELECT A FROM (SELECT S.A, ROW_NUMBER() OVER (ORDER BY S.A) n FROM S, T WHERE S.A < T.B) "
            "WHERE n > 1",
            "unbounded",
            "unbounded",
        ),
        ("SELECT P FROM (SELECT *, RANK() OVER (ORDER BY K DESC) n FROM S) WHERE n = 1", "unbounded", None),
        (
            "SELECT A FROM (SELECT *, RANK() OVER (ORDER BY A DESC) n FROM S) WHERE n = 1",
            "bounded",
            "never-final",
        ),
        ("SELECT * FROM S ORDER BY A LIMIT 5", "bounded", "never-final"),
        ("SELECT A FROM S LIMIT 5", "bounded", "bounded"),
        (
            "SELECT A FROM (SELECT S.A, ROW_NUMBER() OVER (ORDER BY S.A, S.B) n FROM S, T WHERE "
            "S.A < T.A) WHERE n = 1",
            "bounded",
            "never-final",
        ),
        (
            "SELECT A FROM (SELECT S.A, ROW_NUMBER() OVER (ORDER BY S.A, S.B) n FROM S, T WHERE "
            "S.B < T.A) WHERE n = 1",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT A FROM (SELECT S.A, ROW_NUMBER() OVER (ORDER BY S.A, T.Q) n FROM S, T WHERE "
            "S.A < T.B AND T.ts < S.ts) WHERE n = 1",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT K FROM (SELECT S.K, ROW_NUMBER() OVER (ORDER BY S.K, S.A) n FROM S, T, U "
            "WHERE U.A < S.A AND S.ts < T.ts AND T.ts < U.ts) WHERE n = 1",
            "unbounded",
            None,
        ),
    ],
)
def test_verdicts(sql: str, verdict: str, final: str | None) -> None:
    assert said(sql) == (verdict, final)
