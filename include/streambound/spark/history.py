"""Many queries over time-partitioned history in one Spark application.

Partitions are summarised in parallel, each once for all queries that read it; the driver walks the tiny
tables in order of the partitions. So neither the answers nor the driver's memory depend on how large
a partition is, and the final answer not on where the history was cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from streambound import settings
from streambound.errors import QueryError, StreamboundError
from streambound.query.catalog import Catalog
from streambound.query.partitions import Range
from streambound.spark import emit
from streambound.spark.distribute import Progress, run_tasks
from streambound.spark.engine import MEMORY_MB
from streambound.spark.prepare import Excluded, Job, prepare, readings_of, tasks_of
from streambound.spark.summarise import Summary, Task
from streambound.spark.walk import HistoryAnswer, Walk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Summaries of at most so many partitions are in the driver's memory at once.
WAVE = 2_000


class Registered(Protocol):
    """A query by name, as the registry gives it."""

    @property
    def name(self) -> str:
        """The name, also of its folder of answers."""

    @property
    def sql(self) -> str:
        """The text."""


def _silent(message: str) -> None:
    return None


def evaluate_history(
    session: SparkSession,
    queries: Sequence[Registered],
    catalog: Catalog,
    *,
    first: str | None = None,
    last: str | None = None,
    excluded: Excluded | None = None,
    output: Path | None = None,
    progress: Progress = _silent,
    memory_mb: int = MEMORY_MB,
) -> list[HistoryAnswer]:
    """Evaluate queries over their histories; one answer a query, in the given order.

    A query that is invalid, not bounded, or whose input is bad says so in its answer; the others are
    evaluated.

    Args:
        session: where the partitions are summarised.
        queries: names and texts.
        catalog: the streams, with their histories.
        first, last: partitions from and to, included (see ``query.partitions.Range``).
        excluded: partitions to keep out, with the reason, by stream.
        output: folder of the answers, one folder a query; by default ``settings.answers_root()``.
        progress: told, in a sentence, what has been done.
        memory_mb: what each task's engine may use before it spills.

    Raises:
        DataError: the range is reversed.
        StorageError: Spark lost the job, or the disk refuses.
    """
    started = time.monotonic()
    folder = output or settings.answers_root()
    chosen = Range(first, last)
    _refuse_twins(queries)
    found = {q.name: _job(q, catalog, chosen, excluded or {}) for q in queries}
    jobs = [job for job in found.values() if isinstance(job, Job) and job.plan is not None]
    walks = {job.name: Walk(job, folder / job.name) for job in jobs}
    _evaluate(session, jobs, walks, folder, progress, memory_mb)
    done = {}
    for name, walk in walks.items():
        done[name] = walk.finish(time.monotonic() - started)
        progress(_told(done[name]))
    return [done.get(q.name) or _without(q, found[q.name]) for q in queries]


def _refuse_twins(queries: Sequence[Registered]) -> None:
    names = [query.name for query in queries]
    if twins := sorted({name for name in names if names.count(name) > 1}):
        raise QueryError(f"several queries are named {', '.join(twins)}", fix="rename one of the files")


def _job(query: Registered, catalog: Catalog, chosen: Range, excluded: Excluded) -> Job | StreamboundError:
    # A registered file that cannot be read comes with its error instead of a text.
    unreadable: StreamboundError | None = getattr(query, "error", None)
    if unreadable is not None:
        return unreadable.about(query.name)
    try:
        return prepare(query.name, query.sql, catalog, chosen, excluded)
    except StreamboundError as error:
        return error.about(query.name)


def _evaluate(
    session: SparkSession,
    jobs: Sequence[Job],
    walks: dict[str, Walk],
    folder: Path,
    progress: Progress,
    memory_mb: int,
) -> None:
    readings = readings_of(jobs, folder)
    waiting = [[t for t in here if t.stream in readings] for here in tasks_of(jobs)]
    total = sum(map(len, waiting))
    over = f"{emit.counted(total, 'partition')} of {emit.counted(len(readings), 'stream')}"
    progress(f"{emit.counted(len(jobs), 'query')} over {over}")
    read = 0
    for wave in _waves(waiting):
        tasks = [task for here in wave for task in here]
        summaries = run_tasks(session, tasks, readings, progress, memory_mb)
        _walk(walks, wave, summaries)
        read += len(tasks)
        progress(f"{read:,} of {emit.counted(total, 'partition')} read")


def _waves(waiting: Iterable[list[Task]]) -> Iterator[list[list[Task]]]:
    wave: list[list[Task]] = []
    for here in waiting:
        if wave and sum(map(len, wave)) + len(here) > WAVE:
            yield wave
            wave = []
        wave.append(here)
    if wave:
        yield wave


def _walk(walks: dict[str, Walk], wave: list[list[Task]], summaries: Iterable[Summary]) -> None:
    at: dict[tuple[str, str], dict[str, list[Summary]]] = {}
    for summary in summaries:
        here = at.setdefault((summary.stream, summary.partition), {})
        here.setdefault(summary.query, []).append(summary)
    for tasks in wave:
        partition: dict[str, list[Summary]] = {}
        for task in tasks:
            for query, found in at.get((task.stream, task.partition), {}).items():
                partition.setdefault(query, []).extend(found)
        for query, found in partition.items():
            walks[query].take(tasks[0].partition, found)


def _without(query: Registered, found: Job | StreamboundError) -> HistoryAnswer:
    if isinstance(found, Job):
        return HistoryAnswer(query.name, query.sql, found.verdict)
    verdict = "invalid" if isinstance(found, QueryError) else "bounded"
    return HistoryAnswer(query.name, query.sql, verdict, error=found)


def _told(answer: HistoryAnswer) -> str:
    if answer.error is not None:
        return f"{answer.query}: failed: {answer.error.one_line()}"
    kept_out = f", {len(answer.missing_partitions)} kept out" if answer.missing_partitions else ""
    rows, partitions = answer.answer_rows, len(answer.partitions)
    told = f"{emit.counted(rows, 'row')} from {emit.counted(partitions, 'partition')}"
    return f"{answer.query}: {told}{kept_out}"
