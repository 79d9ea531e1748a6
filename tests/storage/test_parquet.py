"""Partitions appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from streambound.storage.parquet import atomic_writer, write_table


def test_a_failed_write_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2]})
    path = tmp_path / "airlines" / "part-00000.parquet"
    write_table(table, path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(RuntimeError), atomic_writer(path, table.schema) as writer:
        writer.write_table(table)
        raise RuntimeError("the machine is told to stop")
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
