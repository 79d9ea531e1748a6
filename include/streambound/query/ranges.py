"""Which values an expression over the columns of one tuple takes: bounds, a list, and whether NULL is one.

The bounds are sound, not tight: every value lies within them. Numbers are taken for exact, and an overflow
for an error, which has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from sqlglot import expressions as exp

from streambound.query.column_types import Family, NotANumber, Value
from streambound.query.model import Column, Domain

# More values than a list of a person's CASE has are kept as their least and greatest.
MAX_LISTED = 64
# Longer numbers are no bounds that help anyone.
MAX_BITS = 200


@dataclass(frozen=True)
class Bounds:
    """The values that are possible; None is no bound. ``whole`` says that they are whole numbers."""

    low: Value | None = None
    high: Value | None = None
    values: tuple[Value, ...] | None = None
    whole: bool = False
    nullable: bool = True

    @property
    def domain(self) -> Domain | None:
        """The bounds as a declaration; None if it would say nothing."""
        if self.values:
            return Domain(values=self.values)
        return None if self.low is None and self.high is None else Domain(self.low, self.high)


ANYTHING = Bounds()
_PARTS = {
    **{"MINUTE": (0, 59), "HOUR": (0, 23)},
    **{"DAY": (1, 31), "MONTH": (1, 12), "QUARTER": (1, 4), "WEEK": (0, 54), "DOY": (1, 366), "DOW": (0, 7)},
    **{"DAYOFWEEK": (0, 7), "DAYOFYEAR": (1, 366), "ISODOW": (1, 7)},
}
# Whole, and without bounds.
_WHOLE = ("YEAR", "ISOYEAR")
_CALLS: dict[type[exp.Expr], str] = {
    exp.Year: "YEAR",
    exp.Hour: "HOUR",
    exp.Minute: "MINUTE",
    exp.Day: "DAY",
    exp.DayOfMonth: "DAY",
    exp.Month: "MONTH",
    exp.Quarter: "QUARTER",
    exp.Week: "WEEK",
    exp.WeekOfYear: "WEEK",
    exp.DayOfWeek: "DOW",
    exp.DayOfYear: "DOY",
}
# Predicates, which are NULL only where an argument is.
_STRICT = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.Between, exp.Like, exp.ILike, exp.Not)


def range_of(node: exp.Expr, column: Callable[[exp.Column], Column | None]) -> Bounds:
    """The values of an expression.

    Args:
        column: the column that a name is; None of a word that is none.
    """

    def of(inner: exp.Expr) -> Bounds:
        return range_of(inner, column)

    if isinstance(node, exp.Paren):
        return of(node.this)
    if isinstance(node, exp.Column):
        return _declared(column(node))
    if isinstance(node, exp.Literal):
        return _literal(node)
    if isinstance(node, exp.Boolean):
        return _single_value(int(bool(node.this)), False)
    if isinstance(node, exp.Neg):
        inner = of(node.this)
        if any(isinstance(value, str) for value in inner.values or ()):
            return ANYTHING
        return _numbers(
            _minus(inner.high), _minus(inner.low), _listed(map(_minus, inner.values or ())), inner
        )
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        return _arithmetic(node, of(node.this), of(node.expression))
    if isinstance(node, exp.Mod):
        return _remainder(of(node.this), of(node.expression), signed=True)
    if is_pmod(node):
        return _remainder(of(node.expressions[0]), of(node.expressions[1]), signed=False)
    if isinstance(node, (exp.Case, exp.If)):
        return _case(node, of)
    if isinstance(node, exp.Coalesce):
        parts = [of(part) for part in (node.this, *node.expressions)]
        return _union(parts, all(part.nullable for part in parts))
    if isinstance(node, exp.Abs):
        return _absolute(of(node.this))
    if (name := _part_of_time(node)) is not None:
        moment = node.expression if isinstance(node, exp.Extract) else node.this
        return _part(name if _is_moment(moment, column) else "", of(moment))
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.BOOLEAN:
        return Bounds(0, 1, whole=True, nullable=not isinstance(node, exp.Cast) or _unsafe(node, of))
    if isinstance(node, exp.Cast) and node.to.this in exp.DataType.INTEGER_TYPES - {exp.DType.BIT}:
        # No bounds: one name is of other lengths in other dialects.
        return Bounds(whole=True)
    if isinstance(node, exp.Is) and isinstance(node.expression, (exp.Null, exp.Boolean)):
        return Bounds(0, 1, whole=True, nullable=False)
    if isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ)):
        return Bounds(0, 1, whole=True, nullable=False)
    if isinstance(node, (exp.Predicate, exp.Connector, exp.Not)):
        strict = isinstance(node, (*_STRICT, exp.Connector))
        return Bounds(0, 1, whole=True, nullable=not strict or _any_null(node, of))
    if isinstance(node, (exp.Lower, exp.Upper, exp.DPipe)):
        return Bounds(nullable=_any_null(node, of))
    return ANYTHING


def is_pmod(node: exp.Expr) -> bool:
    """Whether an expression is a remainder that has the sign of the divisor."""
    return isinstance(node, exp.Anonymous) and node.name.upper() == "PMOD" and len(node.expressions) == 2


def _declared(column: Column | None) -> Bounds:
    if column is None:
        return ANYTHING
    domain = column.domain or Domain()
    whole = column.type.family is Family.NUMBER and column.type.resolution == 1
    if column.type.family is Family.BOOLEAN:
        return Bounds(0, 1, whole=True, nullable=column.nullable)
    values = domain.values
    if column.type.family is not Family.NUMBER:
        return Bounds(
            values=values if column.type.family is Family.STRING else None, nullable=column.nullable
        )
    if values is not None:
        return Bounds(min(values), max(values), values, whole, column.nullable)
    return Bounds(domain.minimum, domain.maximum, None, whole, column.nullable)


def _literal(node: exp.Literal) -> Bounds:
    if node.is_string:
        return _single_value(str(node.this), False)
    try:
        value = Fraction(str(node.this)) if "e" not in str(node.this).lower() else None
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None:
        return Bounds(nullable=False)
    return _single_value(int(value) if value.denominator == 1 else value, value.denominator == 1)


def _single_value(value: Value, whole: bool) -> Bounds:
    return Bounds(value, value, (value,), whole or value in (0, 1), False)


def _minus(value: Value | None) -> Value | None:
    return None if value is None else -value


def _listed(values: Iterable[Value]) -> tuple[Value, ...] | None:
    listed = tuple(sorted(set(values)))
    return listed if 0 < len(listed) <= MAX_LISTED else None


def _numbers(low: Value | None, high: Value | None, values: tuple[Value, ...] | None, *of: Bounds) -> Bounds:
    """A range of numbers computed from others."""

    def short(value: Value | None) -> Value | None:
        if value is None or isinstance(value, (float, NotANumber)):
            return None
        exact = Fraction(value)
        return None if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MAX_BITS else value

    whole = all(part.whole for part in of)
    if values is not None and not all(short(value) is not None for value in values):
        values = None
    # Doubles are rounded, and have values that no arithmetic of bounds knows.
    low, high = short(low), short(high)
    return Bounds(low, high, values, whole, any(part.nullable for part in of))


def _arithmetic(node: exp.Expr, left: Bounds, right: Bounds) -> Bounds:
    if any(isinstance(value, str) for r in (left, right) for value in (r.values or ())):
        return Bounds(nullable=left.nullable or right.nullable)
    if isinstance(node, exp.Sub):
        right = _numbers(
            _minus(right.high), _minus(right.low), _listed(map(_minus, right.values or ())), right
        )
    values = None
    if left.values and right.values and len(left.values) * len(right.values) <= MAX_LISTED**2:
        pairs = product(left.values, right.values)
        values = _listed(a * b if isinstance(node, exp.Mul) else a + b for a, b in pairs)
    if not isinstance(node, exp.Mul):
        low = None if left.low is None or right.low is None else left.low + right.low
        high = None if left.high is None or right.high is None else left.high + right.high
        return _numbers(low, high, values, left, right)
    if left.low is None or left.high is None or right.low is None or right.high is None:
        return _numbers(None, None, None, left, right)
    corners = [a * b for a, b in product((left.low, left.high), (right.low, right.high))]
    return _numbers(min(corners), max(corners), values, left, right)


def _remainder(dividend: Bounds, by: Bounds, signed: bool) -> Bounds:
    """The sign is that of what is divided, in each of the dialects; PMOD's is that of the divisor."""
    nullable = dividend.nullable or by.nullable or by.values is None or 0 in by.values
    if by.values is None or len(by.values) != 1 or by.values == (0,) or not isinstance(by.values[0], int):
        return Bounds(nullable=nullable, whole=dividend.whole and by.whole)
    divisor = abs(by.values[0])
    if not dividend.whole:
        # The remainder of NaN is NaN, which is beyond all bounds.
        return Bounds(nullable=nullable)
    below = 0 if not signed or (dividend.low is not None and dividend.low >= 0) else 1 - divisor
    above = 0 if signed and dividend.high is not None and dividend.high <= 0 else divisor - 1
    if not signed and by.values[0] < 0:
        below, above = 1 - divisor, divisor - 1
    return Bounds(below, above, None, True, nullable)


