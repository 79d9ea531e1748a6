"""As-of joins: with each row the last tuple of its key before its own time.

All tuples of that time are joined with it. What comes at one time comes together, so a row is answered at
once; kept is what rows to come may find: the last tuples of each key, and those that rows which come late
look back to.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from typing import Any

from streambound.operators.rows.operator import Changes, Operator, Row
from streambound.operators.rows.timers import Timers
from streambound.plan.conditions import Terms, condition, test_of, true_of
from streambound.plan.flow import LookedUp, Times
from streambound.state.serial import compact_text, decoded, plain


class _Versions:
    """The tuples that differ in time, and in what is shown of them: how many of each, by their times."""

    def __init__(self) -> None:
        self.moments: list[int] = []
        self.at: dict[int, dict[Row, int]] = {}

    def add(self, moment: int, shown: Row, count: int) -> bool:
        """Take in some; whether there were none like them."""
        if moment not in self.at:
            insort(self.moments, moment)
            self.at[moment] = {}
        same = self.at[moment]
        new = shown not in same
        same[shown] = same.get(shown, 0) + count
        return new

    def before(self, moment: int, strict: bool) -> int:
        """How many times are before a moment, or at it."""
        return (bisect_left if strict else bisect_right)(self.moments, moment)


class LastVersions(Operator):
    """The operation ``LookedUp``; ``times`` are those of the rows of both inputs."""

    def __init__(self, operation: LookedUp, times: Sequence[Times]) -> None:
        self._operation = operation
        self._times = times
        self._lag = times[0].lag(operation.left) or 0
        self._where, self._asks, self._offers = condition(operation.where, operation.outer, operation.inner)
        self._test = test_of(operation.formula, operation.columns)
        self.left = tuple(left for left, _ in operation.keys)
        self.right = tuple(right for _, right in operation.keys)
        # By key, then by what is asked of a tuple beside.
        self._kept: dict[Row, dict[Terms, _Versions]] = {}
        self._due: Timers[tuple[Row, Terms]] = Timers()
        self._seen: int | None = None
        self._stored = 0

    @property
    def stored_units(self) -> int:
        """Stored values and counts now."""
        return self._stored

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of its rows: see ``Operator``."""
        rows, tuples = inputs
        touched = dict.fromkeys(self._put(row, count) for row, count in tuples.items())
        changes: dict[Row, int] = {}
        for row, count in rows.items():
            for version, number in self._joined(row).items():
                whole = (*row, *version)
                if self._test(whole):
                    shown = tuple([whole[p] for p in self._operation.shown])
                    changes[shown] = changes.get(shown, 0) + count * number
        for some, times in zip(inputs, self._times, strict=True):
            moments = [moment for row in some if (moment := times.seen(row)) is not None]
            self._seen = max((m for m in (self._seen, *moments) if m is not None), default=None)
        for key_and_time in touched:
            if key_and_time is not None:
                self._forget(*key_and_time)
        for key_and_time in self._due.until(self._seen):
            self._forget(*key_and_time)
        return {row: count for row, count in changes.items() if count}

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """No rows: a row is answered when all before it is there."""
        return {}

    def _put(self, row: Row, count: int) -> tuple[Row, Terms] | None:
        key, terms = tuple([row[p] for p in self.right]), self._offers(row)
        outside = (not r.holds(value) for r, value in zip(self._operation.ranges, key, strict=True))
        if None in key or any(outside):
            return None
        shown = tuple([row[p] for p in self._operation.kept])
        self._add(key, terms, row[self._operation.right], shown, count)
        return key, terms

    def _add(self, key: Row, terms: Terms, moment: int, shown: Row, count: int) -> None:
        versions = self._kept.setdefault(key, {}).setdefault(terms, _Versions())
        if versions.add(moment, shown, count):
            self._stored += len(shown) + 2

    def _joined(self, row: Row) -> dict[Row, int]:
        """What is joined with a row: tuples of one time, or NULLs where there are none."""
        operation = self._operation
        at, asked = row[operation.left], self._asks(row)
        last, rows = None, dict[Row, int]()
        for terms, versions in self._kept.get(tuple([row[p] for p in self.left]), {}).items():
            position = versions.before(at, operation.strict)
            moment = versions.moments[position - 1] if position else None
            if moment is None or (last is not None and moment < last):
                continue
            if not true_of(self._where, asked, terms):
                continue
            if operation.tolerance is not None and at - moment > operation.tolerance:
                continue
            if moment != last:
                last, rows = moment, {}
            for shown, count in versions.at[moment].items():
                rows[shown] = rows.get(shown, 0) + count
        if not rows and operation.outer_join:
            return {(None,) * len(operation.kept): 1}
        return rows

    def _forget(self, key: Row, terms: Terms) -> None:
        """Drop the tuples that no row to come finds."""
        if self._seen is None or key not in self._kept or terms not in self._kept[key]:
            return
        versions = self._kept[key][terms]
        bound = self._seen - self._lag
        first = max(0, versions.before(bound, self._operation.strict) - 1)
        if self._operation.tolerance is not None:
            first = max(first, versions.before(bound - self._operation.tolerance, True))
        for moment in versions.moments[:first]:
            self._stored -= sum(len(shown) + 2 for shown in versions.at.pop(moment))
        del versions.moments[:first]
        left = versions.moments
        if not left:
            del self._kept[key][terms]
            if not self._kept[key]:
                del self._kept[key]
            return
        if len(left) > 1:
            self._due.add((key, terms), left[1] + self._lag - (not self._operation.strict))
        if self._operation.tolerance is not None:
            self._due.add((key, terms), left[0] + self._operation.tolerance + self._lag)

    def dump(self) -> Any:
        """What it keeps: see ``Operator``."""
        kept = [
            [*([plain(v) for v in values] for values in (key, terms, shown)), moment, count]
            for key, groups in self._kept.items()
            for terms, versions in groups.items()
            for moment, same in versions.at.items()
            for shown, count in same.items()
        ]
        return {"seen": self._seen, "kept": sorted(kept, key=compact_text)}

    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave."""
        self._seen = document["seen"]
        for key, terms, shown, moment, count in document["kept"]:
            self._add(decoded(key), decoded(terms), moment, decoded(shown), count)
        for key, groups in list(self._kept.items()):
            for terms in list(groups):
                self._forget(key, terms)
