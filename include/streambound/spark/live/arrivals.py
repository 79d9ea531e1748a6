"""What tasks make of rows in files: for each occurrence of a stream what the plan keeps of a file alone.

The same statements as over a partition of history, so a bad file has the same error; it comes back as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from streambound.errors import StreamboundError
from streambound.live.step import Arrival
from streambound.query.model import Relation
from streambound.tasks import embedded_engine, encoded_sql
from streambound.tasks.embedded_engine import EmbeddedEngine
from streambound.tasks.statements import PART, TUPLES
from streambound.tasks.summarise import StreamScan, Summary, Task, error_text, summarise

# ``one`` is what all rows are grouped by: the tuples of all streams meet in one state.
FIELDS = pa.schema(
    [
        ("one", pa.int32()),
        ("stream", pa.string()),
        ("file", pa.string()),
        ("alias", pa.string()),
        ("rows", pa.int64()),
        ("latest", pa.string()),
        ("held", pa.binary()),
        ("malformed", pa.int64()),
        ("error", pa.string()),
    ]
)
SPARK_TYPES = {pa.string(): "string", pa.int32(): "int", pa.int64(): "bigint", pa.binary(): "binary"}
SCHEMA = ", ".join(f"{field.name} {SPARK_TYPES[field.type]}" for field in FIELDS)
Rows = list[dict[str, Any]]
Mapper = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def batch_of(rows: Rows) -> pa.RecordBatch:
    """Rows (see FIELDS) as a record batch."""
    return pa.RecordBatch.from_pylist(rows, schema=FIELDS)


def arrival_of(row: Mapping[str, Any]) -> Arrival:
    """What a row (see FIELDS) without an error says."""
    latest = None if row["latest"] is None else int(row["latest"])
    body = bytes(row["held"] or b"")
    return Arrival(row["stream"], row["file"], row["alias"], row["rows"], latest, body, row["malformed"])


def row_of(stream: str, file: str, **more: Any) -> dict[str, Any]:
    """A row (see FIELDS); what is not said is nothing."""
    empty = {"alias": "", "rows": 0, "latest": None, "held": None, "malformed": 0, "error": None}
    return {"one": 0, "stream": stream, "file": file, **empty, **more}


def failed(stream: str, file: str, error: StreamboundError) -> dict[str, Any]:
    """A row (see FIELDS) that says why a file cannot be taken in."""
    return row_of(stream, file, error=error_text(error))


def arrivals(session: EmbeddedEngine, scan: StreamScan, files: Mapping[str, str]) -> Rows:
    """A row (see FIELDS) for each occurrence of a stream and file.

    Args:
        files: paths by the names under which they are told of.
    """
    stream = scan.relation.name
    tasks = [Task(stream, name, (path,), 0, frozenset()) for name, path in files.items()]
    made = [_of_summary(summary) for summary in summarise(session, scan, tasks)]
    if not tasks or scan.relation.timestamp is None or any(row["error"] for row in made):
        return made
    latest = _latest(session, scan.relation, [task.files for task in tasks])
    positions = {name: position for position, name in enumerate(files)}
    return [{**row, "latest": latest.get(positions[row["file"]])} for row in made]


def _of_summary(summary: Summary) -> dict[str, Any]:
    error = None if summary.error is None else error_text(summary.error)
    return row_of(
        summary.stream,
        summary.partition,
        alias=summary.alias,
        rows=summary.rows,
        held=summary.table,
        error=error,
    )


def _latest(session: EmbeddedEngine, relation: Relation, files: Sequence[Sequence[str]]) -> dict[int, str]:
    """The latest timestamp in each file, by its position; nothing of one without rows."""
    name = str(relation.timestamp)
    value = encoded_sql.outward(encoded_sql.column(name, TUPLES), relation.column(name).type)
    chosen = exp.select(encoded_sql.column(PART, TUPLES), exp.Max(this=value)).from_(
        encoded_sql.table(TUPLES)
    )
    statement = chosen.group_by(exp.Literal.number(1)).sql(dialect=encoded_sql.DIALECT)
    with session.tuples(relation, [name], files, copied=False):
        return {
            part: str(encoded_sql.encoded(at))
            for part, at in session.rows(embedded_engine.EngineQuery(statement))
        }
