"""What single processors write in words of their own, as what all write."""

from __future__ import annotations

from sqlglot import expressions as exp

from streambound.query.dialects.grammar import LIMITED, span_of
from streambound.query.expressions.derived import ELEMENTS
from streambound.query.expressions.patterns import as_window
from streambound.query.parse.text.parts import at_location


def is_first(condition: exp.Expr) -> bool:
    """Whether a condition is Azure's IsFirst(...) OVER (...) = 1."""
    condition = condition.unnest()
    if not isinstance(condition, exp.EQ) or condition.expression.name != "1":
        return False
    inner = condition.this.this if isinstance(condition.this, exp.Window) else None
    return (
        isinstance(inner, exp.Anonymous)
        and str(inner.this).upper() == "ISFIRST"
        and len(inner.expressions) > 1
    )


# Functions that make rows of the elements of a value.
_EXPLODING = (exp.Unnest, exp.Explode, exp.Posexplode, exp.Inline)


def elements_of(table: exp.Expr) -> exp.Expr | None:
    """UNNEST(x), LATERAL VIEW EXPLODE(x) and the like: an element as a function of its row; else None."""
    call = table.this if isinstance(table, exp.Lateral) else table
    if isinstance(call, exp.Unnest):
        given = list(call.expressions)
    elif isinstance(table, exp.Lateral) and isinstance(call, _EXPLODING):
        given = [call.this]
    elif isinstance(table, exp.Lateral) and isinstance(call, exp.Anonymous):
        given = list(call.expressions)
    else:
        return None
    made = exp.Anonymous(this="ELEMENT", expressions=[item.copy() for item in given])
    if (span := span_of(table)) is not None:
        made.meta["span"] = span
    return made


def with_fields(select: exp.Select) -> exp.Select:
    """What lies within an element, as ``a.ArrayValue.x``, as a field of it: ``a`` is no schema."""
    joined = [join.this for join in select.args.get("joins") or []]
    tables = [*(select.args.get("laterals") or []), *joined]
    names = {str(table.alias).lower() for table in tables if table.alias and elements_of(table) is not None}
    if not names:
        return select
    made = select.copy()
    made.meta.update(select.meta)
    for column in list(made.find_all(exp.Column)):
        first, *rest = column.parts
        if len(rest) > 1 and first.name.lower() in names:
            field: exp.Expr = exp.Column(this=rest[0].copy(), table=first.copy())
            for part in rest[1:]:
                field = exp.Dot(this=field, expression=part.copy())
            column.replace(at_location(field, column))
    return made


def with_values_before(select: exp.Select) -> exp.Select:
    """Azure's LAG and LAST in WHERE, of rows before it: a SELECT over a sub-query that shows their values."""
    where, from_ = select.args.get("where"), select.args.get("from_")
    if where is None or from_ is None or select.args.get("joins"):
        return select
    if not any(LIMITED in window.meta for window in where.find_all(exp.Window)):
        return select
    table = from_.this
    if not isinstance(table, exp.Table) or not table.alias_or_name:
        return select
    inner = exp.Select(expressions=[exp.Star()], from_=exp.From(this=table.copy()))
    made = select.copy()
    made.meta.update(select.meta)
    for number, window in enumerate(w for w in list(made.find_all(exp.Window)) if LIMITED in w.meta):
        name = exp.to_identifier(f"value {number}", quoted=True)
        inner.append("expressions", exp.Alias(this=window.copy(), alias=name))
        window.replace(at_location(exp.Column(this=name.copy()), window))
    made.set("from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=_named(table)))))
    return made


def _named(table: exp.Table) -> exp.Expr:
    alias = table.args.get("alias")
    named: exp.Expr = table.this if alias is None else alias.this
    return named.copy()


def with_matches(select: exp.Select) -> exp.Select:
    """A SELECT with MATCH_RECOGNIZE as one over a sub-query with a window function, where it is decided."""
    match, from_ = select.args.get("match"), select.args.get("from_")
    if not isinstance(match, exp.MatchRecognize) or from_ is None or select.args.get("joins"):
        return select
    table = as_window(match, from_.this)
    if table is None:
        return select
    made = select.copy()
    made.meta.update(select.meta)
    made.set("match", None)
    made.set("from_", exp.From(this=table))
    return made


def with_elements(select: exp.Select) -> exp.Select:
    """EXPLODE(x) and its like in a SELECT list: an element as a function of its row, as in FROM."""

    def of(node: exp.Expr) -> exp.Expr:
        named = str(node.this).upper() in ELEMENTS if isinstance(node, exp.Anonymous) else False
        if not named and not isinstance(node, (exp.Unnest, exp.Explode, exp.ExplodeOuter, exp.Posexplode)):
            return node
        given = node.expressions if isinstance(node, (exp.Anonymous, exp.Unnest)) else [node.this]
        made = exp.Anonymous(this="ELEMENT", expressions=[each.copy() for each in given])
        made.meta.update(node.meta)
        return made

    shown = [item.transform(of) for item in select.expressions]
    if all(left == right for left, right in zip(shown, select.expressions, strict=True)):
        return select
    made = select.copy()
    made.meta.update(select.meta)
    made.set("expressions", shown)
    return made


def with_top_row(select: exp.Select) -> exp.Select:
    """Azure's ``TopOne() OVER (ORDER BY ...)`` of a group as an aggregate: a row of it."""

    def of(node: exp.Expr) -> exp.Expr:
        inner = node.this if isinstance(node, exp.Window) else None
        if not isinstance(inner, exp.Anonymous) or str(inner.this).upper() not in ("TOPONE", "COLLECTTOP"):
            return node
        made = exp.Anonymous(this=inner.this, expressions=[])
        made.meta.update(node.meta)
        return made

    made = select.transform(of) if select.args.get("group") is not None else select
    assert isinstance(made, exp.Select)
    return made
