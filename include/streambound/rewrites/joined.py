"""R1 and R5 (docs/rewrites.md): aggregates, or DISTINCT, below the join.

Each side is grouped before it is joined, so the join keeps a row for each group and nothing of the tuples.
Every filter that the plan implies stands below the aggregates: engines infer them through joins, not through
aggregates.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sqlglot import exp

from streambound.plan.model import Plan
from streambound.query.model import Attribute, Op
from streambound.rewrites.branch import Branch, Kept, shown
from streambound.rewrites.clauses import Clauses, Names
from streambound.rewrites.sides import Side, between, comparison, end_of, product_of


def joined(plan: Plan, build: Clauses, sides: Sequence[Side]) -> Branch:
    """The rows of a choice of cells, from a join of groups."""
    query, names = plan.query, Names()
    values = {
        a: build.column(name, side.alias)
        for side in sides
        for a, name in side.answer(query.projected).items()
    }
    columns = shown(build, query, names, values)
    select = _from(plan, build, sides).select(*(build.aliased(node, name) for name, node in columns))
    once = all(side.plain for side in sides) or determines_groups(plan, sides)
    answers = prod(
        key.size for side in sides for _, _, key in side.keys if key and key.attribute in query.projected
    )
    kept = [Kept(f"GROUP BY of {side.alias}", side.groups, side.width) for side in sides if not side.plain]
    if len(sides) > 1:
        widest = max(len(side.keys) + side.width for side in sides)
        kept.append(Kept("join", sum(side.groups for side in sides), widest))
    number = None
    if query.ring.idempotent:
        if not once:
            select = select.distinct()
            kept.append(Kept("DISTINCT", answers))
    else:
        number = names.fresh("n")
        weight = product_of([build.column(side.number, side.alias) for side in sides if side.number])
        if once:
            select = select.select(build.aliased(weight, number))
        else:
            select = select.select(build.aliased(exp.Sum(this=weight), number))
            grouped = [node.copy() for _, node in columns if isinstance(node, exp.Column)]
            # Without a row there is no answer, where an aggregate without GROUP BY has one.
            select = (
                select.group_by(*grouped) if grouped else select.having(_some(exp.Count(this=exp.Star())))
            )
            kept.append(Kept("GROUP BY of the answer", answers))
    rule = "R5" if query.ring.idempotent and not any(side.ends for side in sides) else "R1"
    return Branch(
        select,
        tuple(name for name, _ in columns),
        (),
        number,
        tuple(kept),
        (rule,) if len(sides) > 1 else (),
        all(side.plain for side in sides),
    )


def _from(plan: Plan, build: Clauses, sides: Sequence[Side]) -> exp.Select:
    """FROM and its joins: each side after one that it is compared with, where there is one."""
    by_alias = {side.alias: side for side in sides}
    table = {alias: alias for alias in by_alias}
    select, joined_aliases, rest = exp.Select(), list[str](), list(by_alias)
    while rest:
        alias = next((a for a in rest if between(plan, a, joined_aliases)), rest[0])
        rest.remove(alias)
        conditions = [
            node
            for join in between(plan, alias, joined_aliases)
            for node in comparison(build, join, by_alias, table)
        ]
        source = _grouped(build, by_alias[alias])
        if not joined_aliases:
            select = select.from_(source)
        elif conditions:
            select = select.join(source, on=exp.and_(*conditions))
        else:
            select = select.join(source, join_type="CROSS")
        joined_aliases.append(alias)
    return select


def _grouped(build: Clauses, side: Side) -> exp.Expr:
    """The groups of a side as a table."""
    select = exp.select(*(build.aliased(node, name) for name, node, _ in side.keys))
    select = select.select(*(build.aliased(end_of(node, keep), name) for name, node, keep in side.ends))
    if side.number is not None:
        select = select.select(build.aliased(side.weight(), side.number))
    select = select.from_(build.source(side.alias))
    if side.accepted:
        select = select.where(*(node.copy() for node in side.accepted))
    if not side.plain:
        if side.keys:
            select = select.group_by(*(node.copy() for _, node, _ in side.keys))
        else:
            select = select.having(_some(exp.Count(this=exp.Star())))
    alias = exp.TableAlias(this=build.name(side.alias))
    return exp.Subquery(this=select, alias=alias)


def _some(count: exp.Expr) -> exp.Expr:
    return exp.GT(this=count, expression=exp.Literal.number(0))


def determines_groups(plan: Plan, sides: Sequence[Side]) -> bool:
    """Whether answer rows tell the groups that they are joined from, so that none comes twice."""
    attributes: set[Attribute] = set(plan.query.projected)
    for local, mate in (pair for side in sides for pair in side.cell.same):
        attributes |= {mate} if local in attributes else set()
    equal = [join.attributes for join in plan.joins if join.op is Op.EQ]
    for _ in equal:
        for left, right in equal:
            attributes |= {left, right} if attributes & {left, right} else set()
    return all(
        key is not None and key.points is None and key.attribute in attributes
        for s in sides
        for _, _, key in s.keys
    )
