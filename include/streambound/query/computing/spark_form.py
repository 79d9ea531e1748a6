"""What only the user's dialect means, written as Spark SQL writes it."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import expressions as exp

from streambound.query.computing.typed import NotComputed
from streambound.query.dialects.grammar import FROM_ZERO
from streambound.query.values import Family, Type

INTEGER_TYPES = (exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT)

PART_CALLS: dict[type[exp.Expr], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfYear: "dayofyear",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
    exp.Week: "week",
    exp.WeekOfYear: "week",
}


def spark_form(node: exp.Expr, kinds: Callable[[str], Type | None]) -> exp.Expr:
    """The same with what only the user's dialect means written as Spark writes it."""

    def whole(part: exp.Expr) -> bool:
        while isinstance(part, (exp.Paren, exp.Neg)):
            part = part.this
        if isinstance(part, exp.Column):
            kind = kinds(part.name)
            return kind is not None and kind.family is Family.NUMBER and kind.step == 1
        if isinstance(part, exp.Literal):
            return not part.is_string and part.name.isdigit()
        if isinstance(part, exp.Cast):
            return part.to.this in INTEGER_TYPES
        if isinstance(part, (exp.Add, exp.Sub, exp.Mul, exp.Mod)):
            return whole(part.this) and whole(part.expression)
        if isinstance(part, exp.Div):
            return bool(part.args.get("typed")) and whole(part.this) and whole(part.expression)
        if isinstance(part, exp.Coalesce):
            return all(map(whole, (part.this, *part.expressions)))
        if isinstance(part, (exp.Case, exp.If)):
            branches = [left.args["true"] for left in part.args.get("ifs") or [part]]
            right = part.args.get("default") or part.args.get("false")
            return all(map(whole, [*branches, *([right] if right is not None else [])]))
        found = isinstance(part, (exp.IntDiv, exp.Extract, exp.Length, exp.StrPosition, exp.DateDiff))
        return found or type(part) in PART_CALLS or isinstance(part, exp.TimestampDiff)

    def of(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Div) and part.args.get("typed"):
            if whole(part.this) and whole(part.expression):
                return exp.IntDiv(this=_bracketed(of(part.this)), expression=_bracketed(of(part.expression)))
            part = exp.Div(this=part.this, expression=part.expression)
        if type(part) is exp.Cast and part.to.this in INTEGER_TYPES and not whole(part.this):
            # Some dialects round where Spark cuts off.
            inner = part.this
            while isinstance(inner, exp.Paren):
                inner = inner.this
            kind = kinds(inner.name) if isinstance(inner, exp.Column) else None
            if kind is None or kind.family is Family.NUMBER:
                raise NotComputed(part)
        if isinstance(part, exp.RegexpReplace) and (
            part.args.get("single_replace") or part.args.get("modifiers")
        ):
            raise NotComputed(part)
        made = part.copy()
        if part.meta.get(FROM_ZERO):
            made.meta.pop(FROM_ZERO)
            return exp.Paren(this=exp.Sub(this=of(made), expression=exp.Literal.number(1)))
        for name, given in part.args.items():
            if isinstance(given, exp.Expr):
                made.set(name, of(given))
            elif isinstance(given, list):
                made.set(name, [of(left) if isinstance(left, exp.Expr) else left for left in given])
        return made

    return of(node)


def _bracketed(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Binary) else node
