"""Metrics of every partition of a stream, in one pass over its files.

Footers tell which files can be read and have the declared columns; one DuckDB aggregation over all
files of one schema then counts what the catalog's promises say must not be there. A partition that
cannot be read is a row of the table with its reason, never a crash.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from streambound.errors import DataError
from streambound.quality.aggregate import Counted, count, with_domain
from streambound.query.column_types import EPOCH, Family
from streambound.query.model import Relation
from streambound.storage.files import footer
from streambound.storage.partitions import Partition

if TYPE_CHECKING:
    import pandas as pd


# What is measured of each column.
BY_COLUMN = ("nulls", "outside_domain", "least", "greatest")


@dataclass(frozen=True)
class Measures:
    """What one partition holds. Counts are rows; None where the partition could not be read.

    ``nulls`` counts by column, ``outside_domain`` by column with a domain; ``outside_day`` counts
    timestamps outside the partition's UTC day (None unless partitioned by date);
    ``first`` and ``last`` are the least and greatest timestamp (ISO text, or ticks), ``least`` and
    ``greatest`` those of every column.
    """

    partition: str
    readable: bool
    schema_ok: bool
    reason: str | None = None
    rows: int | None = None
    nulls: Mapping[str, int] = field(default_factory=dict)
    outside_day: int | None = None
    outside_domain: Mapping[str, int] = field(default_factory=dict)
    most_rows_at_one_timestamp: int | None = None
    first: str | int | None = None
    last: str | int | None = None
    least: Mapping[str, Any] = field(default_factory=dict)
    greatest: Mapping[str, Any] = field(default_factory=dict)
    newest: bool = False

    @property
    def nulls_total(self) -> int:
        """NULLs in all columns."""
        return sum(self.nulls.values())


def measure(relation: Relation, partitions: Sequence[Partition]) -> tuple[Measures, ...]:
    """The measures of each partition, in the order given; the last readable one is the newest."""
    faults = {p.name: fault for p in partitions if (fault := _fault(relation, p))}
    counted, broken = _count_all(relation, [p for p in partitions if p.name not in faults])
    faults |= broken
    measures = [
        faults[p.name] if p.name in faults else _measures(relation, p, counted.get(p.name))
        for p in partitions
    ]
    readable = [m.partition for m in measures if m.readable and m.schema_ok]
    newest = max(readable, default=None)
    return tuple(replace(m, newest=m.partition == newest) for m in measures)


def metrics_table(relation: Relation, measures: Sequence[Measures]) -> pd.DataFrame:
    """The measures as a table, one row a partition; by-column counts are columns ``nulls.NAME`` and
    ``outside_domain.NAME``."""
    import pandas as pd

    # Counts stay whole numbers beside partitions that have none.
    return pd.DataFrame([_flat(relation, m) for m in measures]).convert_dtypes(
        convert_string=False, convert_boolean=False, convert_floating=False
    )


def as_json(measures: Measures) -> dict[str, Any]:
    """The measures for the results database."""
    body = {k: v for k, v in vars(measures).items() if k != "partition"}
    return body | {
        "nulls": dict(measures.nulls),
        "outside_domain": dict(measures.outside_domain),
        "least": dict(measures.least),
        "greatest": dict(measures.greatest),
        "nulls_total": measures.nulls_total,
    }


def _flat(relation: Relation, m: Measures) -> dict[str, Any]:
    # All columns are there even where no partition can be read.
    flat = {k: v for k, v in vars(m).items() if k not in BY_COLUMN}
    flat |= {f"nulls.{column.name}": m.nulls.get(column.name) for column in relation.columns}
    return flat | {f"outside_domain.{c.name}": m.outside_domain.get(c.name) for c in with_domain(relation)}


def _fault(relation: Relation, partition: Partition) -> Measures | None:
    """The measures of a partition that cannot be counted, with the reason; None for a sound one."""
    if not partition.files:
        return Measures(partition.name, False, False, "the partition has no Parquet file")
    if relation.history and relation.history.partition_by == "date" and day_of(partition.name) is None:
        return Measures(partition.name, True, False, f"{partition.name} is not a day (YYYY-MM-DD)")
    rows, columns = 0, [column.name for column in relation.columns]
    for path in partition.files:
        try:
            promised = footer(relation, columns, str(path))
        except DataError as error:
            return Measures(partition.name, False, False, f"{path.name} is {error.message}")
        rows += promised.metadata.num_rows
        if promised.faults:
            reason = "; ".join(fault.message for fault in promised.faults.values())
            return Measures(partition.name, True, False, f"{path.name}: {reason}", rows)
    return None


def _brief(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _count_all(
    relation: Relation, partitions: Sequence[Partition]
) -> tuple[dict[str, Counted], dict[str, Measures]]:
    """Counts by partition, and the measures of those whose pages turn out to be corrupt."""
    import duckdb

    counted: dict[str, Counted] = {}
    broken: dict[str, Measures] = {}
    for group in _by_schema(relation, partitions):
        try:
            counted |= count(relation, group, _days(relation, group))
        except duckdb.Error as error:
            if len(group) == 1:
                reason = f"cannot be read: {_brief(error)}"
                broken[group[0].name] = Measures(group[0].name, False, False, reason)
                continue
            # One corrupt page fails the whole scan: halving finds which partition it is in.
            for half in (group[: len(group) // 2], group[len(group) // 2 :]):
                some, bad = _count_all(relation, half)
                counted, broken = counted | some, broken | bad
    return counted, broken


def _by_schema(relation: Relation, partitions: Sequence[Partition]) -> list[list[Partition]]:
    groups: dict[str, list[Partition]] = {}
    for partition in partitions:
        every_schema = (footer(relation, (), str(path)).schema for path in partition.files)
        schemas = sorted({schema.remove_metadata().to_string() for schema in every_schema})
        groups.setdefault("\n".join(schemas), []).append(partition)
    return list(groups.values())


def _days(relation: Relation, partitions: Sequence[Partition]) -> dict[str, tuple[int, int] | None]:
    """The bounds of each partition's UTC day, microseconds; None where the day means nothing."""
    column = relation.column(relation.timestamp) if relation.timestamp else None
    dated = relation.history is not None and relation.history.partition_by == "date"
    applies = dated and column is not None and column.type.family is Family.TIMESTAMP
    return {p.name: day_of(p.name) if applies else None for p in partitions}


