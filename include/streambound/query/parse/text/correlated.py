"""Sub-queries that speak of the rows around them, as joins: LATERAL, and scalar sub-queries in expressions.

Of a row around it a sub-query asks equal keys: then it is a join with all its rows by these keys, its groups
with them as keys, or the first rows of each. The last row before a row's time is an as-of join.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from sqlglot import expressions as exp

from streambound.query.clock import conjuncts
from streambound.query.dialects.grammar import span_of
from streambound.query.expressions.blockers import aggregates
from streambound.query.parse.text.parts import alias_of, at_location, column_of, is_star
from streambound.query.scope import is_word

_TIMES = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_MORE = ("laterals", "pivots", "match", "qualify", "windows", "offset", "distinct", "with_", "into")


# The columns of a table in FROM, in lower case; None where they are not known yet.
Columns = Callable[[exp.Expr], Collection[str] | None]


def without_laterals(joins: Iterable[exp.Join], columns: Columns) -> Iterator[exp.Join]:
    """Joins with sub-queries in the place of LATERAL, where what these ask of the rows before is a join."""
    before: list[str] = []
    for number, join in enumerate(joins):
        table = join.this
        inner = table.this if isinstance(table, exp.Lateral) else None
        query = inner.this if isinstance(inner, exp.Subquery) else None
        given = table.args.get("alias")
        name = given.this.name if given is not None and given.this is not None else f"lateral{number}"
        lateral = None if query is None else joined(query, name, before, columns)
        if lateral is None:
            yield join
        else:
            if given is not None and given.args.get("columns"):
                lateral.table.args["alias"].set("columns", given.args["columns"])
            yield _joining(join, lateral)
        if (own := alias_of(table)) is not None:
            before.append(own.name.lower())


def _joining(join: exp.Join, lateral: Joined) -> exp.Join:
    """A join with LATERAL as one with the sub-query alone."""
    side = str(join.args.get("side") or "")
    given = join.args.get("on")
    on = [*lateral.on, *([] if given is None or isinstance(given, exp.Boolean) else [given])]
    outer = side or ("LEFT" if lateral.always and on else "")
    if outer and not on:
        outer = ""
    made = exp.Join(this=lateral.table, side=outer or None, method="ASOF" if lateral.latest else None)
    made.meta.update(join.meta)
    if on:
        made.set("on", exp.and_(*on, copy=True) if len(on) > 1 else on[0])
    return made


def without_scalars(
    select: exp.Select, tables: Iterable[exp.Expr], columns: Columns
) -> tuple[exp.Select, list[exp.Join]]:
    """A SELECT with columns in the place of scalar sub-queries, and the joins with those."""
    if next(_scalars(select), None) is None:
        return select, []
    around = [own.name.lower() for table in tables if (own := alias_of(table)) is not None]
    made, joins = select.copy(), list[exp.Join]()
    grouped = made.args.get("group") is not None or any(map(aggregates, made.expressions))
    for node, clause in list(_scalars(made)):
        query, name = node.this, f"scalar{len(joins)}"
        if not isinstance(query, exp.Select) or len(query.expressions) != 1 or is_star(query.expressions[0]):
            continue
        item = query.expressions[0]
        plain = item.this if isinstance(item, exp.Alias) else item
        valued = query.copy()
        value = exp.Alias(this=plain.copy(), alias=exp.to_identifier("value", quoted=True))
        valued.set("expressions", [value])
        scalar = joined(valued, name, around, columns)
        counts = any(isinstance(part, exp.Count) for part in plain.walk())
        if scalar is None or scalar.latest:
            continue
        if counts and scalar.on and (clause == "where" or not isinstance(plain, exp.Count)):
            # A number of rows is 0 where there is none: what is computed of it may not be NULL, nor fail.
            continue
        on = exp.and_(*scalar.on, copy=True) if scalar.on else None
        side = "LEFT" if on is not None and clause != "where" else None
        joins.append(exp.Join(this=scalar.table, side=side, **({} if on is None else {"on": on})))
        column: exp.Expr = at_location(column_of(name, "value"), node)
        if counts and scalar.on:
            column = at_location(exp.Coalesce(this=column, expressions=[exp.Literal.number(0)]), node)
        node.replace(exp.AnyValue(this=column) if grouped and clause != "where" else column)
    return (made, joins) if joins else (select, [])


def _scalars(select: exp.Select) -> Iterator[tuple[exp.Subquery, str]]:
    """The sub-queries that are values in a SELECT, and the clause of each."""
    for clause in ("expressions", "where", "having"):
        value = select.args.get(clause)
        pending = list(value) if isinstance(value, list) else [value] if value is not None else []
        while pending:
            here = pending.pop()
            if isinstance(here, exp.Subquery):
                yield here, clause
            elif not isinstance(here, (exp.Query, exp.Exists, exp.Any, exp.All)):
                inner = [part for part in here.iter_expressions() if part.arg_key != "query"]
                pending.extend(reversed(inner))


@dataclass(frozen=True)
class Joined:
    """A sub-query as a table of its own, and how it is joined."""

    table: exp.Subquery
    on: tuple[exp.Expr, ...]
    # Whether it has a row for every row around, and whether it is the last one in time.
    always: bool
    latest: bool


def joined(select: exp.Expr, alias: str, around: Collection[str], columns: Columns) -> Joined | None:
    """A sub-query as a join; None where what it asks of the rows around it is no join.

    Args:
        around: the names of the tables around it, in lower case.
    """
    if not isinstance(select, exp.Select) or select.args.get("from_") is None:
        return None
    made = select.copy()
    made.meta.update(select.meta)
    own = {name.name.lower() for table in _tables(made) if (name := alias_of(table)) is not None}

    by_table = [columns(table) for table in _tables(made)]
    listed = (
        None if any(each is None for each in by_table) else {name for each in by_table for name in each or ()}
    )
    shown = {item.alias.lower() for item in made.expressions if isinstance(item, exp.Alias)}

    def outer(node: exp.Expr) -> list[exp.Column]:
        return [c for c in node.find_all(exp.Column) if not is_word(c) and speaks_of_around(c)]

    def speaks_of_around(column: exp.Column) -> bool:
        if column.table:
            return column.table.lower() not in own and column.table.lower() in around
        name = column.name.lower()
        return listed is not None and name not in listed and name not in shown

    where = made.args.get("where")
    split = [] if where is None else list(conjuncts(where.this))
    asked = [condition for condition in split if outer(condition)]
    rest = [condition for condition in split if not outer(condition)]
    made.set("where", exp.Where(this=exp.and_(*rest, copy=True)) if rest else None)
    if outer(made):
        return None
    grouped = made.args.get("group") is not None or any(map(aggregates, made.expressions))
    limit = made.args.get("limit")
    if asked and any(made.args.get(part) for part in _MORE):
        return None
    keys = [pair for each in asked if (pair := _equal(each, outer)) is not None]
    always = grouped and made.args.get("group") is None and made.args.get("having") is None
    if grouped and len(keys) < len(asked):
        return None
    if asked and limit is not None and not grouped:
        if len(keys) == len(asked):
            return _first(made, alias, keys, int(limit.expression.name))
        return _latest(made, alias, asked, outer)
    if asked and limit is not None:
        return None
    if grouped:
        group = made.args.get("group") or exp.Group(expressions=[])
        for inner, _ in keys:
            group.append("expressions", inner.copy())
        if keys:
            made.set("group", group)
        on = [_same(_shown(made, alias, inner), theirs) for inner, theirs in keys]
        return Joined(_table(made, alias), tuple(on), always, False)
    on = [_outside(made, alias, condition, outer) for condition in asked]
    return Joined(_table(made, alias), tuple(on), False, False)


def _tables(select: exp.Select) -> Iterator[exp.Expr]:
    yield select.args["from_"].this
    for join in select.args.get("joins") or []:
        yield join.this


def _equal(condition: exp.Expr, outer: object) -> tuple[exp.Expr, exp.Expr] | None:
    """The sides of an equality, that of the sub-query first; None of any other condition."""
    condition = condition.unnest()
    if not isinstance(condition, exp.EQ):
        return None
    assert callable(outer)
    for inner, theirs in ((condition.this, condition.expression), (condition.expression, condition.this)):
        columns = [c for c in theirs.find_all(exp.Column) if not is_word(c)]
        if not outer(inner) and inner.find(exp.Column) and columns and len(outer(theirs)) == len(columns):
            return inner, theirs
    return None


def _shown(select: exp.Select, alias: str, node: exp.Expr) -> exp.Expr:
    """A column of a sub-query by a name that it then has."""
    shown = [item for item in select.expressions if isinstance(item, exp.Alias) and item.this == node]
    name = shown[0].alias if shown else f"_{alias}_{len(select.expressions)}"
    if not shown:
        select.append("expressions", exp.Alias(this=node.copy(), alias=exp.to_identifier(name, quoted=True)))
    made = exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True))
    return at_location(made, node) if span_of(node) else made


def _same(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    made = exp.EQ(this=left, expression=right.copy())
    if (span := span_of(right)) is not None:
        made.meta["span"] = span
    return made


def _outside(select: exp.Select, alias: str, condition: exp.Expr, outer: object) -> exp.Expr:
    """A condition of a sub-query as one on its columns."""
    assert callable(outer)
    root = exp.Paren(this=condition.copy())
    root.this.meta.update(condition.meta)
    theirs = {id(column) for column in outer(root)}
    for column in list(root.find_all(exp.Column)):
        if id(column) not in theirs and not is_word(column):
            column.replace(_shown(select, alias, column))
    made: exp.Expr = root.this
    made.pop()
    return made


def _first(select: exp.Select, alias: str, keys: list[tuple[exp.Expr, exp.Expr]], most: int) -> Joined | None:
    """The first rows of each key."""
    order = select.args.get("order")
    on = [_same(_shown(select, alias, inner), theirs) for inner, theirs in keys]
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[inner.copy() for inner, _ in keys],
        order=None if order is None else _meant(order, select),
    )
    select.append("expressions", exp.Alias(this=rank, alias=exp.to_identifier(f"_{alias}_rank", quoted=True)))
    select.set("limit", None)
    select.set("order", None)
    column = exp.column(exp.to_identifier(f"_{alias}_rank", quoted=True))
    outer = exp.Select(
        expressions=[exp.Star()],
        from_=exp.From(this=_table(select, f"_{alias}")),
        where=exp.Where(this=exp.LTE(this=column, expression=exp.Literal.number(most))),
    )
    return Joined(_table(outer, alias), tuple(on), False, False)


def _meant(order: exp.Expr, select: exp.Select) -> exp.Expr:
    """ORDER BY with the names that SELECT gives resolved."""
    named = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}

    def of(node: exp.Expr) -> exp.Expr:
        plain = isinstance(node, exp.Column) and not node.table
        return named[node.name.lower()].copy() if plain and node.name.lower() in named else node

    return order.transform(of)


def _latest(
    select: exp.Select,
    alias: str,
    asked: list[exp.Expr],
    outer: object,
) -> Joined | None:
    """The last row of each key before a row's time, or the next."""
    order, limit = select.args.get("order"), select.args["limit"].expression.name
    times = [condition for condition in asked if _equal(condition, outer) is None]
    if len(times) != 1 or not isinstance(times[0], _TIMES) or order is None or limit != "1":
        return None
    assert callable(outer)
    (time,), first = times, order.expressions[0]
    mine = time.this if outer(time.expression) else time.expression
    later = isinstance(time, (exp.GT, exp.GTE)) is (mine is time.this)
    if first.this.sql() != mine.sql() or bool(first.args.get("desc")) is later or len(order.expressions) > 1:
        return None
    select.set("limit", None)
    select.set("order", None)
    on = [_outside(select, alias, condition, outer) for condition in asked]
    return Joined(_table(select, alias), tuple(on), False, True)


def _table(select: exp.Select, alias: str) -> exp.Subquery:
    made = exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    if (span := span_of(select)) is not None:
        made.meta["span"] = span
    return made
