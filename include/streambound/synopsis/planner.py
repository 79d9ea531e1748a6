"""From a bounded query to its compact plan (Arasu et al., Theorems 4.2 and 5.2, made small)."""

from __future__ import annotations

from collections.abc import Mapping

from streambound.boundedness.folding import folded
from streambound.errors import PlanError
from streambound.query.model import Attribute, Kind, Query
from streambound.query.values import Value
from streambound.synopsis.cells import CellPlanner
from streambound.synopsis.clock import time_conditions
from streambound.synopsis.ending import ends
from streambound.synopsis.known import Known, known
from streambound.synopsis.plan import Cell, Condition, Plan, StreamSynopsis

StaticValues = Mapping[Attribute, tuple[Value, ...]]


def plan(query: Query, static_values: StaticValues | None = None) -> Plan:
    """The compact plan of a query that the exact criterion calls bounded.

    Args:
        query: a bounded query.
        static_values: the sorted, distinct, encoded values of each compared static column; needed
            where the query keeps state and compares with a static relation.

    Raises:
        PlanError: a column that must be a key has no finite number of classes.
    """
    if unplanned := not_planned(query) or not_distributed(query):
        raise PlanError(f"the query cannot be evaluated yet: {unplanned}", subject=query.name)
    query = folded(query)
    facts = known(query, static_values)
    if facts is None:
        return Plan(query, (), (), empty=True)
    if len(query.streams) == 1 and not query.distinct:
        return Plan(query, facts.joins, (stream_synopsis(facts, query.streams[0].alias, ()),), stateless=True)
    try:
        return Plan(query, facts.joins, _agreed(facts))
    except PlanError:
        facts = known(query, static_values, choices=True)
        if facts is None:
            raise
        return Plan(query, facts.joins, _agreed(facts))


def not_planned(query: Query) -> str | None:
    """Why a query that is decided has no plan yet; None if it has one."""
    finite = [o for o in query.occurrences if o.relation.kind is Kind.FINITE]
    if finite:
        ended = ends(query)
        names = dict.fromkeys(o.relation.name for o in finite if o.alias not in ended)
        return (
            f"no condition says when the finite streams ({', '.join(names)}) end: until then every tuple"
            " would have to be kept (compare their timestamps with a constant)"
        )
    return None


def not_distributed(query: Query) -> str | None:
    """Why a query has no plan of tables of single streams; ``timed_planner.plan_of`` makes it another."""
    if time_conditions(query):
        return "it compares timestamps with each other"
    if distinct_timestamps(query):
        return "its DISTINCT rows have a timestamp"
    return None


def distinct_timestamps(query: Query) -> bool:
    """Whether rows with a timestamp are to be distinct: they are forgotten once they cannot come again."""
    return query.distinct and any(query.is_timestamp(a) for a in query.projected)


def _agreed(facts: Known) -> tuple[StreamSynopsis, ...]:
    """Synopses whose cells are cut wherever a context of another stream asks for it."""
    cuts: frozenset[Condition] = frozenset()
    while True:
        aliases = [o.alias for o in facts.query.streams]
        synopses = tuple(
            stream_synopsis(facts, a, tuple(CellPlanner(facts, a, cuts).cells())) for a in aliases
        )
        asked = frozenset(c for s in synopses for cell in s.cells for c in cell.context)
        if asked <= cuts:
            return synopses
        cuts |= asked


def stream_synopsis(facts: Known, alias: str, cells: tuple[Cell, ...]) -> StreamSynopsis:
    query = facts.query
    joined = {own for own, _, _ in facts.joined(alias)}
    told = {condition.attribute for cell in cells for condition in cell.conditions}
    carried = joined | told | {a for a in query.projected if a.occurrence == alias}
    required = {a for a in query.present if a.occurrence == alias}
    return StreamSynopsis(
        alias=alias,
        filters=facts.filters(alias),
        required=tuple(sorted(required)),
        derived=facts.derived(alias),
        members=tuple((a, m) for a in sorted(joined) if (m := facts.narrowing(a)) is not None),
        carried=tuple(sorted(carried)),
        cells=cells,
    )
