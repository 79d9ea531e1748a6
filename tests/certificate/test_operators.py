"""Witnesses of groups, ranks, frames, guards, as-of joins and sub-queries, replayed on the definition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.boundedness.statements import decide
from streambound.certificate.statements import statement_witness
from streambound.certificate.verification import Verification, verify
from streambound.certificate.witness import refused
from streambound.compiler import compile
from streambound.errors import WitnessError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement
from streambound.report.pages import witness_story

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus" / "beyond.jsonl"
COLUMNS = {"A": "int", "B": "int", "K": "int", "ts": "int"}
CATALOG = catalog_from_mapping(
    {
        name: {
            "columns": COLUMNS,
            "timestamp": "ts",
            "not_null": ["A", "B", "K"],
            "domains": {"K": {"min": 0, "max": 3}},
        }
        for name in ("S", "T", "U")
    }
)
SIZE = 3
STATEMENTS = {
    "COUNT": "SELECT A, COUNT(*) FROM S GROUP BY A",
    "hidden key": "SELECT COUNT(*) FROM S GROUP BY A",
    "COUNT of a join": "SELECT K, COUNT(*) FROM (SELECT S.K FROM S, T WHERE S.A < T.A) x GROUP BY K",
    "window": "SELECT window(S.ts, 10).start, COUNT(*) FROM S, T GROUP BY window(S.ts, 10)",
    "expression": "SELECT S.A DIV 10, COUNT(*) FROM S GROUP BY S.A DIV 10",
    "SUM": "SELECT A, SUM(B) FROM S GROUP BY A",
    "AVG": "SELECT AVG(S.B) FROM S, T WHERE S.A < T.B",
    "MAX": "SELECT MAX(S.A) FROM S, T WHERE S.A < T.B",
    "MAX of what comes before": "SELECT MAX(T.A) FROM S, T WHERE S.B < T.B AND T.ts < S.ts",
    "COUNT DISTINCT": "SELECT K, COUNT(DISTINCT A) FROM S GROUP BY K",
    "HAVING": "SELECT A FROM S GROUP BY A HAVING COUNT(*) > 2",
    "ROW_NUMBER": "SELECT A, B FROM S QUALIFY ROW_NUMBER() OVER (PARTITION BY A ORDER BY B) <= 2",
    "RANK": "SELECT K, A, B FROM S QUALIFY RANK() OVER (PARTITION BY K ORDER BY B) <= 1",
    "OVER": "SELECT A, COUNT(*) OVER (PARTITION BY A ORDER BY ts) FROM S",
    "LAG": "SELECT A, LAG(B) OVER (PARTITION BY A ORDER BY ts) FROM S",
    "a frame of two rows": "SELECT MAX(B) OVER "
    "(PARTITION BY A ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM S",
    "no order": "SELECT A, COUNT(*) OVER (PARTITION BY K) FROM S",
    "EXISTS": "SELECT S.K FROM S WHERE EXISTS (SELECT 1 FROM T WHERE T.A = S.A)",
    "EXISTS of another": "SELECT 1 FROM S WHERE EXISTS (SELECT 1 FROM T WHERE S.A <> T.A)",
    "NOT EXISTS": "SELECT S.K FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE T.A = S.A)",
    "DISTINCT and NOT EXISTS": "SELECT DISTINCT 1 FROM S WHERE NOT EXISTS "
    "(SELECT 1 FROM T WHERE S.A < T.A AND S.B < T.B)",
    "LEFT JOIN": "SELECT S.K, T.B FROM S LEFT JOIN T ON S.A = T.A",
    "EXCEPT": "SELECT A FROM S EXCEPT SELECT A FROM T",
    "as-of": "SELECT S.B, T.B FROM S ASOF JOIN T ON S.A = T.A AND S.ts >= T.ts",
    "DISTINCT over groups": "SELECT DISTINCT A, n FROM (SELECT A, COUNT(*) AS n FROM S GROUP BY A) x",
    "COUNT over groups": "SELECT COUNT(*) FROM (SELECT A, COUNT(*) AS n FROM S GROUP BY A) x",
    "scalar sub-query": "SELECT S.K FROM S WHERE S.B > (SELECT MAX(B) FROM T)",
    "correlated sub-query": "SELECT S.K FROM S WHERE S.B > (SELECT MAX(B) FROM T WHERE T.A = S.A)",
    "a table of groups": "SELECT x.K FROM S, (SELECT K, MAX(A) AS m FROM T GROUP BY K) x WHERE S.A < x.m",
}


@pytest.mark.parametrize("sql", STATEMENTS.values(), ids=STATEMENTS)
def test_each_construct(sql: str) -> None:
    found = statement(sql, CATALOG)
    decision = decide(found)
    assert decision.verdict.outcome is Outcome.UNBOUNDED
    assert verify(found, statement_witness(found, decision, SIZE)) == Verification("query", SIZE, 1 << SIZE)


def test_the_unbounded_lines_of_the_corpus() -> None:
    """All had one when this was written; a floor, so that a line that is added may ask for more."""
    lines = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    found = []
    for line in lines:
        if line["expected"].get("verdict") != "unbounded":
            continue
        query = statement(line["sql"], catalog_from_mapping(line["streams"]), line["id"])
        try:
            found.append((line["id"], verify(query, statement_witness(query, decide(query), SIZE)).holds))
        except WitnessError:
            found.append((line["id"], False))
    print(f"{sum(holds for _, holds in found)} of {len(found)} unbounded lines have a verified witness")
    assert len(found) >= 75
    assert not [name for name, holds in found if not holds]


def test_larger_ones_are_built_alike() -> None:
    found = statement(STATEMENTS["MAX"], CATALOG)
    assert verify(found, statement_witness(found, decide(found), 6)).told_apart == 1 << 6


def test_events_have_the_columns_of_their_streams_alone() -> None:
    """What an expression or a window says of a tuple is computed, not given."""
    for name in ("expression", "window", "MAX"):
        found = statement(STATEMENTS[name], CATALOG)
        proof = statement_witness(found, decide(found), SIZE)
        events = (e for slot in proof.slots for e in (*slot.fixed, *slot.optional, *slot.suffix))
        assert all(set(event) == {"stream", *COLUMNS} for event in events)


def test_a_bounded_statement_has_none() -> None:
    found = statement("SELECT K, COUNT(*) FROM S GROUP BY K", CATALOG)
    with pytest.raises(WitnessError, match="there is no witness: the query is bounded"):
        statement_witness(found, decide(found), SIZE)


def test_where_none_is_found_the_error_says_what_the_verdict_rests_on() -> None:
    verdict = Verdict(Outcome.UNBOUNDED, "exact", (Reason("unbounded-list", "a list grows"),))
    error = refused("q", verdict)
    assert error.message == (
        "no witness was found: that the query is unbounded rests on the theorem alone; a list grows"
    )
    assert error.fix is not None and "unbounded query" not in error.fix


def test_the_story_tells_what_a_number_becomes() -> None:
    told = witness_story(compile(STATEMENTS["COUNT"], CATALOG), seconds=600.0)
    assert told.has_example
    assert "becomes 2 after history A, and becomes 1 after history B" in told.markup()


def test_the_story_tells_what_is_taken_back() -> None:
    told = witness_story(compile(STATEMENTS["NOT EXISTS"], CATALOG), seconds=600.0)
    assert "After history A it brings no new answer and takes 1 answer back" in told.markup()
