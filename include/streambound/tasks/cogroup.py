"""What a task does for queries whose partitions are summarised over all their streams together.

The tuples of a partition meet in one task as arrays, and leave it as a summary: tables (``SegmentCoGroup``),
or what lies at its edges (``WindowCoGroup``). With it goes a digest of what counted of each occurrence, by
which rewritten files with the same rows are told. Queries that have streams in common are served by one scan
of these (``SharedScan``), and so is who reads one of them alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from streambound.errors import StreamboundError
from streambound.plan.model import StreamSynopsis
from streambound.query.model import Query, Relation
from streambound.state.segments import SegmentPlan, dump_segment, segment_plan
from streambound.storage.files import footers
from streambound.tasks import embedded_engine
from streambound.tasks.columns import by_part
from streambound.tasks.edges import dump_edges, summaries
from streambound.tasks.embedded_engine import EmbeddedEngine
from streambound.tasks.encoding import content_of, moments_of
from streambound.tasks.plans import StatementPlan
from streambound.tasks.readers import Reader
from streambound.tasks.segments import Arriving, partitioned
from streambound.tasks.statements import tuple_statement
from streambound.tasks.summarise import (
    Faults,
    ScannedPartitions,
    StreamScan,
    Summary,
    Task,
    failed_reader,
    named,
    passes_of,
    scanned,
    served,
)
from streambound.tasks.windows import WindowPart, WindowPlan, tuples_statement, window_plan

# What stands for all occurrences together in the segment of a partition; no alias is empty.
COGROUP = ""


class Summarising(Protocol):
    """What is made of some partitions, occurrence by occurrence and then as wholes."""

    def take(self, key: str, table: pa.Table, parts: Sequence[int]) -> None:
        """The tuples that count of an occurrence, by the numbers of their partitions (see ``statement``)."""

    def content(self, key: str, part: int) -> str:
        """A digest of an occurrence's tuples in a partition."""

    def summaries(self) -> Sequence[bytes]:
        """What the partitions add, in canonical bytes."""


class CoGroupPlan(Protocol):
    """How partitions of all streams of a query are summarised together."""

    @property
    def occurrences(self) -> Mapping[str, tuple[Relation, StreamSynopsis]]:
        """By the key under which the driver knows it: the stream of an occurrence, and what counts of it."""

    def columns(self, stream: str) -> set[str]:
        """What is read of a stream."""

    def statement(self, key: str) -> embedded_engine.EngineQuery:
        """The tuples that count of an occurrence, over ``tuples``."""

    def begin(self, session: EmbeddedEngine, parts: int) -> Summarising:
        """Begin with so many partitions."""

    @property
    def tells_moments(self) -> bool:
        """Whether the moment is known at which a match is complete."""


@dataclass(frozen=True)
class CoGroup:
    """A query whose partitions are summarised as a whole."""

    query: str
    plan: CoGroupPlan

    @property
    def relations(self) -> dict[str, Relation]:
        """The streams that it reads, by name."""
        return {relation.name: relation for relation, _ in self.plan.occurrences.values()}

    def keys(self, stream: str) -> list[str]:
        """The occurrences of a stream."""
        return [key for key, (relation, _) in self.plan.occurrences.items() if relation.name == stream]

    def synopses(self, stream: str) -> list[StreamSynopsis]:
        """What counts of a stream's occurrences."""
        return [synopsis for relation, synopsis in self.plan.occurrences.values() if relation.name == stream]


