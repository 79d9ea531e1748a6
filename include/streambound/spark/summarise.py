"""What runs in a Spark task: partitions of streams to summaries of every query that reads them.

One unit of work is a partition of a stream. Its files are read once for all queries: promises are
checked, each cell of each plan is summarised, a stateless plan's answers are written where they
belong. Errors come back as data: a query whose input is bad fails alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streambound import errors
from streambound.errors import DataError, StreamboundError
from streambound.query.model import Query, Relation
from streambound.spark import emit, engine
from streambound.spark.engine import Engine, translated
from streambound.spark.files import footers
from streambound.spark.ordered import encoded
from streambound.spark.promises import check_statement, promises
from streambound.spark.statements import cell_statement, stateless_statement, static_table
from streambound.synopsis.plan import Plan, StreamSynopsis
from streambound.synopsis.serial import dumps
from streambound.synopsis.state import Table


@dataclass(frozen=True)
class Static:
    """A static relation that a stateless plan joins, and its files."""

    relation: Relation
    files: tuple[str, ...]


@dataclass(frozen=True)
class Reader:
    """One occurrence of a stream in one query, and the statements over each partition.

    Without ``answers`` (a folder) there is one statement a cell of ``synopsis``; with it one that computes
    the answer rows, which are written below it.
    """

    query: Query
    alias: str
    columns: tuple[str, ...]
    synopsis: StreamSynopsis
    statements: tuple[engine.Query, ...]
    statics: tuple[Static, ...] = ()
    answers: str | None = None


@dataclass(frozen=True)
class Reading:
    """A stream with all that read it, and the key of its partitions."""

    relation: Relation
    key: str | None
    readers: tuple[Reader, ...]


@dataclass(frozen=True)
class Task:
    """A partition of a stream: its name, files, and their size in bytes."""

    stream: str
    partition: str
    files: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Summary:
    """What one reader got of one partition: a table (canonical bytes), a digest of answers, or an error."""

    query: str
    alias: str
    stream: str
    partition: str
    rows: int = 0
    table: bytes | None = None
    answers: emit.Digest | None = None
    error: StreamboundError | None = None


def readers_of(plan: Plan, answers: Path, statics: Sequence[Static]) -> list[tuple[str, Reader]]:
    """(stream, reader) of every occurrence of a stream in a plan."""
    query, found = plan.query, []
    for synopsis in plan.synopses:
        if plan.stateless:
            made = [stateless_statement(plan)]
        else:
            made = [cell_statement(plan, synopsis, n) for n in range(len(synopsis.cells))]
        reader = Reader(
            query=query,
            alias=synopsis.alias,
            columns=tuple(a.column for a in query.mentioned if a.occurrence == synopsis.alias),
            synopsis=synopsis,
            statements=tuple(engine.Query(s.sql(), s.lookups) for s in made),
            statics=tuple(statics) if plan.stateless else (),
            answers=str(answers) if plan.stateless else None,
        )
        found.append((query.occurrence(synopsis.alias).relation.name, reader))
    return found


def summarise(session: Engine, reading: Reading, task: Task) -> Iterator[Summary]:
    """The summary of a partition for every reader of its stream."""
    relation, readers = reading.relation, list(reading.readers)
    columns = sorted({name for reader in readers for name in reader.columns})
    try:
        if not task.files:
            raise DataError(
                f"partition {task.partition} has no Parquet files",
                subject=f"stream {task.stream}",
                fix="write the partition again, or exclude it",
            )
        found = footers(relation, columns, task.files)
        faults: dict[str, StreamboundError] = dict(found.faults)
        sound = [name for name in columns if name not in faults]
        made = promises(relation, sound)
        passes = sum(len(reader.statements) for reader in readers) + bool(made)
        with session.tuples(relation, sound, task.files, copied=passes > 1):
            faults.update(_broken(session, reading, task, sound))
            for reader in readers:
                yield _attempt(session, reading, reader, task, found.rows, faults)
    except StreamboundError as error:
        yield from (_failed(reader, task, error) for reader in readers)


def _broken(
    session: Engine, reading: Reading, task: Task, columns: Sequence[str]
) -> dict[str, StreamboundError]:
    made = promises(reading.relation, columns)
    if not made:
        return {}
    counts = next(session.rows(engine.Query(check_statement(made).sql(dialect="duckdb"))))
    return {
        promise.column: promise.fault(reading.relation, task.partition, count)
        for promise, count in zip(made, counts, strict=True)
        if count
    }


def _attempt(
    session: Engine,
    reading: Reading,
    reader: Reader,
    task: Task,
    rows: int,
    faults: dict[str, StreamboundError],
) -> Summary:
    fault = next((faults[name] for name in reader.columns if name in faults), None)
    if fault is not None:
        return _failed(reader, task, fault)
    try:
        base = Summary(reader.query.name, reader.alias, task.stream, task.partition, rows)
        if reader.answers is None:
            return replace(base, table=dumps(summary_table(session, reader)))
        return replace(base, answers=_answers(session, reading, reader, task))
    except StreamboundError as error:
        return _failed(reader, task, error.about(f"stream {task.stream}, partition {task.partition}"))


def _failed(reader: Reader, task: Task, error: StreamboundError) -> Summary:
    return Summary(reader.query.name, reader.alias, task.stream, task.partition, error=error)


def summary_table(session: Engine, reader: Reader) -> Table:
    """The table of a reader's synopsis over the current ``tuples``."""
    table = Table(reader.synopsis, not reader.query.distinct)
    for number, statement in enumerate(reader.statements):
        _fold(table, number, session.rows(statement))
    return table


def _fold(table: Table, number: int, rows: Iterable[Sequence[object]]) -> None:
    cell = table.synopsis.cells[number]
    keys, unequal = len(cell.keys), len(cell.unequal)
    mixed = cell.extremum is not None and cell.extremum.mixed
    pattern = len(cell.extremum.attributes) if mixed and cell.extremum is not None else 0
    for row in rows:
        key = tuple(encoded(value) for value in row[:keys])
        key = (*key, tuple(map(bool, row[keys : keys + pattern]))) if mixed else key
        rest = row[keys + pattern :]
        ends = tuple(encoded(value) for value in rest[unequal + 1 :])
        if table.preserving:
            table.add_count((number, key), int(str(rest[unequal])), ends)
        else:
            table.add_entry((number, key), tuple(encoded(value) for value in rest[:unequal]), ends)


def _answers(session: Engine, reading: Reading, reader: Reader, task: Task) -> emit.Digest:
    assert reader.answers is not None
    for static in reader.statics:
        session.static(static_table(static.relation.name), static.relation, static.files)
    path = emit.answer_path(Path(reader.answers), reading.key, task.partition)
    with translated(None):
        batches = (emit.projected_batch(reader.query, b) for b in session.batches(reader.statements[0]))
        return emit.write_answers(path, emit.answer_schema(reader.query), batches)


def error_text(error: StreamboundError) -> str:
    """An error as JSON, for the way from a task to the driver."""
    body = {"kind": type(error).__name__, "message": error.message, "subject": error.subject}
    return json.dumps({**body, "accepted": error.accepted, "fix": error.fix})


def error_of(text: str) -> StreamboundError:
    """The error in such a text."""
    body = json.loads(text)
    kind: type[StreamboundError] = getattr(errors, body.pop("kind"))
    return kind(body.pop("message"), **body)
