"""Which partitions of a stream a run is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streambound.query.model import Relation


def in_range(relation: Relation, first: str | None, last: str | None) -> list[str]:
    """The names of the partitions that exist from the first to the last day, both included.

    Only a stream partitioned by date has days: of any other stream all partitions belong to the run.

    Raises:
        DataError: there is no history at all.
    """
    from streambound.query.partitions import find_partitions

    dated = relation.history is not None and relation.history.partition_by == "date"
    low, high = (first, last) if dated else (None, None)
    names = [partition.name for partition in find_partitions(relation)]
    return [name for name in names if (not low or low <= name) and (not high or name <= high)]
