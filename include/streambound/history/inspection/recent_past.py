"""The recent past of the streams of equijoins, as a benchmark of caches sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event

from streambound.approximate.evaluation import Tuple, by_time
from streambound.approximate.nightly.benchmark import Case
from streambound.approximate.plan import MemoryPlan
from streambound.compiler import judge
from streambound.errors import StreamboundError
from streambound.history.executor import Executor, Progress
from streambound.history.prepare import cache_plan
from streambound.query.catalog import Catalog
from streambound.query.model import Relation
from streambound.storage.partitions import Partition, PartitionRange, choose_partitions
from streambound.tasks import emit
from streambound.tasks.embedded_engine import MEMORY_MB
from streambound.tasks.readers import Reader, timed_reader
from streambound.tasks.relations import tuples_of
from streambound.tasks.summarise import StreamScan, Summary, Task


def plan_for(
    name: str,
    sql: str,
    catalog: Catalog,
    size: int,
    dialect: str | None = None,
    query: str | None = None,
) -> MemoryPlan:
    """The plan of a query in ``size`` tuples; ``dialect`` and ``query`` as in ``judge``.

    Raises:
        StreamboundError: it is invalid, needs no cache, is no equijoin, or a stream of it has no timestamps.
    """
    return cache_plan(judge(sql, catalog, name, dialect=dialect, query=query), size)


def recent_cases(
    executor: Executor,
    plans: Mapping[str, MemoryPlan],
    days: int,
    held_out: int,
    last: str | None,
    progress: Progress,
) -> dict[str, Case | StreamboundError]:
    """The recent past of the streams of each query: its last ``days`` partitions, some of them held out.

    Raises:
        StorageError: the executor lost the tasks.
    """
    tasks: dict[tuple[str, str], Task] = {}
    readers: dict[str, list[Reader]] = {}
    about: dict[str, Relation] = {}
    chosen: dict[str, tuple[str, ...]] = {}
    cases: dict[str, Case | StreamboundError] = {}
    for name, plan in plans.items():
        try:
            mine = _recent(plan, days, last)
        except StreamboundError as error:
            cases[name] = error.about(name)
            continue
        chosen[name] = tuple(sorted({part.name for parts in mine.values() for part in parts}))
        for relation in {o.relation.name: o.relation for o in plan.query.streams}.values():
            earlier = about.get(relation.name)
            about[relation.name] = relation if earlier is None else earlier.with_computed(relation)
            for part in mine[relation.name]:
                _add(tasks, relation.name, part, name)
        for synopsis in plan.streams:
            stream, reader = timed_reader(plan.query, synopsis)
            readers.setdefault(stream, []).append(reader)
    scans = {s: StreamScan(about[s], None, tuple(own)) for s, own in readers.items()}
    progress(f"{emit.counted(len(tasks), 'partition')} for {emit.counted(len(chosen), 'query')}")
    summaries = executor.summaries(
        list(tasks.values()), scans, progress, MEMORY_MB, in_rounds=False, ended=Event()
    )
    for name, names in chosen.items():
        try:
            cases[name] = _case(plans[name], names, held_out, [s for s in summaries if s.query == name])
        except StreamboundError as error:
            cases[name] = error.about(name)
    return cases


def _recent(plan: MemoryPlan, days: int, last: str | None) -> dict[str, tuple[Partition, ...]]:
    """The newest partitions of each stream of a query."""
    relations = {o.relation.name: o.relation for o in plan.query.streams}
    present = {
        name: choose_partitions(relation, PartitionRange(None, last)) for name, relation in relations.items()
    }
    names = sorted({part.name for parts in present.values() for part in parts})[-days:]
    return {name: tuple(part for part in parts if part.name in names) for name, parts in present.items()}


def _add(tasks: dict[tuple[str, str], Task], stream: str, part: Partition, query: str) -> None:
    at = (stream, part.name)
    task = tasks.get(at)
    if task is not None:
        tasks[at] = replace(task, queries=task.queries | {query})
        return
    files = tuple(map(str, part.files))
    tasks[at] = Task(stream, part.name, files, sum(Path(f).stat().st_size for f in files), frozenset([query]))


def _case(plan: MemoryPlan, days: tuple[str, ...], held_out: int, summaries: list[Summary]) -> Case:
    rows: list[tuple[Tuple, int]] = []
    aliases = [synopsis.alias for synopsis in plan.streams]
    for summary in sorted(summaries, key=lambda s: (s.partition, aliases.index(s.alias))):
        if summary.error is not None:
            raise summary.error
        assert summary.table is not None
        rows += [
            (row, days.index(summary.partition))
            for row in tuples_of(aliases.index(summary.alias), summary.table)
        ]
    order = {id(row): day for row, day in rows}
    ordered = by_time(row for row, _ in rows)
    of_row = tuple(order[id(row)] for row in ordered)
    return Case(plan, tuple(ordered), of_row, days, min(held_out, max(len(days) // 2, 1)))
