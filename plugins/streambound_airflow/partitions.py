"""Which partitions of a stream a run is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from streambound.errors import DataError

if TYPE_CHECKING:
    from streambound.query.catalog import Catalog
    from streambound.query.model import Relation
    from streambound.storage.partitions import PartitionRange


def in_range(relation: Relation, first: str | None, last: str | None) -> list[str]:
    """The names of the partitions that exist from the first to the last day, both included.

    Only a stream partitioned by date has days: of any other stream all partitions belong to the run.

    Raises:
        DataError: there is no history at all, or the days are none or reversed.
    """
    from streambound.storage.partitions import partitions_in

    return [partition.name for partition in partitions_in(relation, days(first, last))]


def days(first: str | None, last: str | None) -> PartitionRange:
    """The days from the first to the last, as a form or a request gives them; empty for an open end.

    Raises:
        DataError: an end is no day, or the range ends before it starts.
    """
    from streambound.storage.partitions import PartitionRange

    chosen = PartitionRange(first or None, last or None)
    chosen.days()
    return chosen


def require_days(
    reads: Mapping[str, Sequence[str]], catalog: Catalog, first: str | None, last: str | None
) -> None:
    """Refuses days of which no query can be evaluated, since a stream that it reads has none of them.

    A query that alone has nothing to read is dropped later, by name; a stream without any history is told
    by its quality check.

    Raises:
        DataError: naming the days that there are.
    """
    chosen = days(first, last)
    if not (first or last):
        return
    streams = {name for names in reads.values() for name in names}
    outside = {name: _outside(catalog.find(name), chosen) for name in streams}
    if not all(any(outside[name] for name in names) for names in reads.values()):
        return
    reasons = sorted({text for text in outside.values() if text})
    raise DataError(
        f"there is nothing to read {chosen}", accepted="; ".join(reasons), fix="choose other days"
    )


def _outside(relation: Relation | None, chosen: PartitionRange) -> str | None:
    """The days that a stream has, if none of them is in the range."""
    from streambound.storage.partitions import DAYS, present_partitions

    if relation is None or relation.history is None or relation.history.partition_by != DAYS:
        return None
    try:
        names = [partition.name for partition in present_partitions(relation)]
    except DataError:
        return None
    if not names or any(chosen.holds(DAYS, name) for name in names):
        return None
    return f"{relation.name} has {names[0]} to {names[-1]}"
