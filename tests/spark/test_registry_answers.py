"""Every bounded registered query: the answer over real events equals plain SQL over the same partitions."""

from __future__ import annotations

import datetime as dt
import glob
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
import sqlglot

from streambound import settings
from streambound.query.catalog import Catalog
from streambound.query.registry import load_registry
from streambound.sources import abstract, flights
from streambound.spark.history import evaluate_history

FIRST, LAST = dt.date(2013, 2, 6), dt.date(2013, 2, 11)
EMPTY_IN_THESE_DAYS = {"departures_in_snow", "longer_than_ten_hours"}


def plain(sql: str, catalog: Catalog) -> Counter[tuple[Any, ...]]:
    """The rows that DuckDB gives for the query as it is registered."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for relation in catalog.relations:
            assert relation.history is not None
            files = glob.glob(f"{settings.history_path(relation.history.path)}/**/*.parquet", recursive=True)
            connection.read_parquet(sorted(files), hive_partitioning=False).create_view(relation.name)
        (text,) = sqlglot.transpile(sql, read="spark", write="duckdb")
        return Counter(connection.execute(text).fetchall())


def answered(folder: Path) -> Counter[tuple[Any, ...]]:
    """The rows of all answer files together."""
    found: Counter[tuple[Any, ...]] = Counter()
    for file in folder.glob("*=*/*.parquet"):
        *columns, counts = (column.to_pylist() for column in pq.ParquetFile(file).read().columns)
        for row, count in zip(zip(*columns, strict=True), counts, strict=True):
            found[row] += int(count)
    return found


@pytest.mark.spark
def test_spark_equals_plain_sql(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    flights.ingest(settings.streams_root(), FIRST, LAST)
    abstract.generate(settings.streams_root(), abstract.Shape(rows=4_000, partitions=4, nulls=0.01))
    registry = load_registry(settings.project_root() / "include" / "registry")
    answers = evaluate_history(spark, registry.queries, registry.catalog)
    evaluated = {answer.query: answer for answer in answers if answer.evaluated}
    assert {a.query for a in answers if a.verdict == "bounded"} == set(evaluated) and len(evaluated) >= 12
    for query in registry.queries:
        if query.name in evaluated:
            found = answered(settings.answers_root() / query.name)
            assert found == plain(query.sql, registry.catalog), query.name
            assert bool(found) == (query.name not in EMPTY_IN_THESE_DAYS), query.name
            assert evaluated[query.name].answer_rows == len(found)
