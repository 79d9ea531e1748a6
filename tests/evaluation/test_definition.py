"""The definition of groups, windows, ranks, frames, guards and as-of joins, judged by DuckDB and by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests.beyond import Beyond, answer_by_duckdb, comparable, statements_beyond

from streambound.evaluation.corpus import evaluated
from streambound.evaluation.events import batches
from streambound.evaluation.reference import initial, reference
from streambound.query.corpus import CorpusLine, read_corpus
from streambound.query.parse import defined

CORPUS = Path(__file__).parents[1] / "corpus" / "answers_beyond.jsonl"
LINES = list(read_corpus(CORPUS))
EXPECTED = {line["id"]: line for line in map(json.loads, CORPUS.read_text().splitlines())}


def changes(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """The answers of a document by marker and row."""
    return Counter({(one["ts"], *one["row"]): one["count"] for one in rows})


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.id)
def test_the_changes_of_the_corpus(line: CorpusLine) -> None:
    expected, found = EXPECTED[line.id], evaluated(line, "reference")
    assert changes(found["answers"]) == changes(expected["answers"])
    assert [one["row"] for one in found.get("initial", [])] == expected["initial"]


def total(case: Beyond) -> Counter[tuple[Any, ...]]:
    """What the definition says in all: the initial rows and all changes."""
    query = defined(case.line.sql, case.line.catalog, case.line.id)
    found: Counter[tuple[Any, ...]] = Counter()
    markers = [initial(query, {}), *reference(query, batches(query, case.line.events), {})]
    for answer in (answer for marker in markers for answer in marker):
        found[comparable(answer.row)] += answer.count
        assert found[comparable(answer.row)] >= 0 or len(markers) > 1
    assert all(count >= 0 for count in found.values()), f"{case} has rows fewer than none"
    return +found


@given(statements_beyond())
def test_the_changes_add_up_to_the_answer_of_duckdb(case: Beyond) -> None:
    assert total(case) == answer_by_duckdb(case), f"{case}\n{case.judge}"
