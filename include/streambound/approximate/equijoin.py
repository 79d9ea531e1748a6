"""Which queries run in k tuples of memory: equijoins of two streams.

Accepted is a conjunction over two infinite streams of which an equality links columns: with infinitely many
values, or any where a window of time bounds what is kept, which may be more than there is memory for (the
sliding windows of Das, Gehrke and Riedewald). Time conditions bar tuples from partners that come too late;
every other condition between the streams is asked of each pair.
"""

from __future__ import annotations

from dataclasses import dataclass

from streambound.boundedness.criterion.crossings import shared_zones
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.errors import PlanError
from streambound.plan.clock import orders, time_conditions
from streambound.plan.model import StreamSynopsis
from streambound.plan.tables.facts import facts_of
from streambound.plan.tables.table_planner import stream_synopsis
from streambound.query.clock import CLOCK
from streambound.query.model import Attribute, Join, Op, Query, RelationKind
from streambound.query.operators import Grouping, Operator, Ranking, WindowCalls
from streambound.query.statement import Statement

# Of a cached tuple beside its columns: its moment, when it came, when and how often it joined.
BESIDE = 4

_OPERATORS: dict[type[Operator], str] = {
    Grouping: "aggregates or GROUP BY",
    Ranking: "a rank, or ORDER BY with LIMIT",
    WindowCalls: "window functions (OVER)",
}

ACCEPTED = (
    "a SELECT over two streams with an equality of columns that have infinitely many values, or with a window"
    " of time beside the equality"
)


@dataclass(frozen=True)
class Equijoin:
    """A query that is an equijoin.

    Args:
        left, right: the aliases of its streams, in FROM order.
        keys: the columns that have to be equal, (left, right).
        low, high: a pair joins if low <= time of right - time of left <= high; None: no such condition.
        rest: the other comparisons between the two.
    """

    query: Query
    left: str
    right: str
    keys: tuple[tuple[Attribute, Attribute], ...]
    low: int | None
    high: int | None
    rest: tuple[Join, ...]

    @property
    def lags(self) -> tuple[tuple[int | None, int | None], tuple[int | None, int | None]]:
        """For left and right, how much later than a tuple of it a partner may come: (least, most)."""
        least, most = (None if lag is None else -lag for lag in (self.high, self.low))
        return (self.low, self.high), (least, most)


def equijoin(statement: Statement) -> Equijoin:
    """The equijoin that a statement is.

    Raises:
        PlanError: it is none; the reason is named.
    """
    query = statement.simple
    if query is None:
        raise _refused(statement.name, f"it has {_obstacle(statement)}")
    finite = [o.relation.name for o in query.occurrences if o.relation.kind is not RelationKind.STREAM]
    if finite:
        raise _refused(query.name, f"{', '.join(finite)} is not an infinite stream")
    if len(query.streams) != 2:
        raise _refused(query.name, f"it has {len(query.streams)} streams")
    left, right = (o.alias for o in query.streams)
    keys = tuple(_oriented(atom, left) for atom in query.joins if _equality(query, atom))
    if not keys:
        raise _refused(query.name, "no equality links columns of its two streams")
    low, high = _lags(query, left)
    _require_waiting(query, keys, low, high)
    rest = tuple(atom for atom in query.joins if _further(query, atom))
    return Equijoin(query, left, right, keys, low, high, rest)


def cacheable(statement: Statement, size: int, bounded: bool, exact: int | None) -> Equijoin:
    """The equijoin of which a cache of ``size`` tuples answers a part.

    Args:
        bounded: whether the statement is; a cache is of use then for a window that is larger than it.
        exact: the units of its plan, at most; None if there is no number.

    Raises:
        PlanError: it is no equijoin, or evaluated exactly in as much memory; the reason is named.
    """
    try:
        candidate = equijoin(statement)
    except PlanError:
        if not bounded:
            raise
        raise PlanError(
            "it is bounded and needs no cache: it is evaluated exactly",
            subject=statement.name,
            fix="evaluate it without a memory",
        ) from None
    most = size * width(synopses(candidate))
    if exact is not None and exact <= most:
        raise PlanError(
            f"it fits: its plan keeps at most {exact} units, and {size} tuples take {most}: it is evaluated"
            " exactly",
            subject=statement.name,
            fix="evaluate it without a memory, or give it less",
        )
    return candidate


