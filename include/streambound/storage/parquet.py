"""Parquet partitions that appear whole or not at all, with the same bytes for the same rows.

A partition is a folder ``key=value`` with one file. It is written under a hidden name that no reader
lists, then renamed over the old one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streambound.durable import remove, replaced

FILE_NAME = "part-00000.parquet"
COMPRESSION = "snappy"
FIX = "free space or permit writing there, or set STREAMBOUND_HOME to another folder"


@contextmanager
def atomic_writer(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """A Parquet writer whose file is at ``path`` only once the block ends without an error.

    Raises:
        StorageError: the disk refuses.
    """
    with replaced(path, fix=FIX) as file, pq.ParquetWriter(file, schema, compression=COMPRESSION) as writer:
        yield writer


def write_table(table: pa.Table, path: Path) -> None:
    """``table`` as one file at ``path``, replaced in one step."""
    with atomic_writer(path, table.schema) as writer:
        writer.write_table(table)


def drop_stale(folder: Path, names: Iterable[str], keep: Collection[str]) -> None:
    """Remove those partition folders of ``names`` that the newest writing did not produce."""
    for name in names:
        stale = folder / name
        if name not in keep and stale.is_dir():
            remove(stale)
