"""The source of a stream with ``live``: any of Spark's, whose rows tasks spool and read like files.

What a task has is a share of a micro-batch: it is written to the task's own disk as Parquet, so that the same
statements with the same checks evaluate it as they do files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streambound import settings
from streambound.errors import DataError, StorageError, StreamboundError
from streambound.query.column_types import shown
from streambound.query.live_sources import DROP
from streambound.query.model import Live, Relation
from streambound.spark.failures import first_lines
from streambound.spark.live.arrivals import Mapper, arrivals, batch_of, failed
from streambound.spark.live.decoding import (
    FILES,
    MALFORMED,
    decoded,
    lacks_package,
    reader_options,
    schema_of,
)
from streambound.spark.live.source import Arrived
from streambound.spark.workers import settle
from streambound.tasks.embedded_engine import opened
from streambound.tasks.scratch import scratch
from streambound.tasks.summarise import StreamScan, error_of, error_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ENVIRONMENT = re.compile(r"\$\{(\w+)\}")
# What a task that has spooled its share says of it.
_SPOOLED = pa.schema([("path", pa.string()), ("malformed", pa.int64()), ("error", pa.string())])


@dataclass
class SpooledRows:
    """A share of a micro-batch on a disk, how many rows of it are malformed, and one of these."""

    path: Path
    malformed: int = 0
    example: str | None = None
    written: bool = False

    def take(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Write the sound rows.

        Raises:
            StorageError: the disk refuses.
        """
        writer: pq.ParquetWriter | None = None
        try:
            for batch in batches:
                wrong = batch.column(MALFORMED)
                rows = batch.filter(pc.is_null(wrong)).drop_columns([MALFORMED])
                if rows.num_rows < batch.num_rows:
                    self.malformed += batch.num_rows - rows.num_rows
                    least = pc.min(wrong).as_py()
                    self.example = least if self.example is None else min(least, self.example)
                writer = writer or pq.ParquetWriter(self.path, rows.schema)
                writer.write_batch(rows)
                self.written = True
        except OSError as error:
            raise StorageError(
                f"a task cannot spool rows: {error.strerror or error}",
                subject=str(self.path.parent),
                fix="free space there, or set TMPDIR of the executors to a larger disk",
            ) from None
        finally:
            if writer is not None:
                writer.close()


@dataclass(frozen=True)
class Rows:
    """A source that Spark follows, by the catalog's ``live``; ``beside`` is the folder of the catalog."""

    relation: Relation
    beside: Path = field(default_factory=Path)

    @property
    def live(self) -> Live:
        """What the catalog says."""
        assert self.relation.live is not None
        return self.relation.live

    @property
    def words(self) -> str:
        """The source as errors name it."""
        return f"{self.live.format} source of stream {self.relation.name}"

    def stream(self, session: SparkSession) -> DataFrame:
        """Its rows: the declared columns, and what is wrong with a row."""
        reader = session.readStream.format(self.live.format)
        with self._spark_reads(session.version):
            reader = reader.options(**reader_options(self.live)).options(**self._options())
            if self.live.format in FILES:
                reader = reader.schema(schema_of(self.relation))
            return decoded(reader.load(), self.relation, self.beside)

    def _options(self) -> dict[str, str]:
        options = {name: _ENVIRONMENT.sub(self._variable, value) for name, value in self.live.options}
        # As the folders of histories, and where the driver runs is nobody's concern.
        if "path" in options and self.live.format in (*FILES, "text", "binaryFile", "delta"):
            options["path"] = settings.history_path(options["path"])
        return options

    def _variable(self, named: re.Match[str]) -> str:
        if (value := os.environ.get(named[1])) is None:
            raise DataError(
                f"an option of live names the environment variable {named[1]}, which is not set",
                subject=f"stream {self.relation.name}",
                fix=f"set {named[1]}",
            )
        return value

    @contextmanager
    def _spark_reads(self, version: str) -> Iterator[None]:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, Py4JJavaError) as error:
            raise lacks_package(error, version) or DataError(
                f"Spark cannot follow the {self.words}: {said(error)}",
                fix="correct live of the stream in the catalog: its format and options are Spark's own",
            ) from None

    def mapper(self, scan: StreamScan, memory_mb: int) -> Mapper:
        """From rows to arrivals (``arrivals.FIELDS``)."""

        def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with scratch() as folder, opened(memory_mb) as session:
                spooled = SpooledRows(folder / "rows.parquet")
                if (error := self._spooled(spooled, batches)) is not None:
                    yield batch_of([failed(self.relation.name, _number(), error)])
                elif spooled.written:
                    arrived = arrivals(session, scan, {_number(): str(spooled.path)})
                    yield batch_of([self._row(row, spooled) for row in arrived])
            settle()

        return mapped

    def _row(self, row: dict[str, Any], spooled: SpooledRows) -> dict[str, Any]:
        if row["error"] is None:
            return {**row, "malformed": spooled.malformed}
        return {**row, "error": error_text(self.about(error_of(row["error"])))}

    def _spooled(self, spooled: SpooledRows, batches: Iterator[pa.RecordBatch]) -> StreamboundError | None:
        try:
            spooled.take(batches)
        except StreamboundError as error:
            return error
        if not spooled.malformed or self.live.malformed == DROP:
            return None
        return DataError(
            f"stream {self.relation.name} has rows that cannot be decoded, such as {shown(spooled.example)}",
            subject=self.words,
            accepted="rows with the columns and types that the catalog declares",
            fix="correct columns, epoch or value in live of the catalog, or drop such rows and have them"
            " counted (malformed: drop)",
        )

    def arrived(self, frame: DataFrame, spool: Path) -> Arrived:
        """The rows of a micro-batch, spooled to a folder that driver and executors share."""
        spool.mkdir(parents=True, exist_ok=True)

        def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            spooled = SpooledRows(spool / f"{_number()}.parquet")
            error = self._spooled(spooled, batches)
            row = {
                "path": str(spooled.path) if spooled.written else None,
                "malformed": spooled.malformed,
                "error": None if error is None else error_text(error),
            }
            yield pa.RecordBatch.from_pylist([row], schema=_SPOOLED)
            settle()

        rows = frame.mapInArrow(mapped, "path string, malformed bigint, error string").collect()
        for row in rows:
            if row["error"] is not None:
                raise error_of(row["error"])
        paths = sorted(row["path"] for row in rows if row["path"] is not None)
        return Arrived(tuple(paths), malformed=sum(row["malformed"] for row in rows))

    def about(self, error: StreamboundError) -> StreamboundError:
        """An error about the source instead of about what was spooled of it."""
        error.subject = self.words
        return error


def _number() -> str:
    """The number of this task among those of its job."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return f"{context.partitionId() if context else 0:05}"


def said(error: Exception) -> str:
    """What Spark says; of an error of its gateway what Java says."""
    java = getattr(error, "java_exception", None)
    return str(java.getMessage()).splitlines()[0][:500] if java is not None else first_lines(error)
