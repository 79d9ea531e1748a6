"""Histories that only Spark reads, as data frames: tables of its catalogs, and files of formats of its own.

The partitions of files are folders, told apart by names, sizes and times as those of Parquet are. A table
tells no such thing: Spark counts and hashes the declared columns of each partition, without their
leaving the JVM, and what has the same columns, count and hash has not changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow.parquet as pq

from streambound.checkpoint.inputs import identified
from streambound.errors import DataError, StorageError
from streambound.query.model import TABLE, History, Relation, RelationKind
from streambound.spark.failures import first_lines, translated_errors
from streambound.storage.partitions import (
    WHOLE,
    Partition,
    find_partitions,
    folder_partitions,
)
from streambound.tasks.scratch import scratch

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# The column with the name of a row's partition, in a form that no catalog uses.
NAME = "streambound name"
# Names of partitions that are the same in a folder's name and in the address of a file in it.
_PLAIN = re.compile(r"[A-Za-z0-9_.,=@-]+")
# Spark takes a path with one of these as a pattern.
_PATTERN = re.compile(r"([\[\]{}*?\\])")
# Options of a reader: files of one history may lack columns that others have.
_MERGED = {"mergeSchema": "true"}


def listing(
    session: SparkSession, staging: Callable[[], Path]
) -> Callable[[Relation], tuple[Partition, ...]]:
    """What lists histories, whoever reads them; each partition with its identity.

    Args:
        staging: makes the folder for the rows of static relations that only Spark reads, as Parquet.
    """

    def listed(relation: Relation) -> tuple[Partition, ...]:
        if relation.history is None or relation.history.direct:
            return identified(find_partitions(relation))
        if relation.kind is RelationKind.STATIC:
            return (Partition(WHOLE, (_staged(session, relation, staging()),)),)
        if relation.history.format == TABLE:
            return _in_table(session, relation)
        partitions = folder_partitions(relation)
        _require_plain(relation, [part.name for part in partitions])
        return identified(partitions)

    return listed


def staging(exit_stack: ExitStack, folder: Path) -> Callable[[], Path]:
    """Makes a folder below another one when it is first needed; it is held as long as ``exit_stack`` is.

    Executors of another user have to read it.
    """

    def made() -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        return exit_stack.enter_context(scratch(folder, ".static-", 0o755))

    return cache(made)


def frame_of(session: SparkSession, relation: Relation, parts: Sequence[Partition]) -> DataFrame:
    """The rows of some partitions: their name (``NAME``), and the declared columns that there are.

    Raises:
        DataError: Spark cannot read them.
    """
    history = _history(relation)
    with spark_reads(relation):
        if history.format == TABLE:
            frame = _table(session, relation)
            part = _key(relation, frame)
            if history.partition_by is not None:
                frame = frame.where(part.isin([partition.name for partition in parts]))
        else:
            frame = _loaded(session, history, [file for partition in parts for file in partition.files])
            part = _folder(history)
        return frame.select(part.alias(NAME), *(quoted(name) for name in _present(relation, frame)))


def quoted(name: str) -> Column:
    """A column by its exact name."""
    from pyspark.sql import functions as f

    return f.col("`" + name.replace("`", "``") + "`")


@contextmanager
def spark_reads(relation: Relation) -> Iterator[None]:
    """Errors of Spark's readers as this project's own.

    Raises:
        StreamboundError: of what Spark could not read.
    """
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    with translated_errors("while a history was read"):
        try:
            yield
        # Where files are looked into a classic session fails with an error of its Java gateway.
        except (PySparkException, Py4JJavaError) as error:
            raise DataError(
                f"Spark cannot read {where(relation)}: {first_lines(error)}",
                subject=f"stream {relation.name}",
                fix="register the table in Spark, mend the files, or correct history in the stream catalog",
            ) from None


def where(relation: Relation) -> str:
    """The table or the files of a history, in words."""
    history = _history(relation)
    return f"{'table' if history.format == TABLE else f'{history.format} files in'} {history.path}"


def _history(relation: Relation) -> History:
    assert relation.history is not None
    return relation.history


def _table(session: SparkSession, relation: Relation) -> DataFrame:
    return session.table(".".join(f"`{part}`" for part in _history(relation).path.split(".")))


def _key(relation: Relation, frame: DataFrame) -> Column:
    """The name of a row's partition in a table.

    Raises:
        DataError: the table has no such column.
    """
    from pyspark.sql import functions as f

    key = _history(relation).partition_by
    if key is None:
        return f.lit(WHOLE)
    if key not in frame.columns:
        raise DataError(
            f"{where(relation)} has no column {key} to be partitioned by",
            subject=f"stream {relation.name}",
            accepted=", ".join(frame.columns),
            fix="correct partition_by in the stream catalog",
        )
    return quoted(key).cast("string")


def _loaded(session: SparkSession, history: History, files: Sequence[Path]) -> DataFrame:
    reader = session.read.format(history.format).options(**_MERGED)
    # Named one by one: exactly the files that were listed, and no columns from the names of folders. A link
    # is not followed, since it is its folder that names the partition.
    for file in files:
        require_plain(file.parent)
    return reader.load([f"file:{literal(Path(os.path.abspath(file)))}" for file in files])


def literal(path: Path) -> str:
    """A path as the pattern that only it matches."""
    return _PATTERN.sub(r"\\\1", str(path))


def require_plain(folder: Path) -> None:
    """Refuse a folder whose files Spark cannot find.

    Where a path is a pattern, Hadoop takes what is before a colon in a folder's name for the scheme of an
    address. Spark takes all paths as patterns; told not to, it reads each of n files n times.

    Raises:
        DataError: the path has such names.
    """
    path = str(folder.resolve())
    if ":" in path and _PATTERN.search(path):
        raise DataError(
            "Spark cannot follow a folder with both a colon and one of [ ] { } * ? \\ in its path",
            subject=path,
            accepted="a path without a colon, or without the others",
            fix="rename the folder",
        )


def _folder(history: History) -> Column:
    """The name of a row's partition, from the folder of its file."""
    from pyspark.sql import functions as f

    key = history.partition_by
    if key is None:
        return f.lit(WHOLE)
    # Of an address, in which letters beyond ASCII may be encoded.
    named = f"/(?:{key}|{quote(key)})=([^/]*)/[^/]*$"
    return f.regexp_extract(f.col("_metadata.file_path"), named, 1)


