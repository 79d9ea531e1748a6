"""What window functions say of the rows of a partition, in their order (see ``frames`` and ``timed_frames``).

Rows are elements of a sequence in the order of OVER. Where what a function says depends on a row's own place
(ROWS, LAG, ROW_NUMBER), equal rows are elements of their own; else an element has a count. A sequence may go
on where another has been forgotten: then a function is given what it has to know of that, its *past*.

Frames are those of SQL: by number of rows; or by range, in which rows that the order does not tell apart are
seen together. Of a range of a length NULL sees only NULL. The ends of frames only move on with the rows, so
each row enters an accumulator once and leaves it once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, TypeAlias

from streambound.errors import PlanError
from streambound.operators.grouping.aggregates import Accumulator, accumulator, of_column
from streambound.operators.ordering.ranks import Key, key_of
from streambound.operators.rows.expressions import compiled
from streambound.operators.rows.operator import Row
from streambound.plan.frame_reach import (
    ENDS,
    PERCENT_RANKS,
    RANKS,
    SHIFTS,
    by_position,
    endless,
    length,
    looks,
)
from streambound.query.column_types import NAN, Type, parse_type
from streambound.query.operators import Over
from streambound.state.serial import plain, value_of

BIGINT, DOUBLE = parse_type("bigint"), parse_type("double")
# What sorts a row, the row (and what was computed of it), and how often it is there.
Element: TypeAlias = tuple[Key, Row, int]


@dataclass
class Past:
    """What a function has to know of rows before a sequence, which have been forgotten."""

    rows: int = 0
    different: int = 0
    # The values of the first of them, and of the last; or the order of the last.
    first: list[Any] = field(default_factory=list)
    last: list[Any] = field(default_factory=list)
    kept: Accumulator | None = None

    @property
    def stored_units(self) -> int:
        """Stored values and counts."""
        numbers = (self.rows > 0) + (self.different > 0) + len(self.first) + len(self.last)
        return numbers + (0 if self.kept is None else self.kept.stored_units)

    def dump(self) -> Any:
        """Plain JSON values."""
        ends = [list(map(plain, self.first)), list(map(plain, self.last))]
        return [self.rows, self.different, *ends, None if self.kept is None else self.kept.dump()]

    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave."""
        self.rows, self.different, first, last, kept = document
        self.first, self.last = list(map(value_of, first)), list(map(value_of, last))
        if self.kept is not None:
            self.kept.load(kept)


