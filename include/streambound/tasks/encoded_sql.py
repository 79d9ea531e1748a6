"""Encoded values in SQL: columns in their ordered form, and exact comparisons with constants.

The *ordered form* of a column is what ``query.column_types`` calls encoded, as an engine holds it: booleans
as 0 and 1, timestamps as microseconds, floats as doubles whose NaN and zero are canonical; dates stay
dates for the sake of row-group statistics and become days where they leave the engine. Expressions
are sqlglot nodes that any dialect can render; no text of a user becomes SQL.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from sqlglot import exp

from streambound.errors import DataError
from streambound.query.column_types import EPOCH_DAY, NAN, Family, NotANumber, Type, Value, digits_of
from streambound.query.computing.typed import scale_of
from streambound.query.model import Op

DIALECT = "duckdb"
DIGITS = 38
_NODES: dict[Op, type[exp.Binary]] = {
    Op.LT: exp.LT,
    Op.LE: exp.LTE,
    Op.EQ: exp.EQ,
    Op.NE: exp.NEQ,
    Op.GE: exp.GTE,
    Op.GT: exp.GT,
}
# Every integer type that a file may have lies in between.
_INTEGERS = (-(2**63), 2**64 - 1)


def column(name: str, table: str) -> exp.Column:
    """A quoted column of a quoted table."""
    return exp.column(name, table=table, quoted=True)


def table(name: str) -> exp.Table:
    """A quoted table."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def normal(node: exp.Expr, kind: Type) -> exp.Expr:
    """A column as files hold it, in its ordered form."""
    if kind.family is Family.BOOLEAN:
        return exp.cast(node, "INT")
    if kind.family is Family.TIMESTAMP:
        return exp.UnixMicros(this=node)
    if kind.family is Family.NUMBER and kind.resolution is None:
        # Row-group statistics leave NaN out, and a reader that trusts them would drop it: this hides the
        # column from them. Adding zero makes -0.0 zero.
        positive = exp.Add(this=exp.cast(node, "DOUBLE"), expression=exp.Literal.number("0.0"))
        return exp.case().when(exp.IsNan(this=node.copy()), _double(NAN)).else_(positive)
    return node


def outward(node: exp.Expr, kind: Type) -> exp.Expr:
    """A column in its ordered form, as a result set returns it."""
    if kind.family is not Family.DATE:
        return node
    return exp.DateDiff(this=node, expression=_date(0), unit=exp.var("DAY"))


def encoded(raw: Any) -> Value | None:
    """The encoded value of what a result set returned in ordered form."""
    kind = type(raw)
    if kind is int or kind is str:
        return raw
    if kind is bool:
        return int(raw)
    if isinstance(raw, Decimal):
        exact = Fraction(raw)
        return int(exact) if exact.denominator == 1 else exact
    if isinstance(raw, float):
        return NAN if math.isnan(raw) else raw
    return raw


def compared(node: exp.Expr, kind: Type, op: Op, value: Value) -> exp.Expr:
    """``node op value``, exact whatever the types; NULL or false where the column is NULL."""
    if kind.family is not Family.NUMBER:
        return comparison(op, node, literal(kind, value))
    if (infinite := _infinite(value)) and kind.resolution is not None:
        return _truth(node, op in (Op.NE, *((Op.LT, Op.LE) if infinite > 0 else (Op.GT, Op.GE))))
    if isinstance(value, NotANumber) or infinite:
        return comparison(op, node, _double(value))
    below = _at_or_below(kind, Fraction(value))
    if below == value:
        return _in_range(node, kind, op, below)
    if op in (Op.EQ, Op.NE):
        return _truth(node, op is Op.NE)
    # Between two neighbours: below it means at or below the lower one.
    return _in_range(node, kind, Op.LE if op in (Op.LT, Op.LE) else Op.GT, below)


def member(node: exp.Expr, kind: Type, values: Iterable[Value]) -> exp.Expr:
    """``found IN values``; never true if no value is one of the type's."""
    own = representable(kind, values)
    if not own:
        return exp.false()
    return exp.In(this=node, expressions=[literal(kind, value) for value in own])


def representable(kind: Type, values: Iterable[Value]) -> list[Value]:
    """The values, out of some, that the type can hold."""
    if kind.family is not Family.NUMBER:
        return list(values)
    return [v for v in values if _own(kind, v)]


def _own(kind: Type, value: Value) -> bool:
    if isinstance(value, NotANumber) or _infinite(value):
        return kind.resolution is None
    below = _at_or_below(kind, Fraction(value))
    return below == value and _side(kind, below) == 0


def literal(kind: Type, value: Value) -> exp.Expr:
    """A constant of the type, in the ordered form.

    Raises:
        DataError: it has more digits than SQL's numbers hold.
    """
    if kind.family is Family.STRING:
        return exp.Literal.string(str(value))
    if kind.family is Family.DATE:
        return _date(int(value))
    if kind.family is Family.NUMBER and kind.resolution is None:
        return _double(value)
    return number(kind, value)