def _case(node: exp.Expr, of: Callable[[exp.Expr], Bounds]) -> Bounds:
    if isinstance(node, exp.If):
        branches = [node.args.get("true"), node.args.get("false")]
    else:
        branches = [*(item.args.get("true") for item in node.args.get("ifs") or []), node.args.get("default")]
    missing = branches[-1] is None or isinstance(branches[-1], exp.Null)
    values = [b for b in branches if b is not None and not isinstance(b, exp.Null)]
    missing = missing or any(isinstance(b, exp.Null) for b in branches)
    if not values:
        return ANYTHING
    parts = [of(branch) for branch in values]
    return _union(parts, missing or any(part.nullable for part in parts))


def _union(parts: list[Bounds], nullable: bool) -> Bounds:
    whole = all(part.whole for part in parts)
    kinds = {
        isinstance(v, str)
        for part in parts
        for v in (*(part.values or ()), part.low, part.high)
        if v is not None
    }
    if len(kinds) > 1:
        return Bounds(nullable=nullable)
    values = None
    if all(part.values for part in parts):
        values = _listed(value for part in parts for value in part.values or ())
    lows = [part.low for part in parts if part.low is not None]
    highs = [part.high for part in parts if part.high is not None]
    low = min(lows) if len(lows) == len(parts) else None
    high = max(highs) if len(highs) == len(parts) else None
    return Bounds(low, high, values, whole, nullable)


