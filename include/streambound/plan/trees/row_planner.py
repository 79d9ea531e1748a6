"""The rows of a SELECT as a node: a leaf of joins with filters, or what guards, versions and changes make of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from streambound.boundedness.criterion.current_time import reads_present
from streambound.boundedness.criterion.questions import of_rows
from streambound.errors import PlanError
from streambound.plan.flow import (
    Applied,
    Computed,
    Hopped,
    Leaf,
    Node,
    Size,
    Sum,
    Times,
)
from streambound.plan.parts import PlannedPart
from streambound.plan.tables.statement import WHOLE, bounded_parts, planned_parts
from streambound.plan.tables.table_planner import StaticValues
from streambound.plan.trees.guarded import guarded, guarded_alone, in_parts
from streambound.plan.trees.joined import changing, guarded_rows, joined_rows
from streambound.plan.trees.sizes import groups
from streambound.plan.trees.time_filters import present_of, time_filtered
from streambound.query.column_types import Family
from streambound.query.model import Attribute, Column, Output, Query, Relation, RelationKind, is_null
from streambound.query.operators import Shown
from streambound.query.ring import INTEGERS, Ring
from streambound.query.statement import Selection, Statement

# Microseconds of a day.
_DAY = 86_400_000_000


@dataclass(frozen=True)
class Planning:
    """What planners are given: the planner of sub-queries, and what gives the values of static relations."""

    flow: Callable[[Statement, Planning], Node]
    values: Callable[[Query], StaticValues] | None = None
    # The relations of the whole statement: their tuples tell what the present time is.
    scanned: tuple[Relation, ...] = ()
    # How errors call what is planned.
    called: str = WHOLE


def leaf(statement: Statement, planning: Planning) -> Leaf:
    """The leaf of a statement of joins with filters.

    Raises:
        PlanError: it has no plan.
    """
    relations = {o.relation.name: o.relation for o in statement.occurrences if o.relation.fed is not None}
    nodes = {name: planning.flow(r.fed, planning) for name, r in relations.items() if r.fed is not None}
    if not nodes:
        parts = planned_parts(bounded_parts(statement, planning.called), planning.values)
        return Leaf(statement, parts, times_of(parts))
    statement = _arriving(statement)
    parts = planned_parts(bounded_parts(statement, planning.called), planning.values)
    return Leaf(statement, parts, _times_of_fed(statement, nodes), tuple(nodes.items()))


def _arriving(statement: Statement) -> Statement:
    """A statement whose sub-queries' rows arrive, with weights."""

    def of(selection: Selection) -> Selection:
        occurrences = selection.base.occurrences
        made = tuple(replace(o, relation=replace(o.relation, kind=RelationKind.STREAM)) for o in occurrences)
        fed = tuple(m if o.relation.fed else o for o, m in zip(occurrences, made, strict=True))
        return replace(selection, base=replace(selection.base, occurrences=fed))

    return statement.with_selections(of)


def _times_of_fed(statement: Statement, nodes: Mapping[str, Node]) -> Times:
    """The times of rows of sub-queries that are read alone."""
    times = []
    for selection in statement.selections:
        first = selection.base.occurrences[0].relation
        if len(selection.base.occurrences) > 1 or first.name not in nodes:
            return Times()
        columns = {c.name: n for n, c in enumerate(first.columns)}
        below, spans, scales = nodes[first.name].times, dict[int, tuple[int, int]](), dict[int, int]()
        for position, output in enumerate(selection.base.select):
            if not isinstance(output.term, Attribute):
                continue
            column = output.term.column
            if column in columns and columns[column] in below.spans:
                spans[position] = below.spans[columns[column]]
                if columns[column] in below.scales:
                    scales[position] = below.scales[columns[column]]
            elif (rounded := _rounded_span(selection.base, output.term, columns, below)) is not None:
                spans[position] = rounded
        terms = {p: selection.base.select[p].term for p in spans}
        lacking = {name for name, n in columns.items() if n in below.gaps}
        gaps = (p for p, t in terms.items() if isinstance(t, Attribute) and _of(selection.base, t) & lacking)
        times.append(Times(spans, below.delay, scales, gaps=frozenset(gaps)))
    return times[0] if len(times) == 1 else Times()


def _of(base: Query, attribute: Attribute) -> set[str]:
    """The columns that an attribute is, or is computed from."""
    return {attribute.column, *base.column(attribute).of}


