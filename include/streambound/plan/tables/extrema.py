"""Plans of MIN and MAX over joins: what the best row of each group is found in (Theorem M of docs/theory.md).

MAX(x) is bounded iff DISTINCT of its keys is in the query with one more stream Z whose only column is at
least what x may be; of its plan everything but Z is kept, since without a tuple of Z its tables tell the
greatest x of each group. What stands for tuples there has the greatest x of them, so the rows that are joined
from it, with x among their columns, have the extremum among them. Rows come again: an extremum does not mind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from streambound.boundedness.aggregation.extrema import Waiting, argument, pending
from streambound.boundedness.criterion.questions import by_top, distinct, shows_time
from streambound.errors import PlanError
from streambound.plan.clock import Clock
from streambound.plan.model import Plan, Split, Streams
from streambound.plan.parts import PlannedPart
from streambound.plan.tables.statement import bounded_parts, planned_parts
from streambound.plan.tables.table_planner import StaticValues
from streambound.query.model import Attribute, Join, Output, Query
from streambound.query.operators import Aggregate
from streambound.query.statement import Selection, Statement


def extreme_rows(
    statement: Statement,
    selections: Sequence[Selection],
    aggregate: Aggregate,
    keys: Sequence[int],
    values: Callable[[Query], StaticValues] | None = None,
) -> tuple[tuple[PlannedPart, ...], tuple[int, ...]]:
    """The planned parts whose rows are keys and candidates for an extremum, and the positions of these.

    Args:
        values: gives the values of the static relations of a query, if they are known.

    Raises:
        PlanError: there are none of bounded size.
    """
    unplanned = PlanError(f"no plan was made of {aggregate.text}", subject=statement.name)
    if any(o.relation.fed is not None for s in selections for o in s.occurrences):
        # Rows of a sub-query may be taken back.
        raise unplanned
    candidates = [(s, top, argument(s, aggregate, len(keys))) for s, top in by_top(selections)]
    if len({waits.order for _, _, waits in candidates}) != 1 or any(
        waits.selection != s for s, _, waits in candidates
    ):
        raise unplanned
    order = candidates[0][2].order
    waiting = []
    for selection, top, waits in candidates:
        terms = [selection.base.select[position].term for position, _ in order]
        if not terms or not all(isinstance(t, Attribute) and not selection.base.is_time(t) for t in terms):
            raise unplanned
        waiting.append(_waiting(selection, top, waits, aggregate, keys))
    parts = planned_parts(bounded_parts(distinct(statement, waiting, keys)), values)
    made = []
    for part in parts:
        if part.plan.ending is not None:
            raise unplanned
        plan = _without(part.plan, aggregate.text, len(order))
        if plan is None:
            raise unplanned
        made.append(PlannedPart(part.block, plan.query, plan))
    return tuple(made), tuple(position for position, _ in order)


def _waiting(
    selection: Selection, top: frozenset[str], waits: Waiting, aggregate: Aggregate, keys: Sequence[int]
) -> Selection:
    timely = top if shows_time(selection, top, keys) else frozenset[str]()
    return pending(waits.selection, aggregate, waits.order, timely)


def _without(plan: Plan, alias: str, terms: int) -> Plan | None:
    """The plan without the stream that rows wait for, whose rows have what waited; None if unclear."""
    query = plan.query
    if plan.empty:
        return plan
    waited = [
        side
        for atom in query.where
        if isinstance(atom, Join) and not query.is_timestamp(atom.left)
        for side, partner in ((atom.left, atom.right), (atom.right, atom.left))
        if partner.occurrence == alias
    ]
    if len(waited) != terms:
        return None
    rest = tuple(o for o in query.occurrences if o.alias != alias)
    where = tuple(atom for atom in query.where if all(a.occurrence != alias for a in atom.attributes))
    select = (*query.select, *(Output(attribute.column, attribute) for attribute in waited))
    waited_for = frozenset((alias,))

    def less(sets: Sequence[Streams]) -> tuple[Streams, ...]:
        return tuple(dict.fromkeys(left for streams in sets if (left := streams - waited_for)))

    if any(waited_for < kept for synopsis in plan.synopses for kept in [frozenset(synopsis.streams)]):
        return None
    return replace(
        plan,
        query=replace(query, select=select, occurrences=rest, where=where),
        clock=Clock(
            tuple(s for s in plan.clock.streams if s != alias),
            tuple(c for c in plan.clock.conditions if all(a.occurrence != alias for a in c.attributes)),
        ),
        joins=tuple(j for j in plan.joins if all(a.occurrence != alias for a in j.attributes)),
        streams=tuple(s for s in plan.streams if s.alias != alias),
        synopses=tuple(s for s in plan.synopses if alias not in s.streams),
        answers=tuple(dict.fromkeys(Split(less(s.new), less(s.kept)) for s in plan.answers if less(s.new))),
        buffers=tuple(b for b in plan.buffers if b.alias != alias),
        remembered=None,
    )
