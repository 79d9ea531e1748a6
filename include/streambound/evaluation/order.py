"""Whether what counts of a history arrives in order of time, as queries that compare timestamps need it.

Within a partition tuples are put in order; the partitions themselves have to follow each other in time.
"""

from __future__ import annotations

from dataclasses import dataclass

from streambound.errors import DataError
from streambound.query.model import Query, Relation


@dataclass
class ArrivalOrder:
    """The last moment of which a tuple counted, the partition that it came from, and its possible streams.

    The parts of one statement share an order, and may each step to the same moment of a partition.
    """

    latest: int | None = None
    partition: str | None = None
    streams: tuple[str, ...] = ()

    def follow(self, relation: Relation, moment: int, partition: str | None) -> None:
        """Step to a moment of which a tuple of ``relation`` counts.

        Raises:
            DataError: it is not later than what counted of the partitions before.
        """
        again = (moment, partition) == (self.latest, self.partition)
        if self.latest is not None and moment <= self.latest and not again:
            raise self._refusal(relation, moment, self.latest, partition)
        self.latest, self.partition, self.streams = moment, partition, (relation.name,)

    def reach(self, query: Query, moment: int) -> None:
        """Go on to a later moment of the partition, of which a tuple of some stream of a query counts."""
        if self.latest is None or moment > self.latest:
            self.latest, self.streams = moment, _names(query)

    def resume(self, query: Query, latest: int | None) -> None:
        """Take up the last moment of a state of a query at a boundary."""
        if latest is not None and (self.latest is None or latest > self.latest):
            self.latest, self.partition, self.streams = latest, None, _names(query)

    def join(self, furthest: ArrivalOrder) -> None:
        """Be as far as the order of another part of the statement."""
        self.latest, self.partition, self.streams = furthest.latest, furthest.partition, furthest.streams

    def _refusal(self, relation: Relation, moment: int, latest: int, partition: str | None) -> DataError:
        kind = relation.column(str(relation.timestamp)).type
        own, last = (kind.text(at) for at in (moment, latest))
        within = "" if self.partition is None else f" in partition {self.partition}"
        return DataError(
            f"partition {partition} of {relation.name} has a row of {own}, but the partitions before it"
            f" reach {last}, with a row of {' or '.join(self.streams)}{within}",
            accepted="partitions that follow each other in time, in the order of their names: each row later"
            " than all rows of the partitions before, whichever stream of the query they are of",
            fix="write the histories of these streams partitioned by the date of their timestamps",
        )


def _names(query: Query) -> tuple[str, ...]:
    return tuple(dict.fromkeys(occurrence.relation.name for occurrence in query.streams))
