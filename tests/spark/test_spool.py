"""Rows that a task keeps on its own disk: a full disk, and a Spark that has ended, are told as such."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkAttributeError, PySparkException
from tests.spark.histories import Registered

from streambound.errors import DataError, StorageError
from streambound.history.prepare import draft, prepare, stream_scans
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.spark import dataframe_tasks, spool
from streambound.spark.data_frames import NAME
from streambound.spark.distribute import collected, cores, summary_of
from streambound.storage.partitions import Partition, PartitionRange
from streambound.tasks.embedded_engine import translated
from streambound.tasks.summarise import StreamScan, Summary, Task

QUERY = Registered("counts", "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 5")


@pytest.fixture
def reading() -> StreamScan:
    """What is done with partitions of S, which only Spark reads."""
    history = {"path": "nowhere", "partition_by": "part", "format": "orc"}
    streams = {name: {"columns": {"A": "int"}, "history": history} for name in ("S", "T")}
    catalog: Catalog = catalog_from_mapping(streams)
    parts = (Partition("1", (Path("one.orc"),)),)
    job = prepare(draft(QUERY.name, QUERY.sql, catalog), PartitionRange(), {}, listing=lambda _: parts)
    return stream_scans([job], Path("out"))["S"]


TASK = Task("S", "1", ("one.orc",), 1, frozenset({QUERY.name}))


def mapped(reading: StreamScan, rows: int = 3) -> list[Summary]:
    """What a task makes of a partition's rows."""
    batch = pa.RecordBatch.from_pydict(
        {
            NAME: ["1"] * rows,
            spool.STREAM: pa.array([0] * rows, pa.int32()),
            spool.ROWS: pa.array([None] * rows, pa.int64()),
            "0 A": pa.array([1] * rows, pa.int32()),
        }
    )
    found = dataframe_tasks._mapper({"1": TASK}, "S", reading, 64)((pa.scalar("1"),), iter([batch]))
    return [summary_of(row) for one in found for row in one.to_pylist()]


def test_rows_are_spooled_and_summarised(reading: StreamScan) -> None:
    assert [(one.rows, one.error) for one in mapped(reading)] == [(3, None)]


@contextmanager
def full_disk(folder: Path) -> Iterator[Path]:
    """A folder whose only file is on a device without room."""
    (folder / "0.parquet").symlink_to("/dev/full")
    yield folder


@pytest.mark.parametrize("rows", [3, 3_000_000], ids=["at the end", "on the way"])
def test_a_full_disk_is_told_with_its_place(
    reading: StreamScan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(dataframe_tasks, "scratch", lambda: full_disk(tmp_path))
    (found,) = mapped(reading, rows)
    error = found.error
    assert isinstance(error, StorageError) and found.query == "counts" and found.partition == "1"
    assert "cannot spool rows" in error.message and os.strerror(28) in error.message
    assert str(error.subject).startswith(f"{tmp_path} on ") and "TMPDIR" in str(error.fix)


def test_a_task_without_any_disk_for_its_rows_says_so(
    reading: StreamScan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    (found,) = mapped(reading)
    assert isinstance(found.error, StorageError)
    assert "no folder for temporary files" in found.error.message


def test_an_engine_that_spills_to_a_full_disk_blames_no_data() -> None:
    with pytest.raises(StorageError, match="a task's disk is full"), translated("stream S, partition 1"):
        raise duckdb.IOException(f"Could not write file: {os.strerror(28)}")
    with pytest.raises(DataError, match="stream S, partition 1"), translated("stream S, partition 1"):
        raise duckdb.IOException("Could not read file: Input/output error")


class Context:
    """What of a classic session tells whether its context has ended."""

    def __init__(self, ended: bool) -> None:
        self.ended = ended

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: self.ended))


class Connected:
    """A session on Spark Connect, whose server answers or does not."""

    def __init__(self, ended: bool) -> None:
        self.ended = ended

    @property
    def sparkContext(self) -> Any:
        raise PySparkAttributeError("no context")

    def range(self, number: int) -> Any:
        def count() -> int:
            if self.ended:
                raise PySparkException("unavailable")
            return number

        return SimpleNamespace(count=count)


class Gone:
    """A classic session whose Java process is not there any more."""

    @property
    def sparkContext(self) -> Any:
        raise Py4JNetworkError("refused")


SESSIONS = {
    "classic": (SimpleNamespace(sparkContext=Context(True)), SimpleNamespace(sparkContext=Context(False))),
    "connect": (Connected(True), Connected(False)),
    "no process": (Gone(), Connected(False)),
}


@pytest.mark.parametrize("kind", SESSIONS)
@pytest.mark.parametrize(
    "failure", [StorageError("the Spark job failed"), DataError("Spark cannot read ORC files")]
)
def test_spark_that_has_ended_is_one_error_of_the_run(
    reading: StreamScan, monkeypatch: pytest.MonkeyPatch, kind: str, failure: Exception
) -> None:
    def failing(*_: Any) -> Any:
        raise failure

    monkeypatch.setattr(dataframe_tasks, "_read", failing)
    ended, lasting = SESSIONS[kind]
    with pytest.raises(StorageError, match=f"Spark has ended .*{failure}") as caught:
        dataframe_tasks.run_dataframe_tasks(ended, [TASK], {"S": reading}, 64)
    assert caught.value.exit_code == 3
    (alone,) = dataframe_tasks.run_dataframe_tasks(lasting, [TASK], {"S": reading}, 64)
    assert alone.error is failure


def test_a_java_process_that_ends_is_an_outside_cause() -> None:
    for kind in (Py4JNetworkError, ConnectionRefusedError):

        def ending(kind: type[Exception] = kind) -> Any:
            raise kind("the answer from the Java side is empty")

        with pytest.raises(StorageError, match="Spark failed while tasks ran"):
            collected(SimpleNamespace(toArrow=ending))
    with pytest.raises(StorageError, match="Spark failed while tasks ran"):
        cores(Gone())  # type: ignore[arg-type]
