"""GROUP BY: aggregates of the rows of each group, as they change (docs/theory.md, Theorems L, M and D).

Of a group there is kept how many rows it has, and what each aggregate keeps of them. A group that has changed
takes its old row back and gives the new one. Where a key is a time, a group of which no row comes any more is
forgotten, and its row stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from streambound.evaluation.operators.aggregates import Accumulator, accumulator
from streambound.evaluation.operators.operator import Changes, Operator, Row, difference
from streambound.evaluation.operators.shown import rows_shown
from streambound.query.values import Type
from streambound.synopsis.flow import Grouped, Times
from streambound.synopsis.serial import decoded, plain


@dataclass
class _Group:
    """The number of rows from each input, and what the aggregates keep."""

    counts: list[int]
    kept: list[Accumulator]

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(one.value() for one in self.kept)


class Groups(Operator):
    """The groups of some rows.

    Args:
        types: of the rows of each input.
        times: of the keys.
        retracts: of each input, whether its rows are taken back.
    """

    def __init__(
        self,
        operation: Grouped,
        types: Sequence[Sequence[Type]],
        times: Times,
        retracts: Sequence[bool],
    ) -> None:
        self.operation, self.then, self.times = operation, operation.then, times
        self.inputs = [[n for n, r in enumerate(operation.reads) if r.input == i] for i in range(len(types))]
        self.retracts = retracts
        self.shown = rows_shown(self.then, operation.reads, types)
        self.groups: dict[Row, _Group] = {}
        # What closes next: the greatest time at which rows of a group come, and its keys.
        self.closing: list[tuple[int, int, Row]] = []
        self.seen: int | None = None

    @property
    def units(self) -> int:
        """A count of rows, and what each aggregate keeps, of every group."""
        return sum(1 + sum(one.units for one in group.kept) for group in self.groups.values())

    def initial(self) -> dict[Row, int]:
        """The row of no rows, where there are no keys."""
        return {} if self.operation.keys else dict(self._answers([self._row((), self._empty())]))

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of the groups' rows that follow from those of their rows."""
        before: dict[Row, tuple[Row, Row] | None] = {}
        width = len(self.operation.keys)
        for number, changes in enumerate(inputs):
            for row, count in changes.items():
                key = row[:width]
                if key not in before:
                    before[key] = self._standing(key)
                group = self._group(key)
                group.counts[number] += count
                for place in self.inputs[number]:
                    group.kept[place].add(row, count)
                self._see(row)
        after = [self._standing(key) for key in before]
        found = difference(self._answers(before.values()), self._answers(after))
        for key in before:
            if self.operation.keys and not any(self.groups[key].counts):
                del self.groups[key]
        self._close()
        return found

    def _standing(self, key: Row) -> tuple[Row, Row] | None:
        group = self.groups.get(key)
        if group is None:
            return None if self.operation.keys else self._row(key, self._empty())
        return self._row(key, group) if any(group.counts) or not self.operation.keys else None

    def _row(self, key: Row, group: _Group) -> tuple[Row, Row]:
        return key, group.values

    def _answers(self, standing: Iterable[tuple[Row, Row] | None]) -> Iterable[tuple[Row, int]]:
        rows = self.shown([one for one in standing if one is not None])
        return [(row, 1) for row in rows if row is not None]

    def _empty(self) -> _Group:
        kept = [
            accumulator(one, reads.positions, self.retracts[reads.input])
            for one, reads in zip(self.then.aggregates, self.operation.reads, strict=True)
        ]
        return _Group([0] * len(self.inputs), kept)

    def _group(self, key: Row) -> _Group:
        found = self.groups.get(key)
        if found is None:
            found = self.groups[key] = self._empty()
            if (end := self.times.end(key)) is not None:
                # Keys have no order: NULL is among their values.
                heappush(self.closing, (end, id(found), key))
        return found

    def _see(self, row: Row) -> None:
        if (seen := self.times.seen(row)) is not None and (self.seen is None or seen > self.seen):
            self.seen = seen

    def _close(self) -> None:
        while self.closing and self.seen is not None and self.closing[0][0] < self.seen:
            self.groups.pop(heappop(self.closing)[2], None)

    def dump(self) -> Any:
        """The groups in the order of their texts, and the time that was seen."""
        rows = [
            [list(map(plain, key)), group.counts, [one.dump() for one in group.kept]]
            for key, group in self.groups.items()
        ]
        return {"groups": sorted(rows, key=str), "seen": self.seen}

    def load(self, document: Any) -> None:
        """Take up groups."""
        self.groups, self.seen = {}, document["seen"]
        for key, counts, kept in document["groups"]:
            group = self.groups[decoded(key)] = self._empty()
            group.counts = list(counts)
            for one, part in zip(group.kept, kept, strict=True):
                one.load(part)
        ends = ((self.times.end(key), id(group), key) for key, group in self.groups.items())
        self.closing = [(end, number, key) for end, number, key in ends if end is not None]
        heapify(self.closing)
