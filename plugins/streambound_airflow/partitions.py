"""Which partitions of a stream a run is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streambound.query.model import Relation
    from streambound.query.partitions import Range


def in_range(relation: Relation, first: str | None, last: str | None) -> list[str]:
    """The names of the partitions that exist from the first to the last day, both included.

    Only a stream partitioned by date has days: of any other stream all partitions belong to the run.

    Raises:
        DataError: there is no history at all, or the days are none or reversed.
    """
    from streambound.query.partitions import partitions_in

    return [partition.name for partition in partitions_in(relation, days(first, last))]


def days(first: str | None, last: str | None) -> Range:
    """The days from the first to the last, as a form or a request gives them; empty for an open end.

    Raises:
        DataError: an end is no day, or the range ends before it starts.
    """
    from streambound.query.partitions import Range

    chosen = Range(first or None, last or None)
    chosen.days()
    return chosen
