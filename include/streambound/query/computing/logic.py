"""Comparisons, AND, OR, NOT, and what chooses between values."""

from __future__ import annotations

from sqlglot import expressions as exp

from streambound.query.column_types import NULL
from streambound.query.computing.typed import (
    BOOLEAN,
    Columns,
    Rules,
    Translation,
    Typed,
    alike,
    binary,
    call,
    case_when,
    cast,
    of_common_type,
)

_COMPARED: tuple[type[exp.Binary], ...] = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ)


def _compared(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    pair = alike(of(node.this), of(node.expression))
    if pair is None:
        return None
    if isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ)):
        return Typed(binary(type(node), pair[0].node, pair[1].node), BOOLEAN)
    return Typed(binary(type(node), pair[0].node, pair[1].node), BOOLEAN)  # type: ignore[arg-type]


def _logic(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    sides = [of(node.this), of(node.expression)]
    if not all(side.type == BOOLEAN or side.null for side in sides):
        return None
    return Typed(binary(type(node), *(cast(side.node, "BOOLEAN") for side in sides)), BOOLEAN)  # type: ignore[arg-type]


def _not(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    inner = of(node.this)
    if inner.type != BOOLEAN and not inner.null:
        return None
    return Typed(exp.Paren(this=exp.Not(this=exp.Paren(this=cast(inner.node, "BOOLEAN")))), BOOLEAN)


def _is(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    inner, what = of(node.this), node.expression
    negated = isinstance(what, exp.Not)
    what = what.this if negated else what
    if not isinstance(what, (exp.Null, exp.Boolean)) or (
        isinstance(what, exp.Boolean) and inner.type != BOOLEAN
    ):
        return None
    made: exp.Expr = exp.Paren(this=exp.Is(this=exp.Paren(this=inner.node.copy()), expression=what.copy()))
    return Typed(exp.Paren(this=exp.Not(this=made)) if negated else made, BOOLEAN)


def _in(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    if node.args.get("query") or not node.expressions or node.args.get("unnest") or node.args.get("field"):
        return None
    same = of_common_type([of(node.this), *map(of, node.expressions)])
    if same is None:
        return None
    first, *rest = (part.node.copy() for part in same)
    return Typed(exp.Paren(this=exp.In(this=first, expressions=rest)), BOOLEAN)


def _between(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    if node.args.get("symmetric"):
        return None
    low = alike(of(node.this), of(node.args["low"]))
    high = alike(of(node.this), of(node.args["high"]))
    if low is None or high is None:
        return None
    ends = [binary(exp.GTE, low[0].node, low[1].node), binary(exp.LTE, high[0].node, high[1].node)]
    return Typed(binary(exp.And, *ends), BOOLEAN)


def _case(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    subject = node.this if isinstance(node, exp.Case) else None
    ifs = node.args.get("ifs") or [node]
    conditions, values = [], []
    for branch in ifs:
        asked = branch.this if subject is None else exp.EQ(this=subject.copy(), expression=branch.this.copy())
        condition = of(asked)
        if condition.type != BOOLEAN and not condition.null:
            return None
        conditions.append(cast(condition.node, "BOOLEAN"))
        values.append(of(branch.args["true"]))
    otherwise = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
    same = of_common_type([*values, Typed(exp.Null(), NULL) if otherwise is None else of(otherwise)])
    if same is None:
        return None
    made = exp.case()
    for test, value in zip(conditions, same[:-1], strict=True):
        made = made.when(test, value.node.copy())
    return Typed(exp.Paren(this=made.else_(same[-1].node.copy())), same[0].type)


def _coalesce(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    same = of_common_type([of(part) for part in (node.this, *node.expressions)])
    return None if same is None else Typed(call("COALESCE", *(p.node for p in same)), same[0].type)


def _null_if(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    value = of(node.this)
    pair = alike(value, of(node.expression))
    if pair is None:
        return None
    equal = exp.EQ(this=pair[0].node.copy(), expression=pair[1].node.copy())
    return Typed(case_when(equal, exp.Null(), value.node), value.type)


RULES: Rules = (
    ((*_COMPARED, exp.NullSafeEQ, exp.NullSafeNEQ), _compared),
    ((exp.And, exp.Or), _logic),
    (exp.Not, _not),
    (exp.Is, _is),
    (exp.In, _in),
    (exp.Between, _between),
    ((exp.Case, exp.If), _case),
    (exp.Coalesce, _coalesce),
    (exp.Nullif, _null_if),
)
