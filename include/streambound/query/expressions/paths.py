"""Where within a column an expression looks: ``o.user.id``, ``event['user']``, ``$.user.id`` of JSON."""

from __future__ import annotations

import re

from sqlglot import expressions as exp

_JSON = (exp.DType.JSON, exp.DType.JSONB, exp.DType.VARIANT, exp.DType.OBJECT)
_EXTRACTS = (exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract, exp.JSONBExtractScalar)


def path_above(column: exp.Column) -> str:
    """Where within a column an expression looks, as ``.a.b``: what lies in two places are two values.

    Empty where it looks at the whole. A path ends before what is no name: an element may be any.
    """
    here: exp.Expr = column
    path: list[str] = []
    while (parent := here.parent) is not None:
        plain = isinstance(parent, (exp.Paren, exp.ParseJSON))
        if plain or (isinstance(parent, exp.Cast) and parent.to.this in _JSON):
            here = parent
            continue
        names = _names_of(parent, here)
        if not names:
            break
        path += names
        here = parent
    return "".join(f".{name}" for name in path)


def _names_of(node: exp.Expr, inner: exp.Expr) -> list[str]:
    """The names by which a node looks into one of its parts; none if it does something else."""
    if isinstance(node, exp.Dot) and node.this is inner and isinstance(node.expression, exp.Identifier):
        return [node.expression.name]
    if isinstance(node, exp.Bracket) and node.this is inner and len(node.expressions) == 1:
        key = node.expressions[0]
        return [key.name] if isinstance(key, exp.Literal) and key.is_string else []
    if isinstance(node, _EXTRACTS) and node.this is inner:
        return _keys(node.expression)
    if isinstance(node, exp.Anonymous) and node.expressions and node.expressions[0] is inner:
        name, given = str(node.this).upper(), node.expressions[1:]
        looks = "JSON" in name or name == "GETRECORDPROPERTYVALUE"
        texts = all(isinstance(literal, exp.Literal) and literal.is_string for literal in given)
        return [key for item in given for key in _keys(item)] if looks and texts else []
    return []


def _keys(path: exp.Expr) -> list[str]:
    if isinstance(path, exp.JSONPath):
        keys = []
        for part in path.expressions[1:]:
            if not isinstance(part, exp.JSONPathKey) or not isinstance(part.this, str):
                break
            keys.append(part.this)
        return keys
    text = path.name.strip("{}").removeprefix("$").strip(".") if isinstance(path, exp.Literal) else ""
    return re.split(r"[.,]", re.split(r"[\[*]", text)[0].strip(".,")) if text else []
