"""NOW(): rows that leave with time, in sub-queries, beside rows that stay, and in what is looked for."""

from __future__ import annotations

import pytest

from streambound.boundedness.statements import decide
from streambound.errors import UnsupportedError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read

_STREAM = {"columns": {"A": "int", "B": "int", "ts": "timestamp"}, "timestamp": "ts"}
CATALOG = catalog_from_mapping(dict.fromkeys(("S", "T"), _STREAM))
_RECENT = "FROM S WHERE ts > NOW() - INTERVAL '1' HOUR"
_OLD = "FROM S WHERE ts < NOW() - INTERVAL '1' HOUR"
_GROUPS = f"(SELECT A, COUNT(*) AS n {_RECENT} GROUP BY A) x"


def _said(sql: str) -> tuple[str, str | None]:
    verdict = decide(read(sql, CATALOG, "q").statement).verdict
    return verdict.outcome.value, verdict.final


@pytest.mark.parametrize(
    ("sql", "verdict", "final"),
    [
        # Groups of an hour may have any key, and each is looked for among all of T.
        (f"SELECT A, n FROM {_GROUPS} WHERE EXISTS (SELECT 1 FROM T WHERE T.A = x.A)", "unbounded", None),
        (f"SELECT A, n FROM {_GROUPS} WHERE NOT EXISTS (SELECT 1 FROM T WHERE T.A = x.A)", "unbounded", None),
        # A match that leaves takes the row back.
        (
            f"SELECT T.A FROM T WHERE T.A BETWEEN 1 AND 9 AND T.A IN (SELECT A {_RECENT})",
            "bounded",
            "never-final",
        ),
        (f"SELECT T.A FROM T WHERE T.A BETWEEN 1 AND 9 AND T.A NOT IN (SELECT A {_RECENT})", "bounded", None),
        (f"SELECT T.A FROM T WHERE T.A BETWEEN 1 AND 9 AND T.A IN (SELECT A {_OLD})", "bounded", "bounded"),
        # A row may get a match long after it came, but not where a match must be as old.
        (f"SELECT T.A FROM T WHERE T.A IN (SELECT A {_RECENT})", "unbounded", None),
        (
            f"SELECT T.A FROM T WHERE EXISTS (SELECT 1 {_RECENT} AND S.A = T.A AND S.ts = T.ts)",
            "bounded",
            "never-final",
        ),
        # Rows that leave are no rows for ever.
        (f"SELECT DISTINCT A, COUNT(*) OVER (PARTITION BY A) AS c {_RECENT}", "unknown", None),
        (f"SELECT DISTINCT A {_RECENT}", "bounded", "never-final"),
        # Of a key that is in both, what stays is told with what leaves.
        (
            f"SELECT A, COUNT(*) FROM (SELECT A {_RECENT} UNION ALL SELECT 1 FROM T) x GROUP BY A",
            "bounded",
            None,
        ),
        (
            f"SELECT A, COUNT(*) FROM (SELECT A {_RECENT} UNION ALL SELECT B FROM T) x GROUP BY A",
            "unbounded",
            None,
        ),
    ],
)
def test_verdicts(sql: str, verdict: str, final: str | None) -> None:
    outcome, settled = _said(sql)
    assert outcome == verdict
    if outcome == "bounded":
        assert settled == final


@pytest.mark.parametrize(
    "joined",
    [
        "T ON T.A = S.A AND T.ts > NOW() - INTERVAL '1' HOUR",
        "(SELECT A, ts FROM T WHERE ts > NOW() - INTERVAL '1' HOUR) x ON x.A = S.A",
    ],
)
def test_a_condition_of_an_outer_join_is_refused_by_name(joined: str) -> None:
    with pytest.raises(UnsupportedError, match=r"NOW\(\) in ON of an outer"):
        _said(f"SELECT S.A FROM S LEFT JOIN {joined}")
