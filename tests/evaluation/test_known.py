"""Groups, guards and their like over static relations, whose rows are there before anything comes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.beyond import Beyond, statements_beyond

from streambound.compiler import compile
from streambound.errors import PlanError, StreamboundError
from streambound.evaluation.corpus import evaluated
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse.corpus import CorpusLine

STREAMS: dict[str, Any] = {
    "S": {"columns": {"K": "int", "A": "int"}, "domains": {"K": {"min": 0, "max": 3}}},
    "R": {"columns": {"K": "int", "B": "int", "name": "string"}, "kind": "static"},
}
EVENTS = tuple(
    {"stream": "S", "K": k, "A": a} for k, a in [(0, 3), (1, 2), (2, 9), (1, None), (3, 1), (0, 3)]
)
ROWS = [{"K": k, "B": b, "name": n} for k, b, n in [(0, 4, "x"), (0, 1, "y"), (1, None, "x"), (7, 7, None)]]
STATEMENTS = [
    "SELECT S.K, S.A FROM S WHERE NOT EXISTS (SELECT 1 FROM R WHERE R.K = S.K)",
    "SELECT S.K, S.A FROM S WHERE EXISTS (SELECT 1 FROM R WHERE R.K = S.K AND R.B > S.A)",
    "SELECT S.K, R.name FROM S LEFT JOIN R ON R.K = S.K",
    "SELECT R.name, COUNT(*) AS n, SUM(S.A) AS a FROM S JOIN R ON R.K = S.K GROUP BY R.name",
    "SELECT R.name, COUNT(DISTINCT S.K) AS k FROM S JOIN R ON R.K = S.K GROUP BY R.name",
    "SELECT R.name, COUNT(*) AS n, COUNT(DISTINCT R.B) AS b FROM S LEFT JOIN R ON R.K = S.K GROUP BY R.name",
    "SELECT S.K, MIN(R.B) AS b FROM S JOIN R ON R.K <= S.K GROUP BY S.K",
    "SELECT R.K, COUNT(S.A) AS n FROM R LEFT JOIN S ON S.K = R.K GROUP BY R.K",
    "SELECT R.name, COUNT(S.K) AS n FROM R LEFT JOIN S ON S.A = R.B GROUP BY R.name",
    "SELECT K FROM S EXCEPT SELECT K FROM R",
    "SELECT R.B FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE S.K = R.K)",
    "SELECT K, COUNT(*) FROM (SELECT K FROM R WHERE K IN (0, 7) UNION SELECT K FROM S) u GROUP BY K",
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT K FROM R WHERE K IN (0, 7) UNION ALL SELECT K FROM S) u",
    "SELECT S.K FROM S JOIN (SELECT K FROM R WHERE K IN (0, 1) UNION SELECT K FROM S) u ON S.K = u.K",
    "SELECT MAX(K) AS k FROM (SELECT K FROM R WHERE K IN (0, 7) UNION"
    " SELECT K FROM (SELECT K, COUNT(*) AS n FROM S GROUP BY K) q WHERE n > 1) u",
]


def documents(line: CorpusLine) -> tuple[list[str], list[str]]:
    """The changes, and the answer before anything came, by one pass and by the definition; each sorted."""
    found = []
    for engine in ("onepass", "reference"):
        document = evaluated(line, engine)
        rows = [("", row) for row in document.get("initial", [])]
        rows += [(str(row["ts"]), {"row": row["row"], "count": row["count"]}) for row in document["answers"]]
        found.append(sorted(json.dumps(row) for row in rows))
    return found[0], found[1]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_each_construct(sql: str) -> None:
    one_pass, defined = documents(
        CorpusLine("q", sql, catalog_from_mapping(STREAMS), EVENTS, {"R": ROWS}, streams=STREAMS)
    )
    assert one_pass == defined
    assert defined


@given(statements_beyond(), st.data())
def test_random_statements(case: Beyond, data: st.DataObject) -> None:
    case = case.with_static(data.draw(st.sampled_from(list(case.line.streams))))
    try:
        wanted = evaluated(case.line, "reference")
        found = evaluated(case.line, "onepass")
    except StreamboundError:
        # Not bounded, or without a plan: it is the others that are asked.
        assume(False)
    key = lambda row: json.dumps(row, sort_keys=True)  # noqa: E731
    assert sorted(found["answers"], key=key) == sorted(wanted["answers"], key=key), case
    assert found.get("initial") == wanted.get("initial"), case


def test_static_relations_alone_are_refused() -> None:
    sql = "SELECT name, COUNT(*) AS n FROM R GROUP BY name"
    line = CorpusLine("q", sql, catalog_from_mapping(STREAMS), EVENTS, {"R": ROWS}, streams=STREAMS)
    with pytest.raises(PlanError, match="only static relations are queried"):
        evaluated(line, "onepass")


def test_the_state_is_told_in_rows_of_static_relations() -> None:
    sql = "SELECT R.name, COUNT(*) AS n FROM S JOIN R ON R.K = S.K GROUP BY R.name"
    job = compile(sql, catalog_from_mapping(STREAMS), "q")
    assert (job.units, job.unplanned) == (None, None)
    assert job.units_formula == "2 x (rows of R + 1)"


@pytest.mark.parametrize("engine", ["onepass", "reference"])
def test_a_mean_is_a_double_whatever_is_averaged(engine: str) -> None:
    line = CorpusLine(
        "q", "SELECT AVG(5) AS a, AVG(K) AS k FROM S", catalog_from_mapping(STREAMS), EVENTS[:1]
    )
    (row,) = (one["row"] for one in evaluated(line, engine)["answers"] if one["count"] > 0)
    assert [type(value) for value in row] == [float, float] and row[0] == 5
