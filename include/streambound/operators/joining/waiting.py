"""As-of joins that look ahead: each row waits for the first tuple of its key from its own time on.

All tuples of that time are joined with it, and it waits no longer; until then an outer join has NULLs beside
it. What comes at one time comes together, so all that comes later is after the rows that wait: their times
are forgotten, where nothing else asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streambound.operators.rows.operator import Changes, Operator, Row, ordering
from streambound.operators.rows.timers import Timers
from streambound.plan.conditions import condition, test_of, true_of
from streambound.plan.flow import LookedUp
from streambound.state.serial import decoded, plain


class NextVersions(Operator):
    """The operation ``LookedUp`` of what comes ``ahead``."""

    def __init__(self, operation: LookedUp) -> None:
        self._operation = operation
        self._where, self._asks, self._offers = condition(operation.where, operation.outer, operation.inner)
        self._test = test_of(operation.formula, operation.columns)
        self.left = tuple(left for left, _ in operation.keys)
        self.right = tuple(right for _, right in operation.keys)
        # By key how many rows of each kind wait.
        self._waiting: dict[Row, dict[Row, int]] = {}
        self._due: Timers[Row] = Timers()
        self._seen: int | None = None

    @property
    def stored_units(self) -> int:
        """Stored values and counts now."""
        return sum(len(row) + 1 for rows in self._waiting.values() for row in rows)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of its rows: see ``Operator``."""
        rows, tuples = inputs
        touched: dict[Row, dict[int, list[tuple[Row, int]]]] = {}
        answers: dict[Row, int] = {}
        for row, count in rows.items():
            self._wait(row, count)
            self._tell(row, (None,) * len(self._operation.kept), count * self._operation.outer_join, answers)
        for row, count in tuples.items():
            moment = row[self._operation.right]
            self._see(moment)
            key = tuple([row[p] for p in self.right])
            if key in self._waiting:
                touched.setdefault(key, {}).setdefault(moment, []).append((row, count))
        for key, versions in touched.items():
            self._answer(key, sorted(versions.items()), answers)
        for row in rows:
            self._see(row[self._operation.left])
            self._settle(row)
        for row in self._due.until(self._seen):
            self._forget(row)
        return {row: count for row, count in answers.items() if count}

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """Rows with NULLs that may still find a tuple; all others have found theirs."""
        answers: dict[Row, int] = {}
        for waiting in self._waiting.values() if self._operation.outer_join else ():
            for row, count in waiting.items():
                self._tell(row, (None,) * len(self._operation.kept), count, answers)
        return answers

    def _tell(self, row: Row, version: Row, count: int, answers: dict[Row, int]) -> None:
        """Note that a row with a tuple, or NULLs, is there so often more."""
        whole = (*row, *version)
        if count and self._test(whole):
            shown = tuple([whole[p] for p in self._operation.shown])
            answers[shown] = answers.get(shown, 0) + count

    def _see(self, moment: int) -> None:
        self._seen = moment if self._seen is None else max(self._seen, moment)

    def _key(self, row: Row) -> Row:
        return tuple([row[p] for p in self.left])

    def _wait(self, row: Row, count: int) -> None:
        key = self._key(row)
        outside = (not r.holds(value) for r, value in zip(self._operation.ranges, key, strict=True))
        if None in key or any(outside):
            return
        waiting = self._waiting.setdefault(key, {})
        waiting[row] = waiting.get(row, 0) + count
        if self._operation.tolerance is not None:
            self._due.add(row, row[self._operation.left] + self._operation.tolerance - 1)

    def _answer(
        self, key: Row, versions: Sequence[tuple[int, list[tuple[Row, int]]]], answers: dict[Row, int]
    ) -> None:
        """Join the rows of a key with the first tuples that they find, in the order of time."""
        operation, waiting = self._operation, self._waiting[key]
        for row, count in list(waiting.items()):
            at, asked = row[operation.left], self._asks(row)
            for moment, same in versions:
                if at is not None and (moment < at or (operation.strict and moment == at)):
                    continue
                if operation.tolerance is not None and moment - at > operation.tolerance:
                    break
                fitting = [
                    (version, n) for version, n in same if true_of(self._where, asked, self._offers(version))
                ]
                for version, number in fitting:
                    self._tell(row, tuple([version[p] for p in operation.kept]), count * number, answers)
                if fitting:
                    self._tell(row, (None,) * len(operation.kept), -count * operation.outer_join, answers)
                    del waiting[row]
                    break
        if not waiting:
            del self._waiting[key]

    def _settle(self, row: Row) -> None:
        """Forget the time of a row that still waits: all that comes is later."""
        waiting = self._waiting.get(self._key(row), {})
        if self._operation.timely or row not in waiting:
            return
        count = waiting.pop(row)
        left = self._operation.left
        lasting = (*row[:left], None, *row[left + 1 :])
        waiting[lasting] = waiting.get(lasting, 0) + count

    def _forget(self, row: Row) -> None:
        """Drop a row that nothing to come is near enough to."""
        key = self._key(row)
        self._waiting.get(key, {}).pop(row, None)
        if not self._waiting.get(key, {None: 0}):
            del self._waiting[key]

    def dump(self) -> Any:
        """What it keeps: see ``Operator``."""
        rows = [(row, count) for waiting in self._waiting.values() for row, count in waiting.items()]
        kept = [[*map(plain, row), count] for row, count in sorted(rows, key=lambda pair: ordering(pair[0]))]
        return {"seen": self._seen, "waiting": kept}

    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave."""
        self._waiting, self._due, self._seen = {}, Timers(), document["seen"]
        for *values, count in document["waiting"]:
            self._wait(decoded(values), count)
