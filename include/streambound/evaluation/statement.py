"""Statements in one pass: the parts side by side, their answers summed or united.

A row of a distinct block is new if some part has it for the first time and no other part has had it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from streambound.evaluation.events import Batch, Encoded
from streambound.evaluation.onepass import OnePass, pass_of
from streambound.evaluation.order import ArrivalOrder
from streambound.plan.parts import PlannedPart
from streambound.query.statement import Statement

Row = tuple[Any, ...]


class StatementPass:
    """Evaluates a bounded statement of joins with filters: signed changes in, signed changes out.

    ``parts`` are planned with the values of the ``static`` relations, if there are any.
    """

    def __init__(
        self, statement: Statement, parts: Iterable[PlannedPart], static: Mapping[str, list[Encoded]]
    ) -> None:
        self.statement = statement
        self.blocks: dict[int, list[OnePass]] = {}
        order = ArrivalOrder()
        for part in parts:
            self.blocks.setdefault(part.block, []).append(pass_of(part.plan, static, order))

    @property
    def stored_units(self) -> int:
        """Values and counts stored now."""
        return sum(part.stored_units for parts in self.blocks.values() for part in parts)

    def process(self, batch: Batch) -> dict[Row, int]:
        """Take in one batch and return its new answer rows (encoded) with their multiplicities."""
        counter: Counter[Row] = Counter()
        for parts in self.blocks.values():
            new = [part.process(batch) for part in parts]
            counter.update(new_to_all(parts, new) if parts[0].query.ring.idempotent else summed(new))
        return dict(counter)

    def dump(self) -> Any:
        """What the parts keep, in their order."""
        return [part.dump().decode() for parts in self.blocks.values() for part in parts]

    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave."""
        parts = [part for parts in self.blocks.values() for part in parts]
        for part, text in zip(parts, document, strict=True):
            part.load(json.loads(text))


class AnswerMemory(Protocol):
    """The evaluation of a part."""

    def holds(self, row: Row) -> bool:
        """Whether a row is an answer to what has arrived; for DISTINCT queries."""


def summed(new: Iterable[Mapping[Row, int]]) -> Counter[Row]:
    """The new rows of the parts of a block of bags."""
    counter: Counter[Row] = Counter()
    for rows in new:
        counter.update(rows)
    return counter


def new_to_all(parts: Sequence[AnswerMemory], new: Sequence[Mapping[Row, int]]) -> dict[Row, int]:
    """The rows that no part had before. A part that has a row now that is not new in it had it before."""
    return {
        row: 1
        for row in {row for rows in new for row in rows}
        if not any(part.holds(row) for part, rows in zip(parts, new, strict=True) if row not in rows)
    }
