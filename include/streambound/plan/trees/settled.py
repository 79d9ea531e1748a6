"""Rows that are told once as a node: when nothing takes them back any more (``flow.Settled``)."""

from __future__ import annotations

from dataclasses import replace

from streambound.errors import PlanError
from streambound.plan.flow import (
    Applied,
    Computed,
    Grouped,
    Guarded,
    Hopped,
    Leaf,
    LookedUp,
    Node,
    Ranked,
    Settled,
    Sum,
    Times,
    WindowFunctions,
)
from streambound.plan.trees.row_planner import Planning, leaf
from streambound.query.formula import ALWAYS
from streambound.query.model import Attribute, Occurrence, Output, Query, Relation, RelationKind
from streambound.query.ring import INTEGERS
from streambound.query.statement import Block, Selection, Statement


def settled(node: Node, statement: Statement, planning: Planning) -> Node:
    """The rows of a node, each once; the node itself where none is taken back.

    Beside them it has of each stream the latest time, which tells how far time is.

    Raises:
        PlanError: nothing tells when rows are settled.
    """
    if not node.retracts:
        return node
    if not _settles(node, statement.name):
        raise PlanError(
            "no time closes what its rows are made of, and rows that are final for another reason are not"
            " told apart yet",
            subject=statement.name,
            fix="use --mode changes",
        )
    timed = [r for r in statement.scanned if r.kind is not RelationKind.STATIC and r.timestamp is not None]
    clocks = (_clock(statement, relation, planning) for relation in timed)
    return Applied(Settled(), (node, *clocks), node.outputs, Times(), False, 1)


def _clock(statement: Statement, relation: Relation, planning: Planning) -> Leaf:
    """The times of a stream, of which the greatest matters alone."""
    name, time = relation.name, str(relation.timestamp)
    occurrence = Occurrence(name, replace(relation, kind=RelationKind.STREAM))
    query = Query(
        name=statement.name,
        sql=statement.sql,
        ring=INTEGERS,
        select=(Output(time, Attribute(name, time)),),
        occurrences=(occurrence,),
        where=(),
    )
    block = Block(INTEGERS, (Selection(query, ALWAYS),))
    return replace(
        leaf(Statement(statement.name, statement.sql, (block,), query.outputs), planning), best=(0, False)
    )


def _settles(node: Node, name: str) -> bool:
    """Whether some rows of a node are settled at some time.

    Raises:
        PlanError: of some it is not known which are standing.
    """
    if not node.retracts:
        return True
    if isinstance(node, Sum):
        return any([_settles(child, name) for child in node.inputs])
    if isinstance(node, Leaf):
        if not all(part.plan.stateless for part in node.parts):
            message = "rows of sub-queries that are joined with others cannot be told once yet"
            raise PlanError(message, subject=name)
        return all([_settles(child, name) for _, child in node.fed])
    operation = node.operation
    if isinstance(operation, Grouped):
        if not operation.then.aggregates and operation.then.keys:
            return _settles(node.inputs[0], name)
        keys = {p: p for p in range(len(operation.keys))}
        return operation.then.session is not None or bool(node.inputs[0].times.among(keys))
    if isinstance(operation, Ranked):
        then = operation.then
        first = [p for p, descends in then.order[:1] if not descends]
        ends = node.inputs[0].times.among({p: p for p in (*then.partition, *first)})
        return bool(ends) or (then.beyond and not then.keeps_all(node.inputs[0].retracts))
    if isinstance(operation, WindowFunctions):
        shared = set.intersection(*(set(over.partition) for over in operation.then.functions))
        return operation.settles or bool(node.inputs[0].times.among({p: p for p in shared}))
    if isinstance(operation, Guarded):
        return True
    if isinstance(operation, LookedUp) and operation.ahead:
        raise PlanError("rows of an outer join with the next tuple cannot be told once yet", subject=name)
    if isinstance(operation, Hopped | Computed):
        return _settles(node.inputs[0], name)
    return all([_settles(child, name) for child in node.inputs])
