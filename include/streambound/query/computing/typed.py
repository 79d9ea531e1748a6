"""Expressions of the embedded engine with the types of their values, and how two come to be of one type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import expressions as exp
from sqlglot.errors import ErrorLevel

from streambound.errors import DataError
from streambound.query.column_types import NULL, Family, Type, parse_type

# The column of Spark SQL by its name: what stands for it in the engine, and its type.
Columns = Mapping[str, tuple[exp.Expr, Type]]

WHOLE, DOUBLE, STRING = parse_type("bigint"), parse_type("double"), parse_type("string")

BOOLEAN, DATE, TIMESTAMP = parse_type("boolean"), parse_type("date"), parse_type("timestamp")

# A length of time in microseconds, the type of no column.
LENGTH = Type("interval", Family.TIME, None)

DIGITS = 38


class NotComputed(Exception):
    """An expression that has what is not computed: ``what`` is it, in Spark SQL; ``why`` may say more."""

    def __init__(self, node: exp.Expr, why: str = "") -> None:
        self.why = why
        try:
            self.what = node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE, comments=False)
        except ValueError:
            # Of parts that Spark has no words for.
            self.what = node.key
        super().__init__(self.what)


@dataclass(frozen=True)
class Typed:
    node: exp.Expr
    type: Type

    @property
    def family(self) -> Family:
        return self.type.family

    @property
    def whole(self) -> bool:
        return self.type == WHOLE

    @property
    def number(self) -> bool:
        return self.type.family is Family.NUMBER

    @property
    def null(self) -> bool:
        return self.type == NULL


Translation = Callable[[exp.Expr], Typed]

Rule = Callable[[exp.Expr, Translation, Columns], Typed | None]


def engine_type(kind: Type) -> str:
    if kind.family is Family.NUMBER:
        if kind.resolution is None:
            return "DOUBLE"
        return "HUGEINT" if kind.resolution == 1 else f"DECIMAL({DIGITS}, {scale_of(kind)})"
    names = {Family.BOOLEAN: "BOOLEAN", Family.DATE: "DATE", Family.TIMESTAMP: "TIMESTAMP"}
    return names.get(kind.family, "VARCHAR")


def scale_of(kind: Type) -> int:
    """Digits after the point of a discrete type."""
    return 0 if kind.resolution is None else len(str(kind.resolution.denominator)) - 1


def decimal_type(scale: int) -> Type:
    return WHOLE if scale == 0 else parse_type(f"decimal({DIGITS},{scale})")


def cast(node: exp.Expr, to: str) -> exp.Expr:
    # ``exp.cast`` would leave out a cast to another scale.
    return exp.Cast(this=node.copy(), to=exp.DataType.build(to, dialect="duckdb"))


def try_cast(node: exp.Expr, to: str) -> exp.Expr:
    return exp.TryCast(this=node.copy(), to=exp.DataType.build(to, dialect="duckdb"))


def numeral(value: int | str) -> exp.Expr:
    return exp.Literal.number(value)


def call(name: str, *given: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[node.copy() for node in given])


def binary(kind: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=kind(this=left.copy(), expression=right.copy()))


def case_when(condition: exp.Expr, value: exp.Expr, node: exp.Expr) -> exp.Expr:
    return exp.case().when(condition.copy(), value.copy()).else_(node.copy())


def is_count(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 9


def as_micros(moment: Typed) -> exp.Expr:
    """A timestamp or date as microseconds."""
    stamp = moment.node if moment.type == TIMESTAMP else cast(moment.node, "TIMESTAMP")
    return cast(call("EPOCH_US", stamp), "HUGEINT")


def as_moment(micros: exp.Expr) -> exp.Expr:
    return call("MAKE_TIMESTAMP", cast(micros, "BIGINT"))


def alike(mine: Typed, theirs: Typed) -> tuple[Typed, Typed] | None:
    """Two values as those of one type; None if there is none that all dialects agree on."""
    for left, right in ((mine, theirs), (theirs, mine)):
        literal = isinstance(left.node, exp.Literal) and left.node.is_string
        if literal and right.type in (DATE, TIMESTAMP):
            cast_literal = typed_literal(left.node.name, right.type)
            if cast_literal is None:
                return None
            return (cast_literal, right) if left is mine else (right, cast_literal)
    if mine.null:
        return Typed(cast(exp.Null(), engine_type(theirs.type)), theirs.type), theirs
    if theirs.null:
        return mine, Typed(cast(exp.Null(), engine_type(mine.type)), mine.type)
    if {mine.type, theirs.type} == {DATE, TIMESTAMP}:
        sides = [
            s if s.type == TIMESTAMP else Typed(cast(s.node, "TIMESTAMP"), TIMESTAMP) for s in (mine, theirs)
        ]
        return sides[0], sides[1]
    if mine.family is not theirs.family:
        return None
    if mine.number and mine.type != theirs.type:
        dense = mine.type.resolution is None or theirs.type.resolution is None
        kind = DOUBLE if dense else decimal_type(max(scale_of(mine.type), scale_of(theirs.type)))
        sides = [Typed(cast(side.node, engine_type(kind)), kind) for side in (mine, theirs)]
        return sides[0], sides[1]
    return mine, theirs


def typed_literal(text: str, kind: Type) -> Typed | None:
    try:
        value = kind.encode(text)
    except DataError:
        return None
    if kind == DATE:
        return Typed(cast(exp.Literal.string(str(kind.decode(value))), "DATE"), DATE)
    return Typed(as_moment(numeral(int(value or 0))), TIMESTAMP)


def of_common_type(parts: list[Typed]) -> list[Typed] | None:
    """Values as those of one type."""
    kind = parts[0]
    for part in parts[1:]:
        pair = alike(kind, part)
        if pair is None:
            return None
        kind = pair[0]
    made = []
    for part in parts:
        pair = alike(part, kind)
        if pair is None:
            return None
        made.append(pair[0])
    return made


def as_type(typed: Typed, result: Type, node: exp.Expr) -> exp.Expr:
    """A value as one of a type that holds it."""
    if typed.null:
        return cast(exp.Null(), engine_type(result))
    if typed.family is not result.family:
        if typed.type == DATE and result.family is Family.TIMESTAMP:
            return cast(typed.node, "TIMESTAMP")
        raise NotComputed(node)
    if not typed.number:
        return typed.node
    if result.resolution is None:
        return cast(typed.node, "DOUBLE")
    if typed.type.resolution is None or scale_of(typed.type) > scale_of(result):
        raise NotComputed(node)
    return cast(typed.node, engine_type(result))


Rules = tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], Rule], ...]