class Function:
    """One window function.

    Args:
        types: of the rows, with what was computed of them.
        time: where the time of a row is, for what is first or last.

    Raises:
        PlanError: it cannot be computed.
    """

    def __init__(self, over: Over, types: Sequence[Type], time: int | None) -> None:
        self.over, self._types, self._time = over, types, time
        self._same = {p: p for p in range(len(types))}
        name, aggregate = over.name, over.aggregate
        placing = (*SHIFTS, *ENDS)
        canonical = aggregate is None or aggregate.function in (*placing, "FIRST", "LAST", "")
        self.by_position = name in placing and canonical
        by_place = (*RANKS, *PERCENT_RANKS, "NTILE")
        if not (self.by_position and over.arguments) and name not in by_place:
            self.by_position = False
            if aggregate is None:
                raise PlanError(f"{name} of OVER cannot be evaluated", location=over.location)
            self._empty(False)
        self.placed, self.endless = by_position(over), endless(over)
        self.looks = looks(over, types.__getitem__)

    @property
    def type(self) -> Type:
        """The type of what it says."""
        if self.over.name in (*RANKS, "NTILE"):
            return BIGINT
        if self.over.name in PERCENT_RANKS:
            return DOUBLE
        if self.by_position:
            return self._types[self.over.arguments[0]]
        assert self.over.aggregate is not None
        return self.over.aggregate.type_of(self._types.__getitem__)

    def _empty(self, retracts: bool) -> Accumulator:
        assert self.over.aggregate is not None
        return accumulator(self.over.aggregate, self._same, retracts, self._types, self._time)

    def past(self) -> Past:
        """What is kept where there are no earlier rows."""
        summed = (
            self.endless and not self.by_position and self.over.name not in (*RANKS, *PERCENT_RANKS, "NTILE")
        )
        return Past(kept=self._empty(False) if summed else None)

    def forget(self, past: Past, elements: Sequence[Element]) -> None:
        """Add the next rows to the past."""
        if not self.endless:
            return
        for _, row, count in elements:
            if self.over.name in ("ROW_NUMBER", "RANK"):
                past.rows += count
            elif self.over.name == "DENSE_RANK":
                if (columns := self._columns(row)) != past.last:
                    past.different, past.last = past.different + 1, columns
            elif self.over.name == "LAST_VALUE" and self.by_position:
                past.last = [row[self.over.arguments[0]]]
            elif self.by_position:
                room = (self.over.offset if self.over.name == "NTH_VALUE" else 1) - len(past.first)
                past.first += [row[self.over.arguments[0]]] * min(room, count)
            elif past.kept is not None:
                past.kept.add(row, count)

    def values(self, elements: Sequence[Element], start: int, past: Past) -> list[Any]:
        """What it says of the elements from one on.

        Args:
            past: what has been forgotten before the first element.
        """
        if self.over.name in (*RANKS, *PERCENT_RANKS, "NTILE"):
            return self._ranks(elements, past)[start:]
        if self.over.name in SHIFTS:
            away = -self.over.offset if self.over.name == "LAG" else self.over.offset
            position = self.over.arguments[0]
            positions = range(start + away, len(elements) + away)
            return [elements[at][1][position] if 0 <= at < len(elements) else None for at in positions]
        lows, highs = self._bounds(elements)
        if self.by_position:
            return [self._end(elements, lows[at], highs[at], past) for at in range(start, len(elements))]
        return self._aggregated(elements, lows, highs, start, past)

    def _columns(self, row: Row) -> list[Any]:
        return [row[p] for p, _ in self.over.order]

    def _ranks(self, elements: Sequence[Element], past: Past) -> list[Any]:
        first, last = _peers(elements)
        before = [0, *accumulate(count for _, _, count in elements)]
        total, name = before[-1], self.over.name
        if name == "ROW_NUMBER":
            return [past.rows + n + 1 for n in before[:-1]]
        if name == "RANK":
            return [past.rows + before[at] + 1 for at in first]
        if name == "PERCENT_RANK":
            return [before[at] / (total - 1) if total > 1 else 0.0 for at in first]
        if name == "CUME_DIST":
            return [before[at + 1] / total for at in last]
        if name == "DENSE_RANK":
            # Rows that tie with the first may have been forgotten.
            split = bool(elements) and self._columns(elements[0][1]) == past.last
            return [
                past.different - split + n for n in accumulate(int(at == n) for n, at in enumerate(first))
            ]
        # The first parts have a row more each.
        size, more = divmod(total, self.over.offset)
        large = more * (size + 1)
        return [n // (size + 1) + 1 if n < large else more + (n - large) // size + 1 for n in range(total)]

    def _end(self, elements: Sequence[Element], low: int, high: int, past: Past) -> Any:
        """The first, last or another row of the frame from ``low`` up to ``high``, and what was before."""
        position, name = self.over.arguments[0], self.over.name
        if name == "LAST_VALUE":
            return elements[high - 1][1][position] if low < high else past.last[0] if past.last else None
        number = self.over.offset - 1 if name == "NTH_VALUE" else 0
        if number < len(past.first):
            # The frame has all of the past.
            return past.first[number]
        number -= len(past.first)
        for at in range(low, high):
            if number < elements[at][2]:
                return elements[at][1][position]
            number -= elements[at][2]
        return None

    def _aggregated(
        self, elements: Sequence[Element], lows: Sequence[int], highs: Sequence[int], start: int, past: Past
    ) -> list[Any]:
        kept = self._empty(not self.endless)
        if past.kept is not None:
            kept.merge(past.kept)
        made: list[Any] = []
        low = high = lows[start] if start < len(elements) else 0
        for at in range(start, len(elements)):
            if made and (lows[at], highs[at]) == (lows[at - 1], highs[at - 1]):
                made.append(made[-1])
                continue
            for _, row, count in elements[low : min(lows[at], high)]:
                kept.add(row, -count)
            low = lows[at]
            for _, row, count in elements[max(low, high) : highs[at]]:
                kept.add(row, count)
            high = max(high, low, highs[at])
            made.append(kept.value())
        return made

    def _bounds(self, elements: Sequence[Element]) -> tuple[list[int], list[int]]:
        """The first element of each frame, and that after its last."""
        frame, size = self.over.frame, len(elements)
        before, after = frame.before, frame.after
        if frame.rows:
            lows = [0 if before is None else min(max(0, n - before), size) for n in range(size)]
            highs = [size if after is None else min(max(0, n + after + 1), size) for n in range(size)]
            return lows, [max(low, high) for low, high in zip(lows, highs, strict=True)]
        first, last = _peers(elements)
        lows = [0] * size if before is None else first
        highs = [size] * size if after is None else [at + 1 for at in last]
        if not before and not after:
            return lows, highs
        position, descends = self.over.order[0]
        coordinates = [_coordinate(row[position], -1 if descends else 1) for _, row, _ in elements]
        present = [n for n, coordinate in enumerate(coordinates) if coordinate is not None]
        near = [coordinates[n] for n in present]
        for number, at in enumerate(present):
            if before is not None:
                lows[at] = present[0] + bisect_left(near, near[number] - self._length(before))
            if after is not None:
                highs[at] = present[0] + bisect_right(near, near[number] + self._length(after))
        return lows, [max(low, high) for low, high in zip(lows, highs, strict=True)]

    def _length(self, of: int) -> int:
        return length(self.over, of, self._types.__getitem__)


def _coordinate(value: Any, sign: int) -> Any:
    """Where a value lies on a line; None of NULL."""
    return None if value is None else sign * (float("inf") if value == NAN else value)


def _peers(elements: Sequence[Element]) -> tuple[list[int], list[int]]:
    """The first and the last of the elements that the order does not tell from each other."""
    first, last = [0] * len(elements), [0] * len(elements)
    for at in range(1, len(elements)):
        first[at] = first[at - 1] if elements[at][0][0] == elements[at - 1][0][0] else at
    for at in range(len(elements) - 1, -1, -1):
        alike = at + 1 < len(elements) and elements[at][0][0] == elements[at + 1][0][0]
        last[at] = last[at + 1] if alike else at
    return first, last


class Functions:
    """The functions of a block, and what they read of its rows.

    Args:
        functions: those of the block.
        types: of the rows.
        time: where in rows their time is, for what is first or last.

    Raises:
        PlanError: one of them cannot be computed.
    """

    def __init__(self, functions: Sequence[Over], types: Sequence[Type], time: int | None) -> None:
        kinds, columns, made = list(types), [(f"o{n}", kind) for n, kind in enumerate(types)], list[Over]()
        self._formulas = []
        for over in functions:
            aggregate = over.aggregate
            if aggregate is not None and aggregate.formula is not None:
                kind = aggregate.computed or aggregate.type_of(types.__getitem__)
                self._formulas.append(compiled(aggregate.formula, columns, kind))
                kinds.append(kind)
                position = len(kinds) - 1
                read = (position,) if over.arguments else ()
                over = replace(over, aggregate=of_column(aggregate, position), arguments=read)
            made.append(over)
        self.all = [Function(over, kinds, time) for over in made]
        self.placed = any(function.placed for function in self.all)
        self._width = len(types)

    @property
    def types(self) -> list[Type]:
        """The types of the values of all functions."""
        return [function.type for function in self.all]

    def elements(self, rows: Iterable[tuple[Row, int]], order: Sequence[tuple[int, bool]]) -> list[Element]:
        """Rows in an order."""
        counted, key = list(rows), key_of(order)
        plain_rows = [row for row, _ in counted]
        computed = list(zip(*(of(plain_rows) for of in self._formulas), strict=True))
        elements: list[Element] = []
        for number, (row, count) in enumerate(counted):
            elements.append((key(row), (*row, *computed[number]) if computed else row, count))
        elements.sort(key=lambda element: element[0])
        return elements

    def row(self, data: Row) -> Row:
        """The row alone."""
        return data[: self._width]


def apart(elements: Iterable[Element]) -> list[Element]:
    """The rows, each of equal ones as an element of its own."""
    return [(key, row, 1) for key, row, count in elements for _ in range(count)]
