"""Feldera: what its documentation says, as the model has it."""

from __future__ import annotations

import pytest
from tests.engines.cases import RANGE, on, told


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT S.id FROM S JOIN T ON S.K = T.K AND S.ts = T.ts", [("join", "SPAN", "constant")]),
        (f"SELECT S.id FROM S JOIN T ON S.K = T.K AND {RANGE}", [("join", "DISTINCT_ROWS", "rows")]),
        # Nothing says that a filter passes an equality: one on each side does.
        (
            "SELECT S.A FROM S JOIN T ON S.A = T.D WHERE S.A > 10 AND S.A < 20",
            [("join", "DISTINCT_ROWS", "keys")],
        ),
        (
            "SELECT S.A FROM S JOIN T ON S.A = T.D WHERE S.A IN (1, 2) AND T.D IN (2, 3)",
            [("join", "DISTINCT_ROWS", "constant")],
        ),
        (
            f"SELECT S.ts, COUNT(*) FROM S JOIN T ON S.K = T.K AND {RANGE} GROUP BY S.ts",
            [("join", "DISTINCT_ROWS", "rows"), ("GROUP BY", "ACCUMULATORS", "time")],
        ),
        (
            "SELECT CAST(ts AS DATE) AS d, COUNT(*), MAX(B) FROM S GROUP BY CAST(ts AS DATE)",
            [("GROUP BY", "WINDOWS", "constant")],
        ),
        ("SELECT COUNT(*) FROM S", [("GROUP BY", "ACCUMULATORS", "constant")]),
        ("SELECT MAX(B) FROM S", [("GROUP BY", "INPUT", "rows")]),
        (
            "SELECT * FROM S WHERE ts >= NOW() - INTERVAL 7 DAYS",
            [("filter by the present time", "SPAN", "constant")],
        ),
        (
            "SELECT id, SUM(B) OVER (PARTITION BY K ORDER BY ts RANGE BETWEEN INTERVAL 1 DAYS PRECEDING AND"
            " CURRENT ROW) FROM S",
            [("OVER", "SPAN", "constant")],
        ),
        ("SELECT id, LAG(B) OVER (PARTITION BY K ORDER BY ts) FROM S", [("OVER", "INPUT", "rows")]),
        ("SELECT DISTINCT K FROM S", [("DISTINCT", "DIFFERENT", "keys")]),
    ],
)
def test_what_is_kept(sql: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(on("feldera", sql, "feldera")) == expected


def test_the_annotation_that_helps_is_told() -> None:
    assert any("append_only" in note for note in on("feldera", "SELECT MAX(B) FROM S", "feldera").notes)
