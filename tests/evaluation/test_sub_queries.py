"""Statements over the rows of others, evaluated in one pass: windows of windows, joins of what changes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from streambound.evaluation.corpus import evaluated
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse.corpus import CorpusLine

KEY = {"K": {"min": 0, "max": 2}}
STREAMS: dict[str, Any] = {
    "S": {"columns": {"K": "int", "A": "int", "ts": "int"}, "timestamp": "ts", "domains": KEY},
    "T": {"columns": {"K": "int", "B": "int", "ts": "int"}, "timestamp": "ts", "domains": KEY},
}


def counted(stream: str, key: str = "") -> str:
    """Rows of each window of a stream, and of each key."""
    shown = f"{key}, " if key else ""
    groups = f"{shown}window(ts, 10)"
    return f"(SELECT {shown}window(ts, 10).start AS w, COUNT(*) AS c FROM {stream} GROUP BY {groups})"


BEST = "(SELECT ts, A, ROW_NUMBER() OVER (ORDER BY A DESC, K, ts) AS rn FROM S) q WHERE rn <= 2"
NEXT = "(SELECT ts, K, LEAD(A) OVER (PARTITION BY K ORDER BY ts, A) AS a FROM S) q"
QUERIES = {
    "groups of the times of the best rows": f"SELECT ts, COUNT(*) AS n FROM {BEST} GROUP BY ts",
    "sums over time of the best rows": f"SELECT ts, SUM(A) OVER (ORDER BY ts) AS s FROM {BEST}",
    "groups of the times of rows that look ahead": f"SELECT ts, MAX(a) AS m FROM {NEXT} GROUP BY ts",
    "the best of groups of times": (
        "SELECT ts, n FROM (SELECT ts, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, ts DESC)"
        " AS rn FROM S GROUP BY ts) q WHERE rn <= 2"
    ),
    "numbers of different times": "SELECT K, COUNT(DISTINCT ts) AS n, MAX(A) AS m FROM S GROUP BY K",
    "extrema of windows": f"SELECT MAX(c) AS m, MIN(c) AS n, COUNT(*) AS k FROM {counted('S')}",
    "extrema of windows by key": f"SELECT K, MAX(c) AS m FROM {counted('S', 'K')} GROUP BY K",
    "windows joined": f"SELECT a.w, a.c, b.c AS d FROM {counted('S')} a JOIN {counted('T')} b ON a.w = b.w",
    "windows outer joined": (
        f"SELECT a.w, a.c, b.c AS d FROM {counted('S')} a FULL OUTER JOIN {counted('T')} b ON a.w = b.w"
    ),
    "windows without others": (
        f"SELECT a.w, a.K FROM {counted('S', 'K')} a WHERE NOT EXISTS"
        f" (SELECT 1 FROM {counted('T', 'K')} b WHERE a.w = b.w AND a.K = b.K AND a.c < b.c)"
    ),
    "rows with the extremum of their window": (
        "SELECT S.A, r.m FROM S JOIN (SELECT window(ts, 10).start AS w, MAX(A) AS m FROM S"
        " GROUP BY window(ts, 10)) r ON S.A = r.m AND S.ts BETWEEN r.w AND r.w + 9"
    ),
    "best keys of each window": (
        "SELECT w, K, rn FROM (SELECT w, K, ROW_NUMBER() OVER (PARTITION BY w ORDER BY c DESC, K) AS rn"
        f" FROM {counted('S', 'K')}) WHERE rn <= 2"
    ),
    "numbers of different values": (
        "SELECT K, COUNT(*) AS n FROM (SELECT DISTINCT K, A FROM S WHERE A BETWEEN 0 AND 3) GROUP BY K"
    ),
    "extrema of windows that are not shown": (
        "SELECT MAX(c) AS m, MIN(c) AS n, COUNT(*) AS k"
        " FROM (SELECT COUNT(*) AS c FROM S GROUP BY window(ts, 10))"
    ),
    "sums of windows that are not shown": (
        "SELECT K, SUM(c) AS m, MAX(c) AS n FROM"
        " (SELECT K, MAX(A) AS c FROM S GROUP BY K, window(ts, 10)) GROUP BY K"
    ),
    "values of windows that are not shown": (
        "SELECT c, COUNT(*) AS n FROM (SELECT MIN(K) AS c FROM S GROUP BY window(ts, 10))"
        " WHERE c BETWEEN 0 AND 2 GROUP BY c"
    ),
    "different counts": "SELECT DISTINCT c FROM (SELECT K, COUNT(*) AS c FROM S GROUP BY K)",
    "mean of sums": "SELECT AVG(c) AS a FROM (SELECT K, SUM(A) AS c FROM S GROUP BY K)",
    "current maximum of the key": (
        "SELECT S.K, r.m FROM S JOIN (SELECT K, MAX(B) AS m FROM T GROUP BY K) r ON S.K = r.K"
    ),
}


def events(seed: int) -> tuple[dict[str, Any], ...]:
    """Some rows of both streams in order of time, with NULLs, and gaps longer than a window."""
    r, now, found = Random(seed), 0, []
    for _ in range(60):
        now += r.choice([0, 0, 1, 2, 5])
        stream = r.choice("ST")
        value = {"A" if stream == "S" else "B": r.choice([0, 1, 2, 3, None])}
        found.append({"stream": stream, "ts": now, "K": r.choice([0, 1, 2, None]), **value})
    return tuple(found)


@pytest.mark.parametrize("name", QUERIES)
def test_equals_the_definition(name: str) -> None:
    """Signed changes at each marker, within the units (which the evaluation itself checks)."""
    for seed in range(4):
        catalog = catalog_from_mapping(STREAMS)
        line = CorpusLine(name, QUERIES[name], catalog, events(seed), streams=STREAMS)
        found, expected = evaluated(line, "onepass"), evaluated(line, "reference")
        assert len(expected["answers"]) > 3
        assert {**found, "peak_units": None} == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT window(ts, 10) AS w, w.end AS e, COUNT(*) AS c FROM S GROUP BY window(ts, 10)",
        "SELECT w.start AS w, w.end AS e, COUNT(*) AS c"
        " FROM (SELECT window(ts, 10) AS w FROM S) q GROUP BY w",
    ],
)
def test_edges_of_a_window_that_has_a_name(sql: str) -> None:
    plain = "SELECT window.start AS w, window.end AS e, COUNT(*) AS c FROM S GROUP BY window(ts, 10)"
    catalog = catalog_from_mapping(STREAMS)
    answers = [
        evaluated(CorpusLine("q", text, catalog, events(1), streams=STREAMS), engine)["answers"]
        for text, engine in ((plain, "reference"), (sql, "reference"), (sql, "onepass"))
    ]
    assert answers[0] == answers[1] == answers[2] and len(answers[0]) > 3
