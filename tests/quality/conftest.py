"""A small stream of flights as daily Parquet partitions, sound until a test spoils one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Relation

FLIGHTS: dict[str, Any] = {
    "timestamp": "departed_at",
    "columns": {
        "departed_at": "timestamp",
        "origin": "string",
        "delay": "int",
        "fare": "decimal(6,2)",
        "flown_on": "date",
        "wind": "double",
    },
    "not_null": ["origin"],
    "domains": {
        "origin": {"values": ["EWR", "JFK", "LGA"]},
        "delay": {"min": -30, "max": 100},
        "fare": {"min": 0},
        "flown_on": {"max": "2013-12-31"},
        "wind": {"max": 120.5},
    },
    "max_rows_per_timestamp": 3,
    "history": {"path": "flights", "partition_by": "date"},
}
SCHEMA = pa.schema(
    {
        "departed_at": pa.timestamp("us", tz="UTC"),
        "origin": pa.string(),
        "delay": pa.int32(),
        "fare": pa.decimal128(6, 2),
        "flown_on": pa.date32(),
        "wind": pa.float64(),
    }
)


def relation(**changes: Any) -> Relation:
    """The relation ``flights``, with keys of its catalog entry changed."""
    return catalog_from_mapping({"flights": FLIGHTS | changes}).relations[0]


def rows(day: str, count: int = 5) -> list[dict[str, Any]]:
    """Sound rows of a day, an hour apart."""
    midnight = dt.datetime.fromisoformat(day).replace(tzinfo=dt.UTC)
    return [
        {
            "departed_at": midnight + dt.timedelta(hours=hour),
            "origin": ["EWR", "JFK", "LGA"][hour % 3],
            "delay": hour,
            "fare": None,
            "flown_on": midnight.date(),
            "wind": 3.5,
        }
        for hour in range(count)
    ]


@dataclass(frozen=True)
class History:
    """The folder of the stream's history."""

    folder: Path

    def file(self, day: str) -> Path:
        """The file of a partition."""
        return self.folder / f"date={day}" / "part-00000.parquet"

    def write(self, day: str, content: list[dict[str, Any]], schema: pa.Schema = SCHEMA) -> None:
        """A partition with these rows."""
        self.write_table(day, pa.Table.from_pylist(content, schema=schema))

    def write_table(self, day: str, table: pa.Table) -> None:
        """A partition with this table."""
        self.file(day).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, self.file(day))

    def spoil(self, day: str, change: Mapping[str, Any]) -> None:
        """A partition in which one row has other values."""
        first, *others = rows(day)
        self.write(day, [first | change, *others])


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """Three sound days in a home of their own."""
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    made = History(tmp_path / "streams" / "flights")
    for day in ("2013-01-01", "2013-01-02", "2013-01-03"):
        made.write(day, rows(day))
    return made
