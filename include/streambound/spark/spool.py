"""The rows of a partition that only Spark reads, on a task's own disk: from there on it is one in files."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streambound.errors import StorageError
from streambound.plan.model import StreamSynopsis
from streambound.query.model import Relation
from streambound.spark.data_frames import where
from streambound.tasks.summarise import Task

# Of a row: the number of its stream (NULL of a row that only says that its partition is asked for), and how
# many rows Spark has read, where it has dropped some.
STREAM, ROWS = "streambound stream", "streambound rows"


@dataclass(frozen=True)
class Source:
    """A stream that Spark reads: its number in the union of several, its columns, and words for it."""

    number: int
    relation: Relation
    columns: tuple[str, ...]
    synopses: tuple[StreamSynopsis, ...]

    @property
    def prefix(self) -> str:
        """What its columns begin with in the union."""
        return f"{self.number} "


def _cannot_spool(error: OSError, path: str) -> StorageError:
    return StorageError(
        f"a task cannot spool rows: {error.strerror or error}",
        subject=f"{path} on {socket.gethostname()}",
        fix="free space there, or set TMPDIR of the executors to a larger disk",
    )


class Spool:
    """The rows of one partition on a task's disk, a Parquet file a stream.

    ``rows`` are how many Spark has read, of streams of which it has dropped some.
    """

    def __init__(self, folder: Path, sources: Sequence[Source]) -> None:
        self.paths = {source.number: folder / f"{source.number}.parquet" for source in sources}
        self.sources = sources
        self.rows: dict[str, int] = {}

    def take(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Write batches of the union, of which there is one at least.

        Raises:
            StorageError: the disk refuses.
        """
        writers: dict[int, pq.ParquetWriter] = {}
        try:
            for batch in batches:
                self._write(batch, writers)
            # Most of a small file is written here.
            for writer in writers.values():
                writer.close()
        except OSError as error:
            raise _cannot_spool(error, str(self.paths[0].parent)) from None
        finally:
            for writer in writers.values():
                with suppress(OSError):
                    writer.close()

    def _write(self, batch: pa.RecordBatch, writers: dict[int, pq.ParquetWriter]) -> None:
        streams, counts = batch.column(STREAM), batch.column(ROWS)
        for source in self.sources:
            mine = pc.equal(streams, source.number)
            counted = pc.sum(counts.filter(mine)).as_py()
            if counted is not None:
                self.rows[source.relation.name] = counted + self.rows.get(source.relation.name, 0)
            own = _own(source, batch.filter(pc.and_(mine, pc.is_null(counts))))
            if source.number not in writers:
                writers[source.number] = pq.ParquetWriter(self.paths[source.number], own.schema)
            writers[source.number].write_batch(own)

    def task(self, task: Task) -> Task:
        """The task with the spooled files in place of what only Spark reads."""
        spooled = {s.relation.name: (str(self.paths[s.number]),) for s in self.sources}
        if not task.stream_partitions:
            return replace(task, files=spooled[task.stream])
        stream_partitions = (
            replace(stream_partition, files=spooled.get(stream_partition.stream, stream_partition.files))
            for stream_partition in task.stream_partitions
        )
        return replace(task, stream_partitions=tuple(stream_partitions))

    def about_source(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row of a summary, about what Spark read instead of about the spooled file."""
        about = dict(row)
        if row["error"] is None:
            return {**about, "rows": self.rows.get(row["stream"], row["rows"])}
        body = json.loads(row["error"])
        for source in self.sources:
            if body["subject"] == str(self.paths[source.number]):
                body["subject"] = f"{where(source.relation)}, partition {row['partition']}"
        return {**about, "error": json.dumps(body)}


def _own(source: Source, batch: pa.RecordBatch) -> pa.RecordBatch:
    names = [name for name in batch.schema.names if name.startswith(source.prefix)]
    columns = [name.removeprefix(source.prefix) for name in names]
    return pa.RecordBatch.from_arrays([batch.column(name) for name in names], names=columns)
