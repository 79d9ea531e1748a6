"""From registered queries to jobs: plans, partitions and static rows, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol

from streambound.approximate.equijoin import cacheable
from streambound.approximate.plan import MemoryPlan, memory_plan
from streambound.boundedness.criterion.verdict import Verdict
from streambound.boundedness.statements import Part
from streambound.compiler import Decided, in_mode, judge, planned, unplanned
from streambound.errors import DataError, PlanError, StreamboundError
from streambound.evaluation.events import Encoded
from streambound.evaluation.flow import completed
from streambound.evaluation.history import static_history
from streambound.evaluation.onepass import static_values
from streambound.history.evaluations.k_memory import Memory
from streambound.plan.flow import Node
from streambound.plan.parts import PlannedPart
from streambound.plan.tables.statement import not_evaluated, planned_parts
from streambound.plan.trees.flow_planner import flow
from streambound.query.catalog import Catalog
from streambound.query.model import Relation, RelationKind
from streambound.query.statement import Statement
from streambound.storage.files import footers
from streambound.storage.partitions import (
    Listing,
    Partition,
    PartitionRange,
    choose_partitions,
    find_partitions,
    partitions_in,
    shared_partition_key,
)
from streambound.tasks.cogroup import CoGroup, SegmentCoGroup, SharedScan, WindowCoGroup, cogroup_of
from streambound.tasks.plans import StatementPlan, memory_statement_plan, statement_plan, timeless
from streambound.tasks.readers import Reader, Static, statement_readers
from streambound.tasks.summarise import StreamScan, Task
from streambound.tasks.task_groups import Scan


class Registered(Protocol):
    """A query by name, as the registry gives it."""

    @property
    def name(self) -> str:
        """The name, also of its folder of answers."""

    @property
    def sql(self) -> str:
        """The text."""


@dataclass(frozen=True)
class Missing:
    """A partition that was kept out, and why."""

    stream: str
    partition: str
    reason: str


@dataclass(frozen=True)
class Job:
    """A query to be evaluated: its plan, what it reads, and what is kept out.

    ``verdict`` is that of ``check``; without a ``plan`` the query is not evaluated. With ``cogroup`` the
    partitions are summarised over all streams together.
    """

    name: str
    sql: str
    verdict: str
    plan: StatementPlan | None = None
    key: str | None = None
    static: Mapping[str, list[Encoded]] = field(default_factory=dict)
    static_files: tuple[Static, ...] = ()
    partitions: Mapping[str, tuple[Partition, ...]] = field(default_factory=dict)
    missing: tuple[Missing, ...] = ()
    chosen: PartitionRange = field(default_factory=PartitionRange)
    cogroup: SegmentCoGroup | WindowCoGroup | None = None

    def gone(self, partition: str) -> bool:
        """Whether a partition is asked for, but no longer there."""
        return partition not in self._there and self.chosen.holds(self.key, partition)

    @cached_property
    def _there(self) -> frozenset[str]:
        return frozenset(self.names) | {missing.partition for missing in self.missing}

    @cached_property
    def names(self) -> list[str]:
        """The partitions that are read of any stream, in order."""
        return sorted({part.name for parts in self.partitions.values() for part in parts})


Excluded = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Draft:
    """A query that has been decided, before its histories are looked at.

    With a ``memory_plan`` it is evaluated in k tuples of memory; without one only if it is bounded:
    ``exactly`` says why, where a memory was given. Its parts are ``planned``, except where the plans depend
    on the rows of static relations.
    """

    name: str
    sql: str
    verdict: Verdict
    statement: Statement
    parts: tuple[Part, ...]
    memory_plan: StatementPlan | None = None
    exactly: str | None = None
    planned: tuple[PlannedPart, ...] | None = None
    # What is evaluated of groups, ranks, frames and guards, planned as the parts are.
    node: Node | None = None

    @property
    def evaluated(self) -> bool:
        """Whether there is anything to evaluate."""
        return self.verdict.bounded or self.memory_plan is not None


def draft(
    name: str,
    sql: str,
    catalog: Catalog,
    memory: Memory | None = None,
    dialect: str | None = None,
    query: str | None = None,
    mode: str | None = None,
) -> Draft:
    """What is known of a query from its text and the catalog, before any folder is looked at.

    A query that is not bounded is evaluated only with a ``memory``, and if it is an equijoin. A bounded
    equijoin is evaluated in a memory too, if its window may be too large for that.

    Args:
        dialect: that of the text; without it what its first comments say, or a guess.
        query: which one, of a text of several.
        mode: ``changes`` or ``final``; None: as the text says.

    Raises:
        StreamboundError: the query is invalid, or cannot be evaluated.
    """
    decided = in_mode(judge(sql, catalog, name, dialect=dialect, query=query), mode)
    drafted = Draft(name, sql, decided.verdict, decided.statement, decided.decision.parts)
    if not decided.verdict.bounded and memory is None:
        return drafted
    shared_partition_key(decided.statement)
    if memory is not None:
        try:
            return replace(drafted, memory_plan=_in_memory(decided, memory))
        except PlanError as error:
            if not decided.verdict.bounded:
                raise
            drafted = replace(drafted, exactly=error.message)
    # Static values are part of a plan, and are not read yet.
    made = None if decided.statement.statics else planned(decided)
    if without := unplanned(decided) if made is None else made.unplanned:
        raise not_evaluated(name, without)
    return drafted if made is None else replace(drafted, planned=made.planned_parts, node=made.node)


def draft_of(query: Registered, catalog: Catalog, memory: Memory | None = None) -> Draft:
    """The draft of a query; itself, if it is one.

    Raises:
        StreamboundError: as ``draft``.
    """
    if isinstance(query, Draft):
        return query
    return draft(query.name, query.sql, catalog, memory, *beside(query), getattr(query, "mode", None))


def beside(query: Registered) -> tuple[str | None, str | None]:
    """What is said of a query beside its text: the dialect, and which one is meant of several."""
    return getattr(query, "dialect", None), getattr(query, "query", None)


def prepare(
    drafted: Draft,
    chosen: PartitionRange,
    excluded: Excluded,
    growing: bool = False,
    listing: Listing | None = None,
) -> Job:
    """The job of a query; of ``growing`` histories the partitions are left open.

    ``listing`` lists a history once for many queries.

    Raises:
        StreamboundError: the query's histories cannot be used.
    """
    name, sql, statement = drafted.name, drafted.sql, drafted.statement
    verdict = drafted.verdict.outcome.value
    if not drafted.evaluated:
        return Job(name, sql, verdict)
    if (plan := drafted.memory_plan) is not None:
        key, partitions, missing = _partitions(statement, chosen, excluded, listing)
        return Job(name, sql, verdict, plan, key, {}, (), partitions, missing, chosen)
    static = completed(statement, static_history(statement, listing))
    plan = _planned_with(drafted, static)
    refuse_timeless(plan)
    files = _static_files(statement, listing)
    if growing:
        return Job(name, sql, verdict, plan, shared_partition_key(statement), static, files)
    key, partitions, missing = _partitions(statement, chosen, excluded, listing)
    cogroup = cogroup_of(plan)
    return Job(name, sql, verdict, plan, key, static, files, partitions, missing, chosen, cogroup)


def _planned_with(drafted: Draft, static: Mapping[str, list[Encoded]]) -> StatementPlan:
    """The plan of a query, with the rows of its static relations where it depends on them."""
    statement = drafted.statement
    if drafted.planned is not None:
        return statement_plan(statement, drafted.planned, drafted.node)
    values = partial(static_values, static=static)
    if statement.plain:
        with suppress(PlanError):
            return statement_plan(statement, planned_parts(drafted.parts, values))
    return statement_plan(statement, (), flow(statement, values))


def cache_plan(decided: Decided, size: int) -> MemoryPlan:
    """The plan of a query in ``size`` tuples.

    Raises:
        PlanError: it is no equijoin, needs no cache, or the memory has room for all that its window keeps.
        QueryError: the size is below 1.
        DataError: a stream declares no timestamp.
    """
    cacheable(decided.statement, size, decided.verdict.bounded, planned(decided).units)
    plan = memory_plan(decided.statement, size)
    refuse_timeless(memory_statement_plan(plan, decided.statement))
    return plan


def _in_memory(decided: Decided, memory: Memory) -> StatementPlan:
    plan = cache_plan(decided, memory.size)
    return memory_statement_plan(replace(plan, selected_policy=memory.policy_for(plan)), decided.statement)


def refuse_timeless(plan: StatementPlan) -> None:
    """Histories are put in order by the timestamps of all streams.

    Raises:
        DataError: a stream declares none.
    """
    for part in plan.parts:
        if (relation := timeless(part.plan)) is not None:
            raise DataError(
                f"stream {relation.name} declares no application timestamp, which this query needs to put"
                " its tuples in order with those of the others",
                subject=plan.statement.name,
                fix="declare timestamp: COLUMN in the stream catalog",
            )


def require_fitting(drafted: Draft, parts: Callable[[Relation], Sequence[Partition]]) -> None:
    """Refuse what folders and footers alone show to be unfit, without Spark.

    ``parts`` are those that are to be read of a stream. What only Spark reads is left to it.

    Raises:
        DataError: naming the query, or a file and its column.
    """
    try:
        _require_fitting(drafted, parts)
    except StreamboundError as error:
        raise error.about(drafted.name) from None


def _require_fitting(drafted: Draft, parts: Callable[[Relation], Sequence[Partition]]) -> None:
    statement = drafted.statement
    if not drafted.evaluated:
        return
    for static, listed in ((True, find_partitions), (False, parts)):
        for relation in _relations(statement, static):
            if relation.history is None or relation.history.direct:
                for part in listed(relation):
                    columns = sorted(statement.reads(relation))
                    for fault in _faults(relation, columns, tuple(map(str, part.files))).values():
                        raise fault


def misfits(jobs: Mapping[str, Job], tasks: Iterable[Task]) -> dict[str, tuple[str, StreamboundError]]:
    """The queries that have to read files that do not fit the catalog: the first such partition, and why."""
    errors: dict[str, tuple[str, StreamboundError]] = {}
    for task in tasks:
        for stream_partition in task.each:
            stream, files = stream_partition.stream, stream_partition.files
            statements = {name: _planned(jobs[name]) for name in stream_partition.queries - set(errors)}
            relations = {name: r for name, s in statements.items() for r in s.scanned if r.name == stream}
            relation = next(iter(relations.values()), None)
            if relation is None or (relation.history is not None and not relation.history.direct):
                continue
            wanted = {
                name: frozenset(mine.stored(statements[name].columns(stream)))
                for name, mine in relations.items()
            }
            columns = sorted(set[str]().union(*wanted.values()))
            faults = _faults(relation, columns, files)
            for name, own in wanted.items():
                of_all = relation.timestamp or ""
                if error := next((e for c, e in faults.items() if c in own or c == of_all), None):
                    errors[name] = task.partition, error.about(f"stream {stream}, partition {task.partition}")
    return errors


def _planned(job: Job) -> Statement:
    assert job.plan is not None
    return job.plan.statement


def _faults(
    relation: Relation, columns: Sequence[str], files: Sequence[str]
) -> Mapping[str, StreamboundError]:
    """Why columns cannot be read; all of them where a file cannot."""
    try:
        return footers(relation, columns, files).faults
    except StreamboundError as error:
        return dict.fromkeys([*columns, relation.timestamp or ""], error)


def _relations(query: Statement, static: bool) -> list[Relation]:
    return [relation for relation in query.scanned if (relation.kind is RelationKind.STATIC) is static]


def _static_files(query: Statement, listing: Listing | None) -> tuple[Static, ...]:
    listed = {relation: (listing or find_partitions)(relation) for relation in _relations(query, static=True)}
    return tuple(
        Static(r, tuple(str(f) for part in parts for f in part.files)) for r, parts in listed.items()
    )


def _partitions(
    query: Statement, chosen: PartitionRange, excluded: Excluded, listing: Listing | None
) -> tuple[str | None, dict[str, tuple[Partition, ...]], tuple[Missing, ...]]:
    relations = _relations(query, static=False)
    key = shared_partition_key(query)
    partitions, missing = {}, []
    for relation in relations:
        reasons = excluded.get(relation.name, {})
        partitions[relation.name] = choose_partitions(relation, chosen, reasons, listing)
        here = [part.name for part in partitions_in(relation, chosen, listing)] if reasons else []
        missing += [Missing(relation.name, name, reasons[name]) for name in here if name in reasons]
    return key, partitions, tuple(missing)


def stream_scans(jobs: Iterable[Job], output: Path, markers: bool = False) -> dict[str, StreamScan]:
    """What is done with the partitions of each stream, by its name, for queries that read it alone.

    Streams that are read only together with others have no readers.

    ``markers`` if answers are asked for at each timestamp (see ``readers.statement_readers``).
    """
    readers: dict[str, list[Reader]] = {}
    about: dict[str, tuple[Relation, str | None]] = {}
    for job in jobs:
        assert job.plan is not None
        for relation in _relations(job.plan.statement, static=False):
            earlier = about.get(relation.name)
            whole = relation if earlier is None else earlier[0].with_computed(relation)
            about[relation.name] = (whole, job.key)
            readers.setdefault(relation.name, [])
        if job.cogroup is not None:
            continue
        for stream, reader in statement_readers(job.plan, output / job.name, job.static_files, markers):
            readers[stream].append(reader)
    return {stream: StreamScan(*about[stream], tuple(own)) for stream, own in readers.items()}


def scans_of(jobs: Iterable[Job], output: Path, tasks: Sequence[Task]) -> dict[str, Scan]:
    """What tasks do with what they read, by the names of their streams or of several together."""
    needed = {query for task in tasks for query in task.queries}
    active, scans = [job for job in jobs if job.name in needed], dict[str, Scan]()
    alone = stream_scans(active, output)
    cogroups = {job.name: CoGroup(job.name, job.cogroup) for job in active if job.cogroup is not None}
    # In order of their streams, so that each stream is needed for a while only.
    names = sorted(cogroups, key=lambda name: sorted(cogroups[name].relations))
    streams: dict[str, set[str]] = {}
    queries: dict[str, set[str]] = {}
    for task in tasks:
        if not task.stream_partitions:
            scans[task.stream] = alone[task.stream]
            continue
        streams.setdefault(task.stream, set()).update(task.streams)
        queries.setdefault(task.stream, set()).update(task.queries)
    for scan, read in streams.items():
        own = {name: cogroups[name] for name in names if name in queries[scan]}
        scans[scan] = SharedScan({stream: alone[stream] for stream in sorted(read)}, own)
    return scans
