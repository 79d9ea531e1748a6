"""Rows while a condition on the present time holds: what Materialize calls temporal filters.

Of a row it is known beforehand when it enters the answer, and when it leaves. It is kept until its last
change; what enters for good, or has left, is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from streambound.operators.rows.operator import Changes, Operator, Row, ordering
from streambound.operators.rows.timers import Timers
from streambound.plan.flow import TimeFiltered
from streambound.query.model import Op
from streambound.state.serial import decoded, plain


class TimeFilters(Operator):
    """The operation ``TimeFiltered``.

    >>> from streambound.plan.flow import Moment
    >>> recent = TimeFilters(TimeFiltered((Moment(0, Op.GT, -5),), 1))
    >>> recent.take([{(1,): 1}, {(1,): 1}]), recent.take([{}, {(6,): 1}])
    ({(1,): 1}, {(1,): -1})
    """

    rows = ("rows",)

    def __init__(self, operation: TimeFiltered) -> None:
        self._made = operation
        self._present: int | None = None
        # Rows that have a change ahead, with how often they are there.
        self._kept: dict[Row, int] = {}
        self._due: Timers[Row] = Timers()

    @property
    def stored_units(self) -> int:
        """The values of the rows that are kept, and their counts."""
        return sum(len(row) + 1 for row in self._kept)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The rows that enter, and (negative) those that leave."""
        rows, times = inputs
        before = self._present
        self._present = max([*(int(time) for (time,) in times), *([] if before is None else [before])])
        rows_changed: dict[Row, int] = {}
        for row in self._due.until(self._present):
            if count := self._kept.pop(row, 0):
                self._put(
                    rows_changed, row, count * (self._there(row, self._present) - self._there(row, before))
                )
                self._keep(row, count)
        for row, count in rows.items():
            self._put(rows_changed, row, count * self._there(row, self._present))
            self._keep(row, count)
        return {row: count for row, count in rows_changed.items() if count}

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """The rows that will leave, and those that are standing themselves."""
        rows, _ = below
        passing: dict[Row, int] = {}
        leaves = [(row, count) for row, count in self._kept.items() if self._window(row)[1] < inf]
        stays = [(row, count) for row, count in rows.items() if self._window(row)[1] == inf]
        for row, count in (*leaves, *stays):
            self._put(passing, row, count * self._there(row, self._present))
        return {row: count for row, count in passing.items() if count}

    def _put(self, changes: dict[Row, int], row: Row, count: int) -> None:
        shown = row[: self._made.width]
        changes[shown] = changes.get(shown, 0) + count

    def _there(self, row: Row, present: int | None) -> bool:
        entering, leaving = self._window(row)
        return present is not None and entering <= present < leaving

    def _window(self, row: Row) -> tuple[float, float]:
        """From which present time on a row is there, and from which on it is not."""
        entering, leaving = list[int](), list[int]()
        for moment in self._made.moments:
            time = row[moment.position] - moment.offset
            if moment.op in (Op.LT, Op.LE):
                entering.append(time + (moment.op is Op.LT))
            else:
                leaving.append(time + (moment.op is Op.GE))
        return max(entering, default=-inf), min(leaving, default=inf)

    def _keep(self, row: Row, count: int) -> None:
        """Note a row for its next change, if it has one."""
        assert self._present is not None
        entering, leaving = self._window(row)
        ahead = entering if entering > self._present else leaving
        if ahead == inf or leaving <= max(self._present, entering):
            return
        count += self._kept.get(row, 0)
        if count:
            self._kept[row] = count
            self._due.add(row, int(ahead) - 1)
        else:
            self._kept.pop(row, None)

    def dump(self) -> Any:
        """The rows that are kept, in order, and the present time."""
        rows = [[list(map(plain, row)), self._kept[row]] for row in sorted(self._kept, key=ordering)]
        return {"rows": rows, "present": self._present}

    def load(self, document: Any) -> None:
        """Take up rows and a present time."""
        self._present, self._kept, self._due = document["present"], {}, Timers()
        for row, count in document["rows"]:
            self._keep(decoded(row), count)
