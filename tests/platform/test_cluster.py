"""A Spark master and two workers give what this machine gives; executors have the library from the driver."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scripts.comparison import compared
from scripts.local_postgres import LocalPostgres
from scripts.local_spark import LocalSpark
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.history.evaluations.k_memory import Memory
from streambound.history.executor import Executor
from streambound.history.local import LocalExecutor
from streambound.query.catalog import Catalog, load_catalog
from streambound.results import Answer, Results
from streambound.spark.executor import SparkExecutor
from streambound.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CATALOG = """streams:
  S:
    columns: {{A: int, B: int, ts: timestamp}}
    timestamp: ts
    history: {{path: {folder}/S, partition_by: date}}
  T:
    columns: {{A: int, C: int, ts: timestamp}}
    timestamp: ts
    history: {{path: {folder}/T, partition_by: date}}
"""
QUERIES = {
    "untimed": "SELECT DISTINCT S.A, S.B FROM S WHERE S.A BETWEEN 1 AND 5 AND S.B BETWEEN 0 AND 3",
    "timed": "SELECT DISTINCT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 9 AND S.ts < T.ts",
    "memory": "SELECT S.B, T.C FROM S, T WHERE S.A = T.A AND S.ts < T.ts",
}
DAYS = 3
# An executor of one core on each; the first job waits for both.
ON_BOTH_WORKERS = {
    "spark__driver__host": "127.0.0.1",
    "spark__driver__bindAddress": "127.0.0.1",
    "spark__executor__memory": "512m",
    "spark__cores__max": "2",
    "spark__scheduler__minRegisteredResourcesRatio": "1.0",
    "spark__scheduler__maxRegisteredResourcesWaitingTime": "300s",
}


@dataclass(frozen=True)
class Query:
    name: str
    sql: str


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("streams")
    for day in range(DAYS):
        start = dt.datetime(2026, 1, 1 + day, tzinfo=dt.UTC)
        for stream, step, column in (("S", 7, "B"), ("T", 3, "C")):
            rows = [
                {"A": (at * step + day) % 11, column: at % 5, "ts": start + dt.timedelta(minutes=5 * at)}
                for at in range(200)
            ]
            file = folder / stream / f"date={start.date()}" / "part-00000.parquet"
            file.parent.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(rows), file)
    (folder / "streams.yml").write_text(CATALOG.format(folder=folder))
    return load_catalog(folder / "streams.yml")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalSpark]:
    folder = Path(tempfile.mkdtemp(prefix="streambound-cluster-"))
    try:
        with LocalSpark(folder) as started:
            yield started
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def evaluated(executor: Executor, catalog: Catalog, folder: Path) -> list[HistoryAnswer]:
    queries = [Query(name, sql) for name, sql in QUERIES.items()]
    memory = {"memory": Memory(5, selected_policy=SelectedPolicy("lfu"))}
    answers = evaluate_history(
        executor,
        queries,
        catalog,
        output=folder / "answers",
        checkpoints=str(folder / "kept"),
        memory=memory,
    )
    assert [answer.error for answer in answers] == [None] * len(queries)
    return answers


def recorded(url: str, answers: list[HistoryAnswer]) -> Results:
    results = Results(url)
    for one in answers:
        results.record_answer(
            Answer(
                *("run", one.query, len(one.partitions), one.rows, one.answer_rows, one.answer_count),
                *((), one.streams, one.peak_units, one.units, one.seconds, one.digest),
            )
        )
    results.record_verdicts("run", [{"query": a.query, "verdict": a.verdict, "sql": a.sql} for a in answers])
    return results


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.glob("*/*/*.parquet"))}


def places(spark: SparkSession) -> set[str]:
    """Where executors have the library from."""

    # Within this function, so that Spark ships its code: executors have no tests.
    def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os

        import streambound.tasks.embedded_engine as engine

        file = os.path.abspath(engine.__file__)
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"place": [file] * len(batch)})

    return {row.place for row in spark.range(0, 8, 1, 8).mapInArrow(place, "place string").collect()}


def test_a_cluster_answers_as_this_machine_does(
    cluster: LocalSpark, catalog: Catalog, postgres: LocalPostgres, tmp_path: Path
) -> None:
    short_lived = {"spark__executor__defaultJavaOptions": cluster.java_options}
    with session("on the cluster", cluster.master, **ON_BOTH_WORKERS, **short_lived) as spark:
        found = evaluated(SparkExecutor(spark), catalog, tmp_path / "cluster")
        archives = places(spark)
    expected = evaluated(LocalExecutor(1), catalog, tmp_path / "local")
    assert [replace(one, seconds=0) for one in found] == [replace(one, seconds=0) for one in expected]
    assert files(tmp_path / "cluster" / "answers") == files(tmp_path / "local" / "answers") != {}
    assert all(one.answer_rows for one in found)
    assert {Path(file).relative_to(cluster.folder).parts[0] for file in archives} == {"worker-1", "worker-2"}
    assert all(file.endswith("/streambound.zip/streambound/tasks/embedded_engine.py") for file in archives)
    postgres.create_databases("cluster")
    one = recorded(postgres.url("cluster"), found)
    other = recorded(f"sqlite:///{tmp_path}/results.db", expected)
    assert compared(one, other).differences == ()
    changed = replace(expected[0], digest="0" * 64)
    differing = compared(one, recorded(f"sqlite:///{tmp_path}/results.db", [changed, *expected[1:]]))
    (difference,) = differing.differences
    assert difference.startswith(f"untimed, answer: digest '{found[0].digest}' and '0000")
    same = {line.split()[0]: line.split()[-1] for line in differing.table.splitlines()[2:]}
    assert same == {"untimed": "no", "timed": "yes", "memory": "yes"}
