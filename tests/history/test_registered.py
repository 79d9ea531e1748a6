"""Every bounded registered query over the whole year: the answer is that of the plain SQL."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot

from streambound import settings
from streambound.compiler import check
from streambound.demo import abstract, flights
from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.history.local import local_executor
from streambound.query.model import Kind, Relation
from streambound.query.registry import RegisteredQuery, load_registry

REGISTRY = load_registry(settings.registry())
# Rows, answers and digests of the year as ./demo gave them before the house was rebuilt.
BEFORE = json.loads((Path(__file__).parent / "year.json").read_text())
BOUNDED = [q for q in REGISTRY.queries if check(q.sql, REGISTRY.catalog, q.name).verdict == "bounded"]


@dataclass(frozen=True)
class Evaluated:
    """The folder of the answers, what the evaluation said, and an engine over the same partitions."""

    folder: Path
    answers: dict[str, HistoryAnswer]
    plain: duckdb.DuckDBPyConnection


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluated]:
    folder = tmp_path_factory.mktemp("year")
    with pytest.MonkeyPatch.context() as patch, duckdb.connect() as plain, local_executor() as executor:
        patch.setenv("STREAMBOUND_STREAMS", str(folder / "streams"))
        flights.ingest(settings.streams_root())
        abstract.generate(settings.streams_root())
        found = evaluate_history(executor, BOUNDED, REGISTRY.catalog, output=folder / "answers")
        for relation in REGISTRY.catalog.relations:
            plain.execute(view(relation))
        yield Evaluated(folder / "answers", {a.query: a for a in found}, plain)


def view(relation: Relation) -> str:
    assert relation.history is not None
    files = "*.parquet" if relation.kind is Kind.STATIC else "*/*.parquet"
    path = f"{settings.history_path(relation.history.path)}/{files}"
    return f"CREATE VIEW \"{relation.name}\" AS FROM read_parquet('{path}', hive_partitioning = false)"


def plain_sql(query: RegisteredQuery, plain: duckdb.DuckDBPyConnection) -> Counter[Any]:
    sql = sqlglot.transpile(query.sql, read="spark", write="duckdb", comments=False)[0]
    rows = plain.execute(f"SELECT *, count(*) FROM ({sql}) AS answer GROUP BY ALL").fetchall()
    return Counter({row[:-1]: row[-1] for row in rows})


@pytest.mark.parametrize("query", BOUNDED, ids=[query.name for query in BOUNDED])
def test_the_answer_is_that_of_plain_sql(query: RegisteredQuery, year: Evaluated) -> None:
    answer = year.answers[query.name]
    assert answer.error is None and answer.evaluated
    files = f"{year.folder / query.name}/*/*.parquet"
    read = f"SELECT * FROM read_parquet('{files}', hive_partitioning = false)"
    found: Counter[Any] = Counter()
    for *row, count in year.plain.execute(read).fetchall():
        found[tuple(row)] += int(count)
    assert found == plain_sql(query, year.plain)
    assert (answer.answer_rows, answer.answer_count) == (len(found), found.total())
    assert answer.units is not None and (answer.peak_units or 0) <= answer.units


def test_bounded_and_unbounded_are_both_registered() -> None:
    assert len(BOUNDED) >= 12 and len(REGISTRY.queries) > len(BOUNDED)


@pytest.mark.parametrize("query", BEFORE)
def test_answers_and_digests_are_those_of_before(query: str, year: Evaluated) -> None:
    said = year.answers[query].to_json()
    assert {key: said[key] for key in BEFORE[query]} == BEFORE[query]
