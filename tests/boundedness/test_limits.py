"""Shapes that were once called bounded, and are not, or are open: each stands for a kind."""

from __future__ import annotations

from typing import Any

import pytest

from streambound.compiler.report import check
from streambound.query.catalog import catalog_from_mapping

PLAIN: dict[str, Any] = {
    "columns": {"K": "int", "A": "int", "B": "int", "C": "int", "ts": "timestamp"},
    "timestamp": "ts",
    "domains": {"K": {"min": 0, "max": 9}},
    "not_null": ["A", "B", "C"],
}
KEYED: dict[str, Any] = {"columns": {"k": "int", "a": "int"}, "kind": "versioned", "primary_key": ["k"]}
CATALOG = catalog_from_mapping(
    {
        **dict.fromkeys("STU", PLAIN),
        "E": {"columns": {"K": "int", "A": "int", "ts": "timestamp", "ets": "timestamp"}, "timestamp": "ts"},
        "V": {**KEYED, "domains": {"k": {"min": 0, "max": 9}}},
        "W": KEYED,
    }
)
NOT_BOUNDED = [
    # What an expression over two streams compares needs every value.
    "SELECT COUNT(*) FILTER (WHERE S.A < T.B) FROM S, T",
    "SELECT SUM(CASE WHEN S.A = T.B THEN 1 ELSE 0 END) FROM S, T",
    "SELECT COUNT_IF(S.A = T.B) FROM S, T",
    "SELECT SUM(ABS(S.A - T.B)) FROM S, T",
    "SELECT MAX(CASE WHEN S.A = T.B THEN 1 ELSE 0 END) FROM S, T",
    "SELECT MIN(ABS(S.A - T.B)) FROM S, T",
    "SELECT S.K, COUNT(*) FROM S, T GROUP BY S.K HAVING SUM(CASE WHEN S.A = T.B THEN 1 ELSE 0 END) > 3",
    # A table that changes tells later which rows are shown.
    "SELECT K FROM S WHERE A IN (SELECT MAX(A) FROM T)",
    "SELECT A FROM S WHERE K IN (SELECT K FROM T GROUP BY K)",
    "SELECT A FROM S WHERE K IN (SELECT K FROM T ORDER BY A LIMIT 5)",
    "SELECT A FROM S WHERE EXISTS (SELECT 1 FROM V WHERE V.k = S.K)",
    "SELECT A FROM S WHERE EXISTS (SELECT 1 FROM W WHERE W.k = S.A)",
    "SELECT DISTINCT K FROM S WHERE NOT EXISTS (SELECT 1 FROM (SELECT MAX(A) AS m FROM T) q WHERE q.m = S.A)",
    # Old rows that change for ever, their time among what is shown or ordered by.
    "SELECT *, SUM(B) OVER (PARTITION BY K) AS s FROM S",
    "SELECT ts, A, COUNT(*) OVER () AS n FROM S",
    "SELECT A, NTILE(4) OVER (PARTITION BY K ORDER BY ts) AS n FROM S",
    "SELECT A, ROW_NUMBER() OVER (ORDER BY ts DESC) AS n FROM S",
    "SELECT K, COUNT(DISTINCT A) OVER (PARTITION BY K) AS n FROM S",
    "SELECT K, COLLECT_LIST(A) OVER (PARTITION BY K) AS n FROM S",
    "SELECT * FROM (SELECT *, RANK() OVER (PARTITION BY K ORDER BY C) AS r FROM S) WHERE r <= 3",
    "SELECT K, ts, B FROM S QUALIFY RANK() OVER (PARTITION BY K ORDER BY C) <= 3",
    "SELECT S.K, COUNT(DISTINCT S.A) OVER (PARTITION BY T.K ORDER BY T.ts RANGE BETWEEN INTERVAL 1 HOUR"
    " PRECEDING AND CURRENT ROW) AS n FROM S JOIN T ON S.ts <= T.ts AND S.K = T.K",
    # An extremum of an expression is none of its first column.
    "SELECT S.K FROM S, T WHERE S.A = T.B AND S.A >= 0 GROUP BY S.K HAVING MIN(-S.A) <= -10",
    # Another time than the application's ends nothing.
    "SELECT E.A, T.B FROM E ASOF JOIN T ON E.K = T.K AND E.ets >= T.ts",
    "SELECT COUNT(DISTINCT 1, A) FROM S",
    # A missing side is different from a value.
    "SELECT S.A, U.A FROM S JOIN U ON S.K = U.K LEFT JOIN T ON S.ts = T.ts AND U.ts = T.ts"
    " WHERE T.B IS DISTINCT FROM 5",
]
BOUNDED = [
    "SELECT AVG(ABS(S.A - T.B)) FROM S JOIN T ON S.K = T.K AND T.ts BETWEEN S.ts AND S.ts + INTERVAL 1 HOUR",
    "SELECT K, SUM(B) OVER (PARTITION BY window(ts, '1 hour'), K) AS s FROM S",
    "SELECT MAX(1) FROM S",
    "SELECT K, MIN(0) FROM S GROUP BY K",
    "SELECT K FROM S GROUP BY K HAVING COUNT(*) > 20000000",
    "SELECT COALESCE(S.K, T.K) FROM S FULL JOIN T ON S.K = T.K",
    "SELECT K FROM S LEFT SEMI JOIN T ON S.ts = T.ts",
]
REFUSED = [
    "SELECT A, COUNT(*) FROM E GROUP BY A, session_window(ets, '1 hour')",
    "SELECT S.K FROM S LEFT JOIN (T LEFT JOIN U ON T.A < 3 AND U.A > 5 AND U.A = T.A) ON S.A = T.B",
    "SELECT COUNT(DISTINCT *) FROM S",
    "SELECT S.K FROM S WHERE EXISTS (SELECT A FROM T WHERE T.K = S.K GROUP BY A HAVING COUNT(*) > 2)",
]


@pytest.mark.parametrize("sql", NOT_BOUNDED, ids=lambda sql: sql[:70])
def test_it_is_not_called_bounded(sql: str) -> None:
    report = check(sql, CATALOG, suggest=False)
    assert report.error is None and report.verdict in ("unbounded", "unknown"), report.error
    assert report.final != "bounded"


@pytest.mark.parametrize("sql", BOUNDED, ids=lambda sql: sql[:70])
def test_it_is_still_bounded(sql: str) -> None:
    report = check(sql, CATALOG, suggest=False)
    assert report.verdict == "bounded", report.error or report.reasons


@pytest.mark.parametrize("sql", REFUSED, ids=lambda sql: sql[:70])
def test_it_is_refused_by_name(sql: str) -> None:
    error = check(sql, CATALOG, suggest=False).error
    assert error is not None and error.code == "unsupported-sql", error


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("ksql", "SELECT A, COUNT(*) FROM S GROUP BY A EMIT CHANGES"),
        (
            "flink",
            "SELECT A, COUNT(*) FROM TABLE(TUMBLE(TABLE S, DESCRIPTOR(ets), INTERVAL '1' HOUR)) GROUP BY A",
        ),
        ("spark", "SELECT A, COUNT(*) FROM S GROUP BY window(A, 5), A"),
    ],
)
def test_what_spark_cannot_parse_has_no_suggestions(dialect: str, sql: str) -> None:
    assert check(sql.replace("ets", "ts"), CATALOG, dialect=dialect).verdict != "bounded"
