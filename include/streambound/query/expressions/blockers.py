"""What a query has that is not decided: every construct, by its own name, at its place in the user's text."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import expressions as exp
from sqlglot.errors import ErrorLevel

from streambound.errors import UnsupportedError, named
from streambound.query.dialects.grammar import WINDOWS, span_of
from streambound.query.dialects.tokens import location_at
from streambound.query.expressions.aggregates import is_aggregate, name_of
from streambound.query.scope import describe, location_of
from streambound.query.windows import called

_CLAUSES = {
    "match": "MATCH_RECOGNIZE",
    "connect": "CONNECT BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "sample": "TABLESAMPLE",
    "prewhere": "PREWHERE",
    "locks": "FOR UPDATE",
    "into": "INTO",
}
# What would be needed to decide a construct, and what is decided in its place.
_NEEDED = {
    "WITH RECURSIVE": "rows follow from one another to any depth, and no theorem says what must be kept of"
    " them; a depth that is known can be written out, as joins under UNION",
    "MATCH_RECOGNIZE": "decided are patterns of two rows or more, with PARTITION BY and ORDER BY and, if they"
    " have WITHIN, a length of time there; of others it is not known how many matches are open",
}


def blocker(construct: str, node: exp.Expr, sql: str, message: str | None = None) -> UnsupportedError:
    """The error of a construct that is not decided, at the place of a node."""
    span = span_of(node)
    location = location_at(sql, *span) if span else location_of(node, sql)
    needed = f": {_NEEDED[construct]}" if construct in _NEEDED else ""
    return named(construct, message or f"{construct} is not supported yet{needed}", location)


def of_clauses(select: exp.Expr, sql: str) -> Iterator[UnsupportedError]:
    """The clauses of a SELECT or of a set operation that are not decided."""
    for part, what in _CLAUSES.items():
        value = select.args.get(part)
        for node in value if isinstance(value, list) else [value] if value else []:
            if isinstance(node, exp.Expr):
                yield blocker(what, node, sql)
    for part in ("laterals", "pivots"):
        for node in select.args.get(part) or []:
            if not isinstance(node, exp.Lateral):
                yield blocker("UNPIVOT" if node.args.get("unpivot") else "PIVOT", node, sql)
    for window in select.args.get("windows") or []:
        if isinstance(window, exp.Anonymous) and called(window) is None:
            yield blocker(window.name, window, sql)


def side_of(join: exp.Join) -> str | None:
    """How a join is joined to what stands before it: LEFT, FULL, SEMI, ANTI, ASOF, nothing; else None."""
    method, side, kind = (str(join.args.get(part) or "").upper() for part in ("method", "side", "kind"))
    side, kind = side.replace("ALL", ""), kind.replace("ALL", "")
    if method in ("ASOF", "LATEST") and kind in ("", "INNER", "OUTER", "LEFT") and side in ("", "LEFT"):
        return "ASOF LEFT" if side == "LEFT" or kind == "LEFT" else "ASOF"
    if method not in ("", "ALL", "NATURAL"):
        return None
    if kind in ("SEMI", "ANTI"):
        return kind if side in ("", "LEFT") else None
    if kind in ("", "INNER", "CROSS", "OUTER") and side in ("", "LEFT", "RIGHT", "FULL"):
        return side
    return None


def kind_of(join: exp.Join) -> str:
    """The kind of a join in words."""
    words_of = (str(join.args.get(part) or "").upper() for part in ("method", "side", "kind"))
    return " ".join([*(word for word in words_of if word), "JOIN"])


def semi_join(node: exp.Expr) -> exp.Expr | None:
    """The query of [NOT] EXISTS and [NOT] IN (SELECT ...), if a condition is one."""
    inner: exp.Expr = node
    while isinstance(inner, (exp.Not, exp.Paren)):
        inner = inner.this
    match: exp.Expr | None = None
    if isinstance(inner, exp.Exists):
        match = inner.this
    elif isinstance(inner, exp.In):
        match = inner.args.get("query")
    return match.this if isinstance(match, exp.Subquery) else match


def semi_join_words(node: exp.Expr) -> tuple[bool, exp.Expr | None]:
    """Whether a condition as in ``semi_join`` has NOT, and what is looked for in it (not of EXISTS)."""
    negated = False
    while isinstance(node, (exp.Not, exp.Paren)):
        negated = negated is not isinstance(node, exp.Not)
        node = node.this
    return negated, node.this if isinstance(node, exp.In) else None


def aggregates(node: exp.Expr) -> bool:
    """Whether an expression has an aggregate that is no window function; those of sub-queries aside."""
    return any(
        aggregates_here(part)
        for part in node.walk()
        if (query := part.find_ancestor(exp.Query)) is None or query is node.find_ancestor(exp.Query)
    )


def aggregates_here(node: exp.Expr) -> bool:
    """Whether a node is an aggregate over a group: not one over a window."""
    if not is_aggregate(node):
        return False
    inner: exp.Expr | None = node
    parent = node.parent
    while isinstance(parent, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)):
        parent, inner = parent.parent, parent
    return not (isinstance(parent, exp.Window) and parent.this is inner)


def _semi_join(construct: str, node: exp.Expr, sql: str) -> UnsupportedError:
    said = f"{construct}, a semi-join within an expression, is not supported yet"
    return blocker(construct, node, sql, said)


def of_expression(
    node: exp.Expr, sql: str, decided: bool = False, conditions: bool = False
) -> Iterator[UnsupportedError]:
    """What in an expression is none over the columns of tuples: aggregates, window functions, sub-queries.

    Args:
        decided: of a SELECT list: aggregates and window functions may stand in it.
        conditions: of WHERE: what ``semi_join`` finds may be the whole of it.
    """
    if conditions and semi_join(node) is not None:
        return
    pending: list[exp.Expr] = [node]
    while pending:
        here = pending.pop()
        if isinstance(here, exp.Window) and not decided:
            yield _window(here, sql)
            continue
        if is_aggregate(here) and not decided:
            yield blocker(
                f"the aggregate {name_of(here)}", here, sql, f"{_described(here, sql)} is not supported here"
            )
            continue
        inner = here.this.unnest() if isinstance(here, exp.Not) else here
        if inner is not here and (isinstance(inner, exp.Exists) or inner.args.get("query")):
            what = "NOT EXISTS" if isinstance(inner, exp.Exists) else "NOT IN (SELECT ...)"
            yield blocker(what, here, sql, f"{what}, an anti-join within an expression, is not supported yet")
            continue
        if isinstance(here, exp.Exists):
            yield _semi_join("EXISTS", here, sql)
            continue
        if isinstance(here, exp.In) and here.args.get("query"):
            yield _semi_join("IN (SELECT ...)", here, sql)
            continue
        if isinstance(here, (exp.Any, exp.All)) and here.find(exp.Select):
            yield blocker(f"{here.key.upper()} (SELECT ...)", here, sql)
            continue
        if isinstance(here, (exp.Subquery, exp.Select, exp.SetOperation)):
            yield blocker("a sub-query in an expression", here, sql)
            continue
        pending.extend(reversed(list(here.iter_expressions())))


def _described(node: exp.Expr, sql: str) -> str:
    """An aggregate in words: sqlglot takes those of single processors for functions."""
    said = describe(node, sql)
    for word in ("the aggregate ", "the function call "):
        said = said.removeprefix(word)
    return f"the aggregate {said}"


def words(node: exp.Expr, sql: str) -> str:
    """An expression as the user wrote it."""
    span = span_of(node)
    written = " ".join(sql[slice(*span)].split()) if span else ""
    return written or node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE)


def subqueries(node: exp.Expr) -> Iterator[exp.Expr]:
    """The queries directly within an expression."""
    pending = [node]
    while pending:
        here = pending.pop()
        if isinstance(here, (exp.Select, exp.SetOperation)):
            yield here
        else:
            pending.extend(here.iter_expressions())


def of_source(table: exp.Expr, sql: str) -> UnsupportedError:
    """What stands in FROM and is no stream, view or query."""
    if isinstance(table, exp.Unnest):
        return blocker("UNNEST", table, sql)
    if isinstance(table, exp.Lateral):
        return blocker("LATERAL", table, sql)
    if isinstance(table, exp.Values):
        return blocker("VALUES in FROM", table, sql)
    call = table.this if isinstance(table, (exp.Table, exp.TableFromRows)) else table
    name = name_of(call)
    if name in WINDOWS:
        return blocker(f"the {name} window", table, sql)
    return blocker(
        f"the table function {name}" if isinstance(call, exp.Func) else f"{name} in FROM", table, sql
    )


def _window(node: exp.Window, sql: str) -> UnsupportedError:
    inner = (
        node.this.this
        if isinstance(node.this, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls))
        else node.this
    )
    return blocker(f"the window function {name_of(inner)}", node, sql)
