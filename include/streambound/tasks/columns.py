"""Columns as canonical text: a table is an Arrow IPC stream in base 64, so that JSON can hold it.

Equal columns of equal types have equal texts, however they were made.

Law: ``unpacked(packed(table))`` equals ``table``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streambound.tasks.encoded_sql import encoded


def packed(table: pa.Table) -> str:
    """The canonical text of a table."""
    own = [_compact(column.combine_chunks()) for column in table.columns]
    batch = pa.RecordBatch.from_arrays(own, schema=table.schema.remove_metadata())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def unpacked(text: str) -> pa.Table:
    """The table in such a text.

    Raises:
        ValueError, TypeError, pa.ArrowException: it is none.
    """
    with pa.ipc.open_stream(base64.b64decode(text)) as reader:
        return reader.read_all().combine_chunks()


def _compact(column: pa.Array) -> pa.Array:
    """A column with buffers of its own: a slice has its neighbours', and below NULL may lie anything."""
    if pa.types.is_floating(column.type):
        # -0.0 equals 0.0 in SQL.
        column = pc.add(column, 0.0)
    if column.null_count:
        return pa.array(column.to_pylist(), column.type)
    return column.take(pa.array(np.arange(len(column))))


def by_part(table: pa.Table, parts: int) -> Iterator[pa.Table]:
    """The rows of each partition, from rows whose first column is the partition's number."""
    rest = table.drop_columns(table.column_names[:1])
    if parts == 1:
        yield rest
        return
    numbers = table.column(0).to_numpy()
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers, kind="stable")
        numbers, rest = numbers[order], rest.take(pa.array(order))
    edges = np.searchsorted(numbers, np.arange(parts + 1))
    for part in range(parts):
        yield rest.slice(edges[part], edges[part + 1] - edges[part])


def encoded_values(column: pa.ChunkedArray) -> list[Any]:
    """The encoded values of a column in the form in which result sets return it."""
    plain = pa.types.is_int64(column.type) or pa.types.is_string(column.type)
    return column.to_pylist() if plain else list(map(encoded, column.to_pylist()))
