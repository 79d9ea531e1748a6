"""What tasks make of files: for each occurrence of a stream what the plan keeps of a file alone.

The same statements as over a partition of history, so a bad file has the same error; it comes back as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from sqlglot import exp

from streambound.errors import StreamboundError
from streambound.live.step import END, Arrival
from streambound.query.model import Relation
from streambound.spark.live.places import Place
from streambound.spark.workers import settle
from streambound.tasks import engine, ordered
from streambound.tasks.engine import Engine, opened
from streambound.tasks.statements import PART, TUPLES
from streambound.tasks.summarise import Reading, Summary, Task, error_text, summarise

# ``one`` is what all rows are grouped by: the tuples of all streams meet in one state.
SCHEMA = (
    "one int, stream string, file string, alias string, rows bigint, latest string, held binary, error string"
)
FIELDS = pa.schema(
    [
        ("one", pa.int32()),
        ("stream", pa.string()),
        ("file", pa.string()),
        ("alias", pa.string()),
        ("rows", pa.int64()),
        ("latest", pa.string()),
        ("held", pa.binary()),
        ("error", pa.string()),
    ]
)
Rows = list[dict[str, Any]]
Mapper = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def mapper(readings: Mapping[str, Reading], places: Mapping[str, Place], memory_mb: int) -> Mapper:
    """From (stream, path) to a row (see FIELDS) for each occurrence of the stream."""

    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with opened(memory_mb) as session:
            for batch in batches:
                found = sorted(zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True))
                for stream, group in groupby(found, key=lambda one: one[0]):
                    paths = [path for _, path in group]
                    rows = [_row(END, path) for path in paths]
                    if stream != END:
                        rows = _of_stream(session, readings[stream], places[stream], paths)
                    yield pa.RecordBatch.from_pylist(rows, schema=FIELDS)
        settle()

    return mapped


def arrival_of(row: Any) -> Arrival:
    """What a row (see FIELDS) without an error says."""
    latest = None if row["latest"] is None else int(row["latest"])
    return Arrival(row["stream"], row["file"], row["alias"], row["rows"], latest, bytes(row["held"] or b""))


def _row(stream: str, file: str, **more: Any) -> dict[str, Any]:
    empty = {"alias": "", "rows": 0, "latest": None, "held": None, "error": None}
    return {"one": 0, "stream": stream, "file": file, **empty, **more}


def _of_stream(session: Engine, reading: Reading, place: Place, paths: Iterable[str]) -> Rows:
    stream, names, failed = reading.relation.name, list[str](), Rows()
    for path in paths:
        try:
            if (name := place.name(path)) is not None:
                names.append(name)
        except StreamboundError as error:
            failed.append(_row(stream, path, error=error_text(error.about(path))))
    tasks = [Task(stream, name, (str(place.folder / name),), 0, frozenset()) for name in names]
    made = [_of_summary(summary) for summary in summarise(session, reading, tasks)]
    if failed or any(row["error"] for row in made):
        return failed + made
    if reading.relation.timestamp is not None and names:
        latest = _latest(session, reading.relation, [task.files for task in tasks])
        return [{**row, "latest": latest.get(names.index(row["file"]))} for row in made]
    return made


def _of_summary(summary: Summary) -> dict[str, Any]:
    error = None if summary.error is None else error_text(summary.error)
    return _row(
        summary.stream,
        summary.partition,
        alias=summary.alias,
        rows=summary.rows,
        held=summary.table,
        error=error,
    )


def _latest(session: Engine, relation: Relation, files: Sequence[Sequence[str]]) -> dict[int, str]:
    """The latest timestamp in each file, by its position; nothing of one without rows."""
    name = str(relation.timestamp)
    value = ordered.outward(ordered.column(name, TUPLES), relation.column(name).type)
    chosen = exp.select(ordered.column(PART, TUPLES), exp.Max(this=value)).from_(ordered.table(TUPLES))
    statement = chosen.group_by(exp.Literal.number(1)).sql(dialect=ordered.DIALECT)
    with session.tuples(relation, [name], files, copied=False):
        return {part: str(ordered.encoded(at)) for part, at in session.rows(engine.Query(statement))}
