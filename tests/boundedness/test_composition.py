"""Sub-queries that are not written out, and tables that change."""

from __future__ import annotations

import pytest
from tests.boundedness.statement_cases import said

from streambound.compiler.report import check
from streambound.query.catalog import catalog_from_mapping

WORDS = {
    "columns": {"K": "string", "L": "string", "M": "int", "B": "int", "ts": "timestamp"},
    "timestamp": "ts",
    "cardinality": {"M": 5},
    "domains": {"L": {"values": ["a", "b", "c"]}},
}


@pytest.mark.parametrize(
    ("key", "where", "verdict"),
    [
        ("L", "TRUE", "bounded"),
        ("K", "TRUE", "unbounded"),
        ("K", "K IN ('x', 'y')", "bounded"),
        ("K", "K = 'x'", "bounded"),
        ("K", "K = L", "bounded"),
        ("K", "K BETWEEN 'a' AND 'b'", "unbounded"),
        ("K", "K IN ('x', 'y') OR B > 3", "unbounded"),
        ("K", "K IN ('x', 'y') OR B > 3 AND K = 'z'", "bounded"),
        ("K", "K = 'x' OR K IS NULL", "bounded"),
        ("B", "B BETWEEN 1 AND 3 OR B IS NULL", "bounded"),
        ("M", "TRUE", "bounded"),
    ],
)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {0}, MAX(n) AS m FROM (SELECT {0}, COUNT(*) AS n FROM S WHERE {1} GROUP BY {0},"
        " window(ts, '1 hour')) GROUP BY {0}",
        "SELECT {0}, COUNT(*) AS n FROM (SELECT {0}, MAX(B) OVER (PARTITION BY {0} ORDER BY ts) AS most"
        " FROM S WHERE {1}) WHERE most > 1 GROUP BY {0}",
    ],
)
def test_what_is_known_of_a_column_is_known_of_what_a_sub_query_shows(
    sql: str, key: str, where: str, verdict: str
) -> None:
    catalog = catalog_from_mapping({"S": WORDS})
    report = check(sql.format(key, where), catalog, suggest=False)
    # Whether what uses a sub-query that is not bounded needs all of it is open.
    assert report.verdict == verdict or (verdict, report.verdict) == ("unbounded", "unknown"), report.reasons


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
        # One block twice is one of twice the rows.
        (
            "SELECT A, COUNT(*) FROM S GROUP BY A UNION ALL SELECT A, COUNT(*) FROM S GROUP BY A",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT S.A FROM S WHERE S.A NOT IN (SELECT B FROM T)"
            " UNION ALL SELECT S.A FROM S WHERE S.A NOT IN (SELECT B FROM T)",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT A, COUNT(*) FROM S GROUP BY A UNION ALL SELECT A, COUNT(*) FROM S WHERE B > 0 GROUP BY A",
            "unknown",
            None,
        ),
        # Of windows whose time is not shown rows come for ever: no table of finitely many keys.
        (
            "SELECT DISTINCT q.K, q.n FROM (SELECT K, COUNT(*) AS n FROM S GROUP BY K, window(ts, 10)) q",
            "unbounded",
            "unbounded",
        ),
        (
            "SELECT q.s, COUNT(*) FROM (SELECT SUM(A) AS s FROM S GROUP BY ts) q GROUP BY q.s",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT COUNT(DISTINCT q.s) FROM (SELECT K, SUM(A) AS s FROM S GROUP BY K, window(ts, 10)) q",
            "unbounded",
            "never-final",
        ),
        (
            "SELECT DISTINCT y.A FROM (SELECT A FROM (SELECT A, ROW_NUMBER() OVER"
            " (PARTITION BY ts ORDER BY A) AS n FROM S) x WHERE n <= 3) y",
            "unbounded",
            "unbounded",
        ),
        ("SELECT MAX(q.s) FROM (SELECT SUM(A) AS s FROM S GROUP BY ts) q", "bounded", "never-final"),
        # Sessions, and rows without a match in their time, come for ever too.
        (
            "SELECT DISTINCT q.n FROM (SELECT COUNT(*) AS n FROM S GROUP BY session_window(ts, 10)) q",
            "unbounded",
            None,
        ),
        (
            "SELECT q.A, COUNT(*) FROM (SELECT A FROM S WHERE NOT EXISTS"
            " (SELECT 1 FROM T WHERE T.ts = S.ts)) q GROUP BY q.A",
            "unbounded",
            None,
        ),
        # Rows of keys that last beside others: which of the values must be kept is open.
        (
            "SELECT DISTINCT q.m FROM (SELECT MAX(A) AS m FROM S GROUP BY K"
            " UNION ALL SELECT MAX(A) FROM T GROUP BY ts) q",
            "unknown",
            None,
        ),
        (
            "SELECT q.s FROM (SELECT K, SUM(A) AS s FROM S GROUP BY K, window(ts, 10)) q",
            "bounded",
            "bounded",
        ),
        # Tables of a row for each of finitely many keys, joined as they stand.
        (
            "SELECT a.K, a.n, b.n AS m FROM (SELECT K, COUNT(*) AS n FROM S GROUP BY K) a"
            " LEFT JOIN (SELECT K, COUNT(*) AS n FROM T GROUP BY K) b ON a.K = b.K",
            "bounded",
            None,
        ),
        (
            "SELECT a.A, a.n, b.n AS m FROM (SELECT A, COUNT(*) AS n FROM S GROUP BY A) a"
            " LEFT JOIN (SELECT A, COUNT(*) AS n FROM T GROUP BY A) b ON a.A = b.A",
            "unbounded",
            None,
        ),
        (
            "SELECT T.B FROM T WHERE T.A NOT IN (SELECT A FROM S GROUP BY A HAVING COUNT(*) < 20)",
            "unbounded",
            "unbounded",
        ),
        ("SELECT MAX(r.c) FROM (SELECT A, COUNT(*) AS c FROM S GROUP BY A) r", "unknown", None),
    ],
)
def test_verdicts(sql: str, verdict: str, final: str | None) -> None:
    assert said(sql) == (verdict, final)


