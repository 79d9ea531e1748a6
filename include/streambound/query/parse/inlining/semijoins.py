"""Rows that have an equal among those of another query, or none: EXISTS, IN, EXCEPT and INTERSECT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from streambound.errors import QueryError
from streambound.query.clock import CLOCK, conjuncts, reads_clock
from streambound.query.expressions import blockers
from streambound.query.model import SUB_QUERY
from streambound.query.parse.text.parts import Item, Part, Partners, Rows, apart, at_location
from streambound.query.scope import location_of

if TYPE_CHECKING:
    from streambound.query.parse.inlining.inline import Inliner
    from streambound.query.parse.inlining.substitution import Substitution


def _same_or_null(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Whether two values are the same to EXCEPT and DISTINCT: equal, or both NULL."""
    nulls = (exp.Is(this=value.copy(), expression=exp.Null()) for value in (left, right))
    equal = exp.EQ(this=left.copy(), expression=right.copy())
    made: exp.Expr = exp.Paren(
        this=exp.Or(this=equal, expression=exp.Paren(this=exp.And(this=next(nulls), expression=next(nulls))))
    )
    return made


def partners_of(
    inliner: Inliner,
    condition: exp.Expr,
    query: exp.Expr,
    outer: Substitution,
    beside: Iterable[Partners],
) -> list[Partners]:
    """What [NOT] EXISTS and [NOT] IN (SELECT ...) look for, of the rows of the query around.

    Args:
        beside: what else is looked for, under names of its own.
    """
    negated, member = blockers.semi_join_words(condition)
    rows = inliner.correlated(query, outer)
    if not rows or inliner.refused:
        return []
    if any(not row.plain for row in rows):
        if any(map(_reads_around, rows)):
            inliner.refuse("a correlated sub-query that is more than joins and filters", condition)
            return []
        rows = (inliner.fed(rows, SUB_QUERY),)
    parts = [part for row in rows for part in row.parts]
    if len(parts) > 1 and not negated:
        inliner.refuse("a UNION in EXISTS or IN", condition)
        return []
    made = []
    taken = {table.args["alias"].name.lower() for partners in beside for table in partners.tables}
    taken |= set(outer.names())
    for part in parts:
        if any(map(reads_clock, part.conditions)):
            part = _in_time(inliner, part)
        there = apart(part, taken, "inner")
        conditions = list(there.conditions)
        if member is not None:
            if len(there.columns) != 1:
                raise QueryError(
                    f"IN compares one value with rows of {len(there.columns)} columns",
                    location=location_of(condition, inliner.text),
                    accepted="a sub-query of one column",
                )
            left, right = outer.of(member), there.columns[0].value
            conditions.append(_any_of(inliner, left, right.copy(), negated))
        made.append(Partners(there.tables, tuple(conditions), negated, False, condition))
    return made


def _in_time(inliner: Inliner, part: Part) -> Part:
    """A part of a sub-query whose rows leave with time, as rows of a relation of their own."""
    own = {CLOCK.name, *(table.args["alias"].name for table in part.tables)}

    def over(node: exp.Expr) -> set[str]:
        return {column.table for column in node.find_all(exp.Column)}

    split = [conjunct for condition in part.conditions for conjunct in conjuncts(condition)]
    local = tuple(each for each in split if over(each) <= own)
    rest = [each for each in split if not over(each) <= own]
    said = [*rest, *(item.value for item in part.columns)]
    asked = {
        (column.table, column.name): column
        for node in said
        for column in node.find_all(exp.Column)
        if column.table in own
    }
    items = tuple(Item(f"{t}.{name}", f"{t}.{name}", c.copy()) for (t, name), c in asked.items())
    items = items or (Item("one", "one", exp.Literal.number(1)),)
    fed = inliner.fed((Rows(False, (Part(part.tables, local, items),)),), "in_time").parts[0]
    values = {key: item.value for key, item in zip(asked, fed.columns, strict=False)}

    def of(node: exp.Expr) -> exp.Expr:
        root = exp.Paren(this=node.copy())
        for column in list(root.find_all(exp.Column)):
            if (value := values.get((column.table, column.name))) is not None:
                column.replace(at_location(value, column))
        made: exp.Expr = root.this
        made.pop()
        return made

    columns = tuple(replace(item, value=of(item.value)) for item in part.columns)
    return replace(part, tables=fed.tables, conditions=tuple(map(of, rest)), columns=columns)


def _reads_around(rows: Rows) -> bool:
    """Whether rows depend on those of a query around."""
    for part in rows.parts:
        own = {t.args["alias"].name for t in (*part.tables, *(t for p in part.partners for t in p.tables))}
        said = [*part.conditions, *(c.value for c in part.columns)]
        said += [c for p in part.partners for c in p.conditions]
        tables = {column.table for node in said for column in node.find_all(exp.Column)}
        own.add(CLOCK.name)
        if any(name and not name.startswith("#") and name not in own for name in tables):
            return True
    return False


def _any_of(inliner: Inliner, left: exp.Expr, right: exp.Expr, negated: bool) -> exp.Expr:
    """That a value is one of a sub-query's; of NOT IN also that it cannot be told, for NULL."""
    same: exp.Expr = exp.EQ(this=left, expression=right)
    if not negated:
        return same
    for side in (left, right):
        column = inliner.column_of(side) if isinstance(side, exp.Column) else None
        if column is None or column.nullable:
            same = exp.Or(this=same, expression=exp.Is(this=side.copy(), expression=exp.Null()))
    return exp.Paren(this=same)


def without_rows(inliner: Inliner, node: exp.SetOperation, sides: list[tuple[Rows, ...]]) -> tuple[Rows, ...]:
    """EXCEPT and INTERSECT: the different rows of the first that have no equal, or one, in the second."""
    what = node.key.upper()
    if not node.args.get("distinct"):
        inliner.refuse(f"{what} ALL", node)
    if not all(sides) or not all(rows.parts for side in sides for rows in side):
        return ()
    first = [part for rows in inliner.plainly(sides[0], "left") for part in rows.parts]
    second = [part for rows in inliner.plainly(sides[1], "right") for part in rows.parts]
    widths = len(first[0].columns), len(second[0].columns)
    if widths[0] != widths[1]:
        raise QueryError(
            f"{what} of {widths[0]} and {widths[1]} columns",
            location=blockers.blocker(what, node, inliner.text).location,
            accepted="the same number of columns in each SELECT",
        )
    if isinstance(node, exp.Intersect) and len(second) > 1:
        inliner.refuse("INTERSECT with a UNION", node)
    made = []
    for left in first:
        taken = {table.args["alias"].name.lower() for table in left.tables}
        partners = []
        for right in second:
            there = apart(right, taken, "right")
            if there.partners or there.latest:
                inliner.refuse(f"{what} of an outer join", node)
            pairs = zip(left.columns, there.columns, strict=False)
            same = tuple(_same_or_null(a.value, b.value) for a, b in pairs)
            partners.append(
                Partners(there.tables, (*there.conditions, *same), isinstance(node, exp.Except), False, node)
            )
        made.append(replace(left, partners=(*left.partners, *partners)))
    return (Rows(True, tuple(made)),)
