"""Statements in one pass: the parts side by side, their answers summed or united.

A row of a distinct block is new if some part has it for the first time and no other part has had it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.evaluation.onepass import AnyPass, pass_of, static_values
from streambound.evaluation.order import Order
from streambound.evaluation.promises import require_units
from streambound.query.statement import Statement
from streambound.synopsis.statement import PlannedPart, bounded_parts, planned_parts

Row = tuple[Any, ...]


class StatementPass:
    """Evaluates a bounded statement; ``peak_units`` is the most that was ever stored, ``units`` the most that
    the plans allow (None if there is no number).

    ``parts`` are planned with the values of the ``static`` relations, if there are any.
    """

    def __init__(
        self, statement: Statement, parts: Iterable[PlannedPart], static: Mapping[str, list[Encoded]]
    ) -> None:
        self.statement = statement
        self.blocks: dict[int, list[AnyPass]] = {}
        order = Order()
        for part in parts:
            self.blocks.setdefault(part.block, []).append(pass_of(part.plan, static, order))
        sizes = [part.plan.units for parts in self.blocks.values() for part in parts]
        known = [size for size in sizes if size is not None]
        self.units = sum(known) if len(known) == len(sizes) else None
        self.peak_units = 0

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Answer]]:
        """The new answers at each marker."""
        for batch in batches:
            yield answers(self.statement, batch.marker, self.step(batch))

    def step(self, batch: Batch) -> dict[Row, int]:
        """Take in one batch and return its new answer rows (encoded) with their multiplicities.

        Raises:
            UnitsExceeded: the state passed the units.
        """
        found: Counter[Row] = Counter()
        for parts in self.blocks.values():
            new = [part.step(batch) for part in parts]
            found.update(united(parts, new) if parts[0].query.ring.idempotent else summed(new))
        self.peak_units = max(self.peak_units, sum(p.units for parts in self.blocks.values() for p in parts))
        require_units(self.statement.name, self.units, self.peak_units)
        return dict(found)


def statement_pass(statement: Statement, static: Mapping[str, list[Encoded]]) -> StatementPass:
    """The evaluation of a statement that has not been decided yet.

    Raises:
        PlanError: it is not bounded, or a part of it has no plan.
    """
    values = partial(static_values, static=static)
    return StatementPass(statement, planned_parts(bounded_parts(statement), values), static)


class Held(Protocol):
    """The evaluation of a part."""

    def holds(self, row: Row) -> bool:
        """Whether a row is an answer to what has arrived; for DISTINCT queries."""


def summed(new: Iterable[Mapping[Row, int]]) -> Counter[Row]:
    """The new rows of the parts of a block of bags."""
    found: Counter[Row] = Counter()
    for rows in new:
        found.update(rows)
    return found


def united(parts: Sequence[Held], new: Sequence[Mapping[Row, int]]) -> dict[Row, int]:
    """The rows that no part had before. A part that has a row now that is not new in it had it before."""
    return {
        row: 1
        for row in {row for rows in new for row in rows}
        if not any(part.holds(row) for part, rows in zip(parts, new, strict=True) if row not in rows)
    }
