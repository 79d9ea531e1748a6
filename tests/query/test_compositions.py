"""Every construct within every other: there is a verdict or a typed error, and plans answer as is defined."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.query.compositions import composition

from streambound.compiler.report import check
from streambound.errors import StreamboundError
from streambound.evaluation.corpus import evaluated
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse.corpus import CorpusLine


def answers(line: CorpusLine, engine: str) -> Counter[str]:
    """The answers of a line."""
    found: dict[str, Any] = evaluated(line, engine)
    rows = Counter({str((one["ts"], one["row"])): one["count"] for one in found["answers"]})
    return rows + Counter(map(str, found.get("initial", [])))


@settings(max_examples=25)
@given(st.integers(0, 10**9))
def test_every_composition_has_a_verdict_and_bounded_ones_answer_as_is_defined(seed: int) -> None:
    line = composition(Random(seed))
    report = check(line.sql, line.catalog, suggest=False, dialect=line.dialect)
    assert report.verdict in ("bounded", "unbounded", "unknown", "invalid")
    if report.verdict != "bounded" or report.unplanned is not None:
        return
    try:
        expected = answers(line, "reference")
    except StreamboundError:
        # What is decided, and cannot be computed.
        return
    assert answers(line, "onepass") == expected


CATALOG = catalog_from_mapping(
    {
        "S": {"columns": {"K": "int", "A": "int", "ts": "int"}, "timestamp": "ts"},
        "T": {"columns": {"K": "int", "B": "int"}, "domains": {"K": {"min": 0, "max": 2}}},
        "R": {"columns": {"K": "int", "C": "int"}, "kind": "static"},
    }
)
PRODUCT = "SELECT x.K * y.B AS n FROM S x CROSS JOIN T y"
FOUND = {
    "a mean of what is of two tuples in one part": (
        f"SELECT AVG(g.n) AS a FROM ({PRODUCT} UNION ALL SELECT K AS n FROM T) g",
        "x.K * y.B over several streams of a sub-query is not supported yet",
    ),
    "an expression over two tuples beside groups": (
        f"{PRODUCT} UNION ALL SELECT COUNT(*) AS n FROM T",
        "in a UNION an expression over several streams is not supported yet",
    ),
    "constants in the place of a name": (
        "SELECT q.n + q.A AS c FROM (SELECT A, 1 AS n FROM S UNION ALL SELECT A, 2 FROM S) q",
        "bounded",
    ),
    "a typed NULL that is compared": (
        "SELECT K FROM (SELECT CAST(NULL AS INT) AS n, K FROM S) q WHERE n = 0",
        "bounded",
    ),
    "a sum with a missing column": (
        "SELECT S.ts + c.K AS n FROM (SELECT DISTINCT K FROM T) c FULL JOIN S ON c.K < S.K",
        "unknown",
    ),
    "an expression of a row without a partner": (
        "WITH g AS (SELECT A, COUNT(*) AS n FROM S GROUP BY A) SELECT S.A * c.now AS m"
        " FROM (SELECT CASE WHEN R.C = 2 THEN g.n ELSE 1 END AS now FROM g FULL JOIN R ON g.A >= 1) c"
        " LEFT JOIN S ON c.now >= S.ts WHERE S.K >= 1",
        "unknown",
    ),
    "a timestamp in the place of a column": (
        "SELECT c.t FROM (SELECT y.ts AS t FROM S x FULL JOIN S y ON x.ts >= 1 EXCEPT SELECT B FROM T) c"
        " JOIN (SELECT ts FROM S GROUP BY ts HAVING COUNT(*) = 1) d ON c.t = d.ts GROUP BY c.t",
        "unknown",
    ),
    "frames of computed columns of a constant": (
        "SELECT SUM(c.n * c.n) OVER (ORDER BY c.n) AS s FROM (SELECT DISTINCT 1 AS n FROM T) c WHERE c.n < 2",
        "bounded",
    ),
    "groups of a union of different rows": (
        "SELECT c.n, COUNT(*) AS m FROM (SELECT T.K AS n FROM S CROSS JOIN T UNION"
        " SELECT R.C FROM R JOIN S ON R.C >= 2 WHERE S.A = 1 GROUP BY R.C UNION SELECT NULL FROM T) c"
        " WHERE c.n = c.n GROUP BY c.n",
        "unbounded",
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_compositions_found(name: str) -> None:
    sql, expected = FOUND[name]
    report = check(sql, CATALOG, dialect="spark")
    assert (report.verdict if report.error is None else report.error.message) == expected


def test_frames_in_the_order_of_what_is_always_null() -> None:
    sql = "SELECT SUM(q.a) OVER (ORDER BY q.t) AS s FROM (SELECT CAST(NULL AS INT) AS t, K AS a FROM T) q"
    line = CorpusLine("q", sql, CATALOG, tuple({"stream": "T", "K": k, "B": 0} for k in (1, 2, 1)))
    assert answers(line, "onepass") == answers(line, "reference") != Counter()
