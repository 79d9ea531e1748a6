"""Windows that overlap: a row is one in each of its windows (HOP, CUMULATE)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from streambound.operators.rows.operator import Changes, Operator, Row
from streambound.plan.flow import Hopped


class Hops(Operator):
    """The operation ``Hopped``; it keeps nothing.

    >>> hops = Hops(Hopped(edges=((0, False),), time=1, size=10, slide=4))
    >>> sorted(hops.take([{(8, 9): 1}]))
    [(0,), (4,), (8,)]
    """

    stored_units = 0

    def __init__(self, operation: Hopped) -> None:
        self._made = operation

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of the rows in each window."""
        changes: dict[Row, int] = {}
        for row, count in inputs[0].items():
            for window in self._windows(row):
                changes[window] = changes.get(window, 0) + count
        return {row: count for row, count in changes.items() if count}

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """The rows in each window of those that are standing."""
        return self.take(below)

    def _windows(self, row: Row) -> Iterator[Row]:
        made, at = self._made, row[self._made.time]
        values = list(row[: self._made.time])
        starts = {position: value for position, value in enumerate(values)}
        for back in range(-(-made.size // made.slide)):
            moved = back * made.slide
            for position, end in made.edges:
                # The windows of CUMULATE have one start.
                still = made.cumulative and not end
                values[position] = starts[position] if still else starts[position] - moved
            if self._holds(values, moved, at):
                yield tuple(values)

    def _holds(self, values: list[Any], moved: int, at: int) -> bool:
        """Whether a moment lies before the end of a window."""
        position, end = self._made.edges[0]
        last = values[position] if end else values[position] + self._made.size
        if self._made.cumulative and not end:
            last -= moved
        return bool(last > at)

    def dump(self) -> Any:
        """Nothing."""

    def load(self, document: Any) -> None:
        """Nothing is taken up."""