def day_of(name: str) -> tuple[int, int] | None:
    """The first microsecond of the UTC day that ``name`` spells and of the next; None if it is no day."""
    try:
        day = dt.date.fromisoformat(name)
    except ValueError:
        return None
    if day.isoformat() != name:
        return None
    start = (day - EPOCH.date()).days * 86_400_000_000
    return start, start + 86_400_000_000


def _measures(relation: Relation, partition: Partition, counted: Counted | None) -> Measures:
    # A partition without rows is in no group of the aggregation.
    counts = counted or Counted.empty(relation)
    dated = relation.history is not None and relation.history.partition_by == "date"
    return Measures(
        partition=partition.name,
        readable=True,
        schema_ok=True,
        rows=counts.rows,
        nulls=counts.nulls,
        outside_day=counts.outside_day if dated else None,
        outside_domain=counts.outside_domain,
        most_rows_at_one_timestamp=counts.most_at_once if relation.timestamp else None,
        first=_moment(relation, counts.first),
        last=_moment(relation, counts.last),
        least=counts.least,
        greatest=counts.greatest,
    )


def _moment(relation: Relation, value: int | None) -> str | int | None:
    if value is None or relation.timestamp is None:
        return None
    if relation.column(relation.timestamp).type.family is not Family.TIMESTAMP:
        return value
    return (EPOCH + dt.timedelta(microseconds=value)).isoformat()