def times_of(parts: Sequence[PlannedPart]) -> Times:
    """The times of the rows of several parts: those of the streams that complete each match."""
    every = [times for part in parts if (times := _of_part(part)) is not None]
    return Times.of_any(every) if every else Times()


def _of_part(part: PlannedPart) -> Times | None:
    plan = part.plan
    if plan.ending is not None:
        return Times()
    if plan.empty:
        return None
    query, spans, scales, delay = plan.query, {}, dict[int, int](), 0
    written, gaps = dict[int, tuple[int, int]](), set[int]()
    for position, output in enumerate(query.select):
        if is_null(output.term):
            # A row without this time: other rows may have it.
            spans[position] = written[position] = 0, 0
            gaps.add(position)
        if not isinstance(output.term, Attribute) or not plan.clock.completes(output.term.occurrence):
            continue
        span, calendar = query.span(output.term), query.calendar(output.term)
        if span is None and calendar is None:
            continue
        delay = max(delay, plan.clock.reach(output.term.occurrence))
        if calendar is not None:
            written[position] = calendar
        if span is None:
            continue
        spans[position] = span
        if query.type_of(output.term).family is Family.DATE:
            scales[position] = _DAY
    return Times(spans, delay, scales, written, frozenset(gaps))


def _rounded_span(
    base: Query, attribute: Attribute, columns: Mapping[str, int], below: Times
) -> tuple[int, int] | None:
    """The span of a bucket of the time of a sub-query's rows, which has one itself."""
    moment, own = base.moment(attribute), base.span(attribute)
    inner = None if moment is None else below.spans.get(columns.get(moment[0].column, -1))
    return None if own is None or inner is None else (own[0] + inner[0], own[1] + inner[1])


def _sliding(selection: Selection, positions: Iterable[int]) -> dict[int, Column]:
    """The outputs that are edges of windows that overlap."""
    base = selection.base
    terms = {p: base.select[p].term for p in positions}
    columns = {p: base.column(term) for p, term in terms.items() if isinstance(term, Attribute)}
    return {p: column for p, column in columns.items() if column.slide is not None}


def _hopped(
    statement: Statement, selection: Selection, positions: tuple[int, ...], planning: Planning
) -> Node:
    """The rows of a selection, each in each of its windows."""
    base, sliding = selection.base, _sliding(selection, positions)
    compared = {a for atom in selection.atoms for a in atom.attributes}
    if any(base.select[p].term in compared for p in sliding):
        message = "a comparison with windows that overlap cannot be evaluated yet"
        raise PlanError(message, subject=statement.name)
    alike = {(c.bucket, c.slide, c.cumulative) for c in sliding.values()}
    terms = [base.select[p].term for p in sliding]
    stamps = {moment[0] for t in terms if isinstance(t, Attribute) and (moment := base.moment(t))}
    if len(alike) != 1 or len(stamps) != 1:
        message = "several windows that overlap cannot be evaluated together yet"
        raise PlanError(message, subject=statement.name)
    ((size, slide, cumulative),), (stamp,) = alike, stamps
    select = (*(base.select[p] for p in positions), Output("time", stamp))
    wider = replace(selection, base=replace(base, select=select))
    node = _rows_node(statement, [wider], tuple(range(len(select))), planning)
    edges = tuple((n, sliding[p].edge == "end") for n, p in enumerate(positions) if p in sliding)
    operation = Hopped(edges, len(positions), size or 0, slide or 0, cumulative)
    times = node.times.among({p: p for p in range(len(positions))})
    return Applied(operation, (node,), node.outputs[:-1], times, node.retracts, 0)


def changes(selection: Selection) -> bool:
    """Whether rows come and go with the present time, or rows of several relations are joined, of which some
    change.
    """
    several = len(selection.base.occurrences) > 1 and bool(changing(selection.base.occurrences))
    return several or reads_present(selection)


def _of_selection(statement: Statement, planning: Planning, selection: Selection) -> Node:
    return rows(statement, [selection], range(len(selection.base.select)), planning)


def kept_rows(node: Node, times: Times, positions: Sequence[int] | None = None) -> Size:
    """How many different rows of a node, or values of some columns, there are at once that are kept for so
    long.
    """
    if positions is not None:
        return groups(node, times, positions)
    return groups(node, times or (node.times if node.retracts else times), range(len(node.outputs)))