def synopses(join: Equijoin) -> tuple[StreamSynopsis, StreamSynopsis]:
    """Which tuples of both streams count at all, and which of their columns are kept."""
    facts = facts_of(join.query)
    if facts is None:
        raise PlanError("no tuples can meet its conditions together", subject=join.query.name)
    return stream_synopsis(facts, join.left), stream_synopsis(facts, join.right)


def width(streams: tuple[StreamSynopsis, StreamSynopsis]) -> int:
    """Stored values of a cached tuple of the wider stream."""
    return max(len(stream.carried) for stream in streams) + BESIDE


def _refused(name: str, why: str) -> PlanError:
    return PlanError(
        f"it cannot run in k tuples of memory: {why}",
        subject=name,
        accepted=ACCEPTED,
        fix="take the equijoin out into a query of its own, or bound the query as streambound check suggests",
    )


def _obstacle(statement: Statement) -> str:
    """What makes a statement more than one join with filters, as it is written."""
    guards = [guard for selection in statement.selections for guard in selection.guards]
    if guards:
        return "an outer join" if any(guard.outer for guard in guards) else "EXISTS, IN, EXCEPT or INTERSECT"
    if any(selection.as_of for selection in statement.selections):
        return "an as-of join"
    operators = [block.then for block in statement.blocks if block.then is not None]
    if operators:
        return _OPERATORS[type(operators[0])]
    if statement.fed:
        return "a sub-query that is no join"
    if any(occurrence.relation == CLOCK for occurrence in statement.occurrences):
        return "the present time"
    if any(selection.computes for selection in statement.selections):
        return "values in SELECT that are computed"
    return "UNION" if len(statement.selections) > 1 else "OR"


def _equality(query: Query, atom: Join) -> bool:
    return atom.op is Op.EQ and _between(atom) and not any(query.is_timestamp(a) for a in atom.attributes)


def _between(atom: Join) -> bool:
    return len({a.occurrence for a in atom.attributes}) == 2


def _oriented(atom: Join, left: str) -> tuple[Attribute, Attribute]:
    return (atom.left, atom.right) if atom.left.occurrence == left else (atom.right, atom.left)


def _require_waiting(
    query: Query, keys: tuple[tuple[Attribute, Attribute], ...], low: int | None, high: int | None
) -> None:
    facts = system(query)
    if facts.closure is None or not facts.satisfiable():
        raise _refused(query.name, "its conditions contradict each other, so that its answer is empty")
    time = TimeOrder(facts)
    if time.together(*(o.alias for o in query.streams)):
        if low is None or high is None:
            raise _refused(
                query.name, "what keeps its streams together is no window between their timestamps"
            )
        if low >= 0 >= high:
            raise _refused(query.name, "a tuple's partners come at its own timestamp: none is kept for later")
        return
    if not any(next(shared_zones(time, *pair), None) for pair in keys):
        columns = ", ".join(f"{left} = {right}" for left, right in keys)
        raise _refused(query.name, f"{columns} links columns with finitely many values")


def _lags(query: Query, left: str) -> tuple[int | None, int | None]:
    """Between which bounds the time of the right tuple minus that of the left one has to be."""
    low: int | None = None
    high: int | None = None
    for order in orders(time_conditions(query)):
        if order.op is Op.NE or order.early == order.late:
            continue
        most = order.offset - (order.op is Op.LT)
        if order.early == left:
            low = -most if low is None else max(low, -most)
        else:
            high = most if high is None else min(high, most)
    return low, high


def _further(query: Query, atom: Join) -> bool:
    if not _between(atom) or _equality(query, atom):
        return False
    return atom.op is Op.NE or not query.is_timestamp(atom.left)
