"""R6: the window between every two streams written where they are joined, and time in the key of DISTINCT.

An engine cleans the state of a join by watermarks where the join itself bounds how far apart the two
timestamps are, on both sides. Such a bound may follow from others (S to T, T to U), where no engine looks for
it.
"""

from __future__ import annotations

from sqlglot import exp

from streambound.errors import PlanError
from streambound.plan.model import Plan
from streambound.query.dialects.calcite import InputTable
from streambound.query.model import Attribute, Join, Op, Query
from streambound.rewrites.branch import Branch, Kept, shown
from streambound.rewrites.clauses import NODES, Clauses, Names, interval, shifted

SECOND = 1_000_000


def within(plan: Plan, build: Clauses) -> Branch:
    """A join of streams whose timestamps are never far apart.

    Raises:
        PlanError: of two streams some rows may be far apart.
    """
    query, clock = plan.query, plan.clock
    if len(clock.composites) != 1:
        raise PlanError("partial matches are kept for longer than any window between the streams")
    if build.target.single_time and len(plan.streams) > 2:
        raise PlanError(f"{build.target.title} joins no more than two streams within windows")
    select, joined_aliases = exp.Select(), list[str]()
    for synopsis in plan.streams:
        alias = synopsis.alias
        conditions = [build.atom(join) for join in _between(plan, alias, joined_aliases)]
        if (
            joined_aliases
            and not build.target.theta
            and not any(
                join.op is Op.EQ and not query.is_timestamp(join.left)
                for join in _between(plan, alias, joined_aliases)
            )
        ):
            raise PlanError(
                f"streams are joined without an equality, which {build.target.title} does not within windows"
            )
        conditions += [
            _bound(build, query, item, right, clock.latest[item, right])
            for item, right in _implied(plan, alias, joined_aliases)
        ]
        accepted = build.accepted(synopsis)
        source: exp.Expr = build.source(alias)
        if accepted:
            inner = exp.select(exp.Star()).from_(source).where(*accepted)
            source = exp.Subquery(this=inner, alias=exp.TableAlias(this=build.name(alias)))
        select = select.join(source, on=exp.and_(*conditions)) if joined_aliases else select.from_(source)
        joined_aliases.append(alias)
    columns = shown(build, query, Names(), {a: build.attribute(a) for a in query.projected})
    select = select.select(*(build.aliased(node, name) for name, node in columns))
    kept = [Kept("join", None, formula=plan.formula)]
    if query.ring.idempotent:
        if plan.remembered is None or plan.remembered.recent:
            raise PlanError(
                "answered rows are remembered until they cannot come again, which DISTINCT never forgets"
            )
        select = select.distinct()
        kept.append(Kept("DISTINCT", plan.remembered.number))
    names = tuple(name for name, _ in columns)
    return Branch(select, names, (), None, tuple(kept), ("R6",), not query.ring.idempotent)


def implied_bounds(plan: Plan) -> bool:
    """Whether a bound between two streams only follows from others."""
    aliases = plan.clock.streams
    return any(_implied(plan, alias, aliases[:at]) for at, alias in enumerate(aliases))


def _between(plan: Plan, alias: str, joined_aliases: list[str] | tuple[str, ...]) -> list[Join]:
    joins = []
    for join in (*plan.joins, *plan.clock.conditions):
        occurrences = {a.occurrence for a in join.attributes}
        if alias in occurrences and occurrences - {alias} <= set(joined_aliases):
            joins.append(join)
    return joins


def _implied(plan: Plan, alias: str, joined_aliases: list[str] | tuple[str, ...]) -> list[tuple[str, str]]:
    """The ordered pairs whose bound no condition says."""
    said = {(o.early, o.late) for o in plan.clock.orders if o.op is not Op.NE}
    pairs = [pair for partner in joined_aliases for pair in ((alias, partner), (partner, alias))]
    return [pair for pair in pairs if pair not in said and pair in plan.clock.latest]


def _bound(build: Clauses, query: Query, first: str, second: str, most: int) -> exp.Expr:
    """``ts(one) <= ts(other) + most``."""
    early, late = (Attribute(a, str(query.occurrence(a).relation.timestamp)) for a in (first, second))
    right = shifted(build.attribute(late), build.kind(late), most)
    return NODES[Op.LE](this=build.attribute(early), expression=right)


def dated(plan: Plan, build: Clauses) -> Branch:
    """DISTINCT of one stream with its timestamp: a row cannot come again once its moment is over.

    The key has a window as well, by which state is cleaned.
    """
    query = plan.query
    (synopsis,) = plan.streams
    stamp = str(query.occurrence(synopsis.alias).relation.timestamp)
    columns = shown(build, query, Names(), {a: build.attribute(a) for a in query.projected})
    source = window_table(build, synopsis.alias, stamp, SECOND)
    by = [build.column(name, synopsis.alias) for name in ("window_start", "window_end")]
    by += [node.copy() for _, node in columns if isinstance(node, exp.Column)]
    select = exp.select(*(build.aliased(node, name) for name, node in columns)).from_(source)
    accepted = build.accepted(synopsis)
    select = (select.where(*accepted) if accepted else select).group_by(*by)
    kept = (Kept("GROUP BY", None, formula="rows above the watermark"),)
    return Branch(select, tuple(name for name, _ in columns), (), None, kept, ("R8",), True)


def window_table(build: Clauses, alias: str, stamp: str, length: int) -> exp.Expr:
    """``TABLE(TUMBLE(TABLE S, DESCRIPTOR(ts), INTERVAL '1' HOUR)) AS S``."""
    table = exp.Anonymous(
        this="TUMBLE",
        expressions=[
            InputTable(this=build.table(alias)),
            exp.Anonymous(this="DESCRIPTOR", expressions=[exp.column(build.name(stamp))]),
            interval(length),
        ],
    )
    return exp.Table(
        this=exp.Anonymous(this="TABLE", expressions=[table]),
        alias=exp.TableAlias(this=build.name(alias)),
    )
