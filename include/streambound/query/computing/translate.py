"""What an expression in Spark SQL computes, in the words of the embedded engine.

Only what means the same in every dialect that is read, or is made to here, is computed; ``NotComputed``
names the rest. Whole numbers and decimals are exact, and a value outside their type is an error. A quotient
of ``/`` is a double, and that by zero is NULL, as in Spark without ANSI mode. A text that is no number is
NULL as one. Timestamps are in UTC. Expressions are made of trees, never of texts: no name or string of a user
is read as SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import expressions as exp
from sqlglot import parse_one
from sqlglot.errors import ErrorLevel, SqlglotError

from streambound.query.column_types import NULL, Family, Type
from streambound.query.computing import arithmetic, casts, json, logic, patterns, texts, times
from streambound.query.computing.arithmetic import remainder
from streambound.query.computing.patterns import masked
from streambound.query.computing.spark_form import spark_form
from streambound.query.computing.times import SINCE_1970, since_1970, window_edge
from streambound.query.computing.typed import (
    BOOLEAN,
    DIGITS,
    DOUBLE,
    LENGTH,
    STRING,
    WHOLE,
    Columns,
    NotComputed,
    Rules,
    Translation,
    Typed,
    as_type,
    cast,
    decimal_type,
    engine_type,
    numeral,
    scale_of,
)
from streambound.query.ranges import is_pmod
from streambound.query.windows import END, START


def formula_of(
    node: exp.Expr, kinds: Callable[[str], Type | None], result: Type | None = None
) -> tuple[str, Type]:
    """An expression over columns by name, in whatever dialect it was read, as Spark SQL, and its type.

    Args:
        kinds: the types of columns; None of one that has no values.
        result: the type that its values are of, if that is known.

    Raises:
        NotComputed: it has what is not computed.
    """
    made = spark_form(node, kinds)
    try:
        # An argument that Spark has no place for must not be left out.
        text: str = made.sql(dialect="spark", unsupported_level=ErrorLevel.RAISE, comments=False)
    except (SqlglotError, ValueError):
        raise NotComputed(node) from None
    names = {column.name: kinds(column.name) for column in made.find_all(exp.Column)}
    if None in names.values():
        raise NotComputed(node)
    typed = {name: kind for name, kind in names.items() if kind is not None}
    try:
        expected = result or type_of(text, typed)
        if expected is None:
            raise NotComputed(node)
        expression(
            text, {name: (exp.column(name, quoted=True), kind) for name, kind in typed.items()}, expected
        )
    except (SqlglotError, RecursionError):
        raise NotComputed(node) from None
    return text, expected


def quoted(name: str) -> str:
    """A column in a formula."""
    text: str = exp.column(name, quoted=True).sql(dialect="spark")
    return text


def expression(formula: str, columns: Columns, result: Type) -> exp.Expr:
    """What computes a formula, of the engine's type for ``result``: an unbounded integer for whole numbers.

    Raises:
        NotComputed: it has what is not computed.
    """
    tree = parse_one(formula, dialect="spark")
    node = as_type(_translated(tree, columns), result, tree)
    if result.family is Family.NUMBER and result.resolution is None:
        # Minus zero is zero.
        return exp.Add(this=exp.Paren(this=node), expression=cast(numeral("0.0"), "DOUBLE"))
    return node


def type_of(formula: str, kinds: Mapping[str, Type]) -> Type | None:
    """The type of what a formula computes; None of what is the type of no column.

    Raises:
        NotComputed: it has what is not computed.
    """
    typed = {name: (exp.column(name, quoted=True), kind) for name, kind in kinds.items()}
    computed = _translated(parse_one(formula, dialect="spark"), typed).type
    return None if computed in (NULL, LENGTH) else computed


def typed(node: exp.Expr, kind: Type) -> exp.Expr:
    """A column as a formula takes it: whole numbers unbounded, timestamps in UTC."""
    return cast(node, engine_type(kind))


def _translated(node: exp.Expr, columns: Columns) -> Typed:
    """What computes a node, and the type of its values."""

    def of(part: exp.Expr) -> Typed:
        return _translated(part, columns)

    for kinds, compute in _RULES:
        if isinstance(node, kinds):
            typed = compute(node, of, columns)
            if typed is not None:
                return typed
            break
    raise NotComputed(node)


def _column(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    if node.args.get("table") or node.name not in columns:
        return None
    stored, kind = columns[node.name]
    if kind.family is Family.NUMBER and kind.resolution == 1:
        kind = WHOLE
    elif kind.family is Family.NUMBER:
        kind = DOUBLE if kind.resolution is None else decimal_type(scale_of(kind))
    return Typed(stored.copy(), kind)


def _literal(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    text = node.name
    if isinstance(node, exp.Literal) and node.is_string:
        return Typed(exp.Literal.string(text), STRING)
    if text.isdigit():
        return Typed(cast(numeral(text), "HUGEINT"), WHOLE) if len(text) < DIGITS else None
    whole, _, fraction = text.partition(".")
    if (whole + fraction).isdigit():
        if len(whole) + len(fraction) > DIGITS:
            return None
        kind = decimal_type(len(fraction))
        return Typed(cast(exp.Literal.string(text), engine_type(kind)), kind)
    try:
        float(text)
    except ValueError:
        return None
    return Typed(cast(exp.Literal.string(text), "DOUBLE"), DOUBLE)


def _constant(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    if isinstance(node, exp.Null):
        return Typed(exp.Null(), NULL)
    return Typed(exp.true() if node.this else exp.false(), BOOLEAN)


def _paren(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    inner = of(node.this)
    return Typed(exp.Paren(this=inner.node.copy()), inner.type)


def _function(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    if is_pmod(node):
        return remainder(node, of, columns)
    name = str(node.this).upper()
    if name in (START, END):
        return window_edge(node, of)
    if name in SINCE_1970:
        return since_1970(node, of)
    if json.is_path(node):
        return json.value_at(node, of)
    return masked(node, of) if name == "MASK" else None


_RULES: Rules = (
    (exp.Paren, _paren),
    (exp.Column, _column),
    (exp.Literal, _literal),
    ((exp.Null, exp.Boolean), _constant),
    (exp.Anonymous, _function),
    *arithmetic.RULES,
    *logic.RULES,
    *patterns.RULES,
    *texts.RULES,
    *json.RULES,
    *times.RULES,
    *casts.RULES,
)
