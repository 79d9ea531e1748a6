"""Types of Spark's columns by the names that a catalog has, and what lies within nested ones."""

from __future__ import annotations

from typing import Any

from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from streambound.query.type_names import canonical, nested

_NAMES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
# Numbers, each of which holds the values of those before it.
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")


def named(kind: Any) -> str:
    """A type in the JSON of a schema, or by name, as Spark SQL writes it.

    >>> named({"type": "array", "elementType": "long", "containsNull": True})
    'array<bigint>'
    """
    if isinstance(kind, str):
        return _NAMES.get(kind, kind)
    if kind["type"] == "struct":
        parts = ",".join(f"`{item['name']}`:{named(item['type'])}" for item in kind["fields"])
        return f"struct<{parts}>"
    if kind["type"] == "array":
        return f"array<{named(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{named(kind['keyType'])},{named(kind['valueType'])}>"
    return named(kind["sqlType"]) if "sqlType" in kind else str(kind["type"])


def declared(kind: str) -> str:
    """A type as an entry of a catalog: what has no values of its own there is nested data."""
    return kind if canonical(kind) or nested(kind) else f"object({kind})"


def scalar(kind: str) -> bool:
    """Whether a column of the type can be compared."""
    return canonical(kind) is not None


def within(kind: str, field: str | int) -> str | None:
    """The type of a field of a struct, by name or place, or of what an array or a map holds."""
    try:
        made = exp.DataType.build(kind, dialect="spark")
    except (SqlglotError, ValueError):
        return None
    if made.this == exp.DType.STRUCT:
        names = [expression.name.lower() for expression in made.expressions]
        if isinstance(field, str):
            field = names.index(field.lower()) if field.lower() in names else len(names)
        return _type_sql(made.expressions[field].args["kind"]) if field < len(names) else None
    return _type_sql(made.expressions[-1]) if made.expressions else None


def field_name(kind: str, position: int) -> str:
    """The name of a field of a struct by its place."""
    return str(exp.DataType.build(kind, dialect="spark").expressions[position].name)


def _type_sql(kind: exp.Expr) -> str:
    return kind.sql(dialect="spark").lower() if not kind.args.get("nested") else kind.sql(dialect="spark")


def holds(container: str, narrow: str) -> bool:
    """Whether a cast changes nothing that a comparison asks: the type is the same, or has all its values."""
    container, narrow = canonical(container) or container, canonical(narrow) or narrow
    if container == narrow or (narrow, container) == ("date", "timestamp"):
        return True
    names = [item.partition("(")[0] for item in (container, narrow)]
    if not all(name in _NUMBERS for name in names):
        return False
    if names == ["decimal", "decimal"]:
        # More digits before the point, and no fewer after it.
        (p, s), (q, t) = ([int(n) for n in item[8:-1].split(",")] for item in (container, narrow))
        return s >= t and p - s >= q - t
    return _NUMBERS.index(names[0]) > _NUMBERS.index(names[1])
