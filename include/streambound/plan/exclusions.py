"""Cells of a plan that are never joined: what the context of each says of the others' columns."""

from __future__ import annotations

from collections.abc import Sequence

from streambound.plan.model import Condition, TablePlan
from streambound.query.model import Op

# A cell of the table of one stream.
TableCell = tuple[str, int | None]


def excluded(synopses: Sequence[TablePlan]) -> frozenset[tuple[TableCell, TableCell]]:
    """Pairs of cells, both ways, of which one's context excludes the other."""
    pairs: set[tuple[TableCell, TableCell]] = set()
    for left in synopses:
        for number, cell in enumerate(left.cells):
            for right in synopses:
                mine = [c for c in cell.context if c.attribute.occurrence in right.streams]
                for index, partner in enumerate(right.cells):
                    if not all(_within(partner.conditions, c) for c in mine):
                        pairs.add(((left.streams[0], number), (right.streams[0], index)))
                        pairs.add(((right.streams[0], index), (left.streams[0], number)))
    return frozenset(pairs)


def _within(conditions: tuple[Condition, ...], context: Condition) -> bool:
    """Whether a cell that was cut at a context's bound lies on the context's side of it."""
    upper = context.op in (Op.LT, Op.LE)
    for condition in conditions:
        if condition.attribute != context.attribute or (condition.op in (Op.LT, Op.LE)) is not upper:
            continue
        tighter = condition.value < context.value if upper else condition.value > context.value
        strict_enough = condition.op is context.op or condition.op in (Op.LT, Op.GT)
        if tighter or (condition.value == context.value and strict_enough):
            return True
    return False
