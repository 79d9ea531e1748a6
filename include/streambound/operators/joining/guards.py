"""EXISTS and NOT EXISTS: rows that pass while they have a match, or while they have none.

Rows of the first input wait, reduced to what they show and what guards still ask of them; of the inputs of
the guards is kept what rows to come may match. Inputs only grow, so a match is for good: a row that has its
matches, or one that it must not have, is dropped, and so is one whose guards nothing that comes can meet. Of
the rows that a guard finds those are kept that no other serves in all comparisons (Theorem S of
docs/theory.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from streambound.operators.rows.operator import Changes, Operator, Row
from streambound.operators.rows.timers import Timers
from streambound.plan.conditions import (
    Coming,
    Outlook,
    Serving,
    Terms,
    Tree,
    condition,
    equalities,
    mirrored,
    true_of,
)
from streambound.plan.flow import Guarded, Range, Sought, Times
from streambound.state.serial import compact_text, decoded, plain

# A guard that lets a row pass for good, beside the terms of those that may still change their mind.
_PASSED = True
# What a row shows, and the terms of each guard.
Waiting: TypeAlias = tuple[Row, tuple[Any, ...]]


class Guards(Operator):
    """The operation ``Guarded``; ``times`` are those of the rows of each input."""

    def __init__(self, operation: Guarded, times: Sequence[Times]) -> None:
        self._shown, self._static = operation.shown, operation.static
        self._times = times
        self._guards = [
            _Guard(sought, times[0], inner) for sought, inner in zip(operation.sought, times[1:], strict=True)
        ]
        self._waiting: dict[Waiting, int] = {}
        # Until when these may be taken back, as far as it was asked for.
        self._until: dict[Waiting, float | None] = {}
        # Of different rows those that are hardest to match stand for all with the same values.
        alone = len(self._guards) == 1 and operation.sought[0].negated
        self._hardest = _Hardest(self._guards[0].tree) if operation.distinct and alone else None
        # By a time after which something that waits, or that is kept, asks or gives less.
        self._due: Timers[tuple[int, Any]] = Timers()
        self._seen: int | None = None

    @property
    def stored_units(self) -> int:
        """Stored values and counts now."""
        waiting = sum(len(shown) + 1 + sum(map(_width, asked)) for shown, asked in self._waiting)
        return waiting + sum(guard.stored_units for guard in self._guards)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of its rows: see ``Operator``."""
        changes: dict[Row, int] = {}
        for moment, rows in self._in_time(inputs):
            self._step(rows, changes)
            if moment is not None and (self._seen is None or moment > self._seen):
                self._seen = moment
            self._forget(changes)
        return {row: count for row, count in changes.items() if count}

    def _in_time(self, inputs: Sequence[Changes]) -> Iterable[tuple[int | None, list[dict[Row, int]]]]:
        """The rows by their times, so that in each step only what is near in time is compared."""
        by_time: dict[int | None, list[dict[Row, int]]] = {}
        for number, (rows, times) in enumerate(zip(inputs, self._times, strict=True)):
            for row, count in rows.items():
                moment = times.seen(row)
                if moment not in by_time:
                    by_time[moment] = [{} for _ in inputs]
                by_time[moment][number][row] = count
        return sorted(by_time.items(), key=lambda step: (step[0] is not None, step[0] or 0))

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """The rows that pass while they have no match, and may still get one."""
        rows: dict[Row, int] = {}
        for item, count in self._waiting.items():
            if item not in self._until:
                self._until[item] = self._last(item[1])
            until = self._until[item]
            if now is None or until is None or now < until:
                rows[item[0]] = rows.get(item[0], 0) + count
        return rows

    def _last(self, asked: Sequence[Any]) -> float | None:
        """The time up to which a row that passes can be taken back, less than any if it never can."""
        pairs = [(g, terms) for g, terms in zip(self._guards, asked, strict=True) if terms is not _PASSED]
        if not all(guard.negated for guard, _ in pairs):
            return -math.inf
        ends = [guard.outlook.until(terms) for guard, terms in pairs]
        return None if None in ends else max(end for end in ends if end is not None)

    def _step(self, rows: Sequence[Changes], changes: dict[Row, int]) -> None:
        outer, *inner = rows
        new = [guard.reduced(some) for guard, some in zip(self._guards, inner, strict=True)]
        matched: dict[Waiting, set[int]] = {}
        for number, (guard, those) in enumerate(zip(self._guards, new, strict=True)):
            for item in guard.waiting_for(those):
                matched.setdefault(item, set()).add(number)
        for item, guards in matched.items():
            self._meet(item, guards, changes)
        arrived: dict[Waiting, int] = {}
        for row, count in outer.items():
            asks = [guard.asked_of(row) for guard in self._guards]
            if None in asks:
                continue
            item = (tuple([row[p] for p in self._shown]), tuple(asks))
            arrived[item] = arrived.get(item, 0) + count
        for item, count in arrived.items():
            asked = list(item[1])
            for number, (guard, those) in enumerate(zip(self._guards, new, strict=True)):
                if asked[number] is not _PASSED and guard.satisfied_by(asked[number], those):
                    asked[number] = None if guard.negated else _PASSED
            if None in asked:
                continue
            if self._passes(asked):
                changes[item[0]] = changes.get(item[0], 0) + count
            self._wait((item[0], tuple(asked)), count, changes)
        for number, those in enumerate(() if self._static else new):
            for terms in those.all:
                self._keep(number, terms)

    def _passes(self, asked: Iterable[Any]) -> bool:
        """Whether a row passes now that has none of the matches that it must not have."""
        return all(
            terms is _PASSED or guard.negated for guard, terms in zip(self._guards, asked, strict=True)
        )

    def _meet(self, row: Waiting, guards: set[int], changes: dict[Row, int]) -> None:
        """Tell that a row has found matches of some guards."""
        count = self._remove(row)
        shown, asked = row
        before = self._passes(asked)
        later = tuple(_PASSED if n in guards else terms for n, terms in enumerate(asked))
        gone = any(self._guards[n].negated for n in guards)
        after = not gone and self._passes(later)
        if before != after:
            changes[shown] = changes.get(shown, 0) + (count if after else -count)
        if not gone:
            self._wait((shown, later), count, changes)

    def _wait(self, row: Waiting, count: int, changes: dict[Row, int]) -> None:
        """Keep a row as far as its guards may still change their mind."""
        shown, asked = row
        rest: list[Any] = []
        for guard, terms in zip(self._guards, asked, strict=True):
            left = terms if terms is _PASSED else guard.rest(terms, self._seen)
            if left is None:
                if not guard.negated:
                    return
                left = _PASSED
            rest.append(left)
        if all(terms is _PASSED for terms in rest):
            return
        kept = (shown, tuple(rest))
        if self._hardest is not None:
            served = None if kept in self._waiting else self._hardest.add(kept)
            gone = count - (served is not None) + sum(map(self._remove, served or ()))
            changes[shown] = changes.get(shown, 0) - gone
            if served is None:
                return
            count = 1
        if kept not in self._waiting:
            for guard, terms in zip(self._guards, rest, strict=True):
                if terms is not _PASSED:
                    guard.file(kept, terms)
                    self._due.add((-1, kept), guard.outlook.next(terms, self._seen))
        self._waiting[kept] = self._waiting.get(kept, 0) + count

    def _remove(self, row: Waiting) -> int:
        if self._hardest is not None:
            self._hardest.discard(row)
        for guard, terms in zip(self._guards, row[1], strict=True):
            if terms is not _PASSED:
                guard.unfile(row, terms)
        self._until.pop(row, None)
        return self._waiting.pop(row)

    def _keep(self, number: int, terms: Terms) -> None:
        """Keep a row that a guard may find, as far as rows to come may match it."""
        guard = self._guards[number]
        rest = guard.offer.rest(terms, self._seen)
        if rest is not None and guard.add(rest):
            self._due.add((number, rest), guard.offer.next(rest, self._seen))

    def _forget(self, changes: dict[Row, int]) -> None:
        """Reduce what waits, and what is kept, by the time that has been seen."""
        for number, what in self._due.until(self._seen):
            if number < 0:
                if what in self._waiting:
                    self._wait(what, self._remove(what), changes)
            elif self._guards[number].discard(what):
                self._keep(number, what)

    def dump(self) -> Any:
        """What it keeps: see ``Operator``."""
        waiting = [
            [_plain(shown), [_plain(asked) for asked in all_], count]
            for (shown, all_), count in self._waiting.items()
        ]
        return {
            "seen": self._seen,
            "waiting": sorted(waiting, key=compact_text),
            "kept": [sorted(map(_plain, guard.kept), key=compact_text) for guard in self._guards],
        }

    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave."""
        self._seen = document["seen"]
        for shown, asked, count in document["waiting"]:
            self._wait(
                (decoded(shown), tuple(_PASSED if a is True else decoded(a) for a in asked)), count, {}
            )
        for number, kept in enumerate(document["kept"]):
            for terms in kept:
                self._keep(number, decoded(terms))


def _plain(values: Any) -> Any:
    return True if values is _PASSED else [plain(value) for value in values]


def _width(asked: Any) -> int:
    return 0 if asked is _PASSED else len(asked)


class _Hardest:
    """Rows that wait for there to be no match, of which none has only matches of another's."""

    def __init__(self, tree: Tree) -> None:
        self._order = Serving(tree, hard=True)
        self._groups: dict[tuple[Row, Row], dict[Waiting, None]] = {}

    def _group(self, row: Waiting) -> tuple[Row, Row]:
        return row[0], self._order.group(row[1][0])

    def add(self, row: Waiting) -> list[Waiting] | None:
        """Take in a row: those that it serves for; None if another serves for it."""
        group = self._groups.setdefault(self._group(row), {})
        if any(self._order.serves(rival[1][0], row[1][0]) for rival in group):
            return None
        served = [rival for rival in group if self._order.serves(row[1][0], rival[1][0])]
        group[row] = None
        return served

    def discard(self, row: Waiting) -> None:
        """Drop a row."""
        group = self._group(row)
        self._groups[group].pop(row, None)
        if not self._groups[group]:
            del self._groups[group]


