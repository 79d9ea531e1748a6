"""Many queries over time-partitioned history in one evaluation.

Partitions are summarised in parallel, each once for all queries that read it; the driver folds the tiny
tables in order of the partitions, and skips those whose checkpoints hold. So neither the answers nor the
driver's memory depend on how large a partition is, and the final answer not on where the history was cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
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
    chosen = PartitionRange(first, last)
    _refuse_twins(queries)
    memories, done = memory or {}, dict[str, HistoryAnswer]()
    with ExitStack() as exit_stack:
        drafts: Drafts = {q.name: _draft(q, catalog, memories.get(q.name)) for q in queries}
        mine = _alone(exit_stack, folder, drafts, progress)
        # Not before all are held: a partition that another run commits meanwhile would look removed. Once for
        # all queries, which share streams, since a long history takes a while to list.
        listed = cache(executor.listing(exit_stack, folder))
        waiting = _jobs(mine, chosen, excluded or {}, listed, drafts)
        tables, rows_read = dict[str, CheckpointTable](), dict[str, int]()
        while waiting:
            checkpoints_of: dict[str, Checkpoints] = {}
            for job in waiting:
                try:
                    table = _table(job, checkpoints, tables)
                    checkpoints_of[job.name] = Checkpoints(
                        job, folder / job.name, table, first or "", recompute
                    )
                except StreamboundError as error:
                    drafts[job.name] = error.about(job.name)
            _report_faults(checkpoints_of, progress)
            folds = {
                name: Fold(kept.job, kept, rows_read.get(name, 0), publish)
                for name, kept in checkpoints_of.items()
            }
            damaged = _evaluate(executor, folds, folder, progress, memory_mb)
            for name, fold in folds.items():
                try:
                    if name not in damaged:
                        done[name] = fold.finish(time.monotonic() - started)
                        progress(answer_sentence(done[name], fold.checkpoints.table is not None, publish))
                except Damaged:
                    damaged.add(name)
                except StreamboundError as error:
                    # The disk refused the last of it: the others are not concerned.
                    drafts[name] = error.about(name)
            waiting = [job for job in waiting if job.name in damaged]
            rows_read = {name: folds[name].rows_read for name in damaged}
    return [done.get(q.name) or _without(q, drafts[q.name], catalog) for q in queries]


def _alone(
    exit_stack: ExitStack,
    folder: Path,
    outcomes: Drafts,
    progress: Progress,
) -> list[Draft]:
    """The queries whose answers this run holds now; in one order, so that no two runs block each other."""
    drafts = [draft for draft in outcomes.values() if isinstance(draft, Draft) and draft.evaluated]
    mine = set()
    for name in sorted(draft.name for draft in drafts):
        waits = f"{name}: another run is evaluating it; waiting for its end"
        try:
            exit_stack.enter_context(alone(folder / name, partial(progress, waits)))
            drop_drafts(folder / name)
            mine.add(name)
        except StreamboundError as error:
            outcomes[name] = error.about(name)
    return [draft for draft in drafts if draft.name in mine]


def _jobs(
    drafts: Iterable[Draft], chosen: PartitionRange, excluded: Excluded, listed: Listing, outcomes: Drafts
) -> list[Job]:
    jobs = []
    for draft in drafts:
        try:
            jobs.append(prepare(draft, chosen, excluded, listing=listed))
        except StreamboundError as error:
            outcomes[draft.name] = error.about(draft.name)
        except OSError as error:
            outcomes[draft.name] = StorageError(
                f"a history cannot be listed: {error.strerror or error}",
                subject=f"{draft.name}: {error.filename or 'its streams'}",
                fix="permit reading there, or mend the disk",
            )
    return jobs


def _table(job: Job, checkpoints: str | None, tables: dict[str, CheckpointTable]) -> CheckpointTable | None:
    """The table of a job, opened once."""
    if checkpoints is None:
        return None
    if job.name not in tables:
        tables[job.name] = CheckpointTable(address_of(checkpoints, job.name), job.name)
    return tables[job.name]


def _report_faults(checkpoints_of: Mapping[str, Checkpoints], progress: Progress) -> None:
    for name, kept in checkpoints_of.items():
        for fault in kept.faults:
            progress(f"{name}: {fault}; what it held is computed again from the last sound boundary")
        if kept.outdated:
            progress(f"{name}: {CHANGED_PLAN} since its checkpoints were made; all is computed again")


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
    checkpoints_of = {name: fold.checkpoints for name, fold in folds.items()}
    jobs = [kept.job for kept in checkpoints_of.values()]
    all_work = scheduled(checkpoints_of)
    unfit = misfits({job.name: job for job in jobs}, tasks_of(all_work))
    for name, (_, error) in unfit.items():
        # Told at once: a day's files are of a type that a year's need not be read to see.
        progress(f"{name}: {error.one_line()}")
    waiting = until(all_work, {name: partition for name, (partition, _) in unfit.items()})
    tasks = tasks_of(waiting)
    streams = {stream for task in tasks for stream in task.streams}
    scans = scans_of(jobs, folder, tasks)
    total = sum(len(task.streams) for task in tasks)
    over = f"{emit.counted(total, 'partition')} of {emit.counted(len(streams), 'stream')}"
    progress(f"{emit.counted(len(jobs), 'query')} over {over}")
    read, taken, damaged = 0, 0, set[str]()
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
        for partitions, summaries in prepared:
            with uncollected():
                _take_round(folds, partitions, summaries, damaged)
            summaries.clear()
            # A commit costs a query as much as some partitions: rounds made small by many queries share one.
            taken += (here := len(tasks_of(partitions)))
            pending = sum(fold.checkpoints.pending_bytes for fold in folds.values())
            if taken + here > size or pending > ALL_PENDING_BYTES:
                taken = 0
                for fold in (fold for name, fold in folds.items() if name not in damaged):
                    fold.commit()
            read += sum(len(task.streams) for task in tasks_of(partitions))
            progress(ReadSoFar(read, total))
            for fold in folds.values():
                if (reached := fold.reached()) is not None:
                    progress(reached)
    for name, (_, error) in unfit.items():
        folds[name].error = folds[name].error or error
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
