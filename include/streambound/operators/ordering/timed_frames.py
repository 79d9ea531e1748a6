"""OVER ordered by time: what is said of a row is settled soon (docs/theory.md).

Rows may be taken back until their time is over.

A row is settled when no row can come any more that its frames see: none of its time, none of the range after
it, and when as many rows after it as are looked at have come. Rows that are not settled are kept, and so are
those that their frames, or those of rows to come, still see: the last n rows of each key, or those of the
last time. Of a frame that reaches back to the first row there is kept what the function has to know of its
past. All else is forgotten, so units do not depend on the length of a history.

Functions with the same partition and order share a *lane*, which has the rows in that order. In several lanes
rows are settled by time alone, in all of them at once. A descending order is an ascending one with frames
turned round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any, TypeAlias

from streambound.operators.ordering.frames import shown
from streambound.operators.ordering.ranks import merged
from streambound.operators.ordering.window_functions import Element, Function, Functions, Past, apart
from streambound.operators.rows.closing import Closing
from streambound.operators.rows.operator import Changes, Operator, Row, difference, ordering
from streambound.operators.rows.projection import Projection
from streambound.plan.flow import Times
from streambound.plan.frame_reach import ascending
from streambound.query.column_types import Type
from streambound.query.operators import Over, WindowCalls
from streambound.state.serial import decoded, plain

# What the functions of a lane say of a row, by their numbers, and of how many equal rows.
Said: TypeAlias = tuple[dict[int, Any], int]


@dataclass
class _Part:
    """The different rows of a key that are kept, in order, with their counts.

    The first ``settled`` elements that functions take them for are only seen by others.
    """

    pasts: list[Past]
    kept: list[Element] = field(default_factory=list)
    settled: int = 0
    # The others.
    waiting: int = 0


class _Lane:
    """The rows of functions with one partition and order."""

    def __init__(self, over: Over, functions: Mapping[int, Function], placed: bool) -> None:
        self.partition, self.order = over.partition, over.order
        self.turned, self.time = self.order[0][1], self.order[0][0]
        self.functions, self.placed = functions, placed
        self.parts: dict[Row, _Part] = {}
        # Keys with rows that are not settled.
        self.open: set[Row] = set()
        ahead, back, after, before = zip(*(function.looks for function in functions.values()), strict=True)
        self.rows_after: int = max(ahead)
        self.rows_before, self.after = max(back), max(after)
        self.before = max((length for length in before if length is not None), default=None)

    def key(self, row: Row) -> Row:
        return tuple([row[p] for p in self.partition])

    def part(self, key: Row) -> _Part:
        part = self.parts.get(key)
        if part is None:
            part = self.parts[key] = _Part([function.past() for function in self.functions.values()])
        return part

    def add(self, part: _Part, arrived: Iterable[Element]) -> None:
        """Take in rows, all of them after those that are settled."""
        ordered = merged([*part.kept, *arrived])
        part.kept = ordered[::-1] if self.turned else ordered

    def elements(self, part: _Part) -> list[Element]:
        return apart(part.kept) if self.placed else part.kept

    def said(self, key: Row, after: int = 0) -> Iterator[tuple[Row, Said]]:
        """What is said of the rows of a key that are not settled: of equal ones in the order of OVER.

        Args:
            after: so many of the first of them are left out.
        """
        part = self.parts.get(key)
        if part is None:
            return
        elements = self.elements(part)
        columns = [
            function.values(elements, part.settled, past)
            for function, past in zip(self.functions.values(), part.pasts, strict=True)
        ]
        values = list(zip(*columns, strict=True))
        pairs = list(zip(elements[part.settled :], values, strict=True))[after:]
        for (_, row, count), said in reversed(pairs) if self.turned else pairs:
            yield row, (dict(zip(self.functions, said, strict=True)), count)

    def settled(self, elements: Sequence[Element], over: Callable[[Any], bool], after: Any) -> int:
        """How many of the first rows nothing that comes can change."""
        times = [row[self.time] for _, row, _ in elements]
        seen = _leading(times, over) - self.rows_after
        return max(0, min(seen, _leading(times, lambda time: over(time + after))))

    def settle(self, part: _Part, over: Callable[[Any], bool], after: Any) -> None:
        """Find the rows that are settled, and forget those that no frame sees any more."""
        elements = self.elements(part)
        times = [row[self.time] for _, row, _ in elements]
        settled = self.settled(elements, over, after)
        unseen = settled - self.rows_before
        if self.before is not None:
            length, following = self.before, times[settled : settled + 1]
            unseen = min(
                unseen, _leading(times, lambda t: over(t + length) and all(t + length < n for n in following))
            )
        unseen = max(0, unseen)
        for function, past in zip(self.functions.values(), part.pasts, strict=True):
            function.forget(past, elements[:unseen])
        if unseen:
            part.kept = list[Element]()
            self.add(part, elements[unseen:])
        part.settled, part.waiting = settled - unseen, len(elements) - settled

    def lengths(self, after: Any) -> set[Any]:
        """How long after a time of a row something of it can change."""
        return {0, after, *(() if self.before is None else (self.before,))}


def _leading(times: Sequence[Any], holds: Callable[[Any], bool]) -> int:
    """How many of the first times a condition holds of."""
    return sum(1 for _ in takewhile(holds, times))


class TimedFrames(Operator):
    """Rows with what window functions say of them, where that is settled (see ``plan.frame_reach``).

    Args:
        types: of the rows.
        times: of the rows.
        time: where in rows their time is, for what is first or last.
    """

    def __init__(
        self, then: WindowCalls, types: Sequence[Type], times: Times, time: int | None = None
    ) -> None:
        self._functions = Functions([ascending(over) for over in then.functions], types, time)
        self._shown = Projection(then.shown, list(enumerate(types)), self._functions.types, then.having)
        self._times, self._count, self._width = times, len(then.functions), len(types)
        lanes: dict[Any, list[int]] = {}
        for number, over in enumerate(then.functions):
            lanes.setdefault((over.partition, over.order), []).append(number)
        self._lanes = [
            _Lane(
                then.functions[numbers[0]],
                {n: self._functions.all[n] for n in numbers},
                self._functions.placed,
            )
            for numbers in lanes.values()
        ]
        self._after = max(lane.after for lane in self._lanes)
        self._ending = times.among({self._lanes[0].time: 0})
        self._parted = [times.among({p: n for n, p in enumerate(lane.partition)}) for lane in self._lanes]
        self._closing = Closing(times, times)

    @property
    def stored_units(self) -> int:
        """The values and counts of the rows that are kept, and of what is known of the past."""
        parts = [part for lane in self._lanes for part in lane.parts.values()]
        pasts = sum(past.stored_units for part in parts for past in part.pasts)
        return pasts + sum(self._width + 1 for part in parts for _ in part.kept)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of the rows with what is said of them that follow from new rows."""
        arrived: dict[Row, int] = {}
        for changes in inputs:
            for row, count in changes.items():
                arrived[row] = arrived.get(row, 0) + count
                self._closing.see(row)
        new = [self._new(lane, arrived) for lane in self._lanes]
        touched = [
            dict.fromkeys((*rows, *(lane.open if len(self._lanes) > 1 else ())), 0)
            for lane, rows in zip(self._lanes, new, strict=True)
        ]
        before = self._said(touched)
        for lane, rows in zip(self._lanes, new, strict=True):
            for key, elements in rows.items():
                lane.add(lane.part(key), elements)
        after = self._said(touched)
        for number, keys in enumerate(touched):
            for key in keys:
                self._settle(number, key)
        for number, *values in self._closing.over():
            self._settle(number, tuple(values))
        return shown(self._shown, difference(before, after))

    def _new(self, lane: _Lane, arrived: Mapping[Row, int]) -> dict[Row, list[Element]]:
        by_row: dict[Row, list[Element]] = {}
        for element in self._functions.elements(arrived.items(), lane.order):
            by_row.setdefault(lane.key(element[1]), []).append(element)
        return by_row

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """The rows that are not settled by then."""
        first, parted, over = self._lanes[0], self._parted[0], partial(self._over_by, now)
        if len(self._lanes) > 1:
            # Time alone settles them, in each lane by itself.
            rows = self._said([dict.fromkeys(lane.open, 0) for lane in self._lanes])
            return shown(self._shown, difference((), (row for row in rows if not self._fixed(row[0], now))))
        parts = ((key, first.parts[key]) for key in first.open if not parted.over(key, now))
        keys = {key: first.settled(first.elements(p), over, self._after) - p.settled for key, p in parts}
        return shown(self._shown, difference((), self._said([keys])))

    def _fixed(self, row: Row, now: int | None) -> bool:
        """Whether a row is settled in all lanes once all until a time has come."""
        return all(
            parted.over(lane.key(row), now) or self._over_by(now, row[lane.time] + lane.after)
            for lane, parted in zip(self._lanes, self._parted, strict=True)
        )

    def _over_by(self, now: int | None, time: Any) -> bool:
        return self._ending.over((time,), now)

    def _said(self, keys: Sequence[Mapping[Row, int]]) -> list[tuple[Row, int]]:
        """Rows with what is said of them in all lanes, of some keys in each, of which some are left out."""
        lanes: list[dict[Row, list[Said]]] = []
        for lane, own in zip(self._lanes, keys, strict=True):
            rows: dict[Row, list[Said]] = {}
            for key, after in own.items():
                for data, said in lane.said(key, after):
                    rows.setdefault(self._functions.row(data), []).append(said)
            lanes.append(rows)
        settled = []
        for row in lanes[0]:
            for parts in zip(*(rows[row] for rows in lanes), strict=True):
                values = {number: value for said, _ in parts for number, value in said.items()}
                settled.append(((*row, *(values[n] for n in range(self._count))), parts[0][1]))
        return settled

    def _over(self, time: Any) -> bool:
        """Whether no row with such a time in its order comes any more."""
        end, seen = self._ending.end((time,)), self._closing.seen
        return end is not None and seen is not None and end < seen

    def _settle(self, number: int, key: Row) -> None:
        """Forget what can be forgotten of a key, and look again when that may be more."""
        lane = self._lanes[number]
        part = lane.parts.get(key)
        if part is None:
            return
        lane.settle(part, self._over, self._after)
        ends = self._parted[number].end(key)
        closed = ends is not None and self._closing.seen is not None and ends < self._closing.seen
        settled = not part.waiting
        if (closed and (settled or len(self._lanes) == 1)) or not (
            part.kept or any(past.stored_units for past in part.pasts)
        ):
            del lane.parts[key]
            lane.open.discard(key)
            return
        (lane.open.discard if settled else lane.open.add)(key)
        waits = [] if closed or ends is None else [ends]
        for length in lane.lengths(self._after):
            times = (row[lane.time] + length for _, row, _ in part.kept)
            end = next((self._ending.end((t,)) for t in times if not self._over(t)), None)
            waits += [] if end is None else [end]
        if waits:
            self._closing.until((number, *key), min(waits))

    def dump(self) -> Any:
        """What is kept of each key in each lane, and the time that was seen."""
        parts = []
        for number, lane in enumerate(self._lanes):
            for key in sorted(lane.parts, key=ordering):
                part = lane.parts[key]
                rows = [[*map(plain, self._functions.row(row)), count] for _, row, count in part.kept]
                parts.append([number, list(map(plain, key)), rows, [past.dump() for past in part.pasts]])
        return {"parts": parts, "seen": self._closing.seen}

    def load(self, document: Any) -> None:
        """Take up what was kept."""
        self._closing = Closing(self._times, self._times)
        self._closing.seen = document["seen"]
        for lane in self._lanes:
            lane.parts, lane.open = {}, set()
        for number, values, rows, pasts in document["parts"]:
            lane, key = self._lanes[number], decoded(values)
            part = lane.part(key)
            for past, kept in zip(part.pasts, pasts, strict=True):
                past.load(kept)
            counted = [(decoded(row), count) for *row, count in rows]
            lane.add(part, self._functions.elements(counted, lane.order))
            self._settle(number, key)
