"""A join with filters in one pass: the parts of a leaf side by side, their answers summed or united.

A row of a distinct block is new if some part has it for the first time and no other part has had it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from streambound.evaluation.events import Batch, Encoded
from streambound.evaluation.onepass import pass_of
from streambound.evaluation.order import ArrivalOrder
from streambound.operators.rows.expressions import complete
from streambound.plan.flow import Changes, Leaf
from streambound.query.ring import Ring
from streambound.query.statement import Statement
from streambound.state.serial import canonical_list

Row = tuple[Any, ...]


class BatchLeaf:
    """The rows of a leaf from the tuples of each marker: signed changes in, signed changes out.

    Its parts are planned with the values of the ``static`` relations, if there are any. Before anything came
    there are no rows.
    """

    def __init__(self, leaf: Leaf, static: Mapping[str, list[Encoded]]) -> None:
        self.statement, order = leaf.statement, ArrivalOrder()
        self.initial: Changes = {}
        self.parts = [(part.block, pass_of(part.plan, static, order)) for part in leaf.parts]

    @property
    def stored_units(self) -> int:
        """Values and counts stored now."""
        return sum(engine.stored_units for _, engine in self.parts)

    def take(self, given: Batch, fed: Mapping[str, Changes]) -> Changes:
        """The changes of the rows (encoded) at a marker."""
        batch = fed_batch(self.statement, given, fed)
        return union_of((block, e.query.ring, e, e.process(batch)) for block, e in self.parts)

    def dump(self) -> bytes:
        """What the parts keep, in their order."""
        return canonical_list(engine.dump() for _, engine in self.parts)

    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave, as JSON."""
        for (_, engine), state in zip(self.parts, document, strict=True):
            engine.load(state)


def fed_batch(statement: Statement, given: Batch, fed: Mapping[str, Changes]) -> Batch:
    """A batch with the changes of the rows of sub-queries that a statement is fed with."""
    relations = {relation.name: relation for relation in statement.fed}
    tuples, weights = dict(given.tuples), dict(given.weights)
    for name, changes in fed.items():
        columns = [column.name for column in relations[name].own]
        rows = [dict(zip(columns, row, strict=True)) for row in changes]
        complete(relations[name], rows)
        tuples[name], weights[name] = rows, list(changes.values())
    return replace(given, tuples=tuples, weights=weights)


class AnswerMemory(Protocol):
    """The evaluation of a part."""

    def holds(self, row: Row) -> bool:
        """Whether a row is an answer to what has arrived; for DISTINCT queries."""


def union_of(parts: Iterable[tuple[int, Ring, AnswerMemory, Mapping[Row, int]]]) -> Counter[Row]:
    """The new rows of a statement, from its parts: of each the number and ring of its block, its evaluation,
    and its new rows.
    """
    counter: Counter[Row] = Counter()
    blocks: dict[int, list[tuple[AnswerMemory, Mapping[Row, int]]]] = {}
    for block, ring, memory, rows in parts:
        if ring.idempotent:
            blocks.setdefault(block, []).append((memory, rows))
        else:
            counter.update(rows)
    for block_parts in blocks.values():
        counter.update(_new_to_all(block_parts))
    return counter


def summed(new: Iterable[Mapping[Row, int]]) -> Counter[Row]:
    """Rows that are new one after the other."""
    counter: Counter[Row] = Counter()
    for rows in new:
        counter.update(rows)
    return counter


def _new_to_all(parts: Sequence[tuple[AnswerMemory, Mapping[Row, int]]]) -> dict[Row, int]:
    """The rows that no part had before. A part that has a row now that is not new in it had it before."""
    return {
        row: 1
        for row in {row for _, rows in parts for row in rows}
        if not any(part.holds(row) for part, rows in parts if row not in rows)
    }
