"""Which partitions are over: those of which no row comes any more (see ``synopsis.flow.Times``)."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from streambound.evaluation.operators.operator import Row
from streambound.synopsis.flow import Times


class Closing:
    """The latest time that rows told of, and when each open partition is over.

    Args:
        times: of the rows.
        parted: of the keys of partitions; without a time no partition is ever over, and nothing is kept.
    """

    def __init__(self, times: Times, parted: Times) -> None:
        self._times, self._parted = times, parted
        self.seen: int | None = None
        # A number tells keys apart that close together: they may have no order.
        self._ends: list[tuple[int, int, Row]] = []
        self._number = 0

    @property
    def parted(self) -> bool:
        """Whether anything is ever over."""
        return bool(self._parted)

    def see(self, row: Row) -> None:
        """Take note of the time of a row."""
        if not self._parted:
            return
        seen = self._times.seen(row)
        if seen is not None and (self.seen is None or seen > self.seen):
            self.seen = seen

    def open(self, key: Row) -> None:
        """Wait for the end of a partition."""
        self.until(key, self._parted.end(key))

    def until(self, key: Row, end: int | None) -> None:
        """Wait for a time at which a partition may be over."""
        if end is not None:
            self._number += 1
            heappush(self._ends, (end, self._number, key))

    def over(self) -> Iterator[Row]:
        """The partitions of which no row comes any more, each once."""
        while self._ends and self.seen is not None and self._ends[0][0] < self.seen:
            yield heappop(self._ends)[2]
