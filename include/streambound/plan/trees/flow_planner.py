"""From a bounded statement to the tree of what is evaluated of it (see ``flow``)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from streambound.boundedness.joins.finals import with_final_rows
from streambound.boundedness.ranges import with_ranges
from streambound.boundedness.reflexive import with_own_tuples
from streambound.errors import PlanError
from streambound.plan.flow import Leaf, Node, Sum, leaves, nodes
from streambound.plan.model import Plan
from streambound.plan.tables.statement import PART, WHOLE, require_bounded
from streambound.plan.tables.table_planner import StaticValues, buffer
from streambound.plan.trees.first_tuples import ranked_join
from streambound.plan.trees.group_planner import different, grouped
from streambound.plan.trees.irredundant import irredundant
from streambound.plan.trees.order_planner import ranked, shown_alone, window_functions
from streambound.plan.trees.row_planner import Planning, arrives, changes, computed, leaf, rows
from streambound.plan.trees.settled import settled
from streambound.query.clock import CLOCK
from streambound.query.model import Query
from streambound.query.operators import Grouping, Ranking, WindowCalls
from streambound.query.parse.blocks.derived_tables import untimed
from streambound.query.ring import INTEGERS
from streambound.query.statement import Block, Statement


def flow(statement: Statement, values: Callable[[Query], StaticValues] | None = None) -> Node:
    """What is evaluated of a bounded statement; of one that is ``final`` the rows that are settled.

    Args:
        values: gives the values of the static relations of a query, if they are known.

    Raises:
        PlanError: something of it has no plan.
    """
    planning = Planning(_flow, values, statement.scanned, WHOLE if statement.plain else PART)
    asked = replace(with_final_rows(statement), final=False) if statement.final else statement
    node = _flow(with_ranges(asked), planning)
    alone = not all(selection.arriving for selection in statement.selections)
    if alone or all(below.static for below in leaves(node)):
        raise PlanError("only static relations are queried: the answer never changes", subject=statement.name)
    node = settled(node, statement, planning) if statement.final else node
    return _waiting(node) if any(below.times for below in nodes(node)) else node


def _waiting(node: Node) -> Node:
    """A tree of which tuples are taken in by their timestamps: they wait until these are complete."""
    streams = {r for below in leaves(node) for r in below.statement.scanned}
    late = max((r.lateness for r in streams if r.timestamp is not None), default=0)
    return _late(node, late) if late else node


def _late(node: Node, late: int) -> Node:
    if isinstance(node, Leaf):
        fed = tuple((name, _late(below, late)) for name, below in node.fed)
        return replace(
            node, fed=fed, parts=tuple(replace(p, plan=_with_delay(p.plan, late)) for p in node.parts)
        )
    return replace(node, inputs=tuple(_late(below, late) for below in node.inputs))


def _with_delay(plan: Plan, late: int) -> Plan:
    if plan.timed:
        return plan
    stamped = {o.alias for o in plan.query.arriving if o.relation.timestamp and o.relation.fed is None}
    synopses = [s for s in plan.streams if s.alias in stamped]
    waiting = (buffer(plan.query, s.alias, len(s.carried), 0, late) for s in synopses)
    return replace(plan, buffers=tuple(waiting))


def _flow(statement: Statement, planning: Planning) -> Node:
    try:
        return _rows_of(statement, planning)
    except PlanError:
        # With what guards leave of a row of their own stream there may be less to keep, or nothing.
        if (own := with_own_tuples(statement)) is not statement:
            with suppress(PlanError):
                return _rows_of(own, planning)
        raise


def _rows_of(statement: Statement, planning: Planning) -> Node:
    for occurrence in statement.occurrences:
        if untimed(occurrence.relation):
            message = f"rows of {occurrence.alias} may be taken back, and their time is not shown"
            raise PlanError(f"no plan was found: {message}", subject=statement.name)
    plain = tuple(b for b in statement.blocks if b.plain)
    plain = tuple(b for b in plain if not (_over_changes(b) or any(map(changes, b.selections))))
    # What static relations give is there before anything comes, as rows of their own.
    plain = tuple(b for b in plain if len({arrives(s) for s in b.selections}) == 1)
    nodes: list[Node] = []
    for later in (False, True):
        if together := tuple(b for b in plain if arrives(b.selections[0]) is later):
            nodes.append(_plain(replace(statement, blocks=together), planning))
    nodes += [_block(statement, b, planning) for b in statement.blocks if b not in plain]
    return nodes[0] if len(nodes) == 1 else Sum(tuple(nodes))


def _plain(statement: Statement, planning: Planning) -> Node:
    """Joins with filters."""
    try:
        return leaf(statement, planning)
    except PlanError:
        for made in (irredundant, _different_in_time):
            if (applied := made(statement, planning)) is not None:
                return applied
        raise


def _different_in_time(statement: Statement, planning: Planning) -> Node | None:
    """Different rows as groups by all columns, of which a time says when they are over; None: it does not."""
    if len(statement.blocks) > 1 or not statement.blocks[0].ring.idempotent:
        return None
    require_bounded(statement, planning.called)
    selections = statement.blocks[0].selections
    with suppress(PlanError):
        return different(rows(statement, selections, range(len(selections[0].base.select)), planning))
    return None


def _computed(statement: Statement, block: Block, planning: Planning) -> Node:
    """Rows that show what is computed of several of their outputs; the different ones of what they show."""
    ring = INTEGERS if _over_changes(block) else block.ring
    nodes = []
    for selection in block.selections:
        positions = range(len(selection.base.select))
        node = rows(statement, [replace(selection, shown=())], positions, planning, ring)
        nodes.append(computed(node, selection.shown))
    node = nodes[0] if len(nodes) == 1 else Sum(tuple(nodes))
    return different(node) if block.ring.idempotent else node


def _over_changes(block: Block) -> bool:
    """Whether the different rows are asked of rows that may be taken back."""
    relations = (o.relation for s in block.selections for o in s.base.occurrences)
    return block.ring.idempotent and any(relation.fed or relation == CLOCK for relation in relations)


def _block(statement: Statement, block: Block, planning: Planning) -> Node:
    if isinstance(block.then, Grouping):
        return grouped(statement, block, block.then, planning)
    if isinstance(block.then, Ranking) and block.then.function != "ROW_NUMBER":
        block = shown_alone(block, block.then)
    if any(selection.shown for selection in block.selections):
        return _computed(statement, block, planning)
    positions = range(len(block.selections[0].base.select))
    ring = INTEGERS if _over_changes(block) else block.ring
    try:
        node = rows(statement, block.selections, positions, planning, ring)
    except PlanError:
        if isinstance(block.then, Ranking):
            with suppress(PlanError):
                if (made := ranked_join(statement, block, block.then, planning)) is not None:
                    return made
        raise
    if block.then is None:
        whole = isinstance(node, Leaf) and ring.idempotent
        return node if whole or not block.ring.idempotent else different(node)
    if isinstance(block.then, Ranking):
        return ranked(node, block.then)
    assert isinstance(block.then, WindowCalls)
    return window_functions(node, block.then)
