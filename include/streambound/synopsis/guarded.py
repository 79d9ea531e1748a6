"""From a SELECT with guards to the nodes that give its rows (see ``flow``).

The rows outside and those of each guard are joins with filters, with plans of their own; what is compared
between them is left to an operation. It needs of both sides the columns that are compared, times among them,
so that it knows what can still match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce

from streambound.boundedness.questions import joined
from streambound.constraints.space import domain_of
from streambound.constraints.system import system
from streambound.query.formula import AllOf, all_of, atoms_of
from streambound.query.model import Attribute, Kind, Membership, Output, Query
from streambound.query.ring import BOOLEANS, INTEGERS
from streambound.query.statement import Block, Guard, Selection, Statement
from streambound.synopsis.flow import Applied, Guarded, Leaf, Node, Range, Sought
from streambound.synopsis.statement import bounded_parts, planned_parts

# The node of a statement of joins with filters.
Leaves = Callable[[Statement], Node]


def planned_leaf(statement: Statement) -> Leaf:
    """The leaf of a statement of joins with filters, without the values of static relations."""
    return Leaf(statement, planned_parts(bounded_parts(statement)))


def guarded(statement: Statement, selection: Selection, leaf: Leaves = planned_leaf) -> Node:
    """The rows of a SELECT with guards: its outputs.

    Under DISTINCT a row may come several times, and counts if it is there at all: guards that want a match
    are joins then.

    Raises:
        PlanError: they have no plan.
    """
    if selection.base.ring.idempotent:
        selection = replace(
            joined(selection, [g for g in selection.guards if not g.negated]),
            guards=tuple(g for g in selection.guards if g.negated),
        )
    if not selection.guards:
        return leaf(_of_one(statement, selection))
    asked = list(dict.fromkeys(a for g in selection.guards for a in _read(g) if a not in _inner(g)))
    rows, places = _with(selection.base, asked)
    outside = leaf(_of_one(statement, replace(selection, base=rows, guards=())))
    ranges = _ranges(outside)
    nodes, sought = [outside], []
    for guard in selection.guards:
        node, one = _sought(statement, guard, leaf)
        found = replace(
            one, outer={a: p for a, p in places.items() if a in _read(guard)}, outer_ranges=ranges
        )
        nodes.append(node)
        sought.append(found)
    shown = tuple(range(len(selection.base.select)))
    operation = Guarded(shown, tuple(sought))
    times = outside.times.among({p: p for p in shown})
    retracts = any(guard.negated for guard in selection.guards)
    return Applied(operation, tuple(nodes), selection.base.outputs, times, retracts)


def _of_one(statement: Statement, selection: Selection) -> Statement:
    """A statement of one SELECT."""
    base = selection.base
    return Statement(statement.name, statement.sql, (Block(base.ring, (selection,)),), base.outputs)


def _inner(guard: Guard) -> frozenset[Attribute]:
    aliases = {o.alias for o in guard.base.occurrences}
    return frozenset(a for a in _read(guard) if a.occurrence in aliases)


def _read(guard: Guard) -> tuple[Attribute, ...]:
    return tuple(dict.fromkeys(a for atom in atoms_of(guard.formula) for a in atom.attributes))


def _with(base: Query, asked: Iterable[Attribute]) -> tuple[Query, dict[Attribute, int]]:
    """A query that also shows some columns, and where it shows each."""
    places = {o.term: p for p, o in reversed(list(enumerate(base.select))) if isinstance(o.term, Attribute)}
    select = list(base.select)
    for attribute in asked:
        if attribute not in places:
            places[attribute] = len(select)
            select.append(Output(str(attribute), attribute))
    return replace(base, select=tuple(select)), places


def _sought(statement: Statement, guard: Guard, leaf: Leaves) -> tuple[Node, Sought]:
    """The rows that a guard may find, and the guard without what it asks of the rows outside."""
    inner = _inner(guard)
    parts = guard.formula.parts if isinstance(guard.formula, AllOf) else (guard.formula,)
    own = [part for part in parts if all(a in inner for atom in atoms_of(part) for a in atom.attributes)]
    between = all_of(part for part in parts if part not in own)
    asked = dict.fromkeys(a for atom in atoms_of(between) for a in atom.attributes if a in inner)
    # Whether there is a match is all that counts; of one stream nothing need be kept to tell how often.
    arriving = sum(o.relation.kind is not Kind.STATIC for o in guard.base.occurrences)
    ring = INTEGERS if arriving < 2 else BOOLEANS
    base, places = _with(replace(guard.base, select=(), ring=ring), asked)
    node = leaf(_of_one(statement, Selection(base, all_of(own))))
    return node, Sought(between, guard.negated, {}, places, {}, _ranges(node), known=not arriving)


def _ranges(node: Node) -> Mapping[int, Range]:
    """The values that the columns of a node have at most, by their positions."""
    if not isinstance(node, Leaf):
        return {}
    queries = [part.query for part in node.parts]
    return {
        p: found
        for p in range(len(node.outputs))
        if (found := reduce(_either, (_range(query, p) for query in queries), None)) is not None
    }


def _either(one: Range | None, other: Range) -> Range:
    if one is None:
        return other
    lows, highs = (one.low, other.low), (one.high, other.high)
    return Range(
        None if None in lows else min(lows),  # type: ignore[type-var]
        None if None in highs else max(highs),  # type: ignore[type-var]
        None if one.values is None or other.values is None else one.values | other.values,
    )


def _range(query: Query, position: int) -> Range:
    term = query.select[position].term
    if not isinstance(term, Attribute):
        return Range(term.value, term.value, frozenset((term.value,)) if term.value is not None else None)
    facts = system(query)
    if facts.closure is None:
        return Range()
    space, family = facts.space, facts.space.family(term)
    ends = (facts.closure.lower(term), facts.closure.upper(term))
    low, high = (None if end is None else space.value(family, end[0]) for end in ends)
    lists = [
        frozenset(c.value for c in a.values)
        for a in query.where
        if isinstance(a, Membership) and a.attribute == term
    ]
    if (domain := domain_of(query, term)) is not None and domain.values is not None:
        lists.append(frozenset(domain.values))
    return Range(low, high, frozenset.intersection(*lists) if lists else None)