class _New:
    """Rows that a guard finds, reduced, that come now; by what must equal the terms of rows that wait."""

    def __init__(self, rows: Iterable[tuple[Row, Terms]]) -> None:
        self.all: dict[Terms, None] = {}
        self.by_key: dict[Row, list[Terms]] = {}
        for key, terms in rows:
            if terms not in self.all:
                self.all[terms] = None
                self.by_key.setdefault(key, []).append(terms)


class _Guard:
    """A guard with the rows that it may find, and an index of those that wait for one."""

    def __init__(self, sought: Sought, outer: Times, inner: Times) -> None:
        self.negated = sought.negated
        self._static = sought.static
        self.tree, self._asks, self._offers = condition(sought.formula, sought.outer, sought.inner)
        self._equal = equalities(self.tree)
        self._outer = [(p, r) for p, r in sought.outer_ranges.items() if r != Range()]
        self._inner = [(p, r) for p, r in sought.inner_ranges.items() if r != Range()]
        left, right = len(self._asks.columns), len(self._offers.columns)
        coming = [Coming.of(p, inner, sought.inner_ranges) for p in self._offers.columns]
        self.outlook = Outlook(self.tree, left, coming)
        back: Tree = mirrored(self.tree)
        self.offer = Outlook(
            back, right, [Coming.of(p, outer, sought.outer_ranges) for p in self._asks.columns]
        )
        self._order = Serving(back)
        self._waiting: dict[Row, dict[Waiting, Terms]] = {}
        # By what must be equal, then by what no row can serve for another in: the best of the rest.
        self._kept: dict[Row, dict[Row, list[Terms]]] = {}
        self.stored_units = 0

    @property
    def kept(self) -> Iterable[Terms]:
        """The rows that it may still find."""
        return (terms for groups in self._kept.values() for some in groups.values() for terms in some)

    def rest(self, terms: Terms, seen: int | None) -> Terms | None:
        """What is still asked of what comes; None if nothing that comes is a match."""
        return None if self._static else self.outlook.rest(terms, seen)

    def reduced(self, rows: Changes) -> _New:
        """The terms of rows that come."""
        offers = (self._offers(row) for row in rows if _within(row, self._inner))
        return _New((self._offered(terms), terms) for terms in offers)

    def asked_of(self, row: Row) -> Any:
        """The terms of a row outside, or whether it passes at once; None if it never does."""
        if _within(row, self._outer):
            return self._asks(row)
        return _PASSED if self.negated else None

    def _asked(self, terms: Terms) -> Row:
        return tuple([terms[pair.left] for pair in self._equal])

    def _offered(self, terms: Terms) -> Row:
        return tuple(
            [
                value + pair.offset if pair.offset and type(value) is int else value
                for pair in self._equal
                for value in (terms[pair.right],)
            ]
        )

    def waiting_for(self, new: _New) -> list[Waiting]:
        """The rows that wait and have a match among those that come."""
        if not self._waiting:
            return []
        return [
            item
            for key, offered in new.by_key.items()
            for item, asked in self._waiting.get(key, {}).items()
            if any(true_of(self.tree, asked, terms) for terms in offered)
        ]

    def satisfied_by(self, asked: Terms, new: _New) -> bool:
        """Whether a row has a match among those that are kept and those that come."""
        key = self._asked(asked)
        kept = (terms for some in self._kept.get(key, {}).values() for terms in some)
        return any(true_of(self.tree, asked, terms) for terms in kept) or any(
            true_of(self.tree, asked, terms) for terms in new.by_key.get(key, ())
        )

    def file(self, row: Waiting, terms: Terms) -> None:
        """Note that a row waits."""
        self._waiting.setdefault(self._asked(terms), {})[row] = terms

    def unfile(self, row: Waiting, terms: Terms) -> None:
        """Note that it does no longer."""
        key = self._asked(terms)
        del self._waiting[key][row]
        if not self._waiting[key]:
            del self._waiting[key]

    def add(self, terms: Terms) -> bool:
        """Keep a row, unless another serves for it; whether it is kept now and was not."""
        groups = self._kept.setdefault(self._offered(terms), {})
        some = groups.setdefault(self._order.group(terms), [])
        if any(self._order.serves(kept, terms) for kept in some):
            return False
        left = [kept for kept in some if not self._order.serves(terms, kept)]
        self.stored_units += (1 + len(left) - len(some)) * max(1, len(terms))
        some[:] = [*left, terms]
        return True

    def discard(self, terms: Terms) -> bool:
        """Drop a row; whether it was kept."""
        key, group = self._offered(terms), self._order.group(terms)
        some = self._kept.get(key, {}).get(group, [])
        if terms not in some:
            return False
        some.remove(terms)
        self.stored_units -= max(1, len(terms))
        if not some:
            del self._kept[key][group]
        if not self._kept[key]:
            del self._kept[key]
        return True


def _within(row: Row, ranges: Iterable[tuple[int, Range]]) -> bool:
    """Whether a row has values only that rows with a match have."""
    return all(row[p] is None or of.holds(row[p]) for p, of in ranges)