def number(kind: Type, value: Value) -> exp.Expr:
    """A discrete constant as a number (dates as days).

    Raises:
        DataError: it is no value of the type.
    """
    resolution = (
        kind.resolution if kind.family is Family.NUMBER and kind.resolution is not None else Fraction(1)
    )
    units = Fraction(value) / resolution
    if abs(units) >= 10**DIGITS or units.denominator != 1:
        raise DataError(f"{value} does not fit into a {kind.name}", accepted=f"at most {DIGITS} digits")
    if resolution == 1:
        return exp.Literal.number(int(units))
    return exp.cast(
        exp.Literal.string(_decimal_notation(units, kind)), f"DECIMAL({DIGITS}, {scale_of(kind)})"
    )


def table_of(kind: Type, values: Iterable[Value]) -> pa.Table:
    """A one-column table ``value`` of constants in the ordered form, with their positions ``at``."""
    own = list(values)
    arrow = arrow_type(kind)
    if pa.types.is_int64(arrow) and not all(-(2**63) <= v < 2**63 for v in own):
        arrow = pa.decimal128(DIGITS, 0)
    return pa.table({"value": array_of(kind, own, arrow), "at": pa.array(range(len(own)), pa.int64())})


def array_of(kind: Type, values: Iterable[Value | None], arrow: pa.DataType) -> pa.Array:
    """Encoded values in the ordered form."""
    if pa.types.is_decimal(arrow):
        units = (None if v is None else Fraction(v) / (kind.resolution or 1) for v in values)
        return pa.array([None if u is None else Decimal(_decimal_notation(u, kind)) for u in units], arrow)
    if pa.types.is_floating(arrow):
        plain = ((math.nan if isinstance(v, NotANumber) else v) for v in values)
        return pa.array([None if v is None else float(v) for v in plain], arrow)
    return pa.array(list(values), arrow)


def arrow_type(kind: Type) -> pa.DataType:
    """What holds a type in the ordered form."""
    if kind.family is Family.STRING:
        return pa.string()
    if kind.family is Family.DATE:
        return pa.date32()
    if kind.family is Family.NUMBER and kind.resolution is None:
        return pa.float64()
    return pa.decimal128(DIGITS, scale_of(kind)) if kind.name.startswith("decimal") else pa.int64()


def _decimal_notation(units: Fraction, kind: Type) -> str:
    """A whole number of steps in decimal notation, exact for any number of digits."""
    digits = str(abs(units.numerator)).rjust(scale_of(kind) + 1, "0")
    whole, part = digits[: len(digits) - scale_of(kind)], digits[len(digits) - scale_of(kind) :]
    return f"{'-' if units < 0 else ''}{whole}{'.' if part else ''}{part}"


def _at_or_below(kind: Type, value: Fraction) -> Value:
    """The largest value of the type that is not above ``value``."""
    if kind.resolution is not None:
        floor = value // kind.resolution * kind.resolution
        return int(floor) if Fraction(floor).denominator == 1 else floor
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def _in_range(node: exp.Expr, kind: Type, op: Op, value: Value) -> exp.Expr:
    side = _side(kind, value)
    return _truth(node, op.holds(0, side)) if side else comparison(op, node, literal(kind, value))


def _side(kind: Type, value: Value) -> int:
    """1 above all values of a discrete type, -1 below them, else 0."""
    if kind.resolution is None:
        return 0
    low, high = _INTEGERS
    if kind.name.startswith("decimal"):
        units = 10 ** digits_of(kind.name)[0] - 1
        return int(value > units * kind.resolution) - int(value < -units * kind.resolution)
    return int(value > high) - int(value < low)


def _truth(node: exp.Expr, true: bool) -> exp.Expr:
    return exp.not_(exp.Is(this=node, expression=exp.null())) if true else exp.false()


def _infinite(value: Value) -> int:
    if isinstance(value, NotANumber):
        return 1
    return int(math.copysign(1, value)) if isinstance(value, float) and math.isinf(value) else 0


def _double(value: Value) -> exp.Expr:
    text = "NaN" if isinstance(value, NotANumber) else repr(float(value))
    return exp.cast(exp.Literal.string(text), "DOUBLE")


def _date(days: int) -> exp.Expr:
    try:
        text = (EPOCH_DAY.fromordinal(EPOCH_DAY.toordinal() + days)).isoformat()
    except (ValueError, OverflowError):
        raise DataError(f"day {days} is outside the calendar", accepted="years 1 to 9999") from None
    return exp.cast(exp.Literal.string(text), "DATE")


def comparison(op: Op, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """A comparison of what is in ordered form, such as two columns."""
    return _NODES[op](this=left, expression=right)
