"""Materialize: what its documentation says, as the model has it."""

from __future__ import annotations

import pytest
from tests.engines.cases import RANGE, on, told

LOCAL = "S.A > 10 AND S.A < 20"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # An arrangement has each distinct row once.
        (f"SELECT S.A FROM S JOIN T ON S.A = T.D WHERE {LOCAL}", [("join", "DISTINCT_ROWS", "constant")]),
        (f"SELECT S.id FROM S JOIN T ON S.A = T.D WHERE {LOCAL}", [("join", "DISTINCT_ROWS", "rows")]),
        ("SELECT S.id FROM S JOIN T ON S.B < T.E", [("join", "DISTINCT_ROWS", "rows")]),
        # There are no watermarks: a range cleans nothing.
        (f"SELECT S.id FROM S JOIN T ON S.K = T.K AND {RANGE}", [("join", "DISTINCT_ROWS", "rows")]),
        (
            "SELECT S.id FROM S JOIN T ON S.K = T.K WHERE S.ts > mz_now() - INTERVAL '1 hour'"
            " AND T.ts > mz_now() - INTERVAL '1 hour'",
            [("filter by the present time", "SPAN", "constant")] * 2
            + [("join", "DISTINCT_ROWS", "constant")],
        ),
        (f"SELECT A, COUNT(*) FROM S WHERE {LOCAL} GROUP BY A", [("GROUP BY", "ACCUMULATORS", "constant")]),
        ("SELECT ts, COUNT(*) FROM S GROUP BY ts", [("GROUP BY", "ACCUMULATORS", "time")]),
        (
            "SELECT date_trunc('day', ts), COUNT(*) FROM S GROUP BY date_trunc('day', ts)",
            [("GROUP BY", "ACCUMULATORS", "time")],
        ),
        ("SELECT DISTINCT K FROM S", [("DISTINCT", "DIFFERENT", "keys")]),
        (
            "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY K ORDER BY B) AS n FROM S) x"
            " WHERE n <= 2",
            [("first rows", "KEYED_ROWS", "keys")],
        ),
        ("SELECT id, LAG(B) OVER (PARTITION BY K ORDER BY ts) FROM S", [("OVER", "INPUT", "rows")]),
    ],
)
def test_what_is_kept(sql: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(on("materialize", sql, "materialize")) == expected
