"""R4 (docs/rewrites.md): UNION ALL and a window function over all earlier rows; for bags joined in time.

Of the stream that precedes, the plan keeps a number for each key; a row of the other finds how often it is an
answer in what came before it. So both streams are put under the key, and a running sum counts the rows of the
first.
"""

from __future__ import annotations

from sqlglot import exp

from streambound.errors import PlanError
from streambound.plan.model import Plan
from streambound.query.column_types import Family
from streambound.query.model import Attribute, Op
from streambound.rewrites.branch import Branch, Kept, shown
from streambound.rewrites.clauses import Clauses, Names
from streambound.rewrites.sides import product_of, sides_of

UNION = "u"


def running(plan: Plan, build: Clauses) -> Branch:
    """The rows of the stream that completes every match, each with how often it is an answer.

    Raises:
        PlanError: what is kept is not one number for each key that rows of the other stream have.
    """
    query, clock = plan.query, plan.clock
    last = next((alias for alias in clock.streams if clock.completes(alias)), None)
    strict = {order.op is Op.LT for order in clock.orders if not order.offset}
    if (
        last is None
        or len(clock.streams) != 2
        or len(clock.composites) != 2
        or len(clock.orders) != len(strict)
    ):
        raise PlanError(
            "partial matches of several streams in time are kept, which no window function counts"
        )
    if any(order.op is Op.NE for order in clock.orders) or len(strict) != 1:
        raise PlanError("timestamps are compared with offsets or <>, which no running sum says")
    first = next(alias for alias in clock.streams if alias != last)
    equal = {
        a: attribute
        for join in plan.joins
        if join.op is Op.EQ
        for a, attribute in (join.attributes, join.attributes[::-1])
        if a.occurrence == first
    }
    # Of the last stream nothing is kept, so it has no cells of its own.
    (sides,) = sides_of(plan, build)
    side = next(side for side in sides if side.alias == first)
    keys = [key.attribute for _, _, key in side.keys if key is not None]
    if len(equal) != len(plan.joins) or len(keys) != len(side.keys) or not set(keys) <= set(equal):
        raise PlanError("rows are not looked up by equal keys alone, which is all that PARTITION BY does")
    names = Names()
    parts = [(names.fresh(a.column), a, equal[a]) for a in keys]
    carried = {a: names.fresh(a.column) for a in query.projected if a.occurrence == last}
    time, weight, total = names.fresh("ts"), names.fresh("is_before"), names.fresh("n")

    def rows(alias: str) -> exp.Select:
        before = alias == first
        synopsis = next(s for s in plan.streams if s.alias == alias)
        stamp = Attribute(alias, str(query.occurrence(alias).relation.timestamp))
        select = exp.select(
            *(
                build.aliased(build.attribute(local if before else attribute), name)
                for name, local, attribute in parts
            ),
            *(
                build.aliased(
                    exp.cast(exp.null(), build.kind(a).name) if before else build.attribute(a), name
                )
                for a, name in carried.items()
            ),
            build.aliased(build.attribute(stamp), time),
            build.aliased(exp.Literal.number(int(before)), weight),
        ).from_(build.source(alias))
        accepted = build.accepted(synopsis)
        return select.where(*accepted) if accepted else select

    def column(name: str) -> exp.Column:
        return build.column(name, UNION)

    def table(select: exp.Query) -> exp.Subquery:
        return exp.Subquery(this=select, alias=exp.TableAlias(this=build.name(UNION)))

    def summed(start: exp.Expr | str) -> exp.Window:
        frame = exp.WindowSpec(kind="RANGE", start=start, start_side="PRECEDING", end="CURRENT ROW")
        order = exp.Order(expressions=[exp.Ordered(this=column(time), nulls_first=True)])
        by = [column(name) for name, _, _ in parts]
        return exp.Window(this=exp.Sum(this=column(weight)), partition_by=by, order=order, spec=frame)

    # The window functions of one SELECT have one frame.
    further = [*(name for name, _, _ in parts), *carried.values(), time, weight]
    source: exp.Query = exp.union(rows(first), rows(last), distinct=False)
    source = exp.select(*map(column, further), build.aliased(summed("UNBOUNDED"), total)).from_(table(source))
    number: exp.Expr = column(total)
    if True in strict:
        # Rows of the same moment are among those of the frame, and do not count.
        same = names.fresh("same")
        timed = build.kind(Attribute(last, str(query.occurrence(last).relation.timestamp)))
        none: exp.Expr = exp.Literal.number(0)
        if timed.family is Family.TIMESTAMP:
            none = exp.Interval(this=exp.Literal.string("0"), unit=exp.var("SECOND"))
        names_of = [*map(column, further), column(total)]
        source = exp.select(*names_of, build.aliased(summed(none), same)).from_(table(source))
        number = exp.Sub(this=number, expression=column(same))
    values = {a: column(name) for a, name in carried.items()}
    values |= {local: column(name) for name, local, _ in parts}
    columns = shown(build, query, Names(), values)
    name = Names(name for name, _ in columns).fresh("n")
    select = exp.select(*(build.aliased(node, name) for name, node in columns))
    select = select.select(build.aliased(product_of([number]), name)).from_(table(source))
    zero = exp.Literal.number(0)
    select = select.where(
        exp.EQ(this=column(weight), expression=zero), exp.GT(this=number.copy(), expression=zero.copy())
    )
    kept = (Kept("OVER", side.groups), Kept("rows above the watermark", None, formula="rows of its delay"))
    return Branch(select, tuple(name for name, _ in columns), (), name, kept, ("R4",), True)