@dataclass(frozen=True)
class SharedScan:
    """Streams that are read together: once for who reads each alone, and for the cogroups, by query."""

    scans: Mapping[str, StreamScan]
    cogroups: Mapping[str, CoGroup]

    def by(self, task: Task) -> SharedScan:
        """The scan with the readers that a task is for."""
        cogroups = {name: cogroup for name, cogroup in self.cogroups.items() if name in task.queries}
        return SharedScan(
            {
                stream_partition.stream: self.scans[stream_partition.stream].by(stream_partition)
                for stream_partition in task.stream_partitions
            },
            cogroups,
        )

    def cogroups_of(self, stream_partition: Task) -> list[CoGroup]:
        """The cogroups that take in a stream."""
        return [cogroup for name, cogroup in self.cogroups.items() if name in stream_partition.queries]

    def columns(self, stream_partition: Task) -> list[str]:
        """What is read of a stream."""
        scan = self.scans[stream_partition.stream]
        own = (
            cogroup.plan.columns(stream_partition.stream) for cogroup in self.cogroups_of(stream_partition)
        )
        return sorted(scan.relation.read(scan.columns.union(*own)))

    def passes(self, stream_partition: Task) -> int:
        """How often a stream's rows are gone over."""
        own = (len(cogroup.keys(stream_partition.stream)) for cogroup in self.cogroups_of(stream_partition))
        return passes_of(self.scans[stream_partition.stream]) + sum(own)

    def failed(self, task: Task, error: StreamboundError) -> Iterator[Summary]:
        """What is said of a task that came to nothing."""
        for stream_partition in task.stream_partitions:
            for reader in self.scans[stream_partition.stream].readers:
                yield failed_reader(reader, replace(stream_partition, partition=task.partition), error)
        for cogroup in self.cogroups.values():
            yield from _failed(cogroup, task, error)


def scan_name(streams: Iterable[str]) -> str:
    """The name of a scan of several streams; no stream is called so."""
    return f"{', '.join(sorted(streams))}: together"


def summarise_shared(session: EmbeddedEngine, shared: SharedScan, batch: Sequence[Task]) -> Iterator[Summary]:
    """The summaries of some partitions; what fails together is tried one by one."""
    tables = _Tables(session, shared, batch)
    if len(batch) > 1 and tables.faulty:
        for task in batch:
            yield from summarise_shared(session, shared, [task])
        return
    failed: dict[str, StreamboundError] = {}
    with tables:
        for name, cogroup in shared.cogroups.items():
            try:
                yield from list(_summaries(session, cogroup, batch, tables))
            except StreamboundError as error:
                failed[name] = error
        tables.finish()
    yield from tables.done
    if len(batch) == 1:
        (task,) = batch
        for stream_partition in task.stream_partitions:
            for reader, why in tables.failed[stream_partition.stream]:
                yield failed_reader(reader, stream_partition, why.about(named(stream_partition)))
        for name, why in failed.items():
            yield from _failed(shared.cogroups[name], task, why)
    elif failed or any(tables.failed.values()):
        scans = {
            stream: replace(scan, readers=tuple(reader for reader, _ in tables.failed[stream]))
            for stream, scan in shared.scans.items()
        }
        again = SharedScan(scans, {name: shared.cogroups[name] for name in failed})
        for task in batch:
            yield from summarise_shared(session, again, [task])


def _failed(cogroup: CoGroup, task: Task, error: StreamboundError) -> Iterator[Summary]:
    for stream_partition in task.stream_partitions:
        if cogroup.query in stream_partition.queries:
            for key in cogroup.keys(stream_partition.stream):
                yield Summary(cogroup.query, key, stream_partition.stream, task.partition, error=error)


