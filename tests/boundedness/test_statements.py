"""The verdict on groups, ranks, frames, guards and compositions, in changes and in final mode: the corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streambound.boundedness.statements import decide
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read

LINES = (Path(__file__).parents[1] / "corpus" / "beyond.jsonl").read_text().splitlines()


@pytest.mark.parametrize("text", LINES, ids=lambda text: json.loads(text)["id"])
def test_corpus(text: str) -> None:
    line: dict[str, Any] = json.loads(text)
    statement = read(line["sql"], catalog_from_mapping(line["streams"]), line["id"]).statement
    verdict = decide(statement).verdict
    assert verdict.outcome.value == line["expected"]["verdict"], line["reason"]
    if line["expected"]["final"] is not None:
        assert verdict.final == line["expected"]["final"], line["reason"]


def test_a_monotone_statement_is_as_bounded_in_final_mode() -> None:
    catalog = catalog_from_mapping({"S": {"A": "int"}})
    for sql, verdict in (("SELECT A FROM S", "bounded"), ("SELECT DISTINCT A FROM S", "unbounded")):
        found = decide(read(sql, catalog, "q").statement).verdict
        assert (found.outcome.value, found.final) == (verdict, verdict)


def test_more_cases_than_are_searched_are_unknown_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streambound.constraints.cases.CASE_LIMIT", 2)
    names = [f"C{number}" for number in range(3)]
    catalog = catalog_from_mapping({name: dict.fromkeys(names, "int") for name in "ST"})
    either = " AND ".join(f"(S.{c} = 1 OR S.{c} = T.{c} OR S.{c} > 5)" for c in names)
    for sql in (
        f"SELECT S.C0, COUNT(*) FROM S, T WHERE {either} GROUP BY S.C0",
        f"SELECT S.C0 FROM S WHERE EXISTS (SELECT 1 FROM T WHERE {either})",
    ):
        verdict = decide(read(sql, catalog, "q").statement).verdict
        assert (verdict.outcome.value, verdict.reasons[0].code) == ("unknown", "search-limit")
