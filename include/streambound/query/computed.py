"""What an expression in Spark SQL computes, in the words of the embedded engine.

Only what means the same in every dialect that is read, or is made to here, is computed; ``NotComputed``
names the rest. Whole numbers and decimals are exact, and a value outside their type is an error. A quotient
of ``/`` is a double, and that by zero is NULL, as in Spark without ANSI mode. A text that is no number is
NULL as one. Timestamps are in UTC. Expressions are made of trees, never of texts: no name or string of a user
is read as SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import expressions as exp
from sqlglot import parse_one
from sqlglot.errors import ErrorLevel, SqlglotError

from streambound.errors import DataError
from streambound.query.dialects.grammar import FROM_ZERO
from streambound.query.ranges import is_pmod
from streambound.query.values import NULL, Family, Type, parse_type
from streambound.query.windows import END, START

# The column of Spark SQL by its name: what stands for it in the engine, and its type.
Columns = Mapping[str, tuple[exp.Expr, Type]]

WHOLE, DOUBLE, STRING = parse_type("bigint"), parse_type("double"), parse_type("string")
BOOLEAN, DATE, TIMESTAMP = parse_type("boolean"), parse_type("date"), parse_type("timestamp")
# A length of time in microseconds, the type of no column.
LENGTH = Type("interval", Family.TIME, None)
DIGITS = 38
# Doubles from here on are whole numbers.
_WHOLE_DOUBLES = 2**52
_UNITS = {
    **{"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000},
    **{"HOUR": 3_600_000_000, "DAY": 86_400_000_000, "WEEK": 7 * 86_400_000_000},
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_COMPARED: tuple[type[exp.Binary], ...] = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ)
# Parts of a date or timestamp, by what asks for them, and the engine's own function.
_PARTS: dict[str, str] = {
    **{name: name.lower() for name in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "WEEK")},
    **{"DOY": "dayofyear", "DAYOFYEAR": "dayofyear"},
}
_PART_CALLS: dict[type[exp.Expr], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfYear: "dayofyear",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
    exp.Week: "week",
    exp.WeekOfYear: "week",
}
_OF_DAY = ("hour", "minute", "second")
_TRUNCATED = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_NUMBER = r"[+-]?([0-9]{1,37}(\.[0-9]*)?|\.[0-9]+)"
# Patterns that mean the same to all engines: no end of a line, no class within a class, no look around, no
# reference, and no repetition that gives nothing back.
_CLASS = r"\[\^?(?:(?!&&)[^\]\[\\^]|\\[.^$|?*+()\[\]{}/\\-])+\]"
_PIECE = re.compile(rf"{_CLASS}|\\.|.", re.DOTALL)
_REPEATED = r"(?:[*+?]\??|\{[0-9]{1,2}(?:,[0-9]{0,2})?\}\??)?(?![*+?])"
_ALIKE = re.compile(
    rf"(?:(?:{_CLASS}|\\[dw.^$|?*+()\[\]{{}}/\\-]|[^\\\[\]{{}}()|*+?$^]){_REPEATED}"
    r"|\((?:\?:)?(?![?*+{])|\)\??(?![*+?{])|\||\^)*"
)
_NO_LINE_END = r"[^\n\r\x{85}\x{2028}\x{2029}]"
# A moment in parts of which all have leading zeros, and are told apart.
_WRITTEN = re.compile(r"(?:%Y(?!%Y)|%[mdHMS]strict|[ /:._-])+")
# What is read as a double beside plain numbers, and delimiters that are no patterns.
_SPECIAL = {"inf": "inf", "infinity": "inf", "nan": "nan"}
_DELIMITER = re.compile(r"[^\\.^$|?*+()\[\]{}]+")
# Days of the week from Sunday, which is 1; from Monday.
_FROM_SUNDAY, _FROM_MONDAY = ("DOW", "DAYOFWEEK"), ("ISODOW", "DOW_ISO", "DAYOFWEEK_ISO")
_TO_INTEGER = (exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT)
_WIDTHS = {exp.DType.INT: 31, exp.DType.BIGINT: 63, exp.DType.SMALLINT: 15, exp.DType.TINYINT: 7}


class NotComputed(Exception):
    """An expression that has what is not computed: ``what`` is it, in Spark SQL."""

    def __init__(self, node: exp.Expr) -> None:
        self.what = node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE, comments=False)
        super().__init__(self.what)


@dataclass(frozen=True)
class _Typed:
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
    made = _plain(node, kinds)
    text: str = made.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE, comments=False)
    names = {column.name: kinds(column.name) for column in made.find_all(exp.Column)}
    if None in names.values():
        raise NotComputed(node)
    known = {name: kind for name, kind in names.items() if kind is not None}
    try:
        found = result or type_of(text, known)
        if found is None:
            raise NotComputed(node)
        expression(text, {name: (exp.column(name, quoted=True), kind) for name, kind in known.items()}, found)
    except (SqlglotError, RecursionError):
        raise NotComputed(node) from None
    return text, found


def _plain(node: exp.Expr, kinds: Callable[[str], Type | None]) -> exp.Expr:
    """The same with what only the user's dialect means written as Spark writes it."""

    def whole(part: exp.Expr) -> bool:
        while isinstance(part, (exp.Paren, exp.Neg)):
            part = part.this
        if isinstance(part, exp.Column):
            kind = kinds(part.name)
            return kind is not None and kind.family is Family.NUMBER and kind.step == 1
        if isinstance(part, exp.Literal):
            return not part.is_string and part.name.isdigit()
        if isinstance(part, exp.Cast):
            return part.to.this in _TO_INTEGER
        if isinstance(part, (exp.Add, exp.Sub, exp.Mul, exp.Mod)):
            return whole(part.this) and whole(part.expression)
        if isinstance(part, exp.Div):
            return bool(part.args.get("typed")) and whole(part.this) and whole(part.expression)
        if isinstance(part, exp.Coalesce):
            return all(map(whole, (part.this, *part.expressions)))
        if isinstance(part, (exp.Case, exp.If)):
            branches = [one.args["true"] for one in part.args.get("ifs") or [part]]
            other = part.args.get("default") or part.args.get("false")
            return all(map(whole, [*branches, *([other] if other is not None else [])]))
        found = isinstance(part, (exp.IntDiv, exp.Extract, exp.Length, exp.StrPosition, exp.DateDiff))
        return found or type(part) in _PART_CALLS or isinstance(part, exp.TimestampDiff)

    def of(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Div) and part.args.get("typed"):
            if whole(part.this) and whole(part.expression):
                return exp.IntDiv(this=_bracketed(of(part.this)), expression=_bracketed(of(part.expression)))
            part = exp.Div(this=part.this, expression=part.expression)
        if type(part) is exp.Cast and part.to.this in _TO_INTEGER and not whole(part.this):
            # Some dialects round where Spark cuts off.
            inner = part.this
            while isinstance(inner, exp.Paren):
                inner = inner.this
            kind = kinds(inner.name) if isinstance(inner, exp.Column) else None
            if kind is None or kind.family is Family.NUMBER:
                raise NotComputed(part)
        if isinstance(part, exp.RegexpReplace) and (
            part.args.get("single_replace") or part.args.get("modifiers")
        ):
            raise NotComputed(part)
        made = part.copy()
        if part.meta.get(FROM_ZERO):
            made.meta.pop(FROM_ZERO)
            return exp.Paren(this=exp.Sub(this=of(made), expression=exp.Literal.number(1)))
        for name, given in part.args.items():
            if isinstance(given, exp.Expr):
                made.set(name, of(given))
            elif isinstance(given, list):
                made.set(name, [of(one) if isinstance(one, exp.Expr) else one for one in given])
        return made

    return of(node)


