"""Many queries over time-partitioned history in one evaluation.

Partitions are summarised in parallel, each once for all queries that read it; the driver folds the tiny
tables in order of the partitions, and skips those whose checkpoints hold. So neither the answers nor the
driver's memory depend on how large a partition is, and the final answer not on where the history was cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from pathlib import Path
from threading import Event

from streambound import settings
from streambound.checkpoint.inspection import CHANGED_PLAN
from streambound.checkpoint.lock import alone
from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.compiler import judge
from streambound.durable import drop_drafts
from streambound.errors import DataError, QueryError, StorageError, StreamboundError
from streambound.history.answer import HistoryAnswer, answer_sentence
from streambound.history.checkpoints import ALL_PENDING_BYTES, Checkpoints, Damaged
from streambound.history.evaluations.k_memory import Memory
from streambound.history.executor import Executor, Progress, ReadSoFar, silent
from streambound.history.fold import Fold, uncollected
from streambound.history.prepare import (
    Draft,
    Excluded,
    Job,
    Registered,
    beside,
    draft_of,
    misfits,
    prepare,
    scans_of,
)
from streambound.history.schedule import (
    ROUND,
    SMALL_ROUND,
    SUMMARIES,
    PartitionWork,
    ahead,
    round_size,
    rounds,
    scheduled,
    tasks_of,
    until,
)
from streambound.query.catalog import Catalog
from streambound.storage.partitions import Listing, PartitionRange
from streambound.tasks import emit
from streambound.tasks.embedded_engine import MEMORY_MB
from streambound.tasks.summarise import Summary
from streambound.tasks.task_groups import cost

# By name each query, or why it is not evaluated.
Drafts = dict[str, Draft | StreamboundError]


def evaluate_history(
    executor: Executor,
    queries: Sequence[Registered],
    catalog: Catalog,
    *,
    first: str | None = None,
    last: str | None = None,
    excluded: Excluded | None = None,
    output: Path | None = None,
    checkpoints: str | None = None,
    recompute: bool = False,
    publish: bool = True,
    memory: Mapping[str, Memory] | None = None,
    progress: Progress = silent,
    memory_mb: int = MEMORY_MB,
) -> list[HistoryAnswer]:
    """Evaluate queries over their histories; one answer a query, in the given order.

    A query that is invalid, not bounded, or whose input is bad says so in its answer; the others are
    evaluated. With ``checkpoints`` only partitions that are new or have changed are read, and the
    evaluation takes up the last boundary before them; the answers are those of an evaluation of everything.

    Args:
        executor: where the partitions are summarised.
        queries: names and texts, or their drafts.
        catalog: the streams, with their histories.
        first, last: partitions from and to, included (see ``storage.partitions.PartitionRange``).
        excluded: partitions to keep out, with the reason, by stream.
        output: folder of the answers, one folder a query; by default ``settings.answers_root()``.
        checkpoints: folder or address of the checkpoints, one table a query; none are kept without it.
        recompute: evaluate everything, whatever is checkpointed, and take in what is in quarantine.
        publish: put the final answers in their places; without it only the checkpoints move on, with the
            new answers of the partitions that they settle, in smaller commits.
        memory: by name, the memory in which equijoins are evaluated; others that are unbounded are left out.
        progress: told, in a sentence, what has been done.
        memory_mb: what each task's engine may use before it spills.

    Raises:
        DataError: the range is reversed, or there would be nothing to keep.
        StorageError: the executor lost the tasks, another run does not end, or the disk refuses.
    """
    if checkpoints is None and not publish:
        raise DataError("nothing is to be published, and no checkpoints are kept", fix="keep checkpoints")
    started = time.monotonic()
    folder = output or settings.answers_root()
    _refuse_twins(queries)
    memories = memory or {}
    with ExitStack() as exit_stack:
        outcomes: Drafts = {q.name: _draft(q, catalog, memories.get(q.name)) for q in queries}
        run = _Run(
            executor, folder, checkpoints, first or "", recompute, publish, progress, memory_mb, outcomes
        )
        mine = run.alone(exit_stack)
        # Not before all are held: a partition that another run commits meanwhile would look removed. Once for
        # all queries, which share streams, since a long history takes a while to list.
        listed = cache(executor.listing(exit_stack, folder))
        done = run.answers(run.jobs(mine, PartitionRange(first, last), excluded or {}, listed), started)
    return [done.get(q.name) or _without(q, outcomes[q.name], catalog) for q in queries]


@dataclass(frozen=True)
class _Run:
    """What is asked of an evaluation (see ``evaluate_history``).

    ``outcomes`` have the error of a query as soon as it meets one, and ``tables`` those that are open.
    """

    executor: Executor
    folder: Path
    checkpoints: str | None
    first: str
    recompute: bool
    publish: bool
    progress: Progress
    memory_mb: int
    outcomes: Drafts
    tables: dict[str, CheckpointTable] = field(default_factory=dict)

    def alone(self, exit_stack: ExitStack) -> list[Draft]:
        """The queries that this run holds now: in one order, so that no two runs wait for each other."""
        drafts = [draft for draft in self.outcomes.values() if isinstance(draft, Draft) and draft.evaluated]
        mine = set()
        for name in sorted(draft.name for draft in drafts):
            waits = f"{name}: another run is evaluating it; waiting for its end"
            try:
                exit_stack.enter_context(alone(self.folder / name, partial(self.progress, waits)))
                drop_drafts(self.folder / name)
                mine.add(name)
            except StreamboundError as error:
                self.outcomes[name] = error.about(name)
        return [draft for draft in drafts if draft.name in mine]

    def jobs(
        self, drafts: Iterable[Draft], chosen: PartitionRange, excluded: Excluded, listed: Listing
    ) -> list[Job]:
        """The jobs of the queries whose histories can be used."""
        jobs = []
        for draft in drafts:
            try:
                jobs.append(prepare(draft, chosen, excluded, listing=listed))
            except StreamboundError as error:
                self.outcomes[draft.name] = error.about(draft.name)
            except OSError as error:
                self.outcomes[draft.name] = StorageError(
                    f"a history cannot be listed: {error.strerror or error}",
                    subject=f"{draft.name}: {error.filename or 'its streams'}",
                    fix="permit reading there, or mend the disk",
                )
        return jobs

    def answers(self, jobs: Sequence[Job], started: float) -> dict[str, HistoryAnswer]:
        """The answers of jobs by name; one that meets a damaged checkpoint begins again.

        ``started`` is a moment of the monotonic clock.
        """
        done, rows_read = dict[str, HistoryAnswer](), dict[str, int]()
        while jobs:
            folds = self._folds(jobs, rows_read)
            damaged = _evaluate(self.executor, folds, self.folder, self.progress, self.memory_mb)
            for name, fold in folds.items():
                try:
                    if name not in damaged:
                        done[name] = fold.finish(time.monotonic() - started)
                        checkpointed = fold.checkpoints.table is not None
                        self.progress(answer_sentence(done[name], checkpointed, self.publish))
                except Damaged:
                    damaged.add(name)
                except StreamboundError as error:
                    # The disk refused the last of it: the others are not concerned.
                    self.outcomes[name] = error.about(name)
            jobs = [job for job in jobs if job.name in damaged]
            rows_read = {name: folds[name].rows_read for name in damaged}
        return done

    def _folds(self, jobs: Iterable[Job], rows_read: Mapping[str, int]) -> dict[str, Fold]:
        """Folds at the boundaries that checkpoints hold; ``rows_read`` is what earlier tries have read."""
        folds = {}
        for job in jobs:
            try:
                table, folder = self._table(job), self.folder / job.name
                kept = Checkpoints(job, folder, table, self.first, self.recompute)
            except StreamboundError as error:
                self.outcomes[job.name] = error.about(job.name)
                continue
            for fault in kept.faults:
                said = f"{fault}; what it held is computed again from the last sound boundary"
                self.progress(f"{job.name}: {said}")
            if kept.outdated:
                said = f"{CHANGED_PLAN} since its checkpoints were made; all is computed again"
                self.progress(f"{job.name}: {said}")
            folds[job.name] = Fold(job, kept, rows_read.get(job.name, 0), self.publish)
        return folds

    def _table(self, job: Job) -> CheckpointTable | None:
        """The table of a job, opened once."""
        if self.checkpoints is None:
            return None
        if job.name not in self.tables:
            self.tables[job.name] = CheckpointTable(address_of(self.checkpoints, job.name), job.name)
        return self.tables[job.name]


def _refuse_twins(queries: Sequence[Registered]) -> None:
    names = [query.name for query in queries]
    if twins := sorted({name for name in names if names.count(name) > 1}):
        raise QueryError(f"several queries are named {', '.join(twins)}", fix="rename one of the files")


def _draft(query: Registered, catalog: Catalog, memory: Memory | None) -> Draft | StreamboundError:
    # A registered file that cannot be read comes with its error instead of a text.
    unreadable: StreamboundError | None = getattr(query, "error", None)
    if unreadable is not None:
        return unreadable.about(query.name)
    try:
        return draft_of(query, catalog, memory)
    except StreamboundError as error:
        return error.about(query.name)


def _evaluate(
    executor: Executor, folds: Mapping[str, Fold], folder: Path, progress: Progress, memory_mb: int
) -> set[str]:
    """Take all folds to the end; returns the names of those that met a damaged checkpoint."""
    jobs = {name: fold.job for name, fold in folds.items()}
    all_work = scheduled({name: fold.checkpoints for name, fold in folds.items()})
    unfit = misfits(jobs, tasks_of(all_work))
    for name, (_, error) in unfit.items():
        # Told at once: a day's files are of a type that a year's need not be read to see.
        progress(f"{name}: {error.one_line()}")
    waiting = until(all_work, {name: partition for name, (partition, _) in unfit.items()})
    tasks = tasks_of(waiting)
    streams = {stream for task in tasks for stream in task.streams}
    scans = scans_of(jobs.values(), folder, tasks)
    total = sum(len(task.streams) for task in tasks)
    over = f"{emit.counted(total, 'partition')} of {emit.counted(len(streams), 'stream')}"
    progress(f"{emit.counted(len(jobs), 'query')} over {over}")
    most = ROUND if all(fold.publish for fold in folds.values()) else SMALL_ROUND
    cores = 0 if any(map(executor.scans, scans.values())) else executor.cores()
    size = round_size(len(tasks), cost(tasks), most, cores)
    cut = list(rounds(waiting, size, SUMMARIES))
    in_rounds = len(cut) > 1

    def summarised(partitions: Iterable[PartitionWork], ended: Event) -> list[Summary]:
        tasks = tasks_of(partitions)
        # Of a round a part is no number that anyone asked for: it is told when it is taken in.
        follow = silent if in_rounds else progress
        return executor.summaries(tasks, scans, follow, memory_mb, in_rounds=in_rounds, ended=ended)

    with closing(ahead(cut, summarised)) as prepared:
        damaged = _take_rounds(folds, prepared, size, total, progress)
    for name, (_, error) in unfit.items():
        folds[name].error = folds[name].error or error
    return damaged


def _take_rounds(
    folds: Mapping[str, Fold],
    prepared: Iterable[tuple[Iterable[PartitionWork], list[Summary]]],
    size: int,
    total: int,
    progress: Progress,
) -> set[str]:
    """Take in rounds, and commit after some ``size`` tasks; returns the names of the damaged.

    ``total`` is how many partitions of streams are read in all.
    """
    read, taken, damaged = 0, 0, set[str]()
    for partitions, summaries in prepared:
        with uncollected():
            _take_round(folds, partitions, summaries, damaged)
        summaries.clear()
        tasks = tasks_of(partitions)
        # A commit costs a query as much as some partitions: rounds made small by many queries share one.
        taken += len(tasks)
        pending = sum(fold.checkpoints.pending_bytes for fold in folds.values())
        if taken + len(tasks) > size or pending > ALL_PENDING_BYTES:
            taken = 0
            for fold in (fold for name, fold in folds.items() if name not in damaged):
                fold.commit()
        read += sum(len(task.streams) for task in tasks)
        progress(ReadSoFar(read, total))
        for fold in folds.values():
            if (reached := fold.reached()) is not None:
                progress(reached)
    return damaged


def _take_round(
    folds: Mapping[str, Fold],
    partitions: Iterable[PartitionWork],
    summaries: Iterable[Summary],
    damaged: set[str],
) -> None:
    at: dict[tuple[str, str, str], list[Summary]] = {}
    for summary in summaries:
        at.setdefault((summary.stream, summary.partition, summary.query), []).append(summary)
    for work in partitions:
        for query in work.queries:
            mine = (
                stream_partition.stream
                for task in work.tasks
                for stream_partition in task.each
                if query in stream_partition.queries
            )
            groups = (at.get((stream, work.partition, query), ()) for stream in mine)
            try:
                if query not in damaged:
                    folds[query].take(work.partition, chain.from_iterable(groups))
            except Damaged:
                damaged.add(query)


def _without(query: Registered, outcome: Draft | StreamboundError, catalog: Catalog) -> HistoryAnswer:
    if isinstance(outcome, Draft):
        return HistoryAnswer(query.name, query.sql, outcome.verdict.outcome.value)
    return HistoryAnswer(query.name, query.sql, _verdict(query, catalog), error=outcome)


def _verdict(query: Registered, catalog: Catalog) -> str:
    """The verdict on a query whose evaluation failed, be it for its input, its memory or the disk."""
    try:
        dialect, chosen = beside(query)
        return judge(query.sql, catalog, query.name, dialect=dialect, query=chosen).verdict.outcome.value
    except StreamboundError:
        return "invalid"