class _Tables:
    """The streams of a batch as tables, each from its first use to its last.

    When a stream is there, who reads it alone is served: ``done``, or ``failed`` by stream.
    """

    def __init__(self, session: EmbeddedEngine, shared: SharedScan, batch: Sequence[Task]) -> None:
        self.session, self.shared = session, shared
        by_stream = zip(*(task.stream_partitions for task in batch), strict=True)
        self.stream_partitions = {same[0].stream: same for same in by_stream}
        self.uses = {
            stream: len(shared.cogroups_of(own[0])) for stream, own in self.stream_partitions.items()
        }
        self.done: list[Summary] = []
        self.failed: dict[str, list[tuple[Reader, StreamboundError]]] = {
            stream: [] for stream in self.stream_partitions
        }
        self._partitions: dict[str, ScannedPartitions] = {}
        self._errors: dict[str, StreamboundError] = {}
        self._faults: dict[str, list[Faults]] = {}
        self._open: dict[str, ExitStack] = {}
        for stream, own in self.stream_partitions.items():
            relation, columns = shared.scans[stream].relation, shared.columns(own[0])
            try:
                self._partitions[stream] = [(task, footers(relation, columns, task.files)) for task in own]
            except StreamboundError as error:
                self._fail(stream, error)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        for stack in self._open.values():
            stack.close()

    @property
    def faulty(self) -> bool:
        """Whether the footers of some files show that not all can be read."""
        footers_read = (footer for of_stream in self._partitions.values() for _, footer in of_stream)
        return bool(self._errors) or any(footer.faults for footer in footers_read)

    @contextmanager
    def used(self, stream: str) -> Iterator[tuple[ScannedPartitions, list[Faults]]]:
        """A stream as ``tuples``, and what is wrong with its columns in each partition.

        Raises:
            StreamboundError: it cannot be read.
        """
        self._begin(stream)
        with self.session.as_tuples(_stored(stream)):
            yield self._partitions[stream], self._faults[stream]
        self.uses[stream] -= 1
        if not self.uses[stream]:
            self._open[stream].close()

    def finish(self) -> None:
        """Serve who reads streams alone of which there was no use."""
        for stream, scan in self.shared.scans.items():
            if scan.readers and stream not in self._faults:
                with suppress(StreamboundError):
                    self._begin(stream)
                    self._open[stream].close()

    def _begin(self, stream: str) -> None:
        if stream in self._errors:
            raise self._errors[stream]
        if stream in self._faults:
            return
        scan, stream_partition = self.shared.scans[stream], self.stream_partitions[stream][0]
        about = (
            scan.relation,
            self.shared.columns(stream_partition),
            self._partitions[stream],
            self.shared.passes(stream_partition),
        )
        stack = self._open[stream] = ExitStack()
        try:
            self._faults[stream] = stack.enter_context(scanned(self.session, _stored(stream), *about))
        except StreamboundError as error:
            self._fail(stream, error.about(named(stream_partition)))
            raise
        about_rows = (self._partitions[stream], self._faults[stream])
        done, failed = served(self.session, _stored(stream), scan, *about_rows)
        self.done += done
        self.failed[stream] = [(scan.readers[at], error) for at, error in failed.items()]

    def _fail(self, stream: str, error: StreamboundError) -> None:
        self._errors[stream] = error
        self.failed[stream] = [(reader, error) for reader in self.shared.scans[stream].readers]


def _stored(stream: str) -> str:
    return f"streambound stored {stream}"


def _summaries(
    session: EmbeddedEngine, cogroup: CoGroup, batch: Sequence[Task], tables: _Tables
) -> Iterator[Summary]:
    made = cogroup.plan.begin(session, len(batch))
    streams = [
        stream_partition.stream
        for stream_partition in batch[0].stream_partitions
        if cogroup.query in stream_partition.queries
    ]
    rows = {stream: _take(session, cogroup, stream, tables, made) for stream in streams}
    for number, (task, summary) in enumerate(zip(batch, made.summaries(), strict=True)):
        own_summaries = [
            Summary(cogroup.query, key, stream, task.partition, rows[stream][number], content.encode())
            for stream in streams
            for key in cogroup.keys(stream)
            for content in (json.dumps(made.content(key, number)),)
        ]
        yield from own_summaries
        yield replace(own_summaries[0], alias=COGROUP, table=summary)


def _take(
    session: EmbeddedEngine, cogroup: CoGroup, stream: str, tables: _Tables, made: Summarising
) -> list[int]:
    """Take in what counts of a stream's occurrences; returns the rows of each partition."""
    with tables.used(stream) as (partitions, faults):
        columns = cogroup.relations[stream].read(cogroup.plan.columns(stream))
        try:
            for own in faults:
                for fault in (own[name] for name in columns if name in own):
                    raise fault
            for key in cogroup.keys(stream):
                made.take(key, session.table(cogroup.plan.statement(key)), range(len(partitions)))
        except StreamboundError as error:
            raise error.about(named(partitions[0][0])) from None
    return [footer.rows for _, footer in partitions]


@dataclass(frozen=True)
class SegmentCoGroup:
    """Tables of partial matches (see ``state.segments``)."""

    segments: SegmentPlan

    @cached_property
    def occurrences(self) -> Mapping[str, tuple[Relation, StreamSynopsis]]:
        """The occurrences by alias."""
        plan = self.segments.plan
        return {s.alias: (plan.query.occurrence(s.alias).relation, s) for s in plan.streams}

    def columns(self, stream: str) -> set[str]:
        """All that the query mentions, and the timestamp."""
        return _mentioned(self.segments.plan.query, stream)

    def statement(self, key: str) -> embedded_engine.EngineQuery:
        """The tuples that count: partition, timestamp, carried columns."""
        made = tuple_statement(self.segments.plan.query, self.occurrences[key][1])
        return embedded_engine.EngineQuery(made.sql(), made.lookups)

    def begin(self, session: EmbeddedEngine, parts: int) -> Summarising:
        """Begin with so many partitions."""
        return _Segments(self.segments, [{} for _ in range(parts)], {})

    @property
    def tells_moments(self) -> bool:
        """Not where no stream completes every match, nor in virtual time."""
        return self.segments.last is not None and not self.segments.delay


