"""Partitions to Spark tasks: one job over all streams and queries, with progress.

Each group (see ``tasks.task_groups``) is one row of a DataFrame with one partition a group, mapped through
``mapInArrow``: that works on Spark Connect as well, where there are no RDDs. What comes back is one row a
reader and partition, never a row of a stream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streambound.checkpoint.answer_files import AnswerFile
from streambound.errors import StorageError
from streambound.history.executor import Progress, about_read
from streambound.spark.failures import translated_errors
from streambound.spark.workers import settle
from streambound.tasks import emit
from streambound.tasks.embedded_engine import MEMORY_MB
from streambound.tasks.summarise import Summary, Task, error_of, error_text
from streambound.tasks.task_groups import GROUPS_PER_CORE, Group, Scan, grouped, summarise_group

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# One group a core where the next job waits for the same cores.
GROUPS_OF_ROUNDS = 1
POLL_SECONDS = 2.0

FIELDS = pa.schema(
    [
        ("query", pa.string()),
        ("alias", pa.string()),
        ("stream", pa.string()),
        ("partition", pa.string()),
        ("rows", pa.int64()),
        ("summary", pa.binary()),
        ("answer_rows", pa.int64()),
        ("answer_count", pa.string()),
        ("answer_hash", pa.string()),
        ("answer_digest", pa.string()),
        ("answer_identity", pa.string()),
        ("error", pa.string()),
    ]
)
_SPARK_TYPES = {pa.string(): "string", pa.int64(): "bigint", pa.binary(): "binary"}
SCHEMA = ", ".join(f"`{field.name}` {_SPARK_TYPES[field.type]}" for field in FIELDS)


def run_tasks(
    session: SparkSession,
    tasks: Sequence[Task],
    scans: Mapping[str, Scan],
    progress: Progress,
    memory_mb: int = MEMORY_MB,
    groups_per_core: int = GROUPS_PER_CORE,
) -> list[Summary]:
    """The summaries of all tasks, in no particular order, computed in one Spark job.

    Raises:
        StorageError: Spark lost the job.
    """
    if not tasks:
        return []
    groups = grouped(tasks, cores(session) * groups_per_core)
    mapped = _mapper(groups, dict(scans), memory_mb)
    frame = session.range(0, len(groups), 1, len(groups)).mapInArrow(mapped, SCHEMA)

    def tell(done: int) -> None:
        progress(about_read(done, len(groups), tasks))

    with watched(session, len(groups), tell):
        return [summary_of(row) for row in collected(frame)]


def collected(frame: Any) -> list[dict[str, Any]]:
    """The rows of a data frame.

    Raises:
        StorageError: Spark lost the job.
    """
    with spark_jobs():
        rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


def spark_jobs() -> AbstractContextManager[None]:
    """Errors of Spark's jobs as this project's own (see ``failures.translated_errors``)."""
    return translated_errors("while tasks ran")


def require_session(session: SparkSession, failure: Exception) -> None:
    """After a failure: go on if it is the job's alone, and not that Spark has ended.

    Raises:
        StorageError: Spark has ended.
    """
    from pyspark.errors import PySparkAttributeError

    try:
        with spark_jobs():
            try:
                ended = bool(session.sparkContext._jsc.sc().isStopped())
            except PySparkAttributeError:
                # Spark Connect has no context; its server does not answer when it has ended.
                ended = session.range(1).count() != 1
    except StorageError:
        ended = True
    if ended:
        raise StorageError(
            f"Spark has ended while histories were read: {failure}",
            fix="look into the logs of the cluster and the driver, and run it again",
        ) from None


def cores(session: SparkSession) -> int:
    """How many tasks run at once; a guess on Spark Connect, which does not tell.

    Raises:
        StorageError: Spark has ended.
    """
    from pyspark.errors import PySparkAttributeError

    with spark_jobs():
        try:
            return max(1, int(session.sparkContext.defaultParallelism))
        except PySparkAttributeError:
            return int(session.conf.get("spark.default.parallelism", "8") or 8)


def _mapper(
    groups: list[Group], scans: dict[str, Scan], memory_mb: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield from summaries_of(groups[index], scans, memory_mb)
        settle()

    return mapped


def summaries_of(
    group: Iterable[Sequence[Task]], scans: Mapping[str, Scan], memory_mb: int
) -> Iterator[pa.RecordBatch]:
    """A record batch (see FIELDS) for each batch of partitions.

    What a task raised would reach the driver as lines of Spark's, without its place and its fix.
    """
    yield from map(rows_of, summarise_group(group, scans, memory_mb))


def rows_of(summaries: Iterable[Summary]) -> pa.RecordBatch:
    """Summaries as a record batch (see FIELDS)."""
    return pa.RecordBatch.from_pylist([_row(summary) for summary in summaries], schema=FIELDS)


def _row(summary: Summary) -> dict[str, Any]:
    answers = summary.answers
    return {
        "query": summary.query,
        "alias": summary.alias,
        "stream": summary.stream,
        "partition": summary.partition,
        "rows": summary.rows,
        "summary": summary.table,
        "answer_rows": None if answers is None else answers.rows,
        "answer_count": None if answers is None else str(answers.count),
        "answer_hash": None if answers is None else str(answers),
        "answer_digest": summary.file.digest,
        "answer_identity": summary.file.identity,
        "error": None if summary.error is None else error_text(summary.error),
    }


def summary_of(row: Mapping[str, Any]) -> Summary:
    """The summary that a row (see FIELDS) describes."""
    answers = None
    if row["answer_hash"] is not None:
        answers = emit.Digest(row["answer_rows"], int(row["answer_count"]), int(row["answer_hash"], 16))
    return Summary(
        query=row["query"],
        alias=row["alias"],
        stream=row["stream"],
        partition=row["partition"],
        rows=row["rows"],
        table=row["summary"],
        answers=answers,
        file=AnswerFile(row["answer_digest"], row["answer_identity"]),
        error=None if row["error"] is None else error_of(row["error"]),
    )


@contextmanager
def watched(session: SparkSession, groups: int, tell: Callable[[int], None]) -> Iterator[None]:
    """Tell from a thread how many of a job's groups are done, where Spark says so (not on Spark Connect)."""
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(session, groups, tell, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join(POLL_SECONDS)


def _watch(session: SparkSession, groups: int, tell: Callable[[int], None], done: threading.Event) -> None:
    from pyspark.errors import PySparkAttributeError

    try:
        tracker = session.sparkContext.statusTracker()
    except PySparkAttributeError:
        return
    shown = 0
    # That Spark has ended is told by whoever waits for the job.
    with suppress(StorageError), spark_jobs():
        while not done.wait(POLL_SECONDS):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            finished = max((s.numCompletedTasks for s in stages if s and s.numTasks == groups), default=0)
            if finished > shown:
                shown = finished
                tell(shown)
