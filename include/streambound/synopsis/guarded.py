"""From a SELECT with guards to the nodes that give its rows (see ``flow``).

The rows outside and those of each guard are joins with filters, with plans of their own; what is compared
between them is left to an operation. It needs of both sides the columns that are compared, times among them,
so that it knows what can still match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from streambound.boundedness.questions import joined
from streambound.errors import PlanError
from streambound.query.formula import AllOf, all_of, atoms_of
from streambound.query.model import Attribute, Kind, Op, Output, Query
from streambound.query.ring import BOOLEANS, INTEGERS
from streambound.query.statement import Block, Guard, Selection, Statement
from streambound.synopsis.conditions import (
    Both,
    Flag,
    Pair,
    Terming,
    Tree,
    condition,
    mirrored,
    pairs_of,
    serving,
)
from streambound.synopsis.flow import Applied, Guarded, Node, Sought
from streambound.synopsis.sizes import Size, Values, columns_of, rows_within, total

# The node of a statement of joins with filters.
Leaves = Callable[[Statement], Node]


def guarded(statement: Statement, selection: Selection, leaf: Leaves) -> Node:
    """The rows of a SELECT with guards: its outputs.

    Args:
        leaf: gives the node of a statement of joins with filters.

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
    ranges = dict(enumerate(one.range for one in columns_of(outside)))
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
    if any(node.retracts for node in nodes):
        raise PlanError(
            "guards over rows that are taken back cannot be evaluated yet", subject=statement.name
        )
    size = _units(statement.name, operation, nodes)
    times = outside.times.among({p: p for p in shown})
    retracts = any(guard.negated for guard in selection.guards)
    outputs = selection.base.outputs
    return Applied(operation, tuple(nodes), outputs, times, retracts, size.number, size.formula)


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
    ranges = dict(enumerate(one.range for one in columns_of(node)))
    return node, Sought(between, guard.negated, {}, places, {}, ranges, known=not arriving)


@dataclass(frozen=True)
class _Side:
    """What is kept of the rows of one side of a guard: their terms, as far as the other side may ask them."""

    tree: Tree
    terming: Terming
    node: Node
    values: Sequence[Values]
    other: _Side | None = None

    def beside(self, other: _Side) -> _Side:
        """It, compared with the other side."""
        return replace(self, other=other)

    def _span(self, term: int) -> tuple[int, int] | None:
        return self.node.times.spans.get(self.terming.columns[term])

    def _until(self, pair: Pair) -> int | None:
        """How long after the timestamp of a row its time is before all that come; None: it may never be."""
        assert self.other is not None
        span, place = self._span(pair.mine), self.other.terming.columns[pair.theirs]
        lag, scale = self.other.node.times.lag(place), self.other.node.times.scales.get(place, 1)
        return None if span is None or lag is None else span[0] - pair.offset * scale + lag

    def life(self, tree: Tree | None = None) -> int | None:
        """How long after its timestamp a row may be matched by what comes; None: for ever."""
        tree = self.tree if tree is None else tree
        if isinstance(tree, Pair):
            if tree.op not in (Op.GT, Op.GE, Op.EQ) or (until := self._until(tree)) is None:
                return None
            return until - (tree.op is Op.GT)
        if isinstance(tree, Flag):
            return None
        lives = [self.life(part) for part in tree.parts]
        known = [life for life in lives if life is not None]
        if isinstance(tree, Both):
            return min(known, default=None)
        return max(known, default=-1) if len(known) == len(lives) else None

    def lasting(self, served: frozenset[int] = frozenset()) -> tuple[int, list[int]]:
        """How many different terms are kept for ever, and how long others are beside.

        Args:
            served: terms of which one row can serve for another: of one of them there is one value.

        Raises:
            PlanError: there is no such number.
        """
        number, windows, free = 2 ** len(self.terming.tests), list[int](), bool(served)
        for term in range(len(self.terming.columns)):
            pairs = [pair for pair in pairs_of(self.tree) if pair.mine == term]
            untils = [until for pair in pairs if (until := self._until(pair)) is not None]
            if len(untils) == len(pairs):
                windows.append(max(untils))
                continue
            count = self._count(term, pairs)
            if count is None:
                if term not in served or not free:
                    name = self.node.outputs[self.terming.columns[term]][0]
                    raise PlanError(f"no plan was found: {name} is compared with rows that come for ever")
                free, count = False, 1
            number *= count
        return number, windows

    def _count(self, term: int, pairs: Sequence[Pair]) -> int | None:
        """The values of a term that those of the other side can tell apart, NULL among them."""
        assert self.other is not None
        mine = self.values[self.terming.columns[term]]
        theirs = [self.other.values[self.other.terming.columns[pair.theirs]] for pair in pairs]
        if mine.count is not None:
            return mine.count
        if any(pair.offset for pair in pairs):
            return None
        if all(pair.op in (Op.EQ, Op.NE) for pair in pairs) and all(
            t.range.values is not None for t in theirs
        ):
            return 2 + sum(len(t.range.values or ()) for t in theirs)
        lows, highs = [t.range.low for t in theirs], [t.range.high for t in theirs]
        if None in lows or None in highs:
            return None
        between = mine.between(min(lows), max(highs))  # type: ignore[type-var]
        return None if between is None else between + 3


def _units(name: str, operation: Guarded, nodes: Sequence[Node]) -> Size:
    """What guards keep in the worst case.

    Raises:
        PlanError: there is no such number.
    """
    values = [columns_of(node) for node in nodes]
    found: list[Size] = []
    number, windows, width, ends = 1, list[int](), len(operation.shown) + 1, True
    for one, node, columns in zip(operation.sought, nodes[1:], values[1:], strict=True):
        tree, asks, offers = condition(one.formula, one.outer, one.inner)
        rows, matches = _Side(tree, asks, nodes[0], values[0]), _Side(mirrored(tree), offers, node, columns)
        rows, matches = rows.beside(matches), matches.beside(rows)
        width += len(asks.columns) + len(asks.tests)
        found.append(_kept(matches, one).times(max(1, len(offers.columns) + len(offers.tests))))
        life = -1 if one.known else rows.life()
        if life is not None:
            windows.append(life)
            continue
        ends = False
        mine, further = rows.lasting()
        number *= mine + 1
        windows += further
    if ends:
        number = 0
    for position in operation.shown if not ends else ():
        count = values[0][position].count
        if count is None:
            shown = nodes[0].outputs[position][0]
            raise PlanError(f"no plan was found: rows that show {shown} wait for ever", subject=name)
        number *= count
    found.append(total([Size(number), rows_within(nodes[0], max(windows, default=-1))]).times(width))
    return total(found)


def _kept(matches: _Side, one: Sought) -> Size:
    """How many rows a guard keeps that rows to come may match."""
    if one.known:
        return Size(None, "rows of what is known beforehand")
    life = matches.life()
    if life is not None:
        return rows_within(matches.node, life)
    number, windows = matches.lasting(serving(matches.tree))
    return total([Size(number), rows_within(matches.node, max(windows, default=-1))])
