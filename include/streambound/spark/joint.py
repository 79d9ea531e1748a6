"""What runs in a Spark task for a query with time conditions: partitions of all its streams to summaries.

A partition's tuples meet in one task as arrays, and leave it as the tables of its summary (see
``synopsis.segments``). With it goes a digest of what counted of each occurrence, by which rewritten files
with the same rows are told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from streambound.errors import StreamboundError
from streambound.query.files import footers, require_alike
from streambound.query.model import Query, Relation
from streambound.spark import engine
from streambound.spark.codes import Coder, Share
from streambound.spark.engine import Engine
from streambound.spark.promises import faults, promised
from streambound.spark.segmented import JOINT
from streambound.spark.segments import summarised
from streambound.spark.statements import tuple_statement
from streambound.spark.summarise import Summary, Task
from streambound.synopsis.segments import SegmentPlan, dump_segment


@dataclass(frozen=True)
class Joint:
    """A query whose partitions are summarised as a whole, and the statement over each occurrence's share."""

    query: Query
    segments: SegmentPlan
    columns: Mapping[str, tuple[str, ...]]
    statements: Mapping[str, engine.Query]

    def relation(self, stream: str) -> Relation:
        """A stream that it reads."""
        return next(o.relation for o in self.query.streams if o.relation.name == stream)

    def aliases(self, stream: str) -> list[str]:
        """The occurrences of a stream."""
        return [o.alias for o in self.query.streams if o.relation.name == stream]


def joint_of(segments: SegmentPlan) -> Joint:
    """What tasks do for a plan."""
    plan, statements = segments.plan, {}
    columns: dict[str, set[str]] = {}
    for synopsis in plan.streams:
        relation, made = plan.query.occurrence(synopsis.alias).relation, tuple_statement(plan.query, synopsis)
        mentioned = {a.column for a in plan.query.mentioned if a.occurrence == synopsis.alias}
        columns.setdefault(relation.name, set()).update(mentioned, {str(relation.timestamp)})
        statements[synopsis.alias] = engine.Query(made.sql(), made.lookups)
    return Joint(plan.query, segments, {n: tuple(sorted(c)) for n, c in columns.items()}, statements)


def joint_name(query: str) -> str:
    """The name under which a query is read; no stream is called so."""
    return f"{query}: all streams"


def summarise_joint(session: Engine, joint: Joint, batch: Sequence[Task]) -> Iterator[Summary]:
    """The summaries of some partitions; what fails together is tried one by one."""
    try:
        yield from list(_summaries(session, joint, batch))
    except StreamboundError as error:
        if len(batch) > 1:
            for task in batch:
                yield from summarise_joint(session, joint, [task])
            return
        (task,) = batch
        for stream, _ in task.shares:
            for alias in joint.aliases(stream):
                yield Summary(joint.query.name, alias, stream, task.partition, error=error)


def _summaries(session: Engine, joint: Joint, batch: Sequence[Task]) -> Iterator[Summary]:
    shares: list[dict[str, Share]] = [{} for _ in batch]
    rows: list[dict[str, int]] = [{} for _ in batch]
    for stream in joint.columns:
        there = [number for number, task in enumerate(batch) if stream in task.streams]
        tasks = [batch[number] for number in there]
        try:
            found = _read(session, joint, stream, tasks)
        except StreamboundError as error:
            raise error.about(f"stream {stream}, partition {tasks[0].partition}") from None
        for number, (count, own) in zip(there, found, strict=True):
            rows[number][stream] = count
            shares[number].update(own)
    for number, task in enumerate(batch):
        yield from _of_task(joint, task, shares[number], rows[number])


def _of_task(
    joint: Joint, task: Task, shares: Mapping[str, Share], rows: Mapping[str, int]
) -> Iterator[Summary]:
    found = [
        Summary(
            joint.query.name,
            alias,
            stream,
            task.partition,
            rows[stream],
            json.dumps(shares[alias].content).encode(),
        )
        for stream in task.streams
        for alias in joint.aliases(stream)
    ]
    # In the order of the plan, whatever that of the files.
    inside = {
        s.alias: shares.get(s.alias) or Coder(joint.segments, s.alias).nothing
        for s in joint.segments.plan.streams
    }
    yield from found
    yield replace(found[0], alias=JOINT, table=dump_segment(summarised(joint.segments, inside)))


def _read(
    session: Engine, joint: Joint, stream: str, tasks: Sequence[Task]
) -> list[tuple[int, dict[str, Share]]]:
    """For each partition the rows of a stream, and what counts of its occurrences."""
    relation, columns = joint.relation(stream), joint.columns[stream]
    files = [dict(task.shares)[stream] for task in tasks]
    heads = [footers(relation, columns, mine) for mine in files]
    for fault in (fault for head in heads for fault in head.faults.values()):
        raise fault
    require_alike(relation, heads)
    if not tasks:
        return []
    checked = promised(relation, columns)
    aliases = joint.aliases(stream)
    found: list[dict[str, Share]] = [{} for _ in tasks]
    with session.tuples(relation, columns, files, copied=len(aliases) + checked > 1):
        broken = faults(session, relation, columns, files)
        for task, wrong in zip(tasks, broken, strict=True):
            for error in wrong.values():
                raise error.about(f"stream {stream}, partition {task.partition}")
        for alias in aliases:
            coder = Coder(joint.segments, alias)
            table = session.table(joint.statements[alias])
            for number, (moments, *own) in enumerate(_parts(table, len(tasks))):
                found[number][alias] = coder.share(moments, own)
    return [(head.rows, own) for head, own in zip(heads, found, strict=True)]


def _parts(table: pa.Table, parts: int) -> Iterator[list[pa.Array]]:
    """The columns of each partition, from rows whose first column is the partition's number."""
    columns = [column.combine_chunks() for column in table.columns]
    if parts == 1:
        yield columns[1:]
        return
    numbers = columns[0].to_numpy(zero_copy_only=False)
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers, kind="stable")
        numbers, columns = numbers[order], [column.take(pa.array(order)) for column in columns]
    edges = np.searchsorted(numbers, np.arange(parts + 1))
    for part in range(parts):
        yield [column.slice(edges[part], edges[part + 1] - edges[part]) for column in columns[1:]]
