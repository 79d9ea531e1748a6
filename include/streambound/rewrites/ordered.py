"""R4 (docs/rewrites.md): UNION ALL and a window function over all earlier rows; for bags joined in time.

Of the stream that precedes, the plan keeps a number for each key; a row of the other finds how often it is an
answer in what came before it. So both streams are put under the key, and a running sum counts the rows of the
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    first, last, strict = _in_order(plan)
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
    union = _Union(
        plan,
        build,
        first,
        parts=tuple((names.fresh(a.column), a, equal[a]) for a in keys),
        carried={a: names.fresh(a.column) for a in plan.query.projected if a.occurrence == last},
        time=names.fresh("ts"),
        weight=names.fresh("is_before"),
    )
    total = names.fresh("n")
    source: exp.Query = exp.union(union.rows(first), union.rows(last), distinct=False)
    source = union.with_sum(source, union.columns, "UNBOUNDED", total)
    number: exp.Expr = union.column(total)
    if strict:
        # Rows of the same moment are among those of the frame, and do not count. The window functions of one
        # SELECT have one frame.
        same = names.fresh("same")
        source = union.with_sum(source, [*union.columns, total], union.now(last), same)
        number = exp.Sub(this=number, expression=union.column(same))
    return union.branch(source, number, side.groups)


def _in_order(plan: Plan) -> tuple[str, str, bool]:
    """The stream that precedes, the one that completes every match, and whether it does so strictly later.

    Raises:
        PlanError: there is more to their order than that.
    """
    clock = plan.clock
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
    return first, last, True in strict


@dataclass(frozen=True)
class _Union:
    """The rows of both streams below each other, and their columns.

    ``parts`` are the keys: a name, the column of the ``first`` stream, and that of the last, which has the
    ``carried`` columns under their names; ``weight`` is 1 of a row of the first stream and else 0.
    """

    plan: Plan
    build: Clauses
    first: str
    parts: tuple[tuple[str, Attribute, Attribute], ...]
    carried: dict[Attribute, str]
    time: str
    weight: str

    @property
    def columns(self) -> list[str]:
        return [*(name for name, _, _ in self.parts), *self.carried.values(), self.time, self.weight]

    def column(self, name: str) -> exp.Column:
        return self.build.column(name, UNION)

    def rows(self, alias: str) -> exp.Select:
        """The rows of one stream that count."""
        build, before = self.build, alias == self.first
        keys = [(attribute if before else partner, name) for name, attribute, partner in self.parts]
        select = exp.select(
            *(build.aliased(build.attribute(a), name) for a, name in keys),
            *(
                build.aliased(
                    exp.cast(exp.null(), build.kind(a).name) if before else build.attribute(a), name
                )
                for a, name in self.carried.items()
            ),
            build.aliased(build.attribute(self._timestamp(alias)), self.time),
            build.aliased(exp.Literal.number(int(before)), self.weight),
        ).from_(build.source(alias))
        accepted = build.accepted(next(s for s in self.plan.streams if s.alias == alias))
        return select.where(*accepted) if accepted else select

    def with_sum(
        self, source: exp.Query, columns: Sequence[str], start: exp.Expr | str, name: str
    ) -> exp.Select:
        """The columns of a source, and the weights since a start before a row, under its keys, up to it."""
        frame = exp.WindowSpec(kind="RANGE", start=start, start_side="PRECEDING", end="CURRENT ROW")
        order = exp.Order(expressions=[exp.Ordered(this=self.column(self.time), nulls_first=True)])
        by = [self.column(key) for key, _, _ in self.parts]
        weights = exp.Sum(this=self.column(self.weight))
        window = exp.Window(this=weights, partition_by=by, order=order, spec=frame)
        return exp.select(*map(self.column, columns), self.build.aliased(window, name)).from_(
            _table(source, self.build)
        )

    def now(self, last: str) -> exp.Expr:
        """No time at all, as the frame of rows of one moment begins."""
        if self.build.kind(self._timestamp(last)).family is Family.TIMESTAMP:
            return exp.Interval(this=exp.Literal.string("0"), unit=exp.var("SECOND"))
        return exp.Literal.number(0)

    def branch(self, source: exp.Query, number: exp.Expr, groups: int) -> Branch:
        """The rows of the last stream that are answers, ``number`` times each."""
        build = self.build
        values = {a: self.column(name) for a, name in self.carried.items()}
        values |= {local: self.column(name) for name, local, _ in self.parts}
        columns = shown(build, self.plan.query, Names(), values)
        name = Names(name for name, _ in columns).fresh("n")
        select = exp.select(*(build.aliased(node, name) for name, node in columns))
        select = select.select(build.aliased(product_of([number]), name)).from_(_table(source, build))
        zero = exp.Literal.number(0)
        select = select.where(
            exp.EQ(this=self.column(self.weight), expression=zero),
            exp.GT(this=number.copy(), expression=zero.copy()),
        )
        kept = (Kept("OVER", groups), Kept("rows above the watermark", None, formula="rows of its delay"))
        return Branch(select, tuple(name for name, _ in columns), (), name, kept, ("R4",), True)

    def _timestamp(self, alias: str) -> Attribute:
        return Attribute(alias, str(self.plan.query.occurrence(alias).relation.timestamp))


def _table(query: exp.Query, build: Clauses) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=build.name(UNION)))