@dataclass
class _Segments:
    plan: SegmentPlan
    arriving: list[dict[str, Arriving]]
    contents: dict[tuple[str, int], str]

    def take(self, key: str, table: pa.Table, parts: Sequence[int]) -> None:
        for part, rows in zip(parts, by_part(table, len(parts)), strict=True):
            moments, *own = (column.combine_chunks() for column in rows.columns)
            self.arriving[part][key] = Arriving(moments_of(moments), own)
            self.contents[key, part] = content_of([moments, *own])

    def content(self, key: str, part: int) -> str:
        return self.contents[key, part]

    def summaries(self) -> list[bytes]:
        return [dump_segment(partitioned(self.plan, arriving)) for arriving in self.arriving]


@dataclass(frozen=True)
class WindowCoGroup:
    """What lies inside partitions and at their edges (see ``windows``)."""

    windows: WindowPlan

    @cached_property
    def _parts(self) -> Mapping[str, tuple[WindowPart, str]]:
        return {part.table(alias): (part, alias) for part in self.windows.parts for alias in part.synopses}

    @cached_property
    def occurrences(self) -> Mapping[str, tuple[Relation, StreamSynopsis]]:
        """The occurrences by alias, behind the label of the part."""
        return {
            name: (part.plan.query.occurrence(alias).relation, part.synopses[alias])
            for name, (part, alias) in self._parts.items()
        }

    def columns(self, stream: str) -> set[str]:
        """All that the parts mention, and the timestamp."""
        queries = [part.plan.query for part in self.windows.parts]
        concerned = [q for q in queries if any(o.relation.name == stream for o in q.streams)]
        return set[str]().union(*(_mentioned(query, stream) for query in concerned))

    def statement(self, key: str) -> embedded_engine.EngineQuery:
        """The tuples that count: their columns in ordered form, and the partition."""
        return tuples_statement(*self._parts[key])

    def begin(self, session: EmbeddedEngine, parts: int) -> Summarising:
        """Begin with so many partitions."""
        return _Windows(self.windows, session, parts, {}, {})

    @property
    def tells_moments(self) -> bool:
        """That of its last tuple."""
        return True


@dataclass
class _Windows:
    plan: WindowPlan
    session: EmbeddedEngine
    parts: int
    tables: dict[str, pa.Table]
    contents: dict[tuple[str, int], str]

    def take(self, key: str, table: pa.Table, parts: Sequence[int]) -> None:
        for number, rows in zip(parts, by_part(table, len(parts)), strict=True):
            self.contents[key, number] = content_of([column.combine_chunks() for column in rows.columns])
        numbers = np.array(parts, np.int64)[table.column(0).to_numpy()]
        self.tables[key] = table.set_column(0, table.column_names[0], pa.array(numbers))

    def content(self, key: str, part: int) -> str:
        return self.contents[key, part]

    def summaries(self) -> list[bytes]:
        return [dump_edges(edges) for edges in summaries(self.plan, self.session, self.tables, self.parts)]


def cogroup_of(plan: StatementPlan) -> SegmentCoGroup | WindowCoGroup | None:
    """How partitions are summarised over all streams together; None if it is stream by stream."""
    if plan.checked or plan.node is not None:
        return None
    if len(plan.parts) == 1:
        (part,) = plan.parts
        if not part.plan.approximate and (segments := segment_plan(part.plan)) is not None:
            return SegmentCoGroup(segments)
    windows = window_plan(plan)
    return None if windows is None else WindowCoGroup(windows)


def _mentioned(query: Query, stream: str) -> set[str]:
    """The columns of a stream that a query mentions, and its timestamp."""
    stamps = {o.alias: str(o.relation.timestamp) for o in query.streams if o.relation.name == stream}
    return {a.column for a in query.mentioned if a.occurrence in stamps} | set(stamps.values())
