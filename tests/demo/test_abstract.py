"""The abstract streams: their seed, their sizes, and memory that does not grow with the rows."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from streambound.demo.abstract import CHUNK, COLUMNS, Shape, generate
from streambound.errors import DataError


def read(target: Path, folder: str) -> pa.Table:
    return ds.dataset(target / folder, partitioning="hive").to_table()


def test_the_seed_decides_the_rows(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("two", 2)):
        generate(tmp_path / name, Shape(rows=1_000, partitions=3, seed=seed, nulls=0.1))
    for folder in ("abstract_s", "abstract_t"):
        assert read(tmp_path / "one", folder) == read(tmp_path / "again", folder)
        assert read(tmp_path / "one", folder) != read(tmp_path / "two", folder)


def test_sizes_ranges_and_nulls(tmp_path: Path) -> None:
    shape = Shape(rows=10_001, partitions=4, low=-5, high=5, ranges={"B": (100, 100)}, nulls=0.25)
    generate(tmp_path, shape)
    table = read(tmp_path, "abstract_s")
    sizes = Counter(table["part"].to_pylist())
    assert sum(sizes.values()) == 10_001
    assert sorted(sizes) == [0, 1, 2, 3] and max(sizes.values()) - min(sizes.values()) <= 1
    assert set(table["A"].to_pylist()) == {None, *range(-5, 6)}
    assert set(table["B"].to_pylist()) == {None, 100}
    assert 0.2 < table["C"].null_count / 10_001 < 0.3
    assert table.schema.field("A").type == pa.int32()


def test_columns_are_drawn_apart(tmp_path: Path) -> None:
    generate(tmp_path, Shape(rows=50_000, partitions=2))
    table = read(tmp_path, "abstract_s").select(list(COLUMNS["S"])).to_pandas()
    correlation = np.abs(table.corr().to_numpy() - np.eye(3))
    assert correlation.max() < 0.03


def test_fewer_partitions_replace_more(tmp_path: Path) -> None:
    generate(tmp_path, Shape(rows=100, partitions=5))
    generate(tmp_path, Shape(rows=100, partitions=2))
    assert len(list((tmp_path / "abstract_t").iterdir())) == 2


def test_no_rows_are_an_empty_file(tmp_path: Path) -> None:
    generate(tmp_path, Shape(rows=0, partitions=1))
    assert read(tmp_path, "abstract_t").num_rows == 0


def peak(target: Path, rows: int) -> int:
    """Bytes held at most by Python and NumPy while one partition is written; Arrow's come on top."""
    tracemalloc.start()
    generate(target, Shape(rows=rows, partitions=1))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    small = peak(tmp_path, 2 * CHUNK)
    held = pa.default_memory_pool().max_memory()
    assert peak(tmp_path, 6 * CHUNK) < 1.5 * small
    assert pa.default_memory_pool().max_memory() < 1.5 * held


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": -1},
        {"partitions": 0},
        {"seed": -1},
        {"nulls": 1.5},
        {"low": 5, "high": 4},
        {"high": 2**31},
        {"ranges": {"Z": (0, 1)}},
    ],
)
def test_a_shape_that_cannot_be_drawn_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DataError):
        Shape(**wrong)  # type: ignore[arg-type]
