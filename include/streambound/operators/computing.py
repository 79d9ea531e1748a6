"""What rows show, where it is computed of several columns of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streambound.operators.rows.operator import Changes, Operator, Row
from streambound.operators.rows.projection import Projection
from streambound.plan.flow import Computed
from streambound.query.column_types import Type


class Computations(Operator):
    """The operation ``Computed``; it keeps nothing.

    >>> from streambound.query.operators import Shown
    >>> from streambound.query.column_types import parse_type
    >>> whole = parse_type("bigint")
    >>> total = Shown("total", whole, (0, 1), plain=False, formula="o0 + o1")
    >>> made = Computations(Computed((total,)), [whole, whole])
    >>> made.take([{(1, 2): 1, (2, 1): 2, (4, None): 1}])
    {(3,): 3, (None,): 1}
    """

    stored_units = 0

    def __init__(self, operation: Computed, types: Sequence[Type]) -> None:
        self._shifts = operation.shifts
        self._shown = Projection(operation.shown, list(enumerate(types)), []) if operation.shown else None

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of what rows show."""
        changes: dict[Row, int] = {}
        changed = list(inputs[0].items())
        rows = [self._back(row) for row, _ in changed]
        made = rows if self._shown is None else self._shown(rows)
        for row, (_, count) in zip(made, changed, strict=True):
            assert row is not None
            changes[row] = changes.get(row, 0) + count
        return {row: count for row, count in changes.items() if count}

    def _back(self, row: Row) -> Row:
        if not self._shifts:
            return row
        values = list(row)
        for position, by in self._shifts.items():
            if values[position] is not None:
                values[position] -= by
        return tuple(values)

    def standing(self, now: int | None, below: Sequence[Changes]) -> Mapping[Row, int]:
        """What those rows show that are standing."""
        return self.take(below)

    def dump(self) -> Any:
        """Nothing."""

    def load(self, document: Any) -> None:
        """Nothing is taken up."""
