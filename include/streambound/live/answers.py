"""What a micro-batch answered, as a file that is there once however often Spark runs the micro-batch.

New answers of micro-batch n are in ``epoch=n/part-00000.parquet``, in canonical order: the columns of a
partition's answers (``emit``), and for a query that compares timestamps, before ``count``, the marker at
which they became new.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from streambound.checkpoint.answer_files import NO_FILE, AnswerFile, as_written
from streambound.durable import flushed
from streambound.errors import StorageError
from streambound.evaluation.events import in_order, refuse_overflow
from streambound.history.fold import uncollected
from streambound.query.column_types import Family, Type
from streambound.query.statement import Statement
from streambound.state.row_join import Row
from streambound.state.serial import decoded
from streambound.tasks import emit

EPOCH = "epoch"
MARKER = "marker"
# Beside the answers of a micro-batch: what was written.
NOTE = "_written.json"
# Rows of an answer file that are written at once.
GROUP = 1 << 16


@dataclass(frozen=True)
class LiveAnswer:
    """How far a live query is, as ``_answer.json`` of its folder and the command say it.

    ``units`` are stored now, at most ``most_units`` (None where the catalog does not say) and so far at most
    ``peak_units``; ``waiting`` counts tuples of timestamps that are not complete; ``state_rows`` is
    Spark's ``numRowsTotal`` (None before the first micro-batch of this run). ``rows``, ``answer_count``,
    ``markers``, and what was dropped (``late``, ``malformed``) count from ``started_after`` on; ``files``
    are those of folders; ``last`` is what the newest micro-batch of a plan that keeps nothing added.
    """

    query: str
    sql: str
    most_units: int | None = None
    units: int = 0
    peak_units: int = 0
    state_rows: int | None = None
    epochs: int = 0
    files: int = 0
    rows: int = 0
    markers: int = 0
    answer_count: int = 0
    waiting: int = 0
    late: int = 0
    malformed: int = 0
    started_after: str | None = None
    output: str = ""
    last: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The object."""
        return {**vars(self), "answer_count": str(self.answer_count), "live": True}


def said(answer: LiveAnswer) -> str:
    """How far a query is, in words."""
    parts = [emit.counted(answer.files, "file")] if answer.files else []
    parts.append(emit.counted(answer.rows, "row"))
    dropped = {"late": answer.late, "malformed": answer.malformed}
    parts += [f"{emit.counted(number, f'{kind} row')} dropped" for kind, number in dropped.items() if number]
    if answer.markers:
        parts.append(emit.counted(answer.markers, "marker"))
    parts.append(f"{emit.counted(answer.answer_count, 'answer')} so far")
    most = "" if answer.most_units is None else f" of at most {answer.most_units:,}"
    stored = (
        "" if answer.state_rows is None else f" in {emit.counted(answer.state_rows, 'row')} of Spark's state"
    )
    waiting = f"; {emit.counted(answer.waiting, 'tuple')} waiting" if answer.waiting else ""
    return f"{', '.join(parts)}; state {emit.counted(answer.units, 'unit')}{most}{stored}{waiting}"


def epoch_path(folder: Path, epoch: int) -> Path:
    """Where the new answers of a micro-batch lie."""
    return emit.answer_path(folder, EPOCH, f"{epoch:08}")


def marker_type(query: Statement) -> Type:
    """The type of the timestamps that a query compares."""
    relation = next(o.relation for o in query.arriving if o.relation.timestamp is not None)
    return relation.column(str(relation.timestamp)).type


def live_schema(query: Statement, timed: bool) -> pa.Schema:
    """The columns of an answer file; the marker is numbered where SELECT has its name."""
    schema = emit.answer_schema(query.outputs)
    if not timed:
        return schema
    name, again, taken = MARKER, 2, {name.lower() for name in schema.names}
    while name in taken:
        name, again = f"{MARKER}_{again}", again + 1
    return schema.insert(len(schema) - 1, pa.field(name, emit.arrow_type(marker_type(query))))


