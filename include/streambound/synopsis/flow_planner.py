"""From a bounded statement to the tree of what is evaluated of it (see ``flow``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streambound.boundedness.ranges import with_ranges
from streambound.errors import PlanError
from streambound.query.fed import untimed
from streambound.query.model import Query
from streambound.query.operators import Framing, Grouping, Ranking
from streambound.query.ring import INTEGERS
from streambound.query.statement import Block, Statement
from streambound.synopsis.flow import (
    Leaf,
    Node,
    Sum,
    nodes,
)
from streambound.synopsis.group_planner import different, grouped
from streambound.synopsis.order_planner import framed, ranked, shown_alone
from streambound.synopsis.row_planner import Planning, changes, leaf, rows
from streambound.synopsis.table_planner import StaticValues


def flow(statement: Statement, values: Callable[[Query], StaticValues] | None = None) -> Node:
    """What is evaluated of a bounded statement.

    Args:
        values: gives the values of the static relations of a query, if they are known.

    Raises:
        PlanError: something of it has no plan.
    """
    node = _flow(with_ranges(statement), Planning(_flow, values))
    if all(one.known for one in nodes(node) if isinstance(one, Leaf)):
        raise PlanError("only static relations are queried: the answer never changes", subject=statement.name)
    return node


def _flow(statement: Statement, planning: Planning) -> Node:
    for occurrence in statement.occurrences:
        if untimed(occurrence.relation):
            message = f"rows of {occurrence.alias} may be taken back, and their time is not shown"
            raise PlanError(f"no plan was found: {message}", subject=statement.name)
    plain = tuple(b for b in statement.blocks if b.plain)
    plain = tuple(b for b in plain if not (_over_changes(b) or any(map(changes, b.selections))))
    found: list[Node] = []
    if plain:
        found.append(leaf(replace(statement, blocks=plain), planning))
    found += [_block(statement, b, planning) for b in statement.blocks if b not in plain]
    return found[0] if len(found) == 1 else Sum(tuple(found))


def _over_changes(block: Block) -> bool:
    """Whether the different rows are asked of rows that may be taken back."""
    relations = (o.relation for s in block.selections for o in s.base.occurrences)
    return block.ring.idempotent and any(relation.fed for relation in relations)


def _block(statement: Statement, block: Block, planning: Planning) -> Node:
    if isinstance(block.then, Grouping):
        return grouped(statement, block, block.then, planning)
    if isinstance(block.then, Ranking) and block.then.function != "ROW_NUMBER":
        block = shown_alone(block, block.then)
    positions = range(len(block.selections[0].base.select))
    ring = INTEGERS if _over_changes(block) else block.ring
    node = rows(statement, block.selections, positions, planning, ring)
    if block.then is None:
        whole = isinstance(node, Leaf) and ring.idempotent
        return node if whole or not block.ring.idempotent else different(node)
    if isinstance(block.then, Ranking):
        return ranked(node, block.then)
    assert isinstance(block.then, Framing)
    return framed(node, block.then)
