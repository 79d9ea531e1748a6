"""Every bounded registered query over the whole year: the answer is that of the plain SQL."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot

from streambound import settings
from streambound.compiler.report import check
from streambound.demo import abstract, flights
from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.history.local import local_executor
from streambound.projects.registry import load_registry
from streambound.query.model import Relation, RelationKind
from streambound.query.registry import RegisteredQuery

REGISTRY = load_registry(settings.registry())
# Rows, answers and digests of the year as they were when first judged: with any of them answers change.
BEFORE = json.loads((Path(__file__).parent / "year.json").read_text())
QUERIES = {query.name: query for query in REGISTRY.queries}


@cache
def bounded() -> list[RegisteredQuery]:
    """Decided when the first test asks: every process collects this file, and one runs it."""
    return [q for q in REGISTRY.queries if check(q.sql, REGISTRY.catalog, q.name).verdict == "bounded"]


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
        found = evaluate_history(executor, bounded(), REGISTRY.catalog, output=folder / "answers")
        plain.execute("SET TimeZone = 'UTC'")
        for relation in REGISTRY.catalog.relations:
            plain.execute(view(relation))
        yield Evaluated(folder / "answers", {a.query: a for a in found}, plain)


def view(relation: Relation) -> str:
    assert relation.history is not None
    files = "*.parquet" if relation.kind is RelationKind.STATIC else "*/*.parquet"
    path = f"{settings.history_path(relation.history.path)}/{files}"
    return f"CREATE VIEW \"{relation.name}\" AS FROM read_parquet('{path}', hive_partitioning = false)"


# Windows of a whole unit, which DuckDB has as a function of the timestamp (in UTC, as the views are).
WINDOW = re.compile(r"window\(([\w.]+), '1 (hour|day)'\)(\.start)?")
# What the definition adds to an order in which rows tie: all that is shown, from left to right.
ORDER = re.compile(r"(?<=ORDER BY )(mean_delay DESC|departed_at)(?=\))")
TIES = {"mean_delay DESC": "day, origin, dest", "departed_at": "tailnum, origin, dest"}


def plain_sql(query: RegisteredQuery, plain: duckdb.DuckDBPyConnection) -> Counter[Any]:
    text = WINDOW.sub(r"date_trunc('\2', \1)", query.sql)
    text = ORDER.sub(lambda found: f"{found[0]}, {TIES[found[0]]}", text)
    sql = sqlglot.transpile(text, read="spark", write="duckdb", comments=False)[0]
    rows = plain.execute(f"SELECT *, count(*) FROM ({sql}) AS answer GROUP BY ALL").fetchall()
    return Counter({row[:-1]: row[-1] for row in rows})


@pytest.mark.parametrize("query", [QUERIES[name] for name in BEFORE], ids=lambda query: query.name)
def test_the_answer_is_that_of_plain_sql(query: RegisteredQuery, year: Evaluated) -> None:
    answer = year.answers[query.name]
    assert answer.error is None and answer.evaluated
    files = f"{year.folder / query.name}/*/*.parquet"
    read = f"SELECT * FROM read_parquet('{files}', hive_partitioning = false)"
    found: Counter[Any] = Counter()
    for *row, count in year.plain.execute(read).fetchall():
        found[tuple(row)] += int(count)
    assert found == plain_sql(query, year.plain)
    # What is taken back by a later partition is in the files with both signs.
    standing = {row: count for row, count in found.items() if count}
    assert (answer.answer_rows, answer.answer_count) == (len(standing), found.total())
    assert answer.units is not None and (answer.peak_units or 0) <= answer.units


def test_bounded_and_unbounded_are_both_registered() -> None:
    assert sorted(query.name for query in bounded()) == sorted(BEFORE)
    assert (len(BEFORE), len(REGISTRY.queries)) == (28, 44)


@pytest.mark.parametrize("query", BEFORE)
def test_answers_and_digests_are_those_of_before(query: str, year: Evaluated) -> None:
    said = year.answers[query].to_json()
    assert {key: said[key] for key in BEFORE[query]} == BEFORE[query]