def note_epoch(folder: Path, epoch: int, file: AnswerFile) -> None:
    """Put the new answers of a micro-batch on the disk, and note beside them what was written.

    Raises:
        StorageError: the disk refuses.
    """
    path = epoch_path(folder, epoch)
    if file.digest:
        flushed([path])
        emit.write_json(path.with_name(NOTE), _sealed(file))


def _sealed(file: AnswerFile) -> dict[str, str]:
    """The note, with a digest of its own: of a damaged one the rest counts for nothing."""
    seal = hashlib.sha256(f"{file.digest} {file.identity}".encode()).hexdigest()
    return {**vars(file), "seal": seal}


def require_written(folder: Path, epochs: int) -> None:
    """Refuse to go on where the answers of a micro-batch or their note are not what was written.

    Answers cannot be had again, since their files are not read again.

    Args:
        epochs: how many micro-batches are done.

    Raises:
        StorageError: naming the file.
    """
    for path in (epoch_path(folder, epoch) for epoch in range(epochs)):
        note = path.with_name(NOTE)
        try:
            body = json.loads(note.read_text(encoding="utf-8"))
            file = AnswerFile(body["digest"], body["identity"])
            kept = as_written(path, file) if body == _sealed(file) else None
        except FileNotFoundError:
            # Of a micro-batch without answers there is neither.
            kept = None if path.exists() else NO_FILE
        except (OSError, ValueError, TypeError, KeyError):
            kept = None
        if kept is None:
            raise StorageError(
                "the answers of this micro-batch are not what was written",
                subject=str(path),
                fix="put file and note back from a copy, or begin anew with --recompute",
            )


def write_epoch(
    folder: Path, query: Statement, timed: bool, epoch: int, portions: Iterable[str]
) -> AnswerFile:
    """Write the new answers that ``processor`` told of a micro-batch; none give no file.

    Raises:
        StorageError: the disk refuses.
        CountOverflow: a multiplicity has more than 38 digits.
    """
    rows: dict[Any, dict[tuple[Any, ...], int]] = {}
    schema = live_schema(query, timed)
    with uncollected():
        for marker, row, count in chain.from_iterable(map(json.loads, portions)):
            rows.setdefault(marker, {})[decoded(row)] = count
        listed = [(at, row, n) for at in sorted(rows, key=_in_time) for row, n in in_order(rows[at])]
        batches = _table(query, schema, timed, listed).to_batches(GROUP)
    # A digest of rows is of use where histories are compared.
    return emit.write_answers(epoch_path(folder, epoch), schema, batches, made=emit.Digest())[1]


def _in_time(marker: int | None) -> tuple[bool, int]:
    # New answers of parts that compare no timestamps come first: they have no marker.
    return (marker is not None, marker or 0)


def _table(
    query: Statement, schema: pa.Schema, timed: bool, listed: Sequence[tuple[Any, Row, int]]
) -> pa.Table:
    """Encoded answers (marker, row, multiplicity) as they are written, column by column."""
    if not listed:
        return schema.empty_table()
    markers, rows, counts = zip(*listed, strict=True)
    refuse_overflow(query, counts)
    columns = [
        (kind, values) for (_, kind), values in zip(query.outputs, zip(*rows, strict=True), strict=True)
    ]
    if timed:
        columns.append((marker_type(query), markers))
    arrays = [_array(*column, field.type) for column, field in zip(columns, schema, strict=False)]
    arrays.append(pa.array(_each(Decimal, counts), emit.COUNTS))
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(kind: Type, values: Sequence[Any], wanted: pa.DataType) -> pa.Array:
    if kind.family is Family.TIMESTAMP:
        # Microseconds, as they are encoded.
        return pa.array(values, pa.int64()).cast(wanted)
    return pa.array(_each(kind.decode, values), wanted)


def _each(made: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """What is made of each value, of equal ones once: few of many answers are different."""
    by_value = {value: made(value) for value in set(values)}
    return [by_value[value] for value in values]
