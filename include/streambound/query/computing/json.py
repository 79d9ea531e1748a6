"""What lies at a path in a JSON text, as a text: ``get_json_object``, ``JSON_VALUE``, ``->>`` and their like.

Engines agree on texts, truth values and whole numbers, on what is not there, and on a text that is no JSON:
NULL. They write other numbers differently (``1.50``, ``1e9``), and objects and arrays. A number is computed
as such where it is cast to a number. An object or array is NULL to ``JSON_VALUE``. What else comes is an
error.
"""

from __future__ import annotations

from sqlglot import expressions as exp

from streambound.query.computing.typed import (
    STRING,
    Columns,
    NotComputed,
    Rules,
    Translation,
    Typed,
    call,
)

# NULL of an object or array, as in Flink and the standard; of others it is a text.
VALUE = "JSON_VALUE"
_EXTRACTS = (exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract, exp.JSONBExtractScalar)
_TEXTS = (exp.JSONExtractScalar, exp.JSONBExtractScalar)
_TYPES = (exp.DType.JSON, exp.DType.JSONB, exp.DType.VARIANT)


def spark_json(node: exp.Expr) -> exp.Expr | None:
    """A path in a JSON text as one call of Spark's, or of ``JSON_VALUE``; None of what is none.

    Raises:
        NotComputed: it is one that is not computed.
    """
    called = str(node.this).upper() if isinstance(node, exp.Anonymous) else ""
    if called in (VALUE, "EXTRACTJSONFIELD"):
        source, keys = _within(node)
        text = exp.Literal.string(_path(node, keys))
        if called == VALUE:
            return exp.Anonymous(this=VALUE, expressions=[source.copy(), text])
    elif isinstance(node, _TEXTS) or (isinstance(node, exp.JSONExtract) and node.args.get("variant_extract")):
        source, keys = _within(node)
    else:
        return None
    path = exp.JSONPath(expressions=[exp.JSONPathRoot(), *keys])
    return exp.JSONExtractScalar(this=source.copy(), expression=path)


def _within(node: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]]:
    """The text that an expression looks into, and the keys on the way."""
    while isinstance(node, (exp.Paren, exp.ParseJSON)) or (
        isinstance(node, exp.Cast) and node.to.this in _TYPES
    ):
        node = node.this
    if isinstance(node, _EXTRACTS):
        source, keys = _within(node.this)
        return source, [*keys, *_keys(node, node.expression)]
    if isinstance(node, exp.Anonymous) and str(node.this).upper() in (VALUE, "EXTRACTJSONFIELD"):
        if len(node.expressions) != 2:
            raise NotComputed(
                node, "what RETURNING, ON ERROR and ON EMPTY say is not; write CAST(JSON_VALUE(...) AS ...)"
            )
        return node.expressions[0], _keys(node, node.expressions[1])
    return node, []


def _keys(node: exp.Expr, path: exp.Expr) -> list[exp.Expr]:
    """The names and places that a path goes by."""
    if isinstance(path, exp.Literal) and path.is_string:
        if isinstance(node, (exp.JSONBExtract, exp.JSONBExtractScalar)):
            parts = path.name.removeprefix("{").removesuffix("}").split(",")
            if not all(part.isidentifier() for part in parts):
                raise NotComputed(node)
            return [exp.JSONPathKey(this=part) for part in parts]
        path = exp.maybe_parse(
            f"GET_JSON_OBJECT(x, {exp.Literal.string(path.name.removeprefix('lax ')).sql()})", dialect="spark"
        ).expression
    if not isinstance(path, exp.JSONPath) or not isinstance(path.expressions[0], exp.JSONPathRoot):
        raise NotComputed(node)
    return list(path.expressions[1:])


def _path(node: exp.Expr, keys: list[exp.Expr]) -> str:
    """A path as the embedded engine reads it: of names and places alone."""
    made = "$"
    for key in keys:
        if isinstance(key, exp.JSONPathKey) and isinstance(key.this, str) and '"' not in key.this + "\\":
            made += f'."{key.this}"'
        elif isinstance(key, exp.JSONPathSubscript) and type(key.this) is int and key.this >= 0:
            made += f"[{key.this}]"
        else:
            raise NotComputed(node)
    if made == "$":
        raise NotComputed(node)
    return made


def value_at(node: exp.Expr, of: Translation, number: bool = False) -> Typed | None:
    """What lies at a path, as a text.

    Args:
        number: it is read as a number: however one is written, it is the same.
    """
    source, keys = _within(node)
    text = of(source)
    if text.type != STRING:
        return None
    path = exp.Literal.string(_path(node, keys))
    lying = call("JSON_EXTRACT_STRING", text.node, path)
    kind = call("JSON_TYPE", text.node, path)
    structured = exp.In(this=kind.copy(), expressions=[exp.Literal.string(t) for t in ("OBJECT", "ARRAY")])
    whole: exp.Expr = exp.Null()
    if not isinstance(node, exp.Anonymous):
        whole = call("ERROR", exp.Literal.string("an object or array, which engines write differently"))
    made = exp.case().when(exp.not_(call("JSON_VALID", text.node)), exp.Null()).when(structured, whole)
    if not number:
        said = "a number with a fraction, which engines write differently: cast it to DOUBLE"
        fraction = exp.EQ(this=kind.copy(), expression=exp.Literal.string("DOUBLE"))
        made = made.when(fraction, call("ERROR", exp.Literal.string(said)))
    return Typed(exp.Paren(this=made.else_(lying)), STRING)


def is_path(node: exp.Expr) -> bool:
    """Whether an expression is a path in a JSON text, as ``spark_json`` writes it."""
    return isinstance(node, exp.JSONExtractScalar) or (
        isinstance(node, exp.Anonymous) and str(node.this).upper() == VALUE
    )


def _extracted(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    return value_at(node, of)


RULES: Rules = ((exp.JSONExtractScalar, _extracted),)
