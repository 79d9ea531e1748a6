"""From a SELECT with guards to the nodes that give its rows (see ``flow``).

The rows outside and those of each guard are joins with filters, with plans of their own; what is compared
between them is left to an operation. It needs of both sides the columns that are compared, times among them,
so that it knows what can still match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod

from streambound.boundedness.criterion.folding import entailed
from streambound.boundedness.criterion.questions import joined, tops
from streambound.constraints.cases import cases
from streambound.constraints.system import system
from streambound.errors import PlanError
from streambound.plan.conditions import (
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
from streambound.plan.flow import Applied, Guarded, Leaf, Node, Size, Sought, Times, together
from streambound.plan.trees.as_of_joins import Leaves, looked_up, showing, single_select
from streambound.plan.trees.sizes import Values, columns_of, rows_within, values_of
from streambound.query.formula import (
    NOWHERE,
    Formula,
    all_of,
    any_of,
    atoms_of,
    conjunction,
    conjuncts,
)
from streambound.query.model import (
    Attribute,
    Constant,
    Join,
    NullTest,
    Occurrence,
    Op,
    Output,
    Query,
)
from streambound.query.ring import BOOLEANS, INTEGERS
from streambound.query.statement import Guard, Selection, Statement

_BEFOREHAND = Size(None, "rows of what is known beforehand")


def guarded(statement: Statement, selection: Selection, leaf: Leaves) -> Node:
    """The rows of a SELECT with guards: its outputs.

    Under DISTINCT a row may come several times, and counts if it is there at all: guards that want a match
    are joins then.

    Args:
        leaf: gives the node of a statement of joins with filters.

    Raises:
        PlanError: they have no plan.
    """
    if selection.base.ring.idempotent:
        selection = replace(
            joined(selection, [g for g in selection.guards if not g.negated]),
            guards=tuple(g for g in selection.guards if g.negated),
        )
    selection = _possible(selection)
    if not selection.guards:
        return looked_up(statement, selection, leaf)
    distinct = selection.base.ring.idempotent
    if distinct and len(selection.base.arriving) < 2:
        # Of one stream nothing need be kept to tell how often a row comes.
        selection = replace(selection, base=replace(selection.base, ring=INTEGERS))
    selection = replace(selection, guards=tuple(_least(selection, guard) for guard in selection.guards))
    outside, positions = _outside(statement, selection, leaf)
    hard = distinct and len(selection.guards) == 1
    sought = [
        _planned(statement, selection, guard, outside, positions, leaf, hard) for guard in selection.guards
    ]
    nodes = (outside, *(planned.node for planned in sought))
    shown = tuple(range(len(selection.base.select)))
    if any(node.retracts for node in nodes):
        raise PlanError(
            "guards over rows that are taken back cannot be evaluated yet", subject=statement.name
        )
    size = _units(statement.name, outside, shown, sought)
    times = _late(outside.times.among({p: p for p in shown}), sought)
    retracts = any(guard.negated for guard in selection.guards)
    operation = Guarded(shown, tuple(planned.sought for planned in sought), distinct, _is_static(outside))
    return Applied(operation, nodes, selection.base.outputs, times, retracts, size.number, size.formula)


def in_parts(selection: Selection) -> list[Selection]:
    """A SELECT as several whose rows are added up, of guards whose tuples all meet; itself if there are such.

    Tuples of a guard that do not meet each other are there if those of each part are. So rows without a match
    are those without one of the first part, those with one but none of the second, and so on.
    """
    made = [replace(selection, guards=())]
    for guard in selection.guards:
        parts = _apart(guard)
        present = [replace(part, negated=False, outer=False) for part in parts]
        ways = [(*present[:n], part) for n, part in enumerate(parts)] if guard.negated else [present]
        made = [replace(s, guards=(*s.guards, *way)) for s in made for way in ways]
    return made


def guarded_alone(selection: Selection) -> tuple[Occurrence, ...]:
    """The occurrences outside that guards read: the others are joined with what these leave."""
    read = {a.occurrence for guard in selection.guards for a in _read(guard)}
    return tuple(o for o in selection.base.occurrences if o.alias in read)


def _apart(guard: Guard) -> list[Guard]:
    """A guard as several, none of whose tuples are compared with those of another."""
    components = [{o.alias} for o in guard.base.occurrences]
    inner = set().union(*components)
    listed = conjuncts(guard.formula)
    for part in listed:
        names = {a.occurrence for atom in atoms_of(part) for a in atom.attributes} & inner
        met = [component for component in components if component & names]
        if len(met) > 1:
            components = [*(c for c in components if not c & names), set().union(*met)]

    def of(component: set[str]) -> Guard:
        first = component is components[0]
        own = []
        for part in listed:
            names = {a.occurrence for atom in atoms_of(part) for a in atom.attributes} & inner
            # What is asked of no tuple of it is asked once.
            if names & component or (first and not names):
                own.append(part)
        occurrences = tuple(o for o in guard.base.occurrences if o.alias in component)
        return replace(guard, base=replace(guard.base, occurrences=occurrences), formula=all_of(own))

    return [of(component) for component in components]


def _possible(selection: Selection) -> Selection:
    """A selection without guards that no tuples meet; if rows must have a match of one, there are none."""
    kept = []
    for guard in selection.guards:
        if any(case.parts for case in cases(joined(selection, [guard]))):
            kept.append(guard)
        elif not guard.negated:
            return replace(selection, formula=NOWHERE, guards=())
    return replace(selection, guards=tuple(kept))


def _matching(selection: Selection, guard: Guard, positions: Mapping[Attribute, int]) -> dict[int, Values]:
    """What columns hold in the rows outside, or those that a guard finds, that match: by positions."""
    terms = [(a, p) for a, p in positions.items() if a in _columns_asked(selection, guard)]
    queries = [query for case in cases(joined(selection, [guard])) for query in case.parts]
    values = values_of([_showing(query, [a for a, _ in terms]) for query in queries], range(len(terms)))
    return dict(zip((p for _, p in terms), values, strict=True))


def _showing(query: Query, attributes: Iterable[Attribute]) -> Query:
    """A query that shows other columns, as NULL those that are."""
    nulls = query.nulls
    select = (
        Output(str(a), Constant(None, "NULL", query.type_of(a)) if a in nulls else a) for a in attributes
    )
    return replace(query, select=tuple(select))


def _columns_asked(selection: Selection, guard: Guard) -> frozenset[Attribute]:
    return frozenset(selection.base.projected).union(_read(guard))


def _least(selection: Selection, guard: Guard) -> Guard:
    """A guard without conditions that follow from its others, and those outside: they ask more columns."""
    atoms = conjunction(guard.formula)
    if atoms is None:
        return guard
    kept = list(atoms)
    for atom in atoms:
        if not isinstance(atom, Join):
            continue
        rest = replace(guard, formula=all_of(k for k in kept if k is not atom))
        parts = [query for case in cases(joined(selection, [rest])) for query in case.parts]
        if parts and all(entailed(system(query), atom) for query in parts):
            kept.remove(atom)
    return replace(guard, formula=all_of(kept))


def _outside(statement: Statement, selection: Selection, leaf: Leaves) -> tuple[Node, dict[Attribute, int]]:
    """The rows outside with the columns that guards read, and where these are."""
    asked = dict.fromkeys(a for g in selection.guards for a in _read(g) if a not in _inner(g))
    if not selection.base.ring.idempotent:
        # Their time is that of the rows: it costs nothing, and says what has been seen.
        asked.update(dict.fromkeys(stamps_of(selection, ())))
    rows, positions = showing(selection.base, list(asked))
    positive = [g for g in selection.guards if not g.negated]
    within = implied_times(joined(selection, positive), selection.base) if positive else ()
    formula = all_of((selection.formula, *within))
    return looked_up(statement, replace(selection, base=rows, formula=formula, guards=()), leaf), positions


def stamps_of(selection: Selection, guards: Sequence[Guard]) -> list[Attribute]:
    """The timestamps of the streams outside that complete every match with some guards."""
    whole = joined(selection, guards)
    stamps = [tops(query) for case in cases(whole) for query in case.parts]
    names = frozenset.intersection(*stamps) if stamps else frozenset[str]()
    return [
        Attribute(o.alias, o.relation.timestamp)
        for o in selection.base.occurrences
        if o.alias in names and o.relation.timestamp is not None
    ]


def implied_times(whole: Selection, base: Query) -> tuple[Join, ...]:
    """What the conditions of a SELECT imply between timestamps of some of its streams."""
    parts = [system(query).closure for case in cases(whole) for query in case.parts]
    stamps = [Attribute(o.alias, o.relation.timestamp) for o in base.streams if o.relation.timestamp]
    joins = []
    for early, late in permutations(stamps, 2):
        if not parts or any(c is None or early not in c.index or late not in c.index for c in parts):
            continue
        bounds = [None if c is None else c.bound(early, late) for c in parts]
        offsets = [bound[0] for bound in bounds if bound is not None]
        if len(offsets) == len(bounds):
            joins.append(Join(early, Op.LE, late, offset=max(offsets)))
    return tuple(joins)


@dataclass(frozen=True)
class _Planned:
    """A guard with the rows that it may find.

    ``lasting`` is how many different rows outside are kept for ever for what it asks (None: none are);
    ``windows`` say how long rows are kept, ``width`` how much it asks of each, ``kept`` what is kept of those
    that it finds. ``matching`` are columns of the rows outside that have a match.
    """

    node: Node
    sought: Sought
    lasting: int | None
    windows: list[int]
    width: int
    kept: Size
    matching: Mapping[int, Values]


def _planned(
    statement: Statement,
    selection: Selection,
    guard: Guard,
    outside: Node,
    positions: Mapping[Attribute, int],
    leaf: Leaves,
    hard: bool,
) -> _Planned:
    """A guard whose own rows have a plan, or those of the join with the rows outside."""
    matching = _matching(selection, guard, positions)
    try:
        node, sought = _sought(statement, selection, guard, positions, leaf)
        return _sized(outside, node, sought, matching, _matching(selection, guard, sought.inner), hard)
    except PlanError:
        if selection.as_of:
            raise
        with suppress(PlanError):
            node, sought = _through(statement, selection, guard, positions, leaf)
            return _sized(outside, node, sought, matching, {}, hard)
        raise


def _sized(
    outside: Node,
    node: Node,
    sought: Sought,
    matching: Mapping[int, Values],
    bounds: Mapping[int, Values],
    hard: bool,
) -> _Planned:
    """A guard with how much is kept for it, where rows match that hold what is given.

    Args:
        hard: rows that are hard to match stand for others.
    """
    sides = [_narrowed(columns_of(n), given) for n, given in ((outside, matching), (node, bounds))]
    sought = replace(
        sought,
        outer_ranges={p: values.range for p, values in enumerate(sides[0])},
        inner_ranges={p: values.range for p, values in enumerate(sides[1])},
    )
    tree, asks, offers = condition(sought.formula, sought.outer, sought.inner)
    rows, inner = _Side(tree, asks, outside, sides[0]), _Side(mirrored(tree), offers, node, sides[1])
    rows, inner = replace(rows, opposite=inner), replace(inner, opposite=rows)
    static = _is_static(outside)
    kept = Size(0) if static else _kept(inner, sought).times(max(1, offers.width))
    life = -1 if sought.static or static else rows.life()
    lasting, windows = (
        rows.lasting(serving(tree) if hard else frozenset()) if life is None else (None, [life])
    )
    return _Planned(node, sought, lasting, windows, asks.width, kept, dict(enumerate(sides[0])))


def _narrowed(columns: Sequence[Values], given: Mapping[int, Values]) -> list[Values]:
    """The columns of rows that hold what is given, if that says more of them."""
    narrowed = list(columns)
    for p, values in given.items():
        counts = [c for c in (columns[p].count, values.listed) if c is not None]
        narrowed[p] = replace(values, count=min(counts, default=None))
    return narrowed


def _units(name: str, outside: Node, shown: Sequence[int], guards: Sequence[_Planned]) -> Size:
    """What guards keep in the worst case.

    Raises:
        PlanError: there is no such number.
    """
    lasting = [planned.lasting + 1 for planned in guards if planned.lasting is not None]
    number = prod(lasting) if lasting else 0
    for position in shown if lasting else ():
        counts = [planned.matching[position].count for planned in guards if planned.lasting is not None]
        count = None if None in counts else max(c for c in counts if c is not None)
        if count is None:
            column = outside.outputs[position][0]
            raise PlanError(f"no plan was found: rows that show {column} wait for ever", subject=name)
        number *= count
    last = max((window for planned in guards for window in planned.windows), default=-1)
    width = len(shown) + 1 + sum(planned.width for planned in guards)
    rows = _BEFOREHAND if _is_static(outside) else together([Size(number), rows_within(outside, last)])
    waiting = rows.times(width)
    return together([waiting, *(planned.kept for planned in guards)])


def _late(times: Times, guards: Sequence[_Planned]) -> Times:
    """The times of rows that come, or are taken back, while they wait."""
    if any(planned.lasting is not None for planned in guards):
        return Times()
    life = max(window for planned in guards for window in planned.windows)
    return replace(times, delay=times.delay + max(0, life))


def _is_static(node: Node) -> bool:
    return isinstance(node, Leaf) and node.static


def _inner(guard: Guard) -> frozenset[Attribute]:
    aliases = {o.alias for o in guard.base.occurrences}
    return frozenset(a for a in _read(guard) if a.occurrence in aliases)


def _read(guard: Guard) -> tuple[Attribute, ...]:
    return tuple(dict.fromkeys(a for atom in atoms_of(guard.formula) for a in atom.attributes))


def _sought(
    statement: Statement, selection: Selection, guard: Guard, positions: Mapping[Attribute, int], leaf: Leaves
) -> tuple[Node, Sought]:
    """The rows that a guard may find, and the guard without what it asks of these alone."""
    inner = _inner(guard)
    parts = conjuncts(guard.formula)
    own = [part for part in parts if all(a in inner for atom in atoms_of(part) for a in atom.attributes)]
    between = all_of(part for part in parts if part not in own)
    read = dict.fromkeys(a for atom in atoms_of(between) for a in atom.attributes)
    # Whether there is a match is all that counts; of one stream nothing need be kept to tell how often.
    arriving = len(guard.base.arriving)
    within = implied_times(joined(selection, [guard]), guard.base) if arriving > 1 else ()
    ring = INTEGERS if arriving < 2 else BOOLEANS
    base, mine = showing(replace(guard.base, select=(), ring=ring), [a for a in read if a in inner])
    node = leaf(single_select(statement, Selection(base, all_of((*own, *within)))))
    outer = {a: positions[a] for a in read if a not in inner}
    return node, Sought(between, guard.negated, outer, mine, static=not arriving)


def _through(
    statement: Statement, selection: Selection, guard: Guard, positions: Mapping[Attribute, int], leaf: Leaves
) -> tuple[Node, Sought]:
    """What a guard reads of the rows outside that have a match: such a row is sought again."""
    inner = _inner(guard)
    read = [a for a in _read(guard) if a not in inner]
    read += [a for a in stamps_of(selection, [guard]) if a in positions and a not in read]
    whole = joined(replace(selection, guards=()), [guard])
    base, shown = showing(replace(whole.base, select=(), ring=BOOLEANS), read)
    node = leaf(single_select(statement, replace(whole, base=base)))
    renamed_columns = {a: Attribute(f"{a.occurrence}, with a match", a.column) for a in read}
    compared = [atom for atom in conjunction(guard.formula) or () if not isinstance(atom, NullTest)]
    # What is compared is not NULL in a match.
    present = {a for atom in compared for a in atom.attributes}
    formula = all_of(
        _same(a, renamed_columns[a], selection.base.nullable(a) and a not in present) for a in read
    )
    outer, mine = {a: positions[a] for a in read}, {renamed_columns[a]: shown[a] for a in read}
    return node, Sought(formula, guard.negated, outer, mine)


def _same(left: Attribute, right: Attribute, nullable: bool) -> Formula:
    """That two columns have the same value, or none."""
    equal = Join(left, Op.EQ, right)
    return any_of((equal, all_of((NullTest(left, True), NullTest(right, True))))) if nullable else equal


@dataclass(frozen=True)
class _Side:
    """What is kept of the rows of one side of a guard: their terms, as far as the other side may ask them."""

    tree: Tree
    terming: Terming
    node: Node
    values: Sequence[Values]
    opposite: _Side | None = None

    def _span(self, term: int) -> tuple[int, int] | None:
        return self.node.times.spans.get(self.terming.columns[term])

    def _until(self, pair: Pair) -> int | None:
        """How long after the timestamp of a row its time is before all that come; None: it may never be."""
        assert self.opposite is not None
        span, position = self._span(pair.left), self.opposite.terming.columns[pair.right]
        lag, scale = self.opposite.node.times.lag(position), self.opposite.node.times.scales.get(position, 1)
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
        bounds = [life for life in lives if life is not None]
        if isinstance(tree, Both):
            return min(bounds, default=None)
        return max(bounds, default=-1) if len(bounds) == len(lives) else None

    def lasting(self, served: frozenset[int] = frozenset()) -> tuple[int, list[int]]:
        """How many different terms are kept for ever, and how long others are beside.

        Args:
            served: terms of which one row can serve for another: of one of them there is one value.

        Raises:
            PlanError: there is no such number.
        """
        number, windows, free = 2 ** len(self.terming.tests), list[int](), bool(served)
        for term in range(len(self.terming.columns)):
            pairs = [pair for pair in pairs_of(self.tree) if pair.left == term]
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
        assert self.opposite is not None
        left = self.values[self.terming.columns[term]]
        right = [self.opposite.values[self.opposite.terming.columns[pair.right]] for pair in pairs]
        if left.count is not None:
            return left.count
        if any(pair.offset for pair in pairs):
            return None
        if all(pair.op in (Op.EQ, Op.NE) for pair in pairs) and all(
            t.range.values is not None for t in right
        ):
            return 2 + sum(len(t.range.values or ()) for t in right)
        lows, highs = [t.range.low for t in right], [t.range.high for t in right]
        if None in lows or None in highs:
            return None
        between = left.between(min(lows), max(highs))  # type: ignore[type-var]
        return None if between is None else between + 3


def _kept(inner: _Side, sought: Sought) -> Size:
    """How many rows a guard keeps that rows to come may match."""
    if sought.static:
        return _BEFOREHAND
    life = inner.life()
    if life is not None:
        return rows_within(inner.node, life)
    number, windows = inner.lasting(serving(inner.tree))
    return together([Size(number), rows_within(inner.node, max(windows, default=-1))])
