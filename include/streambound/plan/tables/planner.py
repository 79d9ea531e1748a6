"""From a bounded query to its compact plan (Arasu et al., Theorems 4.2 and 5.2, made small).

Without conditions on time there is a table of each stream. Of a duplicate-eliminating query it has ends of
columns, which tell whether a row followed before; in time it has real matches, and rows are remembered.
"""

from __future__ import annotations

from dataclasses import replace

from streambound.boundedness.criterion.exact import exact
from streambound.boundedness.criterion.folding import folded
from streambound.errors import PlanError
from streambound.plan.clock import Clock, time_conditions
from streambound.plan.ending import FOR_EVER, UntilEnd, ending_of, ends
from streambound.plan.model import (
    Buffer,
    Cell,
    Condition,
    Plan,
    Remembered,
    Split,
    StreamSynopsis,
    TablePlan,
)
from streambound.plan.tables.cells import CellPlanner
from streambound.plan.tables.facts import Facts, facts_of
from streambound.plan.tables.table_planner import StaticValues, stream_synopsis, timed_plan
from streambound.query.model import Attribute, Join, Op, Query, RelationKind


def plan_of(query: Query, static_values: StaticValues | None = None, linger: int = 0) -> Plan:
    """The plan of a query that the exact criterion calls bounded; where streams end it may wait for that.

    Args:
        query: a bounded query.
        static_values: the sorted, distinct, encoded values of each compared static column; needed
            where the query keeps state and compares with a static relation.
        linger: for how long after its timestamp an answered row is remembered at least.

    Raises:
        PlanError: there is none: a column that must be a key has no finite number of classes, or a limit of
            the planner is passed.
    """
    query = _with_times(query)
    try:
        if unplanned := not_planned(query):
            raise PlanError(f"the query cannot be evaluated yet: {unplanned}", subject=query.name)
        return timed_plan(query, static_values, linger) if needs_time(query) else _plan(query, static_values)
    except PlanError:
        plan = _waiting(query, linger)
        if plan is None or not exact(query).bounded:
            raise
        return plan


def _waiting(query: Query, linger: int) -> Plan | None:
    """The plan that takes in all tuples until streams have ended."""
    ending = ending_of(query, linger)
    if ending is None:
        return None
    query, conditions = ending.query, time_conditions(ending.query)
    aliases = tuple(occurrence.alias for occurrence in query.arriving)
    return Plan(
        query=query,
        clock=UntilEnd(aliases, conditions),
        joins=tuple(a for a in query.joins if a not in conditions and _between(a)),
        streams=tuple(_all_tuples(query, alias) for alias in aliases),
        answers=(Split((frozenset(aliases),), ()),),
        buffers=tuple(_whole(query, alias) for alias in aliases),
        remembered=Remembered() if query.ring.idempotent else None,
        linger=linger,
        ending=ending,
    )


def _between(join: Join) -> bool:
    return len({attribute.occurrence for attribute in join.attributes}) == 2


def _whole(query: Query, alias: str) -> Buffer:
    """All tuples of a stream; nobody knows how many."""
    width = len({a for a in query.mentioned if a.occurrence == alias})
    return Buffer(alias, query.occurrence(alias).relation.name, FOR_EVER, 0, width, None)


def _all_tuples(query: Query, alias: str) -> StreamSynopsis:
    """All tuples of a stream that meet the conditions on it alone, with their timestamps as columns."""
    stamp, mentioned = query.occurrence(alias).relation.timestamp, {*query.mentioned}
    if stamp is not None:
        mentioned.add(Attribute(alias, stamp))
    return StreamSynopsis(
        alias=alias,
        filters=tuple(atom for atom in query.where if {a.occurrence for a in atom.attributes} == {alias}),
        required=tuple(sorted({a for a in query.present if a.occurrence == alias})),
        derived=(),
        members=(),
        carried=tuple(sorted(a for a in mentioned if a.occurrence == alias)),
    )


def _with_times(query: Query) -> Query:
    """The query with what comparisons of times say of the timestamps that these are buckets of."""
    joins = []
    for atom in query.joins:
        sides = (query.moment(atom.left), query.moment(atom.right))
        if query.is_timestamp(atom.left) or None in sides:
            continue
        for left, op, right, offset in (
            (atom.left, atom.op, atom.right, atom.offset),
            (atom.right, atom.op.mirrored, atom.left, -atom.offset),
        ):
            mine, theirs = query.span(left), query.span(right)
            early, late = query.moment(left), query.moment(right)
            if op is Op.EQ and None in (mine, theirs):
                mine, theirs = query.calendar(left), query.calendar(right)
            if op in (Op.LT, Op.LE, Op.EQ) and mine and theirs and early and late:
                joins.append(Join(early[0], Op.LE, late[0], atom.location, offset + mine[1] + theirs[0]))
    return replace(query, where=(*query.where, *joins)) if joins else query


def needs_time(query: Query) -> bool:
    """Whether timestamps are compared with each other, or rows with a timestamp are to be distinct, which are
    forgotten once they cannot come again."""
    return bool(time_conditions(query)) or (
        query.ring.idempotent and any(query.is_timestamp(a) for a in query.projected)
    )


def not_planned(query: Query) -> str | None:
    """Why a query that is decided has no plan yet; None if it has one."""
    finite = [o for o in query.occurrences if o.relation.kind is RelationKind.FINITE]
    if finite:
        ended = ends(query)
        names = dict.fromkeys(o.relation.name for o in finite if o.alias not in ended)
        return (
            f"no condition says when the finite streams ({', '.join(names)}) end: until then every tuple"
            " would have to be kept (compare their timestamps with a constant)"
        )
    return None


def _plan(query: Query, static_values: StaticValues | None) -> Plan:
    query = folded(query)
    clock = Clock(tuple(o.alias for o in query.streams), ())
    facts = facts_of(query, static_values)
    if facts is None:
        return Plan(query, clock, empty=True)
    if len(clock.streams) == 1 and not query.ring.idempotent:
        return _of_tables(facts, clock, {})
    try:
        return _of_tables(facts, clock, _agreed(facts))
    except PlanError:
        facts = facts_of(query, static_values, choices=True)
        if facts is None:
            raise
        return _of_tables(facts, clock, _agreed(facts))


def _of_tables(facts: Facts, clock: Clock, cells: dict[str, tuple[Cell, ...]]) -> Plan:
    """The plan that keeps tables of single streams."""
    streams = clock.composites
    return Plan(
        query=facts.query,
        clock=clock,
        joins=facts.joins,
        streams=tuple(stream_synopsis(facts, alias, cells.get(alias, ())) for alias in clock.streams),
        synopses=tuple(
            TablePlan((alias,), own, (), (Split((frozenset((alias,)),), ()),)) for alias, own in cells.items()
        ),
        answers=tuple(Split((new,), tuple(kept for kept in streams if kept != new)) for new in streams),
    )


def _agreed(facts: Facts) -> dict[str, tuple[Cell, ...]]:
    """Cells by stream, cut wherever a context of another stream asks for it."""
    cuts: frozenset[Condition] = frozenset()
    while True:
        cells = {o.alias: tuple(CellPlanner(facts, o.alias, cuts).cells()) for o in facts.query.streams}
        asked = frozenset(c for own in cells.values() for cell in own for c in cell.context)
        if asked <= cuts:
            return cells
        cuts |= asked
