"""Feldera: what its documentation says, as the model has it."""

from __future__ import annotations

import pytest
from tests.engines.cases import RANGE, on, told

from streambound.compiler import parsed
from streambound.engines.state import engine, state_of
from streambound.query.catalog import Catalog


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
        # Rows that show a time with LATENESS, or its day, go with it, unless a join below keeps its rows.
        ("SELECT DISTINCT K, ts FROM S", [("DISTINCT", "WINDOWS", "constant")]),
        ("SELECT DISTINCT K, CAST(ts AS DATE) AS d FROM S", [("DISTINCT", "WINDOWS", "constant")]),
        (
            "SELECT DISTINCT S.K, S.ts FROM S JOIN T ON S.K = T.K",
            [("join", "DISTINCT_ROWS", "rows"), ("DISTINCT", "DIFFERENT", "keys")],
        ),
        (
            "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY ts ORDER BY B) AS n FROM S) x"
            " WHERE n = 1",
            [("first rows", "INPUT", "rows")],
        ),
    ],
)
def test_what_is_kept(sql: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(on("feldera", sql, "feldera")) == expected


TABLES = (
    "CREATE TABLE a (k INT, v INT) WITH ('append_only' = '{}');"
    "CREATE TABLE b (k INT, v INT) WITH ('append_only' = 'true');"
)


@pytest.mark.parametrize(
    ("said", "query", "keeps", "growth"),
    [
        ("true", "SELECT MAX(v) AS m FROM a", "ACCUMULATORS", "constant"),
        ("true", "SELECT k, MIN(v) AS m FROM a GROUP BY k", "ACCUMULATORS", "keys"),
        ("false", "SELECT MAX(v) AS m FROM a", "INPUT", "rows"),
        # Of two tables both must be, and no row may be taken back in between.
        ("false", "SELECT MAX(v) AS m FROM (SELECT v FROM a UNION ALL SELECT v FROM b) u", "INPUT", "rows"),
        ("true", "SELECT MAX(n) FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) u", "INPUT", "keys"),
        # Ranks keep all of it nevertheless.
        ("true", "SELECT * FROM a ORDER BY v LIMIT 5", "INPUT", "rows"),
    ],
)
def test_extrema_of_tables_that_are_declared_append_only(
    said: str, query: str, keeps: str, growth: str
) -> None:
    sql = f"{TABLES.format(said)} CREATE VIEW w AS {query};"
    statement = parsed(sql, Catalog(()), dialect="feldera", query="w").statement
    *_, last = told(state_of(statement, engine("feldera")))
    assert last[1:] == (keeps, growth)


def test_the_annotation_that_helps_is_told() -> None:
    assert any("append_only" in note for note in on("feldera", "SELECT MAX(B) FROM S", "feldera").notes)
