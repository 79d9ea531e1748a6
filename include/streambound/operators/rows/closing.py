"""Which partitions are over: those of which no row comes any more (see ``plan.flow.Times``)."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from streambound.errors import DataError
from streambound.operators.rows.operator import Row
from streambound.plan.flow import Times


class Closing:
    """The latest time that rows told of, and when each open partition is over.

    Args:
        times: of the rows.
        parted: of the keys of partitions; without a time no partition is ever over, and nothing is kept.
    """

    def __init__(self, times: Times, parted: Times) -> None:
        self._times, self._parted = times, parted
        self._seen: int | None = None
        # The time up to which partitions are over.
        self._over: int | None = None
        # A number tells keys apart that are looked at together: they may have no order.
        self._ends: list[tuple[int, int, Row]] = []
        self._due: dict[Row, int] = {}
        self._number = 0

    @property
    def seen(self) -> int | None:
        """The latest time that rows told of."""
        return self._seen

    @seen.setter
    def seen(self, moment: int | None) -> None:
        self._seen = self._over = moment

    @property
    def parted(self) -> bool:
        """Whether anything is ever over."""
        return bool(self._parted)

    def end(self, key: Row) -> int | None:
        """After a row of which ``seen`` is greater, none of a partition comes; None: one always may."""
        return self._parted.end(key)

    def closed(self, key: Row, now: int | None) -> bool:
        """Whether a partition is over once all until a time has come."""
        return self._parted.over(key, now)

    def see(self, row: Row) -> None:
        """Take note of the time of a row."""
        if not self._parted:
            return
        seen = self._times.seen(row)
        if seen is not None and (self._seen is None or seen > self._seen):
            self._seen = seen

    def open(self, key: Row) -> None:
        """Wait for the end of a partition.

        Raises:
            DataError: it was over before.
        """
        end = self.end(key)
        if end is not None and self._over is not None and end < self._over:
            raise DataError(
                f"a row comes for ({', '.join(map(str, key))}), of which none can come after those before it",
                accepted="rows in order of time",
                fix="write the histories partitioned by the date of their timestamps",
            )
        self.until(key, end)

    def until(self, key: Row, end: int | None) -> None:
        """Look at a key when a time is over, or when it was to be looked at before."""
        if end is not None and (key not in self._due or end < self._due[key]):
            self._number += 1
            self._due[key] = end
            heappush(self._ends, (end, self._number, key))

    def over(self) -> Iterator[Row]:
        """The keys to be looked at now, each once."""
        self._over = self._seen
        while self._ends and self._seen is not None and self._ends[0][0] < self._seen:
            end, _, key = heappop(self._ends)
            if self._due.get(key) == end:
                del self._due[key]
                yield key
