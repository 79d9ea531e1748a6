"""Joins of rows that change: what is new of one side meets the rows of the others as they are.

The change of a product is the sum, over its sides, of the change of a side with the sides before it as they have
become and those after it as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streambound.synopsis.conditions import test_of
from streambound.evaluation.operators.operator import Changes, Operator, Row, ordering
from streambound.query.formula import all_of
from streambound.query.model import Attribute, Join, Op
from streambound.synopsis.flow import Joined
from streambound.synopsis.serial import decoded, plain


class Joins(Operator):
    """The operation ``Joined``."""

    def __init__(self, operation: Joined) -> None:
        self._sides = [_Side(columns) for columns in operation.columns]
        self._steps = [
            [_Step(operation, bound, number) for bound, number in _orders(first, len(self._sides))]
            for first in range(len(self._sides))
        ]
        self._columns, self._shown = operation.columns, operation.shown

    @property
    def units(self) -> int:
        """The rows of each side: their values, and how often they are there."""
        return sum(len(side.rows) * (len(side.columns) + 1) for side in self._sides)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of the joined rows."""
        found: dict[Row, int] = {}
        for number, changes in enumerate(inputs):
            for row, count in changes.items():
                self._extend(number, 0, dict(zip(self._columns[number], row, strict=True)), count, found)
            self._sides[number].take(changes)
        return {row: count for row, count in found.items() if count}

    def _extend(
        self, first: int, depth: int, values: Mapping[Attribute, Any], weight: int, found: dict[Row, int]
    ) -> None:
        steps = self._steps[first]
        if depth == len(steps):
            row = tuple(values[t] if isinstance(t, Attribute) else t.value for t in self._shown)
            found[row] = found.get(row, 0) + weight
            return
        step = steps[depth]
        side = self._sides[step.side]
        for row, count in side.having(step.mine, tuple(values[a] for a in step.theirs)):
            wider = {**values, **dict(zip(side.columns, row, strict=True))}
            if step.holds(wider):
                self._extend(first, depth + 1, wider, weight * count, found)

    def dump(self) -> Any:
        """The rows of each side, in order."""
        return [
            [[list(map(plain, row)), side.rows[row]] for row in sorted(side.rows, key=ordering)]
            for side in self._sides
        ]

    def load(self, document: Any) -> None:
        """Take up the rows of each side."""
        for side, rows in zip(self._sides, document, strict=True):
            side.take({decoded(row): count for row, count in rows})


def _orders(first: int, sides: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """The sides to join with a change of one, each with those that are there before it."""
    bound = (first,)
    for number in range(sides):
        if number != first:
            yield bound, number
            bound = (*bound, number)


class _Step:
    """A side that is joined with others: the columns in which they are equal, and what else is asked."""

    def __init__(self, operation: Joined, bound: tuple[int, ...], side: int) -> None:
        self.side = side
        there = {a for number in bound for a in operation.columns[number]}
        here = set(operation.columns[side])
        asked = [
            atom
            for atom in operation.where
            if here.intersection(atom.attributes) and set(atom.attributes) <= here | there
        ]
        pairs = [
            (a, b)
            for atom in asked
            if isinstance(atom, Join) and atom.op is Op.EQ and not atom.offset
            for a, b in ((atom.left, atom.right), (atom.right, atom.left))
            if a in here and b in there
        ]
        self.mine, self.theirs = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
        names = [*there, *here]
        test = test_of(all_of(asked), {a: place for place, a in enumerate(names)})
        self.holds = lambda values: test(tuple(values[a] for a in names))


class _Side:
    """The rows of one input, with how often each is there; indexes are made when first asked for."""

    def __init__(self, columns: tuple[Attribute, ...]) -> None:
        self.columns = columns
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
            else:
                del self.rows[row]
            for columns in self._indexes:
                if not before:
                    self._file(columns, row)
                elif not after:
                    mates = self._indexes[columns][self._key(columns, row)]
                    del mates[row]
                    if not mates:
                        del self._indexes[columns][self._key(columns, row)]
