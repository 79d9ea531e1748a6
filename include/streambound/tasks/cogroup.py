"""What a task does for a query whose partitions are summarised over all its streams together.

The tuples of a partition meet in one task as arrays, and leave it as a summary: tables (``SegmentCoGroup``),
or what lies at its edges (``WindowCoGroup``). With it goes a digest of what counted of each occurrence, by
which rewritten files with the same rows are told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from streambound.errors import StreamboundError
from streambound.query.model import Query, Relation
from streambound.storage.files import footers, require_alike
from streambound.synopsis.plan import Plan as CompactPlan
from streambound.synopsis.plan import StreamSynopsis
from streambound.synopsis.segments import SegmentPlan, dump_segment, segment_plan
from streambound.tasks import engine
from streambound.tasks.columns import by_part
from streambound.tasks.edges import dump_edges, summaries
from streambound.tasks.encoding import content_of, moments_of
from streambound.tasks.engine import Engine
from streambound.tasks.plans import StatementPlan
from streambound.tasks.promises import faults, promised
from streambound.tasks.segments import Arriving, partitioned
from streambound.tasks.statements import tuple_statement
from streambound.tasks.summarise import Summary, Task
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


class Plan(Protocol):
    """How partitions of all streams of a query are summarised together."""

    @property
    def occurrences(self) -> Mapping[str, tuple[Relation, StreamSynopsis]]:
        """By the key under which the driver knows it: the stream of an occurrence, and what counts of it."""

    def columns(self, stream: str) -> set[str]:
        """What is read of a stream."""

    def statement(self, key: str) -> engine.Query:
        """The tuples that count of an occurrence, over ``tuples``."""

    def begin(self, session: Engine, parts: int) -> Summarising:
        """Begin with so many partitions."""


@dataclass(frozen=True)
class CoGroup:
    """A query whose partitions are summarised as a whole."""

    query: str
    plan: Plan

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


def cogroup_name(query: str) -> str:
    """The name under which a query is read; no stream is called so."""
    return f"{query}: all streams"


def summarise_cogroup(session: Engine, cogroup: CoGroup, batch: Sequence[Task]) -> Iterator[Summary]:
    """The summaries of some partitions; what fails together is tried one by one."""
    try:
        yield from list(_summaries(session, cogroup, batch))
    except StreamboundError as error:
        if len(batch) > 1:
            for task in batch:
                yield from summarise_cogroup(session, cogroup, [task])
            return
        (task,) = batch
        for stream, _ in task.files_by_stream:
            for key in cogroup.keys(stream):
                yield Summary(cogroup.query, key, stream, task.partition, error=error)


def _summaries(session: Engine, cogroup: CoGroup, batch: Sequence[Task]) -> Iterator[Summary]:
    made = cogroup.plan.begin(session, len(batch))
    rows: list[dict[str, int]] = [{} for _ in batch]
    for stream, relation in cogroup.relations.items():
        there = [number for number, task in enumerate(batch) if stream in task.streams]
        if not there:
            continue
        try:
            found = _read(session, cogroup, relation, [batch[number] for number in there], there, made)
        except StreamboundError as error:
            raise error.about(f"stream {stream}, partition {batch[there[0]].partition}") from None
        for number, count in zip(there, found, strict=True):
            rows[number][stream] = count
    for number, (task, summary) in enumerate(zip(batch, made.summaries(), strict=True)):
        shares = [
            Summary(cogroup.query, key, stream, task.partition, rows[number][stream], content.encode())
            for stream in task.streams
            for key in cogroup.keys(stream)
            for content in (json.dumps(made.content(key, number)),)
        ]
        yield from shares
        yield replace(shares[0], alias=COGROUP, table=summary)


def _read(
    session: Engine,
    cogroup: CoGroup,
    relation: Relation,
    tasks: Sequence[Task],
    numbers: Sequence[int],
    made: Summarising,
) -> list[int]:
    """Take in what counts of a stream's occurrences; returns the rows of each partition."""
    columns = sorted(relation.read(cogroup.plan.columns(relation.name)))
    files = [dict(task.files_by_stream)[relation.name] for task in tasks]
    heads = [footers(relation, columns, mine) for mine in files]
    for fault in (fault for head in heads for fault in head.faults.values()):
        raise fault
    require_alike(relation, heads)
    keys, checked = cogroup.keys(relation.name), promised(relation, columns)
    with session.tuples(relation, columns, files, copied=len(keys) + checked > 1):
        broken = faults(session, relation, columns, files)
        for task, wrong in zip(tasks, broken, strict=True):
            for error in wrong.values():
                raise error.about(f"stream {relation.name}, partition {task.partition}")
        for key in keys:
            made.take(key, session.table(cogroup.plan.statement(key)), numbers)
    return [head.rows for head in heads]


@dataclass(frozen=True)
class SegmentCoGroup:
    """Tables of partial matches (see ``synopsis.segments``)."""

    segments: SegmentPlan

    @cached_property
    def occurrences(self) -> Mapping[str, tuple[Relation, StreamSynopsis]]:
        """By alias."""
        plan = self.segments.plan
        return {s.alias: (plan.query.occurrence(s.alias).relation, s) for s in plan.streams}

    def columns(self, stream: str) -> set[str]:
        """All that the query mentions, and the timestamp."""
        return _mentioned(self.segments.plan.query, stream)

    def statement(self, key: str) -> engine.Query:
        """The tuples that count: partition, timestamp, carried columns."""
        made = tuple_statement(self.segments.plan.query, self.occurrences[key][1])
        return engine.Query(made.sql(), made.lookups)

    def begin(self, session: Engine, parts: int) -> Summarising:
        """Begin with so many partitions."""
        return _Segments(self.segments, [{} for _ in range(parts)], {})


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
        """By alias, behind the label of its part."""
        return {
            name: (part.plan.query.occurrence(alias).relation, part.synopses[alias])
            for name, (part, alias) in self._parts.items()
        }

    def columns(self, stream: str) -> set[str]:
        """All that the parts mention, and the timestamp."""
        queries = [part.plan.query for part in self.windows.parts]
        reading = [q for q in queries if any(o.relation.name == stream for o in q.streams)]
        return set[str]().union(*(_mentioned(query, stream) for query in reading))

    def statement(self, key: str) -> engine.Query:
        """The tuples that count: their columns in ordered form, and the partition."""
        return tuples_statement(*self._parts[key])

    def begin(self, session: Engine, parts: int) -> Summarising:
        """Begin with so many partitions."""
        return _Windows(self.windows, session, parts, {}, {})


@dataclass
class _Windows:
    plan: WindowPlan
    session: Engine
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
    alone = plan.parts[0].plan if len(plan.parts) == 1 else None
    if isinstance(alone, CompactPlan) and (segments := segment_plan(alone)) is not None:
        return SegmentCoGroup(segments)
    windows = window_plan(plan)
    return None if windows is None else WindowCoGroup(windows)


def _mentioned(query: Query, stream: str) -> set[str]:
    """The columns of a stream that a query mentions, and its timestamp."""
    found = {o.alias: str(o.relation.timestamp) for o in query.streams if o.relation.name == stream}
    return {a.column for a in query.mentioned if a.occurrence in found} | set(found.values())