_GREATEST = "(SELECT K, MAX(A) AS n FROM S GROUP BY K) x"


@pytest.mark.parametrize(
    ("sql", "verdict"),
    [
        # What a key has changes, and then the whole of T is asked again.
        (f"SELECT K, n FROM {_GREATEST} WHERE EXISTS (SELECT 1 FROM T WHERE T.B = x.n)", "unbounded"),
        (f"SELECT K, n FROM {_GREATEST} WHERE NOT EXISTS (SELECT 1 FROM T WHERE T.B = x.n)", "unbounded"),
        (f"SELECT K, n FROM {_GREATEST} WHERE EXISTS (SELECT 1 FROM T WHERE T.B > x.n)", "bounded"),
        (f"SELECT K, n FROM {_GREATEST} WHERE NOT EXISTS (SELECT 1 FROM T WHERE T.B = x.K)", "bounded"),
        ("SELECT W.A FROM W WHERE EXISTS (SELECT 1 FROM T WHERE T.B = W.A)", "unbounded"),
        ("SELECT W.A FROM W WHERE EXISTS (SELECT 1 FROM T WHERE T.B = W.K)", "bounded"),
        (
            f"SELECT U.K FROM U, {_GREATEST} WHERE x.K = U.K"
            " AND EXISTS (SELECT 1 FROM T WHERE T.ts = U.ts AND T.B = x.n)",
            "unknown",
        ),
        (
            f"SELECT U.K FROM U, {_GREATEST} WHERE x.K = U.K"
            " AND EXISTS (SELECT 1 FROM T WHERE T.ts = U.ts AND T.B = U.A)",
            "bounded",
        ),
    ],
)
def test_rows_that_change_are_guarded_again(sql: str, verdict: str) -> None:
    assert said(sql)[0] == verdict


@pytest.mark.parametrize(
    ("count", "verdict"),
    [("COUNT(*)", "bounded"), ("COUNT(NULLIF(B, 2))", "bounded"), ("SUM(B)", "unbounded")],
)
def test_no_number_of_rows_is_negative(count: str, verdict: str) -> None:
    groups = f"SELECT A, {count} AS n FROM S GROUP BY A, ts"
    sql = f"SELECT q.n, COUNT(*) FROM ({groups}) q WHERE q.n < 5 GROUP BY q.n"
    assert said(sql)[0] == verdict


@pytest.mark.parametrize("stream", ["S", "T"])
@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT DISTINCT x.K FROM {_GREATEST} JOIN {{}} t ON t.A = x.n",
        f"SELECT x.K, x.n FROM {_GREATEST} WHERE EXISTS (SELECT 1 FROM {{}} t WHERE t.A = x.n)",
        "SELECT DISTINCT 1 FROM (SELECT ts, A FROM S GROUP BY ts, A) x JOIN {} t ON t.A = x.A",
    ],
)
def test_rows_of_a_stream_are_there_beside_a_sub_query_of_it(sql: str, stream: str) -> None:
    """The greatest A of S is an A of S: nothing of S has to be kept to know that it is there."""
    assert said(sql.format(stream))[0] == ("unknown" if stream == "S" else "unbounded")
