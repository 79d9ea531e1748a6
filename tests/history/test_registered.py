"""Every bounded registered query over flights: the answer is that of the plain SQL.

Over two fortnights with a blizzard, fog and long delays, and over the whole year (``make heavy``).
"""

from __future__ import annotations

import datetime as dt
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
# Rows, answers and digests as they were when first judged, of each span: with any of them answers change.
BEFORE = {name: json.loads((Path(__file__).parent / f"{name}.json").read_text()) for name in ("days", "year")}
NAMES = list(BEFORE["year"])
SPANS: dict[str, list[tuple[dt.date | None, dt.date | None]]] = {
    "days": [(dt.date(2013, 2, 1), dt.date(2013, 2, 14)), (dt.date(2013, 12, 8), dt.date(2013, 12, 21))],
    "year": [(None, None)],
}
QUERIES = {query.name: query for query in REGISTRY.queries}


@cache
def bounded() -> list[RegisteredQuery]:
    """Decided when the first test asks: every process collects this file, and one runs it."""
    return [
        q
        for q in REGISTRY.queries
        if check(q.sql, REGISTRY.catalog, q.name, suggest=False).verdict == "bounded"
    ]


@dataclass(frozen=True)
class Evaluated:
    """The span, the folder of the answers, what was said of each, and an engine over the same partitions."""

    span: str
    folder: Path
    answers: dict[str, HistoryAnswer]
    plain: duckdb.DuckDBPyConnection


@pytest.fixture(scope="module", params=["days", pytest.param("year", marks=pytest.mark.heavy)])
def evaluated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Evaluated]:
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch, duckdb.connect() as plain, local_executor() as executor:
        patch.setenv("STREAMBOUND_STREAMS", str(folder / "streams"))
        for first, last in SPANS[request.param]:
            flights.ingest(settings.streams_root(), first, last)
        abstract.generate(settings.streams_root())
        found = evaluate_history(executor, bounded(), REGISTRY.catalog, output=folder / "answers")
        plain.execute("SET TimeZone = 'UTC'")
        for relation in REGISTRY.catalog.relations:
            plain.execute(view(relation))
        yield Evaluated(request.param, folder / "answers", {a.query: a for a in found}, plain)


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


@pytest.mark.parametrize("query", [QUERIES[name] for name in NAMES], ids=lambda query: query.name)
def test_the_answer_is_that_of_plain_sql(query: RegisteredQuery, evaluated: Evaluated) -> None:
    answer = evaluated.answers[query.name]
    assert answer.error is None and answer.evaluated
    files = f"{evaluated.folder / query.name}/*/*.parquet"
    read = f"SELECT * FROM read_parquet('{files}', hive_partitioning = false)"
    found: Counter[Any] = Counter()
    for *row, count in evaluated.plain.execute(read).fetchall():
        found[tuple(row)] += int(count)
    assert found == plain_sql(query, evaluated.plain)
    # What is taken back by a later partition is in the files with both signs.
    standing = {row: count for row, count in found.items() if count}
    assert (answer.answer_rows, answer.answer_count) == (len(standing), found.total())
    assert answer.units is not None and (answer.peak_units or 0) <= answer.units


def test_bounded_and_unbounded_are_both_registered() -> None:
    assert sorted(query.name for query in bounded()) == sorted(NAMES) == sorted(BEFORE["days"])
    assert (len(NAMES), len(REGISTRY.queries)) == (28, 44)


@pytest.mark.parametrize("query", NAMES)
def test_answers_and_digests_are_those_of_before(query: str, evaluated: Evaluated) -> None:
    said, before = evaluated.answers[query].to_json(), BEFORE[evaluated.span][query]
    assert {key: said[key] for key in before} == before
