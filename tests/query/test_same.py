"""Statements that ask the same have the same verdict, however they are written."""

from __future__ import annotations

import pytest

from streambound.compiler.report import check
from streambound.query.catalog import catalog_from_mapping

CATALOG = catalog_from_mapping(
    {
        "S": {"columns": {"A": "int", "K": "int", "V": "int", "ts": "timestamp"}, "timestamp": "ts"},
        "T": {"columns": {"B": "int", "K": "int", "ts": "timestamp"}, "timestamp": "ts", "not_null": ["K"]},
        "D": {"columns": {"K": "int", "n": "string"}, "kind": "static"},
    }
)
DAY = "CAST(ts AS DATE)"
LAST = "PARTITION BY K ORDER BY V DESC"
RANKED = f"SELECT A, K FROM (SELECT *, ROW_NUMBER() OVER ({LAST}) AS r FROM S)"
SAME = [
    # GROUP BY by name, number, alias, or over a sub-query.
    (
        "SELECT K, COUNT(*) FROM S GROUP BY K",
        "SELECT K AS k2, COUNT(*) FROM S GROUP BY 1",
        "SELECT K AS k2, COUNT(*) FROM S GROUP BY k2",
        "SELECT K, COUNT(*) FROM S GROUP BY ALL",
        "SELECT x.K, COUNT(*) FROM (SELECT K FROM S) x GROUP BY x.K",
        "WITH x AS (SELECT K FROM S) SELECT K, COUNT(*) FROM x GROUP BY K",
        "SELECT * FROM (SELECT K, COUNT(*) AS n FROM S GROUP BY K) x",
    ),
    (
        f"SELECT {DAY} AS d, K, COUNT(*) FROM S GROUP BY {DAY}, K",
        f"SELECT {DAY} AS d, K, COUNT(*) FROM S GROUP BY 1, 2",
        "SELECT date_trunc('DAY', ts) AS d, K, SUM(V) FROM S GROUP BY date_trunc('DAY', ts), K",
        "SELECT window(ts, '1 day').start AS d, K, COUNT(*) FROM S GROUP BY window(ts, '1 day'), K",
        "SELECT window.start AS d, K, COUNT(*) FROM S GROUP BY window(ts, '1 day'), K",
        "SELECT window(ts, '1 day') AS w, w.end AS d, K, COUNT(*) FROM S GROUP BY w, K",
        "SELECT w.end AS d, K, COUNT(*) FROM (SELECT window(ts, '1 day') AS w, K FROM S) x GROUP BY w, K",
    ),
    # HAVING, and WHERE around.
    (
        "SELECT K, COUNT(*) AS n FROM S GROUP BY K HAVING COUNT(*) > 3",
        "SELECT K, n FROM (SELECT K, COUNT(*) AS n FROM S GROUP BY K) x WHERE n > 3",
        "SELECT K, COUNT(*) AS n FROM S GROUP BY K HAVING n > 3",
    ),
    (
        "SELECT K, COUNT(*) AS n FROM S WHERE K BETWEEN 1 AND 9 GROUP BY K",
        "SELECT K, n FROM (SELECT K, COUNT(*) AS n FROM S GROUP BY K) x WHERE K BETWEEN 1 AND 9",
        "SELECT K, COUNT(*) AS n FROM S GROUP BY K HAVING K BETWEEN 1 AND 9",
    ),
    # Partners.
    (
        "SELECT S.A FROM S WHERE EXISTS (SELECT 1 FROM T WHERE T.K = S.K)",
        "SELECT S.A FROM S WHERE S.K IN (SELECT T.K FROM T)",
        "SELECT S.A FROM S LEFT SEMI JOIN T ON T.K = S.K",
        "SELECT S.A FROM S WHERE EXISTS (SELECT 1 FROM (SELECT K AS j FROM T) x WHERE x.j = S.K)",
        "SELECT A FROM S WHERE EXISTS (SELECT 1 FROM T S2 WHERE S2.K = S.K)",
    ),
    (
        "SELECT S.A FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE T.K = S.K AND T.ts <= S.ts)",
        "SELECT S.A FROM S LEFT ANTI JOIN T ON T.K = S.K AND T.ts <= S.ts",
        "SELECT S.A FROM S LEFT JOIN T ON T.K = S.K AND T.ts <= S.ts WHERE T.K IS NULL",
    ),
    (
        "SELECT S.A, T.B FROM S LEFT JOIN T ON S.K = T.K AND T.ts BETWEEN S.ts AND S.ts + INTERVAL 1 HOUR",
        "SELECT S.A, T.B FROM T RIGHT JOIN S ON S.K = T.K AND T.ts BETWEEN S.ts AND S.ts + INTERVAL 1 HOUR",
    ),
    (
        "SELECT S.A, T.B FROM S LEFT JOIN T ON S.K = T.K WHERE T.B > 0",
        "SELECT S.A, T.B FROM S JOIN T ON S.K = T.K WHERE T.B > 0",
        "SELECT S.A, T.B FROM S FULL JOIN T ON S.K = T.K WHERE T.B > 0 AND S.K > 0 OR 1 = 2",
    ),
    ("SELECT A FROM S EXCEPT SELECT B FROM T", "SELECT A FROM S MINUS SELECT B FROM T"),
    # Ranks.
    (
        f"{RANKED} WHERE r <= 1",
        f"{RANKED} WHERE 2 > r",
        f"SELECT A, K FROM S QUALIFY ROW_NUMBER() OVER ({LAST}) = 1",
        f"WITH x AS (SELECT A, K, ROW_NUMBER() OVER w AS r FROM S WINDOW w AS ({LAST}))"
        " SELECT A, K FROM x WHERE r BETWEEN 1 AND 1",
    ),
    ("SELECT A FROM S ORDER BY V LIMIT 3", "SELECT A FROM (SELECT * FROM S) x ORDER BY x.V LIMIT 3"),
    (
        "SELECT COUNT(DISTINCT K) FROM S",
        "SELECT COUNT(*) FROM (SELECT DISTINCT K FROM S WHERE K IS NOT NULL) x",
    ),
    # What is static is no partner that may come.
    (
        "SELECT S.A, D.n FROM S JOIN D ON S.K = D.K",
        "SELECT S.A, D.n FROM S LEFT JOIN D ON S.K = D.K",
        "SELECT S.A FROM S WHERE S.K IN (SELECT K FROM D)",
    ),
]


@pytest.mark.parametrize("texts", SAME, ids=lambda texts: texts[0][:60])
def test_the_verdict_is_that_of_the_question(texts: tuple[str, ...]) -> None:
    found = [check(text, CATALOG, suggest=False) for text in texts]
    assert [one.error for one in found] == [None] * len(texts)
    verdicts = {one.verdict for one in found}
    # An open question may be told of one way to ask it, never the contrary verdict.
    assert len(verdicts - {"unknown"}) == 1, list(zip(texts, (one.verdict for one in found), strict=True))
