"""What is to be looked at again once a time has been seen."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

What = TypeVar("What", bound=Hashable)


class Timers(Generic[What]):
    """Things by the times after which they are due."""

    def __init__(self) -> None:
        self._due: dict[int, dict[What, None]] = {}
        self._moments: list[int] = []

    def add(self, what: What, moment: int | None) -> None:
        """Note that something is due after a moment; None: never."""
        if moment is None:
            return
        if moment not in self._due:
            self._due[moment] = {}
            heappush(self._moments, moment)
        self._due[moment][what] = None

    def until(self, seen: int | None) -> Iterator[What]:
        """Take out what is due before a time, what is added meanwhile among it."""
        while self._moments and seen is not None and self._moments[0] < seen:
            yield from self._due.pop(heappop(self._moments))
