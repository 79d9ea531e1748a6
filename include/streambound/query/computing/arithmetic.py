"""Arithmetic: whole numbers and decimals are exact; with a double a result is one; NULL by zero."""

from __future__ import annotations

from sqlglot import expressions as exp

from streambound.query.computing.times import moved_by
from streambound.query.computing.typed import (
    DATE,
    DIGITS,
    DOUBLE,
    LENGTH,
    TIMESTAMP,
    WHOLE,
    Columns,
    Rules,
    Translation,
    Typed,
    as_micros,
    as_moment,
    binary,
    call,
    case_when,
    cast,
    decimal_type,
    engine_type,
    is_count,
    numeral,
    scale_of,
    try_cast,
)
from streambound.query.ranges import is_pmod

# Doubles from here on are whole numbers.
_WHOLE_DOUBLES = 2**52


def _negated(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    inner = of(node.this)
    if not inner.number and inner.type != LENGTH:
        return None
    return Typed(exp.Paren(this=exp.Neg(this=exp.Paren(this=inner.node.copy()))), inner.type)


def _sum(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    kind = exp.Add if isinstance(node, exp.Add) else exp.Sub
    left, right = node.this, node.expression
    if kind is exp.Add and isinstance(left, exp.Interval):
        left, right = right, left
    if isinstance(right, exp.Interval):
        return moved_by(of(left), right, kind)
    mine, theirs = of(left), of(right)
    if kind is exp.Sub and mine.family is theirs.family and mine.type in (TIMESTAMP, DATE):
        if mine.type == DATE == theirs.type:
            # Days in some dialects, and an interval in others.
            return None
        return Typed(binary(kind, as_micros(mine), as_micros(theirs)), LENGTH)
    if kind is exp.Add and mine.type == LENGTH and theirs.type == TIMESTAMP:
        mine, theirs = theirs, mine
    if mine.type == TIMESTAMP and theirs.type == LENGTH:
        return Typed(as_moment(binary(kind, as_micros(mine), theirs.node)), TIMESTAMP)
    if mine.type == LENGTH == theirs.type:
        return Typed(binary(kind, mine.node, theirs.node), LENGTH)
    return _arithmetic(kind, mine, theirs)


def _arithmetic(kind: type[exp.Binary], left: Typed, right: Typed) -> Typed | None:
    """A sum, difference or product of numbers; with a double it is left."""
    if left.null and right.number:
        left = Typed(cast(left.node, engine_type(right.type)), right.type)
    if right.null and left.number:
        right = Typed(cast(right.node, engine_type(left.type)), left.type)
    if not left.number or not right.number:
        return None
    if left.type.resolution is None or right.type.resolution is None:
        return Typed(binary(kind, cast(left.node, "DOUBLE"), cast(right.node, "DOUBLE")), DOUBLE)
    if left.whole and right.whole:
        return Typed(binary(kind, left.node, right.node), WHOLE)
    if kind is exp.Mul:
        product_type = decimal_type(scale_of(left.type) + scale_of(right.type))
        sides = [cast(side.node, f"DECIMAL({DIGITS}, {scale_of(side.type)})") for side in (left, right)]
        return Typed(binary(kind, *sides), product_type)
    product_type = decimal_type(max(scale_of(left.type), scale_of(right.type)))
    sides = [cast(side.node, engine_type(product_type)) for side in (left, right)]
    return Typed(binary(kind, *sides), product_type)


def _product(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    return _arithmetic(exp.Mul, of(node.this), of(node.expression))


def _quotient(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    numerator, denominator = of(node.this), of(node.expression)
    if not all(side.number or side.null for side in (numerator, denominator)):
        return None
    left, right = cast(numerator.node, "DOUBLE"), cast(denominator.node, "DOUBLE")
    zero = exp.EQ(this=right.copy(), expression=cast(numeral(0), "DOUBLE"))
    return Typed(case_when(zero, exp.Null(), binary(exp.Div, left, right)), DOUBLE)


def _whole_quotient(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    left, right = of(node.this), of(node.expression)
    if not (left.whole and right.whole):
        return None
    zero = exp.EQ(this=right.node.copy(), expression=numeral(0))
    return Typed(case_when(zero, exp.Null(), binary(exp.IntDiv, left.node, right.node)), WHOLE)


def remainder(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    sides = node.expressions if isinstance(node, exp.Anonymous) else (node.this, node.expression)
    left, right = (of(side) for side in sides)
    if not (left.whole and right.whole):
        return None
    zero = exp.EQ(this=right.node.copy(), expression=numeral(0))
    rest = binary(exp.Mod, left.node, right.node)
    if is_pmod(node):
        # Spark: what is negative has the divisor added, and its remainder taken again.
        again = binary(exp.Mod, binary(exp.Add, rest, right.node), right.node)
        rest = case_when(exp.LT(this=rest.copy(), expression=numeral(0)), again, rest)
    return Typed(case_when(zero, exp.Null(), rest), WHOLE)


def _absolute(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    inner = of(node.this)
    return Typed(call("ABS", inner.node), inner.type) if inner.number else None


def _rounded(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    """Half away from zero, by the shortest decimal that is the number, as Spark does."""
    inner, digits = of(node.this), node.args.get("decimals")
    if not inner.number or node.args.get("truncate") or not (digits is None or is_count(digits)):
        return None
    scale = 0 if digits is None else int(digits.name)
    if inner.type.resolution is not None:
        if scale_of(inner.type) <= scale:
            return inner
        return Typed(cast(inner.node, f"DECIMAL({DIGITS}, {scale})"), decimal_type(scale))
    if scale > 15:
        return None
    exact = cast(try_cast(cast(inner.node, "VARCHAR"), f"DECIMAL({DIGITS}, {scale})"), "DOUBLE")
    near = exp.LT(this=call("ABS", inner.node), expression=cast(numeral(_WHOLE_DOUBLES), "DOUBLE"))
    return Typed(case_when(near, exact, inner.node), DOUBLE)


def _floor(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    inner = of(node.this)
    if not inner.number or node.args.get("decimals") or node.args.get("to"):
        return None
    if inner.whole:
        return inner
    name = "FLOOR" if isinstance(node, exp.Floor) else "CEIL"
    return Typed(try_cast(call(name, inner.node), "HUGEINT"), WHOLE)


def _root(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    inner = of(node.this)
    if not inner.number:
        return None
    given = cast(inner.node, "DOUBLE")
    negative = exp.LT(this=given.copy(), expression=cast(numeral(0), "DOUBLE"))
    return Typed(case_when(negative, cast(exp.Literal.string("nan"), "DOUBLE"), call("SQRT", given)), DOUBLE)


RULES: Rules = (
    (exp.Neg, _negated),
    ((exp.Add, exp.Sub), _sum),
    (exp.Mul, _product),
    (exp.IntDiv, _whole_quotient),
    (exp.Div, _quotient),
    (exp.Mod, remainder),
    (exp.Abs, _absolute),
    (exp.Round, _rounded),
    ((exp.Floor, exp.Ceil), _floor),
    (exp.Sqrt, _root),
)
