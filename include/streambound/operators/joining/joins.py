"""Joins of rows that change: what is new of one side meets the rows of the others as they are.

The change of a product is the sum, over its sides, of the change of a side with the sides before it as they
have become and those after it as they were. Of EXISTS it is counted how many rows each row has met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streambound.operators.rows.closing import Closing
from streambound.operators.rows.operator import Changes, Operator, Row, ordering
from streambound.plan.conditions import test_of
from streambound.plan.flow import Joined, Side
from streambound.query.formula import Formula, all_of, atoms_of, conjunction
from streambound.query.model import Attribute, Join, Op
from streambound.state.serial import decoded, plain

# A time before all others, whatever is added to it.
PAST = -(10**30)


class Joins(Operator):
    """The operation ``Joined`` of rows that meet."""

    def __init__(self, operation: Joined) -> None:
        self._sides = _Sides(operation)
        numbers = range(len(operation.sides))
        self._join_orders = [
            [_JoinStep(operation, bound, number) for bound, number in _orders(first, len(numbers))]
            for first in numbers
        ]
        self._columns = [side.columns for side in operation.sides]
        self._shown = operation.shown

    @property
    def stored_units(self) -> int:
        """The rows of each side: their values, and how often they are there."""
        return self._sides.stored_units

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of the joined rows."""
        joined: dict[Row, int] = {}
        for number, changes in enumerate(inputs):
            for row, count in changes.items():
                self._extend(number, 0, dict(zip(self._columns[number], row, strict=True)), count, joined)
            self._sides.take(number, changes)
        self._sides.drop()
        return {row: count for row, count in joined.items() if count}

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """The joined rows that would not be there without rows that are standing themselves."""
        joined: dict[Row, int] = {}
        for number, rows in enumerate(below):
            for row, count in rows.items():
                self._extend(number, 0, dict(zip(self._columns[number], row, strict=True)), count, joined)
            self._sides.kept[number].take({row: -count for row, count in rows.items()})
        for mine, rows in zip(self._sides.kept, below, strict=True):
            mine.take(rows)
        return joined

    def _extend(
        self, first: int, depth: int, values: Mapping[Attribute, Any], weight: int, changes: dict[Row, int]
    ) -> None:
        join_order = self._join_orders[first]
        if depth == len(join_order):
            row = tuple(values[t] if isinstance(t, Attribute) else t.value for t in self._shown)
            changes[row] = changes.get(row, 0) + weight
            return
        step = join_order[depth]
        for row, count in self._sides.kept[step.side].having(step.left, step.given(values)):
            wider = {**values, **dict(zip(self._columns[step.side], row, strict=True))}
            if step.holds(wider):
                self._extend(first, depth + 1, wider, weight * count, changes)

    def dump(self) -> Any:
        """The rows of each side, in order, and the time that was seen."""
        return self._sides.dump()

    def load(self, document: Any) -> None:
        """Take up the rows of each side."""
        self._sides.load(document)


