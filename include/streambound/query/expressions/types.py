"""Types of expressions, and whether one takes every value of its type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from streambound.query.column_types import Family, Type, parse_type
from streambound.query.expressions.linear import Sum, linear
from streambound.query.model import (
    Column,
)
from streambound.query.ranges import is_pmod
from streambound.query.scope import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
)

TIMESTAMP, DATE = parse_type("timestamp"), parse_type("date")
_TYPES = {
    Family.NUMBER: exp.DType.DOUBLE,
    Family.BOOLEAN: exp.DType.BOOLEAN,
    Family.DATE: exp.DType.DATE,
    Family.TIMESTAMP: exp.DType.TIMESTAMP,
    Family.TIME: exp.DType.TIMESTAMP,
    Family.STRING: exp.DType.VARCHAR,
}
TIMES_OF_DAY = (exp.DType.TIME, exp.DType.TIMETZ)
# Parts of a date and of a timestamp whose range has no value that never occurs.
_CALENDAR = frozenset(("DAY", "MONTH", "QUARTER", "DOY", "DAYOFYEAR", "ISODOW"))
_CLOCK = _CALENDAR | {"HOUR", "MINUTE"}


def type_of_expression(node: exp.Expr, of: Callable[[exp.Column], Type]) -> Type:
    """The type of an expression over columns of known types; a string where it cannot be told."""
    while isinstance(node, exp.Paren):
        node = node.this
    return of(node) if isinstance(node, exp.Column) else kind_of(node, of) or STRING


def kind_of(node: exp.Expr, of: Callable[[exp.Column], Type | None]) -> Type | None:
    """The type of an expression; None where it is not known."""
    # Loaded here: a query without expressions needs no types of them.
    from sqlglot.optimizer.annotate_types import annotate_types

    root = exp.Paren(this=node.copy())
    for column in list(root.find_all(exp.Column)):
        kind = of(column)
        if kind is not None:
            dtype = exp.DType.BIGINT if kind.resolution == 1 else _TYPES.get(kind.family, exp.DType.VARCHAR)
            dtype = dtype if kind.family is Family.NUMBER else _TYPES.get(kind.family, exp.DType.VARCHAR)
            column.replace(exp.Cast(this=exp.Null(), to=exp.DataType(this=dtype)))
    try:
        made = annotate_types(root, dialect="spark").this
        kind = made.type
        if isinstance(made, exp.Sub) and all(map(_is_moment, (made.this, made.expression))):
            # A length of time, which is the type of no column.
            return None
    except (SqlglotError, KeyError, AttributeError, TypeError, ValueError):
        return None
    if isinstance(node, (exp.TimestampTrunc, exp.DateTrunc)):
        return TIMESTAMP
    if is_pmod(node):
        return DOUBLE
    return None if kind is None else _type_of(kind)


def _is_moment(node: exp.Expr) -> bool:
    return node.type is not None and node.type.this in exp.DataType.TEMPORAL_TYPES


def _type_of(data_type: exp.DataType) -> Type | None:
    if data_type.this == exp.DType.BOOLEAN:
        return BOOLEAN
    if data_type.this in exp.DataType.NUMERIC_TYPES:
        return DOUBLE
    if data_type.this in exp.DataType.TEXT_TYPES:
        return STRING
    if data_type.this in (exp.DType.DATE, exp.DType.DATE32):
        return DATE
    if data_type.this in TIMES_OF_DAY:
        # A time of day is no timestamp, and the type of no column.
        return None
    return TIMESTAMP if data_type.this in exp.DataType.TEMPORAL_TYPES else None


def takes_every_value(node: exp.Expr, kind: Type, columns: list[Column]) -> bool:
    """Whether every value of the range is one of some tuple's.

    Of functions that are not known, and of those that make strings, it is assumed.
    """
    if node.find(exp.Null) or any(c.domain is not None or c.type.family is Family.BOOLEAN for c in columns):
        return False
    if isinstance(node, (exp.Case, exp.If, exp.Coalesce)):
        return False
    whole = all(column.type.resolution == 1 for column in columns)
    if isinstance(node, exp.IntDiv):
        divisor = node.expression
        return whole and isinstance(node.this, exp.Column) and isinstance(divisor, exp.Literal)
    if isinstance(node, (exp.LT, exp.GT, exp.EQ)):
        summed = linear(node.this).plus(linear(node.expression), -1)
        return has_unknown(node) or _free(node, summed, not isinstance(node, exp.EQ))
    if isinstance(node, exp.Like) and isinstance(node.expression, exp.Literal):
        return bool(node.expression.name.strip("%"))
    if isinstance(node, exp.Mod) or is_pmod(node):
        dividend, divisor = node.expressions if is_pmod(node) else (node.this, node.expression)
        counted = isinstance(divisor, exp.Literal) and divisor.name.strip("0").isdigit()
        return whole and counted and isinstance(dividend, exp.Column)
    if isinstance(node, exp.Cast):
        inner = node.this
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if len(columns) != 1:
            return False
        if isinstance(inner, exp.Column):
            return _casts_onto(node.to, columns[0])
        # Functions that make strings, or what is not known, are taken to make any.
        text = replace(columns[0], type=STRING, domain=None)
        return takes_every_value(inner, STRING, columns) and _casts_onto(node.to, text)
    if isinstance(node, (exp.UnixToTime, exp.AtTimeZone)):
        return isinstance(node.this, exp.Column) or takes_every_value(node.this, kind, columns)
    if isinstance(node, exp.Extract):
        parts = _CLOCK if columns[0].type.family is Family.TIMESTAMP else _CALENDAR
        dated = columns[0].type.family in (Family.TIMESTAMP, Family.DATE)
        return dated and isinstance(node.expression, exp.Column) and node.this.name.upper() in parts
    if kind.family in (Family.BOOLEAN, Family.STRING) or isinstance(node, exp.Anonymous):
        return True
    if kind.family is Family.NUMBER:
        dense = all(column.type.resolution is None for column in columns)
        return (kind is INTEGER or dense) and _free(node, linear(node), kind is DOUBLE)
    return isinstance(node, (exp.Add, exp.Sub)) and _free(node, linear(node), False)


def has_fibres(node: exp.Expr, columns: list[Column]) -> bool:
    """Whether each value is that of endless values of the one column, above and below any."""
    while isinstance(node, exp.Paren):
        node = node.this
    if len(columns) != 1 or columns[0].of or columns[0].domain is not None:
        return False
    if isinstance(node, exp.Mod) or is_pmod(node):
        return takes_every_value(node, INTEGER, columns)
    if isinstance(node, exp.Like):
        pattern = node.expression
        plain = isinstance(node.this, exp.Column) and isinstance(pattern, exp.Literal)
        return plain and pattern.name.startswith("%") and bool(pattern.name.strip("%"))
    return isinstance(node, exp.Extract) and takes_every_value(node, INTEGER, columns)


def has_unknown(node: exp.Expr) -> bool:
    """Whether an expression has a function that is not known."""
    return any(isinstance(part, exp.Anonymous) and not is_pmod(part) for part in node.walk())


def _casts_onto(to: exp.DataType, column: Column) -> bool:
    """Whether a cast of a column takes every value of its type."""
    source = column.type.family
    if to.expressions:
        return False
    if to.this in (exp.DType.INT, exp.DType.BIGINT, exp.DType.DOUBLE):
        return source is Family.STRING or (source is Family.NUMBER and not column.type.discrete)
    if to.this in exp.DataType.TEXT_TYPES:
        return source is Family.STRING
    if to.this in (exp.DType.DATE, exp.DType.DATE32):
        return source in (Family.STRING, Family.DATE, Family.TIMESTAMP)
    if to.this in exp.DataType.TEMPORAL_TYPES and to.this not in TIMES_OF_DAY:
        return source in (Family.STRING, Family.TIMESTAMP)
    return to.this == exp.DType.BOOLEAN and source in (Family.STRING, Family.NUMBER)


def _free(node: exp.Expr, summed: Sum, scaled: bool) -> bool:
    """Whether a sum has a column that nothing else in it depends on; ``scaled``: with any factor."""
    names = [column.name.lower() for column in node.find_all(exp.Column)]
    return any(
        isinstance(term, exp.Column)
        and names.count(term.name.lower()) == 1
        and factor != 0
        and (scaled or abs(factor) == 1)
        for _, term, factor in summed.terms
    )
