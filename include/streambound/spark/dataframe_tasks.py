"""Partitions that only Spark reads, to the same summaries: rows come from a data frame instead of from files.

Spark reads the needed columns of the partitions, drops what counts for no query (see ``pushdown``), and
brings the rows of a partition together; there they are spooled to the task's own disk, and from then on
are what a partition in Parquet files is. So there is one way to summarise, and memory is a batch of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from streambound.errors import DataError, StorageError, StreamboundError
from streambound.plan.model import StreamSynopsis
from streambound.query.model import Relation
from streambound.spark.data_frames import NAME, frame_of, quoted, spark_reads, where
from streambound.spark.distribute import (
    FIELDS,
    SCHEMA,
    collected,
    cores,
    require_session,
    rows_of,
    spark_jobs,
    summaries_of,
    summary_of,
)
from streambound.spark.pushdown import pushdown
from streambound.spark.spool import ROWS, STREAM, Source, Spool
from streambound.spark.workers import settle
from streambound.storage.partitions import Partition
from streambound.tasks.cogroup import SharedScan
from streambound.tasks.scratch import scratch
from streambound.tasks.summarise import Summary, Task
from streambound.tasks.task_groups import GROUPS_PER_CORE, Scan, failed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def by_spark(scan: Scan) -> bool:
    """Whether Spark reads one of the streams."""
    return bool(sources_of(scan))


def sources_of(scan: Scan) -> tuple[Source, ...]:
    """The streams that only Spark reads."""
    sources: list[Source] = []
    for relation, columns, synopses in _streams(scan):
        if relation.history is not None and not relation.history.direct:
            # A row without a timestamp is told of, and a query that only counts rows needs one column.
            own = {*relation.stored(columns), relation.timestamp} - {None} or {relation.columns[0].name}
            wanted = tuple(sorted(map(str, own)))
            if relation.timestamp not in columns:
                relation = relation.unrated()
            sources.append(Source(len(sources), relation, wanted, tuple(synopses)))
    return tuple(sources)


def _streams(scan: Scan) -> Iterator[tuple[Relation, list[str], list[StreamSynopsis]]]:
    if isinstance(scan, SharedScan):
        scans, cogroups = list(scan.scans.values()), list(scan.cogroups.values())
    else:
        scans, cogroups = [scan], []
    for scan in scans:
        stream = scan.relation.name
        own = [cogroup for cogroup in cogroups if stream in cogroup.relations]
        columns = {name for reader in scan.readers for name in reader.columns}
        synopses = [reader.synopsis for reader in scan.readers]
        columns = columns.union(*(cogroup.plan.columns(stream) for cogroup in own))
        synopses += [synopsis for cogroup in own for synopsis in cogroup.synopses(stream)]
        yield scan.relation, sorted(columns), synopses


def run_dataframe_tasks(
    session: SparkSession, tasks: Sequence[Task], scans: Mapping[str, Scan], memory_mb: int
) -> list[Summary]:
    """The summaries of tasks with a stream that only Spark reads, a Spark job for each reading.

    What Spark cannot read fails the queries that read it, alone.

    Raises:
        StorageError: Spark has ended.
    """
    summaries = []
    for name in dict.fromkeys(task.stream for task in tasks):
        mine, scan = [task for task in tasks if task.stream == name], scans[name]
        try:
            summaries += _read(session, mine, name, scan, memory_mb)
        except StreamboundError as error:
            # Then nothing can be read, and no query is at fault.
            require_session(session, error)
            summaries += [summary for task in mine for summary in failed(scan, task, error)]
    return summaries


def _read(
    session: SparkSession, tasks: Sequence[Task], name: str, scan: Scan, memory_mb: int
) -> list[Summary]:
    sources = sources_of(scan)
    with spark_jobs():
        frames = [session.createDataFrame([(t.partition, None, None) for t in tasks], _HEAD)]
    for source in sources:
        frames += _of_source(session, source, tasks)
    union = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)
    groups = min(len(tasks), cores(session) * GROUPS_PER_CORE)
    grouped = union.repartition(groups, quoted(NAME)).groupBy(quoted(NAME))
    mapped = grouped.applyInArrow(_mapper({t.partition: t for t in tasks}, name, scan, memory_mb), SCHEMA)
    summaries, asked = [summary_of(row) for row in collected(mapped)], {t.partition for t in tasks}
    for summary in summaries:
        if summary.partition not in asked and summary.error is not None:
            raise summary.error
    return summaries


_HEAD = f"`{NAME}` string, `{STREAM}` int, `{ROWS}` bigint"


def _of_source(session: SparkSession, source: Source, tasks: Sequence[Task]) -> list[DataFrame]:
    """The rows of a stream in all these partitions, and how many there are where some are dropped."""
    from pyspark.sql import functions as f

    relation = source.relation
    own = [part for task in tasks for part in _parts(task, relation.name)]
    if not own:
        return []
    frame = frame_of(session, relation, own)
    with spark_reads(relation):
        kinds = dict(frame.dtypes)
        number, present = f.lit(source.number).alias(STREAM), [c for c in source.columns if c in kinds]
        condition = pushdown(relation, source.columns, source.synopses, kinds)
        kept = frame if condition is None else frame.where(condition)
        # Without any column a batch has no rows: their partition's name then counts them.
        columns = [quoted(column).alias(source.prefix + column) for column in present or [NAME]]
        frames = [kept.select(quoted(NAME), number, f.lit(None).cast("bigint").alias(ROWS), *columns)]
        if condition is not None:
            counts = frame.groupBy(quoted(NAME)).agg(f.count(f.lit(1)).alias(ROWS))
            frames.append(counts.select(quoted(NAME), number, quoted(ROWS)))
    return frames


def _parts(task: Task, stream: str) -> Iterator[Partition]:
    for stream_partition in task.each:
        if stream_partition.stream == stream:
            yield Partition(task.partition, tuple(map(Path, stream_partition.files)))


def _mapper(
    tasks: Mapping[str, Task], name: str, scan: Scan, memory_mb: int
) -> Callable[[tuple[pa.Scalar, ...], Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    sources = sources_of(scan)

    def mapped(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = str(key[0].as_py())
        if part not in tasks:
            yield rows_of(_unasked(tasks, part, scan, sources))
            return
        task = tasks[part]
        try:
            with scratch() as folder:
                spool = Spool(folder, sources)
                spool.take(batches)
                for batch in summaries_of([[spool.task(task)]], {name: scan}, memory_mb):
                    rows = [spool.about_source(row) for row in batch.to_pylist()]
                    yield pa.RecordBatch.from_pylist(rows, schema=FIELDS)
        except StorageError as error:
            # What a task raises reaches the driver as lines of Spark's, without its place and its fix.
            yield rows_of(failed(scan, task, error))
        settle()

    return mapped


def _unasked(
    tasks: Mapping[str, Task], part: str, scan: Scan, sources: Sequence[Source]
) -> Iterator[Summary]:
    """What is said of rows whose partition is none of the tasks'."""
    error = DataError(
        f"Spark has read rows of partition {part!r}, which was not asked for",
        subject=", ".join(where(source.relation) for source in sources),
        accepted=", ".join(sorted(tasks)[:5]),
        fix="correct partition_by, or register the files as a table and name it with table",
    )
    return failed(scan, replace(next(iter(tasks.values())), partition=part), error)
