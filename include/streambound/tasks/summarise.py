"""What a task does: partitions of streams to summaries of every query that reads them.

A batch is some partitions of one stream. Its files are read once for all queries: promises are checked,
each cell of each plan is summarised, a stateless plan's answers are written where they belong. Errors
come back as data: what fails in a batch is tried again partition by partition, and a query whose
input is bad fails alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streambound import errors
from streambound.checkpoint.answer_files import NO_FILE, AnswerFile
from streambound.errors import StreamboundError
from streambound.plan.model import Cell
from streambound.query.model import Relation
from streambound.state.serial import dumps
from streambound.state.table import Layout, Table
from streambound.storage.files import Footers, footers, require_alike
from streambound.tasks import emit
from streambound.tasks.columns import by_part
from streambound.tasks.counts import dump_counts
from streambound.tasks.embedded_engine import STORED, EmbeddedEngine, translated
from streambound.tasks.encoded_sql import encoded
from streambound.tasks.promises import faults as promise_faults
from streambound.tasks.promises import promised
from streambound.tasks.readers import Reader
from streambound.tasks.relations import by_time, counted, weighed
from streambound.tasks.statements import static_table
from streambound.tasks.weights import multiplied


@dataclass(frozen=True)
class StreamScan:
    """A stream with all that read it, and the key of its partitions."""

    relation: Relation
    key: str | None
    readers: tuple[Reader, ...]

    @property
    def columns(self) -> set[str]:
        """What is read of each row."""
        return set(self.relation.read(name for reader in self.readers for name in reader.columns))

    def by(self, task: Task) -> StreamScan:
        """The scan with the readers that a task is for."""
        readers = (r for r in self.readers if r.query.name in task.queries)
        return replace(self, readers=tuple(map(partial(_put, task.aside), readers)))


def _put(aside: frozenset[str], reader: Reader) -> Reader:
    if reader.answers is None or reader.query.name not in aside:
        return reader
    return replace(reader, answers=str(emit.aside(Path(reader.answers))))


@dataclass(frozen=True)
class Task:
    """A partition of a stream: its name, files, and their size in bytes.

    ``queries`` are those that read it; the answers of those ``aside`` are not to take the place of earlier
    ones. Where several streams are read together, each is a task among the ``stream_partitions`` of one,
    whose ``stream`` is the name of the scan.
    """

    stream: str
    partition: str
    files: tuple[str, ...]
    size: int
    queries: frozenset[str]
    aside: frozenset[str] = frozenset()
    stream_partitions: tuple[Task, ...] = ()

    @property
    def each(self) -> tuple[Task, ...]:
        """A task for each stream that it reads."""
        return self.stream_partitions or (self,)

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that it reads."""
        return tuple(task.stream for task in self.each)

    @property
    def kind(self) -> tuple[object, ...]:
        """What tasks of one batch have in common: what they read, and for whom."""
        return (
            self.stream,
            self.queries,
            self.aside,
            *(stream_partition.kind for stream_partition in self.stream_partitions),
        )

    def without(self, queries: frozenset[str]) -> Task:
        """The task without some queries."""
        if not queries & self.queries:
            return self
        stream_partitions = (stream_partition.without(queries) for stream_partition in self.stream_partitions)
        kept = tuple(stream_partition for stream_partition in stream_partitions if stream_partition.queries)
        return replace(self, queries=self.queries - queries, stream_partitions=kept)


@dataclass(frozen=True)
class Summary:
    """What one reader got of a partition: a table (canonical bytes), answers and their file, or an error."""

    query: str
    alias: str
    stream: str
    partition: str
    rows: int = 0
    table: bytes | None = None
    answers: emit.Digest | None = None
    file: AnswerFile = NO_FILE
    error: StreamboundError | None = None


def summarise(session: EmbeddedEngine, scan: StreamScan, batch: Sequence[Task]) -> Iterator[Summary]:
    """The summaries of some partitions of a stream for every reader of it."""
    columns = sorted(scan.columns)
    sound: list[tuple[Task, Footers]] = []
    for task in batch:
        try:
            footer = footers(scan.relation, columns, task.files)
        except StreamboundError as error:
            yield from (failed_reader(reader, task, error) for reader in scan.readers)
            continue
        if footer.faults:
            yield from _guarded(session, scan, columns, [(task, footer)])
        else:
            sound.append((task, footer))
    if sound:
        yield from _guarded(session, scan, columns, sound)