def _bracketed(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Binary) else node


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
    found = _converted(_of(tree, columns), result, tree)
    if result.family is Family.NUMBER and result.step is None:
        # Minus zero is zero.
        return exp.Add(this=exp.Paren(this=found), expression=_cast(_number("0.0"), "DOUBLE"))
    return found


def type_of(formula: str, kinds: Mapping[str, Type]) -> Type | None:
    """The type of what a formula computes; None of what is the type of no column.

    Raises:
        NotComputed: it has what is not computed.
    """
    known = {name: (exp.column(name, quoted=True), kind) for name, kind in kinds.items()}
    found = _of(parse_one(formula, dialect="spark"), known).type
    return None if found in (NULL, LENGTH) else found


def typed(found: exp.Expr, kind: Type) -> exp.Expr:
    """A column as a formula takes it: whole numbers unbounded, timestamps in UTC."""
    return _cast(found, _engine_type(kind))


def _engine_type(kind: Type) -> str:
    if kind.family is Family.NUMBER:
        if kind.step is None:
            return "DOUBLE"
        return "HUGEINT" if kind.step == 1 else f"DECIMAL({DIGITS}, {_scale(kind)})"
    names = {Family.BOOLEAN: "BOOLEAN", Family.DATE: "DATE", Family.TIMESTAMP: "TIMESTAMP"}
    return names.get(kind.family, "VARCHAR")


def _scale(kind: Type) -> int:
    return 0 if kind.step is None else len(str(kind.step.denominator)) - 1


def _decimal(scale: int) -> Type:
    return WHOLE if scale == 0 else parse_type(f"decimal({DIGITS},{scale})")


def _converted(one: _Typed, result: Type, node: exp.Expr) -> exp.Expr:
    """A value as one of a type that holds it."""
    if one.null:
        return _cast(exp.Null(), _engine_type(result))
    if one.family is not result.family:
        if one.type == DATE and result.family is Family.TIMESTAMP:
            return _cast(one.node, "TIMESTAMP")
        raise NotComputed(node)
    if not one.number:
        return one.node
    if result.step is None:
        return _cast(one.node, "DOUBLE")
    if one.type.step is None or _scale(one.type) > _scale(result):
        raise NotComputed(node)
    return _cast(one.node, _engine_type(result))


def _cast(node: exp.Expr, to: str) -> exp.Expr:
    # ``exp.cast`` would leave out a cast to another scale.
    return exp.Cast(this=node.copy(), to=exp.DataType.build(to, dialect="duckdb"))


def _try_cast(node: exp.Expr, to: str) -> exp.Expr:
    return exp.TryCast(this=node.copy(), to=exp.DataType.build(to, dialect="duckdb"))


def _number(value: int | str) -> exp.Expr:
    return exp.Literal.number(value)


def _call(name: str, *given: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[one.copy() for one in given])


def _binary(kind: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=kind(this=left.copy(), expression=right.copy()))


