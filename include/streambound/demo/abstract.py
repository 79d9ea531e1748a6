"""The papers' abstract streams S(A, B, C) and T(D, E): uniform integers, any size, from a seed.

Arasu et al., section 1.1. ``generate`` writes Parquet partitions in memory that does not grow with the
number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from streambound.errors import DataError, meant
from streambound.storage.parquet import FILE_NAME, atomic_writer, drop_stale

COLUMNS: dict[str, tuple[str, ...]] = {"S": ("A", "B", "C"), "T": ("D", "E")}
FOLDERS = {"S": "abstract_s", "T": "abstract_t"}
# Rows drawn at once: twelve megabytes for S, and one row group of the file.
CHUNK = 1 << 20
INT32 = np.iinfo(np.int32)


@dataclass(frozen=True)
class Shape:
    """How much to draw, and from where.

    Args:
        rows: rows of each stream.
        partitions: folders ``part=00000`` and so on of each stream; their sizes differ by at most one.
        seed: the same seed draws the same rows.
        low, high: the least and greatest value, both included.
        ranges: other ``(low, high)`` for single columns.
        nulls: the share of values that are NULL.
    """

    rows: int = 40_000
    partitions: int = 8
    seed: int = 0
    low: int = 0
    high: int = 199
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    nulls: float = 0.0

    def __post_init__(self) -> None:
        if self.rows < 0 or self.partitions < 1 or self.seed < 0 or not 0 <= self.nulls <= 1:
            raise DataError(
                f"cannot draw {self.rows} rows in {self.partitions} partitions with seed {self.seed} "
                f"and a share of {self.nulls} NULLs",
                accepted="rows and seed from 0, partitions from 1, nulls from 0 to 1",
            )
        columns_of_all = [column for columns in COLUMNS.values() for column in columns]
        if unknown := sorted(set(self.ranges) - set(columns_of_all)):
            raise DataError(
                f"ranges names {', '.join(unknown)}",
                accepted=", ".join(columns_of_all),
                fix=meant(unknown[0], columns_of_all),
            )
        for column in columns_of_all:
            low, high = self.range_of(column)
            if not INT32.min <= low <= high <= INT32.max:
                raise DataError(
                    f"column {column} has the range {low} to {high}", accepted="32-bit, low to high"
                )

    def range_of(self, column: str) -> tuple[int, int]:
        """The least and greatest value of that column."""
        return self.ranges.get(column, (self.low, self.high))

    def rows_of(self, partition: int) -> int:
        """Rows of each stream in that partition."""
        return self.rows * (partition + 1) // self.partitions - self.rows * partition // self.partitions


# What the demo runs Table 1 on: small enough that the plain SQL can check every answer.
DEMO = Shape(rows=40_000, partitions=8, seed=2002, nulls=0.01)


def _silent(message: str) -> None:
    return None


def generate(target: Path, shape: Shape = DEMO, progress: Callable[[str], None] = _silent) -> None:
    """Write both streams below ``target``, as ``abstract_s/part=00000/part-00000.parquet`` and so on.

    Raises:
        StorageError: the disk refuses.
    """
    for index, (stream, folder) in enumerate(FOLDERS.items()):
        names = [f"part={partition:05}" for partition in range(shape.partitions)]
        for partition, name in enumerate(names):
            generator = np.random.default_rng([shape.seed, index, partition])
            _write(target / folder / name / FILE_NAME, stream, shape, shape.rows_of(partition), generator)
        drop_stale(target / folder, _present(target / folder), set(names))
        progress(f"{stream}: {shape.rows:,} rows in {shape.partitions} partitions")


def _present(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("part=*")]


def _write(path: Path, stream: str, shape: Shape, rows: int, generator: np.random.Generator) -> None:
    schema = pa.schema([(column, pa.int32()) for column in COLUMNS[stream]])
    with atomic_writer(path, schema) as writer:
        for size in _chunks(rows):
            columns = [_draw(column, shape, size, generator) for column in COLUMNS[stream]]
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _chunks(rows: int) -> Iterator[int]:
    for start in range(0, rows, CHUNK):
        yield min(CHUNK, rows - start)


def _draw(column: str, shape: Shape, size: int, generator: np.random.Generator) -> pa.Array:
    low, high = shape.range_of(column)
    values = generator.integers(low, high, size=size, dtype=np.int32, endpoint=True)
    mask = generator.random(size) < shape.nulls if shape.nulls else None
    return pa.array(values, mask=mask)