ScannedPartitions = Sequence[tuple[Task, Footers]]


def _guarded(
    session: EmbeddedEngine, scan: StreamScan, columns: Sequence[str], partitions: ScannedPartitions
) -> list[Summary]:
    """The summaries; readers that fail on several partitions are tried on each alone."""
    done: list[Summary] = []
    failed: dict[int, StreamboundError] = {}
    try:
        done, failed = _summaries(session, scan, columns, partitions)
    except StreamboundError as error:
        failed = dict.fromkeys(range(len(scan.readers)), error)
    again = replace(scan, readers=tuple(scan.readers[i] for i in failed))
    if len(partitions) > 1 and failed:
        return done + [s for partition in partitions for s in _guarded(session, again, columns, [partition])]
    (task, _) = partitions[0]
    return done + [
        failed_reader(scan.readers[i], task, error.about(named(task))) for i, error in failed.items()
    ]


def named(task: Task) -> str:
    """A partition in words."""
    return f"stream {task.stream}, partition {task.partition}"


def _summaries(
    session: EmbeddedEngine, scan: StreamScan, columns: Sequence[str], partitions: ScannedPartitions
) -> tuple[list[Summary], dict[int, StreamboundError]]:
    """The summaries of readers that succeed, and the errors of those that do not, by position."""
    with scanned(session, STORED, scan.relation, columns, partitions, passes_of(scan)) as faults:
        return served(session, STORED, scan, partitions, faults)


# By column, what is wrong with it in a partition.
Faults = Mapping[str, StreamboundError]


def passes_of(scan: StreamScan) -> int:
    """How often the readers of a stream go over its rows."""
    return sum(len(reader.statements) for reader in scan.readers)


@contextmanager
def scanned(
    session: EmbeddedEngine,
    name: str,
    relation: Relation,
    columns: Sequence[str],
    partitions: ScannedPartitions,
    passes: int,
) -> Iterator[list[Faults]]:
    """Partitions of a stream under a name, read once for so many ``passes``; gives their faults.

    Raises:
        StreamboundError: they cannot be read.
    """
    require_alike(relation, [footer for _, footer in partitions])
    faulty = partitions[0][1].faults.keys()
    sound = [name for name in columns if not faulty & {name, *relation.stored((name,))}]
    files = [task.files for task, _ in partitions]
    copied = passes + promised(relation, sound) > 1
    with session.stored(name, relation, sound, files, copied):
        with session.as_tuples(name):
            broken = promise_faults(session, relation, sound, files)
        yield [
            {**footer.faults, **{name: error.about(named(task)) for name, error in own.items()}}
            for (task, footer), own in zip(partitions, broken, strict=True)
        ]


def served(
    session: EmbeddedEngine,
    name: str,
    scan: StreamScan,
    partitions: ScannedPartitions,
    faults: Sequence[Faults],
) -> tuple[list[Summary], dict[int, StreamboundError]]:
    """The summaries of readers that succeed, and the errors of the others, over what a name stands for."""
    done, failed = list[Summary](), dict[int, StreamboundError]()
    with session.as_tuples(name):
        for index, reader in enumerate(scan.readers):
            try:
                done += _of_reader(session, scan, reader, partitions, faults)
            except StreamboundError as error:
                failed[index] = error
    return done, failed


def _of_reader(
    session: EmbeddedEngine,
    scan: StreamScan,
    reader: Reader,
    partitions: ScannedPartitions,
    faults: Sequence[Faults],
) -> list[Summary]:
    base = [Summary(reader.query.name, reader.alias, t.stream, t.partition, f.rows) for t, f in partitions]
    columns = scan.relation.read(reader.columns)
    failures = [next((own[name] for name in columns if name in own), None) for own in faults]
    if all(failures):
        return [replace(summary, rows=0, error=error) for summary, error in zip(base, failures, strict=True)]
    if reader.answers is None:
        made = partition_tables(session, reader, len(partitions))
        results = [replace(summary, table=data) for summary, data in zip(base, made, strict=True)]
    else:
        written = _answers(session, scan, reader, [task.partition for task, _ in partitions])
        results = [
            replace(summary, answers=d, file=file) for summary, (d, file) in zip(base, written, strict=True)
        ]
    return [
        result if error is None else replace(result, rows=0, table=None, answers=None, error=error)
        for result, error in zip(results, failures, strict=True)
    ]


