"""Functions of strings, where every dialect that is read means the same by them."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import expressions as exp

from streambound.query.column_types import Type
from streambound.query.computing.typed import (
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMP,
    WHOLE,
    Columns,
    Rules,
    Translation,
    Typed,
    binary,
    call,
    cast,
    is_count,
    numeral,
)

_DELIMITER = re.compile(r"[^\\.^$|?*+()\[\]{}]+")


def _like(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    value, pattern = of(node.this), node.expression
    # A backslash escapes in some dialects only.
    if value.type != STRING or not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return None
    if "\\" in pattern.name:
        return None
    return Typed(binary(exp.Like, value.node, exp.Literal.string(pattern.name)), BOOLEAN)


def _strings(name: str, result: Type) -> Callable[[exp.Expr, Translation, Columns], Typed | None]:
    """A function of strings that the engine has under a name."""

    def compute(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
        given = [node.this, *(p for p in (node.args.get("expression"),) if p is not None)]
        if any(node.args.get(a) for a in ("position", "collation", "encoding", "binary", "where")):
            return None
        if isinstance(node, exp.Trim) and len(given) > 1:
            return None
        parts = [of(argument) for argument in given]
        if not all(part.type == STRING or part.null for part in parts):
            return None
        made = call(name, *(cast(part.node, "VARCHAR") for part in parts))
        return Typed(cast(made, "HUGEINT") if result == WHOLE else made, result)

    return compute


def _position(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    if any(node.args.get(part) for part in ("position", "occurrence", "instance", "clamp_position")):
        return None
    parts = [of(node.this), of(node.args["substr"])]
    if not all(part.type == STRING for part in parts):
        return None
    return Typed(cast(call("INSTR", *(part.node for part in parts)), "HUGEINT"), WHOLE)


def _concatenated(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    given = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    if node.args.get("coalesce"):
        return None
    parts = [of(argument) for argument in given]
    texts = [text_of(part) for part in parts]
    if not texts or any(text is None for text in texts):
        return None
    made, *rest = (text for text in texts if text is not None)
    for text in rest:
        made = binary(exp.DPipe, made, text)
    return Typed(made, STRING)


def text_of(typed: Typed) -> exp.Expr | None:
    """A value as the text that every dialect writes; None of doubles, whose texts differ."""
    if (
        typed.type in (STRING, WHOLE, DATE, TIMESTAMP, BOOLEAN)
        or typed.null
        or (typed.number and typed.type.resolution is not None)
    ):
        return cast(typed.node, "VARCHAR")
    return None


def _substring(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    value = of(node.this)
    start, length = node.args.get("start"), node.args.get("length")
    if value.type != STRING or any(not is_count(part) for part in (start, length) if part is not None):
        return None
    # What is before the first character differs between dialects.
    if start is None or start.name == "0":
        return None
    parts = [numeral(part.name) for part in (start, length) if part is not None]
    return Typed(call("SUBSTRING", value.node, *parts), STRING)


def _left_or_right(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    value = of(node.this)
    if value.type != STRING or not is_count(node.expression):
        return None
    name = "LEFT" if isinstance(node, exp.Left) else "RIGHT"
    return Typed(call(name, value.node, numeral(node.expression.name)), STRING)


def _replaced(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    given = [node.this, node.expression, node.args.get("replacement")]
    parts = [of(argument) for argument in given if argument is not None]
    if len(parts) < 3 or any(part.type != STRING for part in parts):
        return None
    return Typed(call("REPLACE", *(part.node for part in parts)), STRING)


def _split(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    value, delimiter, position = of(node.this), node.args["delimiter"], node.args["part_index"]
    if value.type != STRING or not (
        isinstance(delimiter, exp.Literal) and delimiter.is_string and delimiter.name
    ):
        return None
    # What an empty delimiter or place 0 means differs between dialects.
    if not is_count(position) or int(position.name) == 0:
        return None
    return Typed(call("SPLIT_PART", value.node, delimiter, numeral(position.name)), STRING)


def _element(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    """One of the parts of a text between delimiters, NULL of none."""
    inner = node.this
    if not isinstance(inner, exp.RegexpSplit) or len(node.expressions) != 1 or inner.args.get("limit"):
        return None
    value, delimiter, position = of(inner.this), inner.expression, node.expressions[0]
    if (
        value.type != STRING
        or not is_count(position)
        or not (
            isinstance(delimiter, exp.Literal)
            and delimiter.is_string
            and _DELIMITER.fullmatch(delimiter.name)
        )
    ):
        return None
    parts = call("STRING_SPLIT", value.node, delimiter)
    return Typed(call("LIST_EXTRACT", parts, numeral(int(position.name) + 1)), STRING)


def _padded(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    value, length = of(node.this), node.expression
    filled = node.args.get("fill_pattern") or exp.Literal.string(" ")
    if value.type != STRING or not is_count(length) or not isinstance(filled, exp.Literal):
        return None
    if not filled.is_string or not filled.name:
        return None
    name = "LPAD" if node.args.get("is_left") else "RPAD"
    return Typed(call(name, value.node, cast(numeral(length.name), "INT"), filled), STRING)


RULES: Rules = (
    (exp.Like, _like),
    (exp.Lower, _strings("LOWER", STRING)),
    (exp.Upper, _strings("UPPER", STRING)),
    (exp.Trim, _strings("TRIM", STRING)),
    (exp.Length, _strings("LENGTH", WHOLE)),
    (exp.Reverse, _strings("REVERSE", STRING)),
    (exp.MD5, _strings("MD5", STRING)),
    (exp.StartsWith, _strings("STARTS_WITH", BOOLEAN)),
    (exp.EndsWith, _strings("ENDS_WITH", BOOLEAN)),
    (exp.Contains, _strings("CONTAINS", BOOLEAN)),
    (exp.StrPosition, _position),
    ((exp.Concat, exp.DPipe), _concatenated),
    (exp.Substring, _substring),
    ((exp.Left, exp.Right), _left_or_right),
    (exp.Replace, _replaced),
    (exp.SplitPart, _split),
    (exp.Bracket, _element),
    (exp.Pad, _padded),
)
