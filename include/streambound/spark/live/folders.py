"""The source of a stream without ``live``: the folder of its history, in which files appear.

Of the files that Spark finds below it those are read that history would have: they lie in the folder, or in
the folders ``key=value`` of it; files elsewhere below it are not the stream's. Files on which the checkpoint
rests with which the query began are not read again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from streambound.errors import StreamboundError
from streambound.query.model import Relation
from streambound.spark.data_frames import literal
from streambound.spark.live.arrivals import Mapper, Rows, arrivals, batch_of, failed
from streambound.spark.live.source import Arrived
from streambound.spark.workers import settle
from streambound.storage.partitions import Partition, history_folder, require_sound
from streambound.tasks.embedded_engine import EmbeddedEngine, opened
from streambound.tasks.summarise import StreamScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES = "path string, modificationTime timestamp, length bigint, content binary"


@dataclass(frozen=True)
class Folder:
    """A folder that grows.

    ``key`` is that of its partitions, None if there are none; ``covered`` are names relative to ``folder``;
    of ``limit`` files at most a micro-batch takes in.
    """

    relation: Relation
    folder: Path
    key: str | None
    covered: frozenset[str] = frozenset()
    limit: int | None = None

    def stream(self, session: SparkSession) -> DataFrame:
        """The files that appear in it, as a stream of (stream, path)."""
        return growing(session, self.relation.name, self.folder, "*.parquet", self.limit)

    def mapper(self, scan: StreamScan, memory_mb: int) -> Mapper:
        """From (stream, path) to arrivals (``arrivals.FIELDS``)."""

        def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with opened(memory_mb) as session:
                for batch in batches:
                    yield batch_of(self._arrivals(session, scan, sorted(batch.column(1).to_pylist())))
            settle()

        return mapped

    def _arrivals(self, session: EmbeddedEngine, scan: StreamScan, paths: Sequence[str]) -> Rows:
        files, wrong = dict[str, str](), Rows()
        for path in paths:
            try:
                if (name := self.name(path)) is not None:
                    files[name] = str(self.folder / name)
            except StreamboundError as error:
                wrong.append(failed(self.relation.name, path, error.about(path)))
        return wrong + arrivals(session, scan, files)

    def arrived(self, frame: DataFrame, spool: Path) -> Arrived:
        """The files of a micro-batch."""
        names = (self.name(row["path"]) for row in frame.collect())
        files = tuple(str(self.folder / name) for name in sorted(filter(None, names)))
        return Arrived(files, len(files))

    def about(self, error: StreamboundError) -> StreamboundError:
        """An error about one of its files, which are the user's own."""
        return error

    def name(self, path: str) -> str | None:
        """The name of a file relative to the folder; None if it is not to be read.

        Raises:
            DataError: it lies in a partition that is named after no day where days are declared.
        """
        relative = local(path).relative_to(self.folder)
        partition = relative.parent.name
        if len(relative.parts) != (1 if self.key is None else 2) or str(relative) in self.covered:
            return None
        if self.key is not None:
            if not partition.startswith(f"{self.key}="):
                return None
            require_sound(self.relation, Partition(partition.removeprefix(f"{self.key}="), (relative,)))
        return str(relative)


def folder_of(relation: Relation, covered: Mapping[str, list[str]] = {}, limit: int | None = None) -> Folder:
    """The folder of a stream.

    Raises:
        DataError: it declares no history, or the folder is missing.
    """
    key = relation.history.partition_by if relation.history else None
    folder = history_folder(relation).resolve()
    return Folder(relation, folder, key, frozenset(covered.get(relation.name, ())), limit)


def simultaneous_files_fix(folders: Collection[Folder], file: str) -> str | None:
    """The fix for a late file, by its name, that shares its time with others; None if it shares it with none.

    Of a limited number Spark takes the files with the earliest times, in milliseconds, and of one time any: a
    copy of many files at once need not come in the order of their rows.
    """
    paths = [folder.folder / file for folder in folders if (folder.folder / file).is_file()]
    ties = [
        neighbour for path in paths for neighbour in _beside(folders, path) if _time(neighbour) == _time(path)
    ]
    if not ties:
        return None
    return (
        f"leave out --files and evaluate everything again (--recompute): {len(ties) + 1:,} files of the"
        " stream have one time of modification, and of these --files takes any first"
    )


def _beside(folders: Collection[Folder], path: Path) -> Iterator[Path]:
    """The other files of a stream."""
    folder = next(item.folder for item in folders if path.is_relative_to(item.folder))
    return (neighbour for neighbour in folder.rglob("*.parquet") if neighbour != path)


def _time(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return None


def local(path: str) -> Path:
    """The local path of a file as Spark names it."""
    return Path("/" + path.removeprefix("file:").lstrip("/"))


def growing(session: SparkSession, name: str, folder: Path, pattern: str, limit: int | None) -> DataFrame:
    """The files that appear in a folder and below, as a stream of (stream, path).

    Args:
        session: a classic one.
        name: what the column ``stream`` says.
        folder: exists.
        pattern: of the files' names.
        limit: how many files a micro-batch takes at most.
    """
    from pyspark.sql.functions import lit

    reader = session.readStream.format("binaryFile").schema(_FILES).option("pathGlobFilter", pattern)
    # A file that was found and is then removed is not there; what it held is not either.
    reader = reader.option("recursiveFileLookup", "true").option("ignoreMissingFiles", "true")
    if limit is not None:
        reader = reader.option("maxFilesPerTrigger", limit)
    files = reader.load(literal(folder.resolve()))
    return files.select(lit(name).alias("stream"), "path")
