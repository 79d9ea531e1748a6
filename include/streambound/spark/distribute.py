"""Partitions to Spark tasks: one job over all streams and queries, with progress.

Small partitions of a stream are batched, and batches go into groups of about equal bytes. Each group is
one row of a DataFrame with one partition a group, mapped through ``mapInArrow``: that works on Spark
Connect as well, where there are no RDDs. What comes back is one row a reader and partition, never a
row of a stream.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streambound.checkpoint.kept import Kept
from streambound.errors import StorageError, StreamboundError
from streambound.history.executor import Progress
from streambound.spark.ended import translated_errors
from streambound.spark.workers import settle
from streambound.tasks import emit
from streambound.tasks.engine import MEMORY_MB, Engine, opened
from streambound.tasks.joint import Joint, summarise_joint
from streambound.tasks.summarise import Reading, Summary, Task, error_of, error_text, summarise

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# More groups than cores even out what sizes in bytes do not tell; fewer do where the next job waits.
GROUPS_PER_CORE, GROUPS_OF_WAVES = 4, 1
# A batch costs the engine's fixed costs once, and is in its memory (or spilled) as a whole.
BATCH_BYTES = 64 << 20
BATCH_PARTITIONS = 128
# Opening a file costs about as much as reading a hundred kilobytes of it.
OPENING = 100_000
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
    readings: Mapping[str, Reading | Joint],
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
    wanted = cores(session) * groups_per_core
    batches = batched(tasks, sum(map(_cost, tasks)) // wanted)
    groups = balanced(batches, min(len(batches), wanted))
    mapped = _mapper(groups, dict(readings), memory_mb)
    frame = session.range(0, len(groups), 1, len(groups)).mapInArrow(mapped, SCHEMA)

    def tell(done: int) -> None:
        about = done * len(tasks) // len(groups)
        progress(f"about {about} of {emit.counted(len(tasks), 'partition')} read")

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
    """Errors of Spark's jobs as this project's own (see ``ended.translated_errors``)."""
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


def _cost(task: Task) -> int:
    return task.size + OPENING * len(task.files)


def batched(tasks: Iterable[Task], target: int) -> list[list[Task]]:
    """Partitions of one stream, for the same queries, of at most about ``target`` bytes where small."""
    found: dict[tuple[str, frozenset[str], frozenset[str]], list[list[Task]]] = {}
    for task in sorted(tasks, key=lambda t: (t.stream, t.partition)):
        mine = found.setdefault((task.stream, task.queries, task.aside), [])
        limit = min(target, BATCH_BYTES)
        if mine and len(mine[-1]) < BATCH_PARTITIONS and sum(map(_cost, [*mine[-1], task])) <= limit:
            mine[-1].append(task)
        else:
            mine.append([task])
    return [batch for mine in found.values() for batch in mine]


def balanced(batches: Iterable[list[Task]], groups: int) -> list[list[list[Task]]]:
    """The batches in at most that many groups, the largest first to the group with the fewest bytes."""
    heap: list[tuple[int, int]] = [(0, i) for i in range(groups)]
    found: list[list[list[Task]]] = [[] for _ in range(groups)]
    for batch in sorted(batches, key=lambda b: -sum(map(_cost, b))):
        size, index = heapq.heappop(heap)
        found[index].append(batch)
        heapq.heappush(heap, (size + sum(map(_cost, batch)), index))
    return [group for group in found if group]


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
    groups: list[list[list[Task]]], readings: dict[str, Reading | Joint], memory_mb: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield from summarise_group(groups[index], readings, memory_mb)
        settle()

    return mapped


def summarise_group(
    group: Iterable[Sequence[Task]], readings: Mapping[str, Reading | Joint], memory_mb: int
) -> Iterator[pa.RecordBatch]:
    """A record batch (see FIELDS) for each batch of partitions."""
    with ExitStack() as held:
        try:
            engine = held.enter_context(opened(memory_mb))
        except StorageError as error:
            # What a task raises reaches the driver as lines of Spark's, without its place and its fix.
            yield from (rows_of(failed(readings[t.stream], t, error)) for batch in group for t in batch)
            return
        for batch in group:
            yield rows_of(_summaries(engine, readings[batch[0].stream], batch))


def failed(reading: Reading | Joint, task: Task, error: StreamboundError) -> Iterator[Summary]:
    """The summaries of a task that came to nothing."""
    if isinstance(reading, Reading):
        for reader in reading.by(task).readers:
            yield Summary(reader.query.name, reader.alias, task.stream, task.partition, error=error)
        return
    for stream in task.streams:
        for alias in reading.keys(stream):
            yield Summary(reading.query, alias, stream, task.partition, error=error)


def rows_of(summaries: Iterable[Summary]) -> pa.RecordBatch:
    """Summaries as a record batch (see FIELDS)."""
    return pa.RecordBatch.from_pylist([_row(summary) for summary in summaries], schema=FIELDS)


def _summaries(engine: Engine, reading: Reading | Joint, batch: Sequence[Task]) -> Iterator[Summary]:
    if isinstance(reading, Joint):
        return summarise_joint(engine, reading, batch)
    return summarise(engine, reading.by(batch[0]), batch)


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
        file=Kept(row["answer_digest"], row["answer_identity"]),
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
