"""What a query has that is not decided: every construct, by its own name, at its place in the user's text."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import expressions as exp
from sqlglot.errors import ErrorLevel

from streambound.errors import UnsupportedError, named
from streambound.query.aggregates import is_aggregate
from streambound.query.dialects.grammar import WINDOWS, span_of
from streambound.query.scope import describe, place_of
from streambound.query.tokens import place_at

_RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE")
_CLAUSES = {
    "group": "GROUP BY",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "offset": "OFFSET",
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


def blocker(construct: str, node: exp.Expr, sql: str, message: str | None = None) -> UnsupportedError:
    """The error of a construct that is not decided, at the place of a node."""
    span = span_of(node)
    place = place_at(sql, *span) if span else place_of(node, sql)
    return named(construct, message or f"{construct} is not supported yet", place)


def of_clauses(select: exp.Expr, sql: str) -> Iterator[UnsupportedError]:
    """The clauses of a SELECT or of a set operation that are not decided."""
    for part, what in _CLAUSES.items():
        value = select.args.get(part)
        for node in value if isinstance(value, list) else [value] if value else []:
            if isinstance(node, exp.Expr):
                yield blocker(what, node, sql)
    for part in ("laterals", "pivots"):
        for node in select.args.get(part) or []:
            if isinstance(node, exp.Lateral):
                yield blocker("LATERAL VIEW" if node.args.get("view") else "LATERAL", node, sql)
            else:
                yield blocker("UNPIVOT" if node.args.get("unpivot") else "PIVOT", node, sql)
    if (limit := select.args.get("limit")) is not None:
        ordered = select.args.get("order") is not None
        yield blocker("top-n (ORDER BY ... LIMIT)" if ordered else "LIMIT", limit, sql)
    for window in select.args.get("windows") or []:
        if isinstance(window, exp.Anonymous):
            yield blocker(window.name, window, sql)
    distinct = select.args.get("distinct")
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on"):
        yield blocker("DISTINCT ON", distinct.args["on"], sql)


def of_join(join: exp.Join, sql: str) -> UnsupportedError | None:
    """The kind of a join that is not decided; None of one that is."""
    words = [str(join.args.get(part) or "").upper() for part in ("method", "side", "kind")]
    method, side, kind = words
    if method == "NATURAL" and not side and kind in ("", "INNER"):
        return None
    if method in ("", "ALL") and side in ("", "ALL") and kind in ("", "INNER", "CROSS", "ALL"):
        return None
    return blocker(" ".join([word for word in words if word] + ["JOIN"]), join, sql)


def of_expression(node: exp.Expr, sql: str, functions: bool = False) -> Iterator[UnsupportedError]:
    """The aggregates, window functions and sub-queries in an expression.

    Args:
        functions: the other functions and operators as well.
    """
    pending: list[exp.Expr] = [node]
    while pending:
        here = pending.pop()
        if isinstance(here, exp.Window):
            yield _window(here, sql)
            continue
        if is_aggregate(here):
            yield blocker(
                f"the aggregate {_name(here)}", here, sql, f"{_described(here, sql)} is not supported yet"
            )
            continue
        inner = _bare(here.this) if isinstance(here, exp.Not) else here
        if inner is not here and (isinstance(inner, exp.Exists) or inner.args.get("query")):
            what = "NOT EXISTS" if isinstance(inner, exp.Exists) else "NOT IN (SELECT ...)"
            yield blocker(f"{what}, an anti-join,", here, sql)
            continue
        if isinstance(here, exp.Exists):
            yield blocker("EXISTS, a semi-join,", here, sql)
            continue
        if isinstance(here, exp.In) and here.args.get("query"):
            yield blocker("IN (SELECT ...), a semi-join,", here, sql)
            continue
        if isinstance(here, (exp.Any, exp.All)) and here.find(exp.Select):
            yield blocker(f"{here.key.upper()} (SELECT ...)", here, sql)
            continue
        if isinstance(here, (exp.Subquery, exp.Select, exp.SetOperation)):
            yield blocker("a sub-query in an expression", here, sql)
            continue
        if functions and _computed(here):
            yield blocker(construct_of(here), here, sql, f"{describe(here, sql)} is not supported yet")
            functions = False
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
    name = _name(call)
    if name in WINDOWS:
        return blocker(f"the {name} window", table, sql)
    return blocker(
        f"the table function {name}" if isinstance(call, exp.Func) else f"{name} in FROM", table, sql
    )


def construct_of(node: exp.Expr) -> str:
    """The name of a function or operator alone."""
    if isinstance(node, exp.Case):
        return "CASE"
    if isinstance(node, exp.Cast):
        return "CAST"
    if isinstance(node, exp.Func):
        return _name(node)
    return describe(node).split(" ", 1)[0] if isinstance(node, exp.Predicate) else "the expression"


def _computed(node: exp.Expr) -> bool:
    if isinstance(node, (exp.And, exp.Or, exp.Interval)):
        return False
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        return False
    if isinstance(node, (exp.Add, exp.Sub)) and any(node.find_all(exp.Interval)):
        return False
    return isinstance(
        node,
        (
            exp.Func,
            exp.Case,
            exp.Add,
            exp.Sub,
            exp.Mul,
            exp.Div,
            exp.Mod,
            exp.DPipe,
            exp.Bracket,
            exp.Dot,
            exp.Like,
        ),
    )


def _window(node: exp.Window, sql: str) -> UnsupportedError:
    inner = (
        node.this.this
        if isinstance(node.this, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls))
        else node.this
    )
    return blocker(f"the window function {_name(inner)}", node, sql)


def ranked(node: exp.Expr) -> bool:
    """Whether an expression is the rank of a row among others."""
    found = node.find(exp.Window)
    return found is not None and _name(found.this) in _RANKS


def _name(node: exp.Expr) -> str:
    if isinstance(node, (exp.Filter, exp.WithinGroup)):
        return _name(node.this)
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    return node.sql_name() if isinstance(node, exp.Func) else node.key.upper()


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node
