"""Casts: toward zero, and NULL of what is no value of the type."""

from __future__ import annotations

from sqlglot import expressions as exp

from streambound.query.column_types import parse_type
from streambound.query.computing.json import is_path, value_at
from streambound.query.computing.spark_form import INTEGER_TYPES
from streambound.query.computing.texts import text_of
from streambound.query.computing.typed import (
    BOOLEAN,
    DATE,
    DIGITS,
    DOUBLE,
    STRING,
    TIMESTAMP,
    WHOLE,
    Columns,
    NotComputed,
    Rules,
    Translation,
    Typed,
    binary,
    call,
    case_when,
    cast,
    decimal_type,
    engine_type,
    numeral,
    try_cast,
    typed_literal,
)

_NUMBER = r"[+-]?([0-9]{1,37}(\.[0-9]*)?|\.[0-9]+)"

# What is read as a double beside plain numbers, and delimiters that are no patterns.
_SPECIAL = {"inf": "inf", "infinity": "inf", "nan": "nan"}

_WIDTHS = {exp.DType.INT: 31, exp.DType.BIGINT: 63, exp.DType.SMALLINT: 15, exp.DType.TINYINT: 7}


def _converted_to(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    inner, to = node.this.unnest(), node.args["to"]
    if node.args.get("format"):
        return None
    numeric = is_path(inner) and to.this in exp.DataType.NUMERIC_TYPES
    value = value_at(inner, of, number=True) if numeric else of(node.this)
    if value is None:
        return None
    if to.this in INTEGER_TYPES:
        return _to_integer(value, _WIDTHS[to.this])
    if to.this == exp.DType.DOUBLE:
        return _to_double(value)
    if to.this == exp.DType.FLOAT and not to.expressions:
        return _to_float(value, node)
    if (
        to.this == exp.DType.DECIMAL
        and len(to.expressions) == 2
        and value.number
        and value.type.resolution is not None
    ):
        precision, scale = (int(part.name) for part in to.expressions)
        kind = parse_type(f"decimal({precision},{scale})") if scale else WHOLE
        widest = cast(value.node, f"DECIMAL({DIGITS}, {scale})")
        return Typed(
            cast(try_cast(widest, f"DECIMAL({precision}, {scale})"), engine_type(kind)), decimal_type(scale)
        )
    if to.this in exp.DataType.TEXT_TYPES and not to.expressions:
        made = text_of(value)
        return None if made is None else Typed(made, STRING)
    if to.this == exp.DType.BOOLEAN:
        if value.whole:
            return Typed(binary(exp.NEQ, value.node, numeral(0)), BOOLEAN)
        return Typed(cast(value.node, "BOOLEAN"), BOOLEAN) if value.type == BOOLEAN or value.null else None
    if to.this in (exp.DType.DATE, exp.DType.DATE32) and value.type in (DATE, TIMESTAMP):
        return Typed(cast(value.node, "DATE"), DATE)
    stamps = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ)
    if to.this in stamps and value.type in (DATE, TIMESTAMP):
        return Typed(cast(value.node, "TIMESTAMP"), TIMESTAMP)
    literal = isinstance(value.node, exp.Literal) and value.node.is_string
    if literal and to.this in (exp.DType.DATE, *stamps):
        return typed_literal(value.node.name, DATE if to.this == exp.DType.DATE else TIMESTAMP)
    return None


def _to_integer(value: Typed, bits: int) -> Typed | None:
    """Toward zero; NULL of what is no number of the type."""
    if value.type == BOOLEAN:
        return Typed(cast(cast(value.node, "INT"), "HUGEINT"), WHOLE)
    if value.number and not value.whole:
        node = try_cast(call("TRUNC", value.node), "HUGEINT")
    elif value.type == STRING:
        text = call("TRIM", value.node)
        digits = call("REGEXP_FULL_MATCH", text, exp.Literal.string(_NUMBER))
        whole = call("SPLIT_PART", text, exp.Literal.string("."), numeral(1))
        counted = call("COALESCE", try_cast(whole, "HUGEINT"), cast(numeral(0), "HUGEINT"))
        node = case_when(digits, counted, exp.Null())
    elif value.whole or value.null:
        node = cast(value.node, "HUGEINT")
    else:
        return None
    ends = [cast(exp.Literal.string(str(end)), "HUGEINT") for end in (-(2**bits), 2**bits - 1)]
    fits = exp.Between(this=node.copy(), low=ends[0], high=ends[1])
    return Typed(case_when(fits, node, exp.Null()), WHOLE)


def _to_double(typed: Typed) -> Typed | None:
    """NULL of a text that is no number; a hexadecimal one is refused where it comes."""
    if typed.type == STRING:
        text = call("LOWER", call("TRIM", typed.node))
        digits = exp.Literal.string(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?[df]?")
        number = try_cast(call("RTRIM", text, exp.Literal.string("df")), "DOUBLE")
        made = exp.case().when(call("REGEXP_FULL_MATCH", text, digits), number)
        for word, value in _SPECIAL.items():
            for sign in ("", "+", "-"):
                said = exp.EQ(this=text.copy(), expression=exp.Literal.string(sign + word))
                made = made.when(said, cast(exp.Literal.string(sign.strip("+") + value), "DOUBLE"))
        odd = call("REGEXP_FULL_MATCH", text, exp.Literal.string("[+-]?0x[0-9a-f.]*p[+-]?[0-9]+[df]?"))
        made = made.when(odd, call("ERROR", exp.Literal.string("a hexadecimal number in a text")))
        return Typed(exp.Paren(this=made.else_(exp.Null())), DOUBLE)
    return Typed(cast(typed.node, "DOUBLE"), DOUBLE) if typed.number or typed.null else None


def _to_float(value: Typed, node: exp.Expr) -> Typed:
    """The nearest number of 32 bits, and no more: engines go on from there in 32 bits, or in 64."""
    outer = node.parent
    while isinstance(outer, exp.Paren):
        outer = outer.parent
    if outer is not None or not (value.whole or value.type == DOUBLE):
        why = "numbers of 32 bits are made of whole numbers and doubles alone, and not computed with"
        raise NotComputed(node, f"{why}; write DOUBLE")
    stored = cast(value.node, "BIGINT") if value.whole else value.node
    return Typed(cast(cast(stored, "FLOAT"), "DOUBLE"), DOUBLE)


RULES: Rules = ((exp.Cast, _converted_to),)