def _present(relation: Relation, frame: DataFrame) -> list[str]:
    there = set(frame.columns)
    return [column.name for column in relation.own if column.name in there]


def _in_table(session: SparkSession, relation: Relation) -> tuple[Partition, ...]:
    """The partitions of a table, with an identity of what is in them.

    Raises:
        DataError: Spark cannot read it, it is empty, or rows belong to no partition.
    """
    from pyspark.sql import functions as f

    with spark_reads(relation):
        frame = _table(session, relation)
        name, columns = _key(relation, frame), _present(relation, frame)
        # NULL changes no hash of Spark's: where values are missing is hashed as well.
        cells = [cell for c in columns for cell in (quoted(c).isNull(), quoted(c))]
        # A sum, since equal rows must count; it has room for 10^19 rows.
        hashes = [
            f.sum(f.xxhash64(f.lit(seed), *cells).cast("decimal(28,0)")).cast("string") for seed in (1, 2)
        ]
        grouped = frame.groupBy(name.alias(NAME)).agg(f.count(f.lit(1)), *hashes)
        schema = _schema(frame, columns)
        by_partition = {row[0]: ":".join([schema, *map(str, row[1:])]) for row in grouped.collect()}
    if not by_partition:
        raise DataError(f"{where(relation)} has no rows", subject=f"stream {relation.name}")
    if None in by_partition:
        raise DataError(
            f"rows of {where(relation)} have no {_history(relation).partition_by}: they are in no partition",
            subject=f"stream {relation.name}",
            fix="give each row a value, or name another column with partition_by",
        )
    _require_plain(relation, by_partition)
    return tuple(Partition(part, (), by_partition[part]) for part in sorted(by_partition))


def _schema(frame: DataFrame, columns: Collection[str]) -> str:
    """A short hash of names and types: the same values in other columns are other rows."""
    kinds = dict(frame.dtypes)
    typed_columns = [(column, kinds[column]) for column in columns]
    return hashlib.sha256(json.dumps(typed_columns).encode()).hexdigest()[:16]


def _require_plain(relation: Relation, names: Collection[str]) -> None:
    if odd := sorted(name for name in names if not _PLAIN.fullmatch(name)):
        raise DataError(
            f"partition {odd[0]!r} of {where(relation)} has no plain name",
            subject=f"stream {relation.name}",
            accepted="letters, digits and _ . , = @ -",
            fix="partition by days, or by a column with such values",
        )


def _staged(session: SparkSession, relation: Relation, staging: Path) -> Path:
    """The rows of a static relation as a Parquet file; it is small, and read by tasks as any other."""
    parts = () if _history(relation).format == TABLE else folder_partitions(relation)
    frame = frame_of(session, relation, parts).drop(NAME)
    with spark_reads(relation):
        rows = frame.toArrow()
    path = staging / f"{relation.name}.parquet"
    try:
        pq.write_table(rows, path)
    except OSError as error:
        raise StorageError(f"cannot write: {error.strerror or error}", subject=str(path)) from None
    return path
