"""Counts by the values of keys as columns: what tasks send of a plan that keeps nothing else.

The bytes of a partition are a JSON list with an Arrow IPC stream in base 64 for each cell: a column a key,
the number last, rows in the engine's order of all columns. So equal counts have equal bytes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streambound.errors import DataError
from streambound.synopsis.plan import Plan

Columns = list[pa.Array]


def counts_only(plan: Plan) -> bool:
    """Whether all that a plan keeps are counts by the values of keys, each of so many rows."""
    cells = [cell for synopsis in plan.synopses for cell in synopsis.cells]
    fed = any(o.relation.fed for o in plan.query.occurrences)
    return (
        not (fed or plan.timed or plan.empty or plan.query.ring.idempotent or plan.query.weight)
        and bool(plan.synopses)
        and all(key.points is None for cell in cells for key in cell.keys)
        and not any(cell.extrema or cell.follow or cell.unequal for cell in cells)
    )


def columns_by_part(table: pa.Table, parts: int) -> Iterator[Columns]:
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


def dump_counts(cells: Sequence[Columns]) -> bytes:
    """The canonical bytes of the counts of each cell."""
    return json.dumps([_packed(columns) for columns in cells], separators=(",", ":")).encode()


def load_counts(name: str, data: bytes) -> list[Columns]:
    """The columns of each cell in such bytes.

    Raises:
        DataError: they are no counts.
    """
    try:
        return [_unpacked(cell) for cell in json.loads(data)]
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise DataError(f"a stored table of {name} cannot be read: {error}") from None


def _packed(columns: Columns) -> str:
    own = [_compact(column) for column in columns]
    batch = pa.RecordBatch.from_arrays(own, [str(place) for place in range(len(own))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def _compact(column: pa.Array) -> pa.Array:
    """A column with buffers of its own: a slice has its neighbours', and below NULL may lie anything."""
    if pa.types.is_floating(column.type):
        # -0.0 equals 0.0 in SQL.
        column = pc.add(column, 0.0)
    if column.null_count:
        return pa.array(column.to_pylist(), column.type)
    return column.take(pa.array(np.arange(len(column))))


def _unpacked(text: str) -> Columns:
    with pa.ipc.open_stream(base64.b64decode(text)) as reader:
        return [column.combine_chunks() for column in reader.read_all().columns]