def rows(
    statement: Statement,
    selections: Iterable[Selection],
    positions: Iterable[int],
    planning: Planning,
    ring: Ring = INTEGERS,
) -> Node:
    """The rows of some selections together, of which some outputs matter.

    With a ``ring`` of sets a leaf gives different rows; those of several leaves may be the same.

    Raises:
        PlanError: they have no plan.
    """
    remaining, kept = list(selections), tuple(positions)
    if any(_sliding(s, kept) for s in remaining):
        made = [_hopped(statement, s, kept, planning) for s in remaining]
        return made[0] if len(made) == 1 else Sum(tuple(made))
    if len({arrives(s) for s in remaining}) > 1:
        # What static relations give is there before anything comes, as rows of their own.
        apart = ([s for s in remaining if arrives(s) is later] for later in (False, True))
        return Sum(tuple(rows(statement, together, kept, planning) for together in apart))
    return _rows_node(statement, remaining, kept, planning, ring)


def arrives(selection: Selection) -> bool:
    """Whether rows come of streams or sub-queries; of static relations alone all are there at once."""
    return bool(selection.arriving) or any(o.relation.fed for o in selection.base.occurrences)


def _guarded(
    statement: Statement,
    selection: Selection,
    leaves: Callable[[Statement], Leaf],
    inner: Callable[[Selection], Node],
) -> Node:
    """The rows of a SELECT with guards: each may be several of less, or ask for one of the streams alone."""
    try:
        return guarded(statement, selection, leaves)
    except PlanError:
        if selection.as_of:
            raise
        parts = in_parts(selection)
        if not selection.base.ring.idempotent and parts != [selection]:
            nodes = tuple(guarded(statement, part, leaves) for part in parts)
            return nodes[0] if len(nodes) == 1 else Sum(nodes)
        apart = guarded_alone(selection)
        if not apart or len(apart) == len(selection.base.occurrences):
            raise
        with suppress(PlanError):
            return joined_rows(selection, inner, kept_rows, apart)
        raise


def _moved_times(times: Times, moved: Mapping[int, int | Fraction]) -> Times:
    """The times of rows of which some are moved by so much."""

    def of(spans: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        by = {p: int(moved.get(p, 0)) for p in spans}
        return {p: (before - by[p], after + by[p]) for p, (before, after) in spans.items()}

    return replace(times, spans=of(times.spans), written=of(times.written))


def computed(node: Node, shown: tuple[Shown, ...]) -> Node:
    """What is computed of the rows of a node; they themselves if that is nothing."""
    if not shown:
        return node
    plain = {column.outputs[0]: n for n, column in reversed(list(enumerate(shown))) if column.plain}
    outputs = tuple((column.name, column.type) for column in shown)
    return Applied(Computed(shown), (node,), outputs, node.times.among(plain), node.retracts, 0)


def _rows_node(
    statement: Statement,
    selections: Sequence[Selection],
    kept: tuple[int, ...],
    planning: Planning,
    ring: Ring = INTEGERS,
) -> Node:
    moved = [
        {n: s.base.select[p].moved for n, p in enumerate(kept) if s.base.select[p].moved} for s in selections
    ]
    if any(moved):
        if any(moves != moved[0] for moves in moved):
            return Sum(tuple(_rows_node(statement, [s], kept, planning, ring) for s in selections))
        node = _rows_node(statement, [s.raw for s in selections], kept, planning, ring)
        operation = Computed((), moved[0])
        return Applied(operation, (node,), node.outputs, _moved_times(node.times, moved[0]), node.retracts, 0)
    plain = [s for s in selections if not (s.guards or s.as_of or changes(s))]
    nodes: list[Node] = []
    if plain:
        nodes.append(leaf(of_rows(statement, plain, ring, kept), planning))
    leaves = partial(leaf, planning=planning)
    for selection in selections:
        if selection in plain:
            continue
        base = selection.base
        fewer = replace(base, ring=ring, select=tuple(base.select[p] for p in kept))
        made = replace(selection, base=fewer)
        inner = partial(_of_selection, statement, planning)
        changed = changing(selection.occurrences)
        if reads_present(selection):
            present = present_of(statement, planning.scanned, leaves)
            nodes.append(time_filtered(made, inner, present, kept_rows))
        elif changed and selection.guards and not selection.as_of:
            nodes.append(guarded_rows(made, inner, kept_rows))
        elif selection.guards or selection.as_of:
            nodes.append(_guarded(statement, made, leaves, inner))
        else:
            nodes.append(joined_rows(made, inner, kept_rows))
    return nodes[0] if len(nodes) == 1 else Sum(tuple(nodes))