class Meetings(Operator):
    """The operation ``Joined`` of rows of the first side that meet some of the other, or none."""

    def __init__(self, operation: Joined) -> None:
        self._sides = _Sides(operation)
        self._wanted = operation.matched
        self._width = len(operation.shown)
        self._columns = [side.columns for side in operation.sides]
        self._inward, self._outward = _JoinStep(operation, (0,), 1), _JoinStep(operation, (1,), 0)
        # How many rows of the other side each row has met.
        self._met: dict[Row, int] = {}

    @property
    def stored_units(self) -> int:
        """The rows of each side, and how many each has met."""
        return self._sides.stored_units + len(self._met)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of the rows that pass."""
        outside, inside = inputs
        changes: dict[Row, int] = {}
        there = self._sides.kept[1].rows
        came = {row: 1 for row, count in inside.items() if count > 0 and row not in there}
        self._sides.take(1, inside)
        gone = {row: -1 for row in inside if row not in there}
        # What came and is gone within one batch was never there.
        for row, sign in {**{r: s for r, s in came.items() if r in there}, **gone}.items():
            if sign < 0 and row in came:
                continue
            for mine in list(self._meets(self._outward, 1, row)):
                before = self._passes(mine)
                self._met[mine] = self._met.get(mine, 0) + sign
                if self._passes(mine) is not before:
                    count = self._sides.kept[0].rows[mine] * (1 if not before else -1)
                    self._put(changes, mine, count)
        for row, count in outside.items():
            if row not in self._sides.kept[0].rows:
                self._met[row] = sum(1 for _ in self._meets(self._inward, 0, row))
            if self._passes(row):
                self._put(changes, row, count)
        self._sides.take(0, outside)
        self._sides.drop()
        self._met = {row: n for row, n in self._met.items() if row in self._sides.kept[0].rows}
        return {row: count for row, count in changes.items() if count}

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """The rows that pass and are standing themselves, or may meet others, or met none that stays."""
        outside, inside = below
        there, rows = self._sides.kept[1].rows, dict[Row, int]()
        for row, count in self._sides.kept[0].rows.items():
            if not self._passes(row):
                continue
            met = self._meets(self._inward, 0, row)
            stays = any(there[item] != inside.get(item, 0) for item in met) if self._wanted else False
            if not stays and not self._sides.over(0, row, now):
                self._put(rows, row, count)
            elif row in outside:
                self._put(rows, row, outside[row])
        return rows

    def _put(self, changes: dict[Row, int], row: Row, count: int) -> None:
        shown = row[: self._width]
        changes[shown] = changes.get(shown, 0) + count

    def _passes(self, row: Row) -> bool:
        return (self._met.get(row, 0) > 0) is self._wanted

    def _meets(self, step: _JoinStep, side: int, row: Row) -> Iterator[Row]:
        values = dict(zip(self._columns[side], row, strict=True))
        for partner, _ in self._sides.kept[step.side].having(step.left, step.given(values)):
            if step.holds({**values, **dict(zip(self._columns[step.side], partner, strict=True))}):
                yield partner

    def dump(self) -> Any:
        """The rows of each side, and how many of the other each row outside has met."""
        met = [[list(map(plain, row)), self._met[row]] for row in sorted(self._met, key=ordering)]
        return {**self._sides.dump(), "met": met}

    def load(self, document: Any) -> None:
        """Take up the rows of each side."""
        self._sides.load(document)
        self._met = {decoded(row): count for row, count in document["met"]}


def _orders(first: int, sides: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """The sides to join with a change of one, each with those that are there before it."""
    bound: tuple[int, ...] = (first,)
    for number in range(sides):
        if number != first:
            yield bound, number
            bound = (*bound, number)


class _JoinStep:
    """A side that is joined with others: the columns in which they are equal, and what else is asked."""

    def __init__(self, operation: Joined, bound: tuple[int, ...], side: int) -> None:
        self.side = side
        there = {a for number in bound for a in operation.sides[number].columns}
        here = set(operation.sides[side].columns)
        asked: list[Formula] = []
        for part in operation.where:
            mentioned = {a for atom in atoms_of(part) for a in atom.attributes}
            if (mentioned & here and mentioned <= here | there) or not mentioned:
                asked.append(part)
        atoms = [atom for part in asked for atom in conjunction(part) or ()]
        pairs = [
            (a, b)
            for atom in atoms
            if isinstance(atom, Join) and atom.op is Op.EQ and not atom.offset
            for a, b in ((atom.left, atom.right), (atom.right, atom.left))
            if a in here and b in there
        ]
        self.left, self.right = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
        self._names = [*there, *here]
        self._test = test_of(all_of(asked), {a: position for position, a in enumerate(self._names)})

    def given(self, values: Mapping[Attribute, Any]) -> Row:
        """What the columns of this side have to be equal to."""
        return tuple(values[a] for a in self.right)

    def holds(self, values: Mapping[Attribute, Any]) -> bool:
        """Whether all that is asked holds."""
        return self._test(tuple(values[a] for a in self._names))


class _Sides:
    """The rows of all sides; those that nothing can meet or change any more are dropped, and times forgotten
    that are before all that comes.
    """

    def __init__(self, operation: Joined) -> None:
        self.kept = [_Kept(side) for side in operation.sides]
        self._closing = [Closing(side.times, side.times) for side in operation.sides]

    @property
    def stored_units(self) -> int:
        return sum(len(kept.rows) * (len(kept.columns) + 1) for kept in self.kept)

    def over(self, number: int, row: Row, now: int | None) -> bool:
        """Whether nothing that comes after all until a time can meet or change a row of a side."""
        return self._closing[number].closed(row, now)

    def take(self, number: int, changes: Changes) -> None:
        """Take in changes of the rows of a side."""
        mine, closing = self.kept[number], self._closing[number]
        for row in changes:
            closing.see(row)
            if row not in mine.rows:
                closing.open(row)
        mine.take(changes)

    def drop(self) -> None:
        """Drop the rows whose time is over."""
        seen = max((c.seen for c in self._closing if c.seen is not None), default=None)
        for mine, closing in zip(self.kept, self._closing, strict=True):
            closing.seen = seen
            over = {row: mine.rows[row] for row in closing.over() if row in mine.rows}
            mine.take({row: -count for row, count in over.items()})
            for row, count in over.items() if mine.past else ():
                mine.take({tuple(PAST if p in mine.past else v for p, v in enumerate(row)): count})

    def dump(self) -> dict[str, Any]:
        rows = [
            [[list(map(plain, row)), kept.rows[row]] for row in sorted(kept.rows, key=ordering)]
            for kept in self.kept
        ]
        return {"rows": rows, "seen": self._closing[0].seen}

    def load(self, document: Any) -> None:
        for number, rows in enumerate(document["rows"]):
            self.take(number, {decoded(row): count for row, count in rows})
        for closing in self._closing:
            closing.seen = document["seen"]


class _Kept:
    """The rows of one side, with how often each is there; indexes are made when first asked for."""

    def __init__(self, side: Side) -> None:
        self.columns, self.past = side.columns, side.past
        self.rows: dict[Row, int] = {}
        self._indexes: dict[tuple[Attribute, ...], dict[Row, dict[Row, None]]] = {}

    def having(self, columns: tuple[Attribute, ...], values: Row) -> list[tuple[Row, int]]:
        """The rows with certain values."""
        if columns not in self._indexes:
            self._indexes[columns] = {}
            for row in self.rows:
                self._file(columns, row)
        return [(row, self.rows[row]) for row in self._indexes[columns].get(values, ())]

    def _file(self, columns: tuple[Attribute, ...], row: Row) -> None:
        self._indexes[columns].setdefault(self._key(columns, row), {})[row] = None

    def _key(self, columns: tuple[Attribute, ...], row: Row) -> Row:
        return tuple(row[self.columns.index(column)] for column in columns)

    def take(self, changes: Changes) -> None:
        """Take in changes of the rows."""
        for row, count in changes.items():
            before = self.rows.get(row, 0)
            if after := before + count:
                self.rows[row] = after
            elif before:
                del self.rows[row]
            for columns in self._indexes:
                if not before and after:
                    self._file(columns, row)
                elif before and not after:
                    mates = self._indexes[columns][self._key(columns, row)]
                    del mates[row]
                    if not mates:
                        del self._indexes[columns][self._key(columns, row)]