def partition_tables(session: EmbeddedEngine, reader: Reader, parts: int) -> list[bytes]:
    """What the driver gets of each partition in the current ``tuples``."""
    if reader.timed:
        return by_time(session.table(reader.statements[0]), parts, reader.query, reader.synopsis)
    if reader.counted:
        _define_statics(session, reader)
        if reader.weights is not None:
            rows = multiplied(session.rows(reader.statements[0]), reader.weights[0])
            return weighed(rows, parts, reader.query)
        return counted(session.table(reader.statements[0]), parts, reader.query, reader.partial)
    if reader.by_key:
        tables = [by_part(session.table(made), parts) for made in reader.statements]
        return [dump_counts(cells) for cells in zip(*tables, strict=True)]
    return [dumps(table) for table in summary_tables(session, reader, parts)]


def failed_reader(reader: Reader, task: Task, error: StreamboundError) -> Summary:
    """What is said of a reader that came to nothing."""
    return Summary(reader.query.name, reader.alias, task.stream, task.partition, error=error)


def summary_tables(session: EmbeddedEngine, reader: Reader, parts: int) -> list[Table]:
    """The tables of a reader's synopsis over each partition in the current ``tuples``."""
    tables = [Table(reader.cells, reader.query.ring) for _ in range(parts)]
    for number, (cell, statement) in enumerate(zip(reader.cells, reader.statements, strict=True)):
        weights = None if reader.weights is None else reader.weights[number]
        _fold(tables, number, cell, session.rows(statement), weights)
    return tables


def _fold(
    tables: Sequence[Table],
    number: int,
    cell: Cell,
    rows: Iterable[Sequence[Any]],
    weights: int | None,
) -> None:
    keys = 1 + len(cell.keys)
    pattern = keys + sum(len(e.attributes) for e in cell.extrema if e.mixed)
    count = pattern + len(cell.unequal)
    if weights is not None:
        ends = len(Layout(cell).ends) + sum(key.points is not None for key in cell.keys)
        rows = multiplied(rows, weights, ends)
    for row in rows:
        key = tuple(map(encoded, row[1:keys]))
        if pattern > keys:
            key = (*key, tuple(map(bool, row[keys:pattern])))
        subkey, entry = tuple(map(encoded, row[pattern:count])), tuple(map(encoded, row[count + 1 :]))
        tables[row[0]].put((number, key), row[count], subkey, entry)


def _answers(
    session: EmbeddedEngine, scan: StreamScan, reader: Reader, partitions: Sequence[str]
) -> list[emit.Written]:
    """Write the answers of each partition; returns what was written."""
    assert reader.answers is not None
    _define_statics(session, reader)
    schema, folder = emit.answer_schema(reader.outputs), Path(reader.answers)
    paths = [emit.answer_path(folder, scan.key, name) for name in partitions]
    written: dict[int, emit.Written] = {}
    with translated(None), closing(session.batches(reader.statements[0])) as fetched:
        for part, batches in groupby(_runs(fetched), key=lambda run: run[0]):
            rows = (emit.projected_batch(reader.query, reader.outputs, batch) for _, batch in batches)
            written[part] = emit.write_answers(paths[part], schema, rows)
    # Of a partition without answers there is no run.
    return [written.get(part) or emit.write_answers(path, schema, ()) for part, path in enumerate(paths)]


def _define_statics(session: EmbeddedEngine, reader: Reader) -> None:
    for static in reader.statics:
        session.static(static_table(static.relation.name), static.relation, static.files)


def _runs(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(partition, rows) of batches that are sorted by their first column, the partition's number."""
    for batch in batches:
        parts = batch.column(0).to_numpy(zero_copy_only=False)
        edges = [0, *(np.flatnonzero(parts[1:] != parts[:-1]) + 1).tolist(), batch.num_rows]
        for start, end in pairwise(edges):
            if end > start:
                yield int(parts[start]), batch.slice(start, end - start)


def error_text(error: StreamboundError) -> str:
    """An error as JSON, for the way from a task to the driver."""
    body = {"kind": type(error).__name__, "message": error.message, "subject": error.subject}
    return json.dumps({**body, "accepted": error.accepted, "fix": error.fix})


def error_of(text: str) -> StreamboundError:
    """The error in such a text."""
    body = json.loads(text)
    kind: type[StreamboundError] = getattr(errors, body.pop("kind"))
    return kind(body.pop("message"), **body)