def _where(condition: exp.Expr, value: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.case().when(condition.copy(), value.copy()).else_(other.copy())


def _of(node: exp.Expr, columns: Columns) -> _Typed:
    """What computes a node, and the type of its values."""

    def of(part: exp.Expr) -> _Typed:
        return _of(part, columns)

    for kinds, compute in _COMPUTED:
        if isinstance(node, kinds):
            found = compute(node, of, columns)
            if found is not None:
                return found
            break
    raise NotComputed(node)


_Of = Callable[[exp.Expr], _Typed]


def _column(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    if node.args.get("table") or node.name not in columns:
        return None
    found, kind = columns[node.name]
    if kind.family is Family.NUMBER and kind.step == 1:
        kind = WHOLE
    elif kind.family is Family.NUMBER:
        kind = DOUBLE if kind.step is None else _decimal(_scale(kind))
    return _Typed(found.copy(), kind)


def _literal(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    text = node.name
    if isinstance(node, exp.Literal) and node.is_string:
        return _Typed(exp.Literal.string(text), STRING)
    if text.isdigit():
        return _Typed(_cast(_number(text), "HUGEINT"), WHOLE) if len(text) < DIGITS else None
    whole, _, fraction = text.partition(".")
    if (whole + fraction).isdigit():
        if len(whole) + len(fraction) > DIGITS:
            return None
        kind = _decimal(len(fraction))
        return _Typed(_cast(exp.Literal.string(text), _engine_type(kind)), kind)
    try:
        float(text)
    except ValueError:
        return None
    return _Typed(_cast(exp.Literal.string(text), "DOUBLE"), DOUBLE)


def _constant(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    if isinstance(node, exp.Null):
        return _Typed(exp.Null(), NULL)
    return _Typed(exp.true() if node.this else exp.false(), BOOLEAN)


def _paren(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    inner = of(node.this)
    return _Typed(exp.Paren(this=inner.node.copy()), inner.type)


def _negated(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    inner = of(node.this)
    if not inner.number and inner.type != LENGTH:
        return None
    return _Typed(exp.Paren(this=exp.Neg(this=exp.Paren(this=inner.node.copy()))), inner.type)


def _interval(node: exp.Expr) -> tuple[int, int] | None:
    """The months and the microseconds of an interval."""
    unit = str(node.args.get("unit") or "").upper().rstrip("S")
    amount, sign = node.this, 1
    while isinstance(amount, (exp.Neg, exp.Paren)):
        sign, amount = (-sign if isinstance(amount, exp.Neg) else sign), amount.this
    if not isinstance(amount, exp.Literal):
        return None
    text = amount.name.strip()
    if text[:1] in ("-", "+"):
        sign, text = (-sign if text[0] == "-" else sign), text[1:].strip()
    if not text.isdigit() or len(text) > 15:
        return None
    if unit in _MONTHS:
        return sign * int(text) * _MONTHS[unit], 0
    return (0, sign * int(text) * _UNITS[unit]) if unit in _UNITS else None


def _length(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    found = _interval(node)
    if found is None or found[0]:
        return None
    return _Typed(_cast(_number(found[1]), "HUGEINT"), LENGTH)


def _micros(moment: _Typed) -> exp.Expr:
    """A timestamp or date as microseconds."""
    stamp = moment.node if moment.type == TIMESTAMP else _cast(moment.node, "TIMESTAMP")
    return _cast(_call("EPOCH_US", stamp), "HUGEINT")


def _moment(micros: exp.Expr) -> exp.Expr:
    return _call("MAKE_TIMESTAMP", _cast(micros, "BIGINT"))


def _sum(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    kind = exp.Add if isinstance(node, exp.Add) else exp.Sub
    left, right = node.this, node.expression
    if kind is exp.Add and isinstance(left, exp.Interval):
        left, right = right, left
    if isinstance(right, exp.Interval):
        return _moved(of(left), right, kind)
    one, other = of(left), of(right)
    if kind is exp.Sub and one.family is other.family and one.type in (TIMESTAMP, DATE):
        if one.type == DATE == other.type:
            # Days in some dialects, and an interval in others.
            return None
        return _Typed(_binary(kind, _micros(one), _micros(other)), LENGTH)
    if kind is exp.Add and one.type == LENGTH and other.type == TIMESTAMP:
        one, other = other, one
    if one.type == TIMESTAMP and other.type == LENGTH:
        return _Typed(_moment(_binary(kind, _micros(one), other.node)), TIMESTAMP)
    if one.type == LENGTH == other.type:
        return _Typed(_binary(kind, one.node, other.node), LENGTH)
    return _arithmetic(kind, one, other)


def _moved(one: _Typed, interval: exp.Expr, kind: type[exp.Binary]) -> _Typed | None:
    found = _interval(interval)
    if found is None or one.type not in (TIMESTAMP, DATE, LENGTH):
        return None
    months, micros = found if kind is exp.Add else (-found[0], -found[1])
    if one.type == LENGTH:
        return None if months else _Typed(_binary(exp.Add, one.node, _number(micros)), LENGTH)
    if one.type == DATE and micros % _UNITS["DAY"]:
        return None
    if months:
        step = exp.Interval(this=exp.Literal.string(str(months)), unit=exp.var("MONTH"))
        moved = _binary(exp.Add, one.node, step)
        return _Typed(_cast(moved, "DATE") if one.type == DATE else moved, one.type)
    if one.type == DATE:
        return _Typed(_binary(exp.Add, one.node, _cast(_number(micros // _UNITS["DAY"]), "INT")), DATE)
    return _Typed(_moment(_binary(exp.Add, _micros(one), _number(micros))), TIMESTAMP)


def _arithmetic(kind: type[exp.Binary], one: _Typed, other: _Typed) -> _Typed | None:
    """A sum, difference or product of numbers; with a double it is one."""
    if one.null and other.number:
        one = _Typed(_cast(one.node, _engine_type(other.type)), other.type)
    if other.null and one.number:
        other = _Typed(_cast(other.node, _engine_type(one.type)), one.type)
    if not one.number or not other.number:
        return None
    if one.type.step is None or other.type.step is None:
        return _Typed(_binary(kind, _cast(one.node, "DOUBLE"), _cast(other.node, "DOUBLE")), DOUBLE)
    if one.whole and other.whole:
        return _Typed(_binary(kind, one.node, other.node), WHOLE)
    if kind is exp.Mul:
        found = _decimal(_scale(one.type) + _scale(other.type))
        sides = [_cast(side.node, f"DECIMAL({DIGITS}, {_scale(side.type)})") for side in (one, other)]
        return _Typed(_binary(kind, *sides), found)
    found = _decimal(max(_scale(one.type), _scale(other.type)))
    sides = [_cast(side.node, _engine_type(found)) for side in (one, other)]
    return _Typed(_binary(kind, *sides), found)


def _product(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    return _arithmetic(exp.Mul, of(node.this), of(node.expression))


def _quotient(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    one, other = of(node.this), of(node.expression)
    if not all(side.number or side.null for side in (one, other)):
        return None
    left, right = _cast(one.node, "DOUBLE"), _cast(other.node, "DOUBLE")
    zero = exp.EQ(this=right.copy(), expression=_cast(_number(0), "DOUBLE"))
    return _Typed(_where(zero, exp.Null(), _binary(exp.Div, left, right)), DOUBLE)


def _whole_quotient(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    one, other = of(node.this), of(node.expression)
    if not (one.whole and other.whole):
        return None
    zero = exp.EQ(this=other.node.copy(), expression=_number(0))
    return _Typed(_where(zero, exp.Null(), _binary(exp.IntDiv, one.node, other.node)), WHOLE)


def _remainder(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    sides = node.expressions if isinstance(node, exp.Anonymous) else (node.this, node.expression)
    one, other = (of(side) for side in sides)
    if not (one.whole and other.whole):
        return None
    zero = exp.EQ(this=other.node.copy(), expression=_number(0))
    found = _binary(exp.Mod, one.node, other.node)
    if is_pmod(node):
        # Spark: what is negative has the divisor added, and its remainder taken again.
        again = _binary(exp.Mod, _binary(exp.Add, found, other.node), other.node)
        found = _where(exp.LT(this=found.copy(), expression=_number(0)), again, found)
    return _Typed(_where(zero, exp.Null(), found), WHOLE)


def _compared(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    pair = _alike(of(node.this), of(node.expression))
    if pair is None:
        return None
    if isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ)):
        return _Typed(_binary(type(node), pair[0].node, pair[1].node), BOOLEAN)
    return _Typed(_binary(type(node), pair[0].node, pair[1].node), BOOLEAN)  # type: ignore[arg-type]


def _alike(one: _Typed, other: _Typed) -> tuple[_Typed, _Typed] | None:
    """Two values as those of one type; None if there is none that all dialects agree on."""
    for left, right in ((one, other), (other, one)):
        literal = isinstance(left.node, exp.Literal) and left.node.is_string
        if literal and right.type in (DATE, TIMESTAMP):
            found = _typed_literal(left.node.name, right.type)
            if found is None:
                return None
            return (found, right) if left is one else (right, found)
    if one.null:
        return _Typed(_cast(exp.Null(), _engine_type(other.type)), other.type), other
    if other.null:
        return one, _Typed(_cast(exp.Null(), _engine_type(one.type)), one.type)
    if {one.type, other.type} == {DATE, TIMESTAMP}:
        sides = [
            s if s.type == TIMESTAMP else _Typed(_cast(s.node, "TIMESTAMP"), TIMESTAMP) for s in (one, other)
        ]
        return sides[0], sides[1]
    if one.family is not other.family:
        return None
    if one.number and one.type != other.type:
        dense = one.type.step is None or other.type.step is None
        kind = DOUBLE if dense else _decimal(max(_scale(one.type), _scale(other.type)))
        sides = [_Typed(_cast(side.node, _engine_type(kind)), kind) for side in (one, other)]
        return sides[0], sides[1]
    return one, other


def _typed_literal(text: str, kind: Type) -> _Typed | None:
    try:
        value = kind.encode(text)
    except DataError:
        return None
    if kind == DATE:
        return _Typed(_cast(exp.Literal.string(str(kind.decode(value))), "DATE"), DATE)
    return _Typed(_moment(_number(int(value or 0))), TIMESTAMP)


def _same(parts: list[_Typed]) -> list[_Typed] | None:
    """Values as those of one type."""
    kind = parts[0]
    for part in parts[1:]:
        pair = _alike(kind, part)
        if pair is None:
            return None
        kind = pair[0]
    made = []
    for part in parts:
        pair = _alike(part, kind)
        if pair is None:
            return None
        made.append(pair[0])
    return made


def _logic(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    sides = [of(node.this), of(node.expression)]
    if not all(side.type == BOOLEAN or side.null for side in sides):
        return None
    return _Typed(_binary(type(node), *(_cast(side.node, "BOOLEAN") for side in sides)), BOOLEAN)  # type: ignore[arg-type]


def _not(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    inner = of(node.this)
    if inner.type != BOOLEAN and not inner.null:
        return None
    return _Typed(exp.Paren(this=exp.Not(this=exp.Paren(this=_cast(inner.node, "BOOLEAN")))), BOOLEAN)


def _is(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    inner, what = of(node.this), node.expression
    negated = isinstance(what, exp.Not)
    what = what.this if negated else what
    if not isinstance(what, (exp.Null, exp.Boolean)) or (
        isinstance(what, exp.Boolean) and inner.type != BOOLEAN
    ):
        return None
    made: exp.Expr = exp.Paren(this=exp.Is(this=exp.Paren(this=inner.node.copy()), expression=what.copy()))
    return _Typed(exp.Paren(this=exp.Not(this=made)) if negated else made, BOOLEAN)


def _in(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    if node.args.get("query") or not node.expressions or node.args.get("unnest") or node.args.get("field"):
        return None
    same = _same([of(node.this), *map(of, node.expressions)])
    if same is None:
        return None
    first, *others = (part.node.copy() for part in same)
    return _Typed(exp.Paren(this=exp.In(this=first, expressions=others)), BOOLEAN)


def _between(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    if node.args.get("symmetric"):
        return None
    low = _alike(of(node.this), of(node.args["low"]))
    high = _alike(of(node.this), of(node.args["high"]))
    if low is None or high is None:
        return None
    ends = [_binary(exp.GTE, low[0].node, low[1].node), _binary(exp.LTE, high[0].node, high[1].node)]
    return _Typed(_binary(exp.And, *ends), BOOLEAN)


def _case(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    subject = node.this if isinstance(node, exp.Case) else None
    ifs = node.args.get("ifs") or [node]
    conditions, values = [], []
    for one in ifs:
        asked = one.this if subject is None else exp.EQ(this=subject.copy(), expression=one.this.copy())
        condition = of(asked)
        if condition.type != BOOLEAN and not condition.null:
            return None
        conditions.append(_cast(condition.node, "BOOLEAN"))
        values.append(of(one.args["true"]))
    other = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
    same = _same([*values, _Typed(exp.Null(), NULL) if other is None else of(other)])
    if same is None:
        return None
    made = exp.case()
    for test, value in zip(conditions, same[:-1], strict=True):
        made = made.when(test, value.node.copy())
    return _Typed(exp.Paren(this=made.else_(same[-1].node.copy())), same[0].type)


def _coalesce(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    same = _same([of(part) for part in (node.this, *node.expressions)])
    return None if same is None else _Typed(_call("COALESCE", *(p.node for p in same)), same[0].type)


def _null_if(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    one = of(node.this)
    pair = _alike(one, of(node.expression))
    if pair is None:
        return None
    equal = exp.EQ(this=pair[0].node.copy(), expression=pair[1].node.copy())
    return _Typed(_where(equal, exp.Null(), one.node), one.type)


def _like(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    one, pattern = of(node.this), node.expression
    # A backslash escapes in some dialects only.
    if one.type != STRING or not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return None
    if "\\" in pattern.name:
        return None
    return _Typed(_binary(exp.Like, one.node, exp.Literal.string(pattern.name)), BOOLEAN)


def _strings(name: str, result: Type) -> Callable[[exp.Expr, _Of, Columns], _Typed | None]:
    """A function of strings that the engine has under a name."""

    def compute(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
        given = [node.this, *(p for p in (node.args.get("expression"),) if p is not None)]
        if any(node.args.get(a) for a in ("position", "collation", "encoding", "binary", "where")):
            return None
        if isinstance(node, exp.Trim) and len(given) > 1:
            return None
        parts = [of(one) for one in given]
        if not all(part.type == STRING or part.null for part in parts):
            return None
        made = _call(name, *(_cast(part.node, "VARCHAR") for part in parts))
        return _Typed(_cast(made, "HUGEINT") if result == WHOLE else made, result)

    return compute


def _position(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    if any(node.args.get(part) for part in ("position", "occurrence", "instance", "clamp_position")):
        return None
    parts = [of(node.this), of(node.args["substr"])]
    if not all(part.type == STRING for part in parts):
        return None
    return _Typed(_cast(_call("INSTR", *(part.node for part in parts)), "HUGEINT"), WHOLE)


def _concatenated(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    given = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    if node.args.get("coalesce"):
        return None
    parts = [of(one) for one in given]
    texts = [_text(part) for part in parts]
    if not texts or any(text is None for text in texts):
        return None
    made, *others = (text for text in texts if text is not None)
    for other in others:
        made = _binary(exp.DPipe, made, other)
    return _Typed(made, STRING)


def _text(one: _Typed) -> exp.Expr | None:
    """A value as the text that every dialect writes; None of doubles, whose texts differ."""
    if (
        one.type in (STRING, WHOLE, DATE, TIMESTAMP, BOOLEAN)
        or one.null
        or (one.number and one.type.step is not None)
    ):
        return _cast(one.node, "VARCHAR")
    return None


def _piece(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    one = of(node.this)
    start, length = node.args.get("start"), node.args.get("length")
    if one.type != STRING or any(not _counted(part) for part in (start, length) if part is not None):
        return None
    # What is before the first character differs between dialects.
    if start is None or start.name == "0":
        return None
    parts = [_number(part.name) for part in (start, length) if part is not None]
    return _Typed(_call("SUBSTRING", one.node, *parts), STRING)


def _end(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    one = of(node.this)
    if one.type != STRING or not _counted(node.expression):
        return None
    name = "LEFT" if isinstance(node, exp.Left) else "RIGHT"
    return _Typed(_call(name, one.node, _number(node.expression.name)), STRING)


def _counted(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 9


def _replaced(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    given = [node.this, node.expression, node.args.get("replacement")]
    parts = [of(one) for one in given if one is not None]
    if len(parts) < 3 or any(part.type != STRING for part in parts):
        return None
    return _Typed(_call("REPLACE", *(part.node for part in parts)), STRING)


def _split(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    one, delimiter, place = of(node.this), node.args["delimiter"], node.args["part_index"]
    if one.type != STRING or not (
        isinstance(delimiter, exp.Literal) and delimiter.is_string and delimiter.name
    ):
        return None
    # What an empty delimiter or place 0 means differs between dialects.
    if not _counted(place) or int(place.name) == 0:
        return None
    return _Typed(_call("SPLIT_PART", one.node, delimiter, _number(place.name)), STRING)


def _extracted(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    """A group of the first match of a pattern, or an empty string."""
    one, given, group = of(node.this), node.expression, node.args.get("group")
    if any(node.args.get(part) for part in ("position", "occurrence", "parameters")) or one.type != STRING:
        return None
    if group is None or not _counted(group) or not (isinstance(given, exp.Literal) and given.is_string):
        return None
    pattern = _pattern(given.name)
    if pattern is None or int(group.name) > min(pattern.count("("), 9):
        return None
    return _Typed(_call("REGEXP_EXTRACT", one.node, exp.Literal.string(pattern), _number(group.name)), STRING)


def _found(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    """Whether a pattern is found anywhere."""
    one, pattern = of(node.this), _given_pattern(node.expression)
    if one.type != STRING or pattern is None or node.args.get("flag") or node.args.get("full_match"):
        return None
    return _Typed(_call("REGEXP_MATCHES", one.node, pattern), BOOLEAN)


def _exchanged(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    """All matches of a pattern in place of which a text stands."""
    one, pattern, by = of(node.this), _given_pattern(node.expression), node.args.get("replacement")
    if any(node.args.get(part) for part in ("position", "occurrence", "modifiers")) or one.type != STRING:
        return None
    if pattern is None or not (isinstance(by, exp.Literal) and by.is_string):
        return None
    # Engines differ in matches of nothing, and in what stands for a group.
    if re.search(node.expression.name, "") or any(sign in by.name for sign in "\\$"):
        return None
    text = exp.Literal.string(by.name)
    return _Typed(_call("REGEXP_REPLACE", one.node, pattern, text, exp.Literal.string("g")), STRING)


def _given_pattern(node: exp.Expr) -> exp.Expr | None:
    if not isinstance(node, exp.Literal) or not node.is_string:
        return None
    pattern = _pattern(node.name)
    return None if pattern is None else exp.Literal.string(pattern)


def _element(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    """One of the parts of a text between delimiters, NULL of none."""
    inner = node.this
    if not isinstance(inner, exp.RegexpSplit) or len(node.expressions) != 1 or inner.args.get("limit"):
        return None
    one, delimiter, place = of(inner.this), inner.expression, node.expressions[0]
    if (
        one.type != STRING
        or not _counted(place)
        or not (
            isinstance(delimiter, exp.Literal)
            and delimiter.is_string
            and _DELIMITER.fullmatch(delimiter.name)
        )
    ):
        return None
    parts = _call("STRING_SPLIT", one.node, delimiter)
    return _Typed(_call("LIST_EXTRACT", parts, _number(int(place.name) + 1)), STRING)


def _padded(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    one, length = of(node.this), node.expression
    filled = node.args.get("fill_pattern") or exp.Literal.string(" ")
    if one.type != STRING or not _counted(length) or not isinstance(filled, exp.Literal):
        return None
    if not filled.is_string or not filled.name:
        return None
    name = "LPAD" if node.args.get("is_left") else "RPAD"
    return _Typed(_call(name, one.node, _cast(_number(length.name), "INT"), filled), STRING)


def _pattern(text: str) -> str | None:
    """A regular expression that all engines read alike, any character not being the end of a line.

    >>> _pattern("^([a-z]+)/[0-9]{2}")
    '^([a-z]+)/[0-9]{2}'
    >>> _pattern("a$") is None
    True
    """
    if not _ALIKE.fullmatch(text):
        return None
    try:
        re.compile(text)
    except re.error:
        return None
    parts = _PIECE.findall(text)
    return "".join(_NO_LINE_END if part == "." else part for part in parts)


def _formatted(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    """A moment as text, of parts with leading zeros."""
    inner, given = node.this, node.args.get("format")
    one = of(inner.this if isinstance(inner, exp.TimeStrToTime) else inner)
    if one.type not in (DATE, TIMESTAMP) or not isinstance(given, exp.Literal):
        return None
    if not _WRITTEN.fullmatch(given.name):
        return None
    pattern = exp.Literal.string(given.name.replace("strict", ""))
    return _Typed(_call("STRFTIME", _cast(one.node, "TIMESTAMP"), pattern), STRING)


def _absolute(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    inner = of(node.this)
    return _Typed(_call("ABS", inner.node), inner.type) if inner.number else None


def _rounded(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    """Half away from zero, by the shortest decimal that is the number, as Spark does."""
    inner, digits = of(node.this), node.args.get("decimals")
    if not inner.number or node.args.get("truncate") or not (digits is None or _counted(digits)):
        return None
    scale = 0 if digits is None else int(digits.name)
    if inner.type.step is not None:
        if _scale(inner.type) <= scale:
            return inner
        return _Typed(_cast(inner.node, f"DECIMAL({DIGITS}, {scale})"), _decimal(scale))
    if scale > 15:
        return None
    exact = _cast(_try_cast(_cast(inner.node, "VARCHAR"), f"DECIMAL({DIGITS}, {scale})"), "DOUBLE")
    near = exp.LT(this=_call("ABS", inner.node), expression=_cast(_number(_WHOLE_DOUBLES), "DOUBLE"))
    return _Typed(_where(near, exact, inner.node), DOUBLE)


def _floor(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    inner = of(node.this)
    if not inner.number or node.args.get("decimals") or node.args.get("to"):
        return None
    if inner.whole:
        return inner
    name = "FLOOR" if isinstance(node, exp.Floor) else "CEIL"
    return _Typed(_try_cast(_call(name, inner.node), "HUGEINT"), WHOLE)


def _root(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    inner = of(node.this)
    if not inner.number:
        return None
    given = _cast(inner.node, "DOUBLE")
    negative = exp.LT(this=given.copy(), expression=_cast(_number(0), "DOUBLE"))
    return _Typed(_where(negative, _cast(exp.Literal.string("nan"), "DOUBLE"), _call("SQRT", given)), DOUBLE)


def _part_of(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    if isinstance(node, exp.Extract):
        unit, one = node.this.name.upper(), of(node.expression)
        if unit in (*_FROM_SUNDAY, *_FROM_MONDAY):
            return _week_day(one, unit in _FROM_SUNDAY)
        name = _PARTS.get(unit)
    else:
        name, one = _PART_CALLS.get(type(node)), of(node.this)
    if name is None or one.type not in (DATE, TIMESTAMP) or (one.type == DATE and name in _OF_DAY):
        return None
    return _Typed(_cast(_call(name, one.node), "HUGEINT"), WHOLE)


def _day_of_week(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    return _week_day(of(node.this), True)


def _week_day(one: _Typed, from_sunday: bool) -> _Typed | None:
    if one.type not in (DATE, TIMESTAMP):
        return None
    if not from_sunday:
        return _Typed(_cast(_call("ISODOW", one.node), "HUGEINT"), WHOLE)
    return _Typed(_binary(exp.Add, _cast(_call("DAYOFWEEK", one.node), "HUGEINT"), _number(1)), WHOLE)


def _cut(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    unit, one = node.args.get("unit"), of(node.this)
    name = "" if unit is None else unit.name.upper()
    if name not in _TRUNCATED or node.args.get("zone") or one.type not in (DATE, TIMESTAMP):
        return None
    made = _call("DATE_TRUNC", exp.Literal.string(name.lower()), _cast(one.node, "TIMESTAMP"))
    return _Typed(_cast(made, "TIMESTAMP"), TIMESTAMP)


def _day(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    one = of(node.this)
    if node.args.get("format") or node.args.get("zone") or one.type not in (DATE, TIMESTAMP):
        return None
    return _Typed(_cast(one.node, "DATE"), DATE)


def _days(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    """Days added to a date, or between two."""
    one, other = of(node.this), of(node.expression)
    if isinstance(node, exp.DateDiff):
        if node.args.get("unit") or not all(side.type in (DATE, TIMESTAMP) for side in (one, other)):
            return None
        days = [_cast(side.node, "DATE") for side in (other, one)]
        return _Typed(_cast(_call("DATE_DIFF", exp.Literal.string("day"), *days), "HUGEINT"), WHOLE)
    unit = node.args.get("unit")
    if one.type not in (DATE, TIMESTAMP) or not other.whole or (unit is not None and unit.name != "DAY"):
        return None
    kind = exp.Add if isinstance(node, (exp.DateAdd, exp.TsOrDsAdd)) else exp.Sub
    return _Typed(_binary(kind, _cast(one.node, "DATE"), _cast(other.node, "INT")), DATE)


def _units_between(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    """Whole units between two moments, rounded toward zero."""
    unit = str(node.args.get("unit") or "").upper().rstrip("S")
    one, other = of(node.this), of(node.expression)
    if unit not in _UNITS or not all(side.type in (DATE, TIMESTAMP) for side in (one, other)):
        return None
    found = _binary(exp.Sub, _micros(one), _micros(other))
    return _Typed(_binary(exp.IntDiv, found, _number(_UNITS[unit])), WHOLE)


def _converted_to(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    one, to = of(node.this), node.args["to"]
    if node.args.get("format"):
        return None
    if to.this in _TO_INTEGER:
        return _to_integer(one, _WIDTHS[to.this])
    if to.this == exp.DType.DOUBLE:
        return _to_double(one)
    if to.this == exp.DType.DECIMAL and len(to.expressions) == 2 and one.number and one.type.step is not None:
        precision, scale = (int(part.name) for part in to.expressions)
        kind = parse_type(f"decimal({precision},{scale})") if scale else WHOLE
        wide = _cast(one.node, f"DECIMAL({DIGITS}, {scale})")
        return _Typed(
            _cast(_try_cast(wide, f"DECIMAL({precision}, {scale})"), _engine_type(kind)), _decimal(scale)
        )
    if to.this in exp.DataType.TEXT_TYPES and not to.expressions:
        made = _text(one)
        return None if made is None else _Typed(made, STRING)
    if to.this == exp.DType.BOOLEAN:
        if one.whole:
            return _Typed(_binary(exp.NEQ, one.node, _number(0)), BOOLEAN)
        return _Typed(_cast(one.node, "BOOLEAN"), BOOLEAN) if one.type == BOOLEAN or one.null else None
    if to.this in (exp.DType.DATE, exp.DType.DATE32) and one.type in (DATE, TIMESTAMP):
        return _Typed(_cast(one.node, "DATE"), DATE)
    stamps = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ)
    if to.this in stamps and one.type in (DATE, TIMESTAMP):
        return _Typed(_cast(one.node, "TIMESTAMP"), TIMESTAMP)
    literal = isinstance(one.node, exp.Literal) and one.node.is_string
    if literal and to.this in (exp.DType.DATE, *stamps):
        return _typed_literal(one.node.name, DATE if to.this == exp.DType.DATE else TIMESTAMP)
    return None


def _to_integer(one: _Typed, bits: int) -> _Typed | None:
    """Toward zero; NULL of what is no number of the type."""
    if one.type == BOOLEAN:
        return _Typed(_cast(_cast(one.node, "INT"), "HUGEINT"), WHOLE)
    if one.number and not one.whole:
        found = _try_cast(_call("TRUNC", one.node), "HUGEINT")
    elif one.type == STRING:
        text = _call("TRIM", one.node)
        digits = _call("REGEXP_FULL_MATCH", text, exp.Literal.string(_NUMBER))
        whole = _call("SPLIT_PART", text, exp.Literal.string("."), _number(1))
        counted = _call("COALESCE", _try_cast(whole, "HUGEINT"), _cast(_number(0), "HUGEINT"))
        found = _where(digits, counted, exp.Null())
    elif one.whole or one.null:
        found = _cast(one.node, "HUGEINT")
    else:
        return None
    ends = [_cast(exp.Literal.string(str(end)), "HUGEINT") for end in (-(2**bits), 2**bits - 1)]
    fits = exp.Between(this=found.copy(), low=ends[0], high=ends[1])
    return _Typed(_where(fits, found, exp.Null()), WHOLE)


def _to_double(one: _Typed) -> _Typed | None:
    """NULL of a text that is no number; a hexadecimal one is refused where it comes."""
    if one.type == STRING:
        text = _call("LOWER", _call("TRIM", one.node))
        digits = exp.Literal.string(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?[df]?")
        number = _try_cast(_call("RTRIM", text, exp.Literal.string("df")), "DOUBLE")
        made = exp.case().when(_call("REGEXP_FULL_MATCH", text, digits), number)
        for word, value in _SPECIAL.items():
            for sign in ("", "+", "-"):
                said = exp.EQ(this=text.copy(), expression=exp.Literal.string(sign + word))
                made = made.when(said, _cast(exp.Literal.string(sign.strip("+") + value), "DOUBLE"))
        odd = _call("REGEXP_FULL_MATCH", text, exp.Literal.string("[+-]?0x[0-9a-f.]*p[+-]?[0-9]+[df]?"))
        made = made.when(odd, _call("ERROR", exp.Literal.string("a hexadecimal number in a text")))
        return _Typed(exp.Paren(this=made.else_(exp.Null())), DOUBLE)
    return _Typed(_cast(one.node, "DOUBLE"), DOUBLE) if one.number or one.null else None


def _called(node: exp.Expr, of: _Of, columns: Columns) -> _Typed | None:
    if is_pmod(node):
        return _remainder(node, of, columns)
    if str(node.this).upper() in (START, END):
        return _edge_of(node, of)
    return None


def _edge_of(node: exp.Expr, of: _Of) -> _Typed | None:
    """The start or the end of a row's last window: of a moment, its length, and how far windows are apart."""
    one, lengths = of(node.expressions[0]), node.expressions[1:]
    if not lengths or not all(part.name.isdigit() for part in lengths):
        return None
    size, *further = (int(part.name) for part in lengths)
    # Of windows that end one after the other all begin where the longest does.
    step = further[0] if len(further) == 1 else size
    if one.type == TIMESTAMP:
        # Quicker than with unbounded numbers.
        moment: exp.Expr = _call("EPOCH_US", one.node)
    elif one.whole:
        moment = one.node
    else:
        return None
    by = _number(step)
    past = _binary(exp.Mod, _binary(exp.Add, _binary(exp.Mod, moment, by), by), by)
    found = _binary(exp.Sub, moment, past)
    if str(node.this).upper() == END:
        found = _binary(exp.Add, found, _number(size))
    return _Typed(found if one.whole else _moment(found), one.type)


_Compute = Callable[[exp.Expr, _Of, Columns], _Typed | None]
_COMPUTED: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], _Compute], ...] = (
    (exp.Paren, _paren),
    (exp.Column, _column),
    (exp.Literal, _literal),
    ((exp.Null, exp.Boolean), _constant),
    (exp.Neg, _negated),
    (exp.Interval, _length),
    ((exp.Add, exp.Sub), _sum),
    (exp.Mul, _product),
    (exp.IntDiv, _whole_quotient),
    (exp.Div, _quotient),
    (exp.Mod, _remainder),
    ((*_COMPARED, exp.NullSafeEQ, exp.NullSafeNEQ), _compared),
    ((exp.And, exp.Or), _logic),
    (exp.Not, _not),
    (exp.Is, _is),
    (exp.In, _in),
    (exp.Between, _between),
    ((exp.Case, exp.If), _case),
    (exp.Coalesce, _coalesce),
    (exp.Nullif, _null_if),
    (exp.Like, _like),
    (exp.Lower, _strings("LOWER", STRING)),
    (exp.Upper, _strings("UPPER", STRING)),
    (exp.Trim, _strings("TRIM", STRING)),
    (exp.Length, _strings("LENGTH", WHOLE)),
    (exp.Reverse, _strings("REVERSE", STRING)),
    (exp.StartsWith, _strings("STARTS_WITH", BOOLEAN)),
    (exp.EndsWith, _strings("ENDS_WITH", BOOLEAN)),
    (exp.Contains, _strings("CONTAINS", BOOLEAN)),
    (exp.StrPosition, _position),
    ((exp.Concat, exp.DPipe), _concatenated),
    (exp.Substring, _piece),
    ((exp.Left, exp.Right), _end),
    (exp.Replace, _replaced),
    (exp.SplitPart, _split),
    (exp.RegexpExtract, _extracted),
    (exp.RegexpLike, _found),
    (exp.RegexpReplace, _exchanged),
    (exp.Bracket, _element),
    (exp.Pad, _padded),
    (exp.TimeToStr, _formatted),
    (exp.Abs, _absolute),
    (exp.Round, _rounded),
    ((exp.Floor, exp.Ceil), _floor),
    (exp.Sqrt, _root),
    (exp.DayOfWeek, _day_of_week),
    ((exp.Extract, *_PART_CALLS), _part_of),
    ((exp.TimestampTrunc, exp.DateTrunc), _cut),
    ((exp.TsOrDsToDate, exp.Date), _day),
    (exp.TimestampDiff, _units_between),
    ((exp.DateDiff, exp.DateAdd, exp.DateSub, exp.TsOrDsAdd), _days),
    (exp.Cast, _converted_to),
    (exp.Anonymous, _called),
)