def _absolute(inner: Bounds) -> Bounds:
    if any(isinstance(value, str) for value in inner.values or ()):
        return ANYTHING
    low, high = inner.low, inner.high
    most = None if low is None or high is None else max(abs(low), abs(high))
    return _numbers(0, most, _listed(map(abs, inner.values or ())), inner)


def _part_of_time(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Extract):
        return str(node.this.name or node.this).upper()
    return _CALLS.get(type(node))


def _is_moment(node: exp.Expr, column: Callable[[exp.Column], Column | None]) -> bool:
    """Whether an expression is a date or timestamp; an interval has any number of hours."""
    while isinstance(node, (exp.Paren, exp.TsOrDsToDate, exp.TimeStrToTime)):
        node = node.this
    if isinstance(node, exp.Cast):
        return node.to.this in (*exp.DataType.TEMPORAL_TYPES,)
    column_ = column(node) if isinstance(node, exp.Column) else None
    return column_ is not None and column_.type.family in (Family.DATE, Family.TIMESTAMP)


def _part(name: str, inner: Bounds) -> Bounds:
    low, high = _PARTS.get(name, (None, None))
    return Bounds(low, high, None, low is not None or name in _WHOLE, inner.nullable)


def _unsafe(node: exp.Cast, of: Callable[[exp.Expr], Bounds]) -> bool:
    """Whether a cast may fail, or is of NULL: what is a string may be no number."""
    inner = of(node.this)
    return inner.nullable or not inner.whole


def _any_null(node: exp.Expr, of: Callable[[exp.Expr], Bounds]) -> bool:
    return any(of(part).nullable for part in node.iter_expressions())
