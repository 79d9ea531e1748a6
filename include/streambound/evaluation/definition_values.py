"""The values of expressions by the definition: row by row, in plain Python, as Spark SQL means them.

Nothing is used of the engines' way, ``query.computing`` and DuckDB. What is shared is what both are given:
the formula as text, sqlglot's parser of Spark SQL, the types of columns and how they encode values
(``query.column_types``). Numbers are exact or doubles, a quotient of ``/`` is a double, division by zero and
a text that is no number are NULL, and NaN equals itself and is the largest number. Formulas come from the
model, which refuses what is not computed, so nothing is checked here again.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from sqlglot import expressions as exp
from sqlglot import parse_one

from streambound.errors import DataError, UnsupportedError
from streambound.evaluation import definition_functions as scalar
from streambound.query.column_types import Family, NotANumber, Type, Value, parse_type
from streambound.query.windows import END, START

# What a value is: a Python type, or of exact numbers their digits after the point; None of NULL.
Kind: TypeAlias = type | int | None
Row: TypeAlias = Mapping[str, Any]

_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime(1970, 1, 1)
_UNITS = {
    **{"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000},
    **{"HOUR": 3_600_000_000, "DAY": 86_400_000_000, "WEEK": 7 * 86_400_000_000},
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_SINCE_1970 = {"TIMESTAMP_SECONDS": 1_000_000, "TIMESTAMP_MILLIS": 1_000, "TIMESTAMP_MICROS": 1}
_BITS = {exp.DType.TINYINT: 7, exp.DType.SMALLINT: 15, exp.DType.INT: 31, exp.DType.BIGINT: 63}
_JSON_STEP = re.compile(r'\."([^"]*)"|\.(\w+)|\[(\d+)\]')


@dataclass(frozen=True)
class Term:
    """An expression: of what kind its values are, and its value in a row."""

    kind: Kind
    value: Callable[[Row], Any]


def over_columns(formula: str, types: Mapping[str, Type], result: Type) -> Callable[[Row], Value | None]:
    """What gives the value (encoded) of a formula in Spark SQL from the encoded values of a row, by column.

    Raises:
        UnsupportedError: the formula has what is not computed.
        DataError: (of what it gives) a value has no place in its type.
    """
    return _over_columns(formula, tuple(types.items()), result)


@lru_cache(maxsize=1024)
def _over_columns(
    formula: str, types: tuple[tuple[str, Type], ...], result: Type
) -> Callable[[Row], Value | None]:
    term = _term(parse_one(formula, dialect="spark"), dict(types))
    made = term if result.family is Family.NUMBER else _as_kind(term, _kind_of(result))

    def value(row: Row) -> Value | None:
        try:
            return _encoded(made.value(row), result)
        except (ArithmeticError, ValueError) as error:
            raise DataError(f"{formula} cannot be computed: {error}") from None

    return value


def _encoded(value: Any, kind: Type) -> Value | None:
    if value is None or (
        isinstance(value, int) and kind.family is Family.NUMBER and kind.resolution is not None
    ):
        return value
    if kind.family is Family.NUMBER and kind.resolution is None:
        # Minus zero is zero.
        return kind.encode(float(value) + 0.0)
    return kind.encode(value)


def _kind_of(kind: Type) -> Kind:
    if kind.family is Family.NUMBER:
        return float if kind.resolution is None else len(str(kind.resolution.denominator)) - 1
    types: dict[Family, Kind] = {
        **{Family.BOOLEAN: bool, Family.DATE: dt.date, Family.TIMESTAMP: dt.datetime},
    }
    return types.get(kind.family, str)


def _number(kind: Kind) -> bool:
    return kind is float or isinstance(kind, int)


def _common(kinds: Sequence[Kind]) -> Kind:
    """The kind of values of several: with a double a double, else the most digits after the point."""
    present = [kind for kind in kinds if kind is not None]
    if not present:
        return None
    scales = [kind for kind in present if isinstance(kind, int)]
    if scales:
        return float if float in present else max(scales)
    # A text beside times is a literal of them.
    return next((kind for kind in (dt.datetime, dt.date) if kind in present), present[0])


def _as_kind(term: Term, kind: Kind) -> Term:
    """The same as values of a kind that holds them."""
    if term.kind == kind or kind is None:
        return term
    if kind is float:
        return Term(kind, _strict(float, term))
    if kind is dt.datetime and term.kind is dt.date:
        return Term(kind, _strict(scalar.midnight, term))
    if kind in (dt.date, dt.datetime) and term.kind is str:
        written = parse_type("date" if kind is dt.date else "timestamp")
        return Term(kind, _strict(lambda text: _decoded(written.encode(text), written), term))
    return Term(kind, term.value)


def _decoded(value: Value | None, kind: Type) -> Any:
    """An encoded value as it is computed with."""
    if isinstance(value, NotANumber):
        return math.nan
    if value is None or kind.family in (Family.NUMBER, Family.STRING, Family.TIME):
        return value
    decoded = kind.decode(value)
    return decoded.replace(tzinfo=None) if isinstance(decoded, dt.datetime) else decoded


def _strict(function: Callable[..., Any], *terms: Term) -> Callable[[Row], Any]:
    """A function that is NULL where one of its arguments is."""

    def value(row: Row) -> Any:
        values = [term.value(row) for term in terms]
        return None if None in values else function(*values)

    return value


def _term(node: exp.Expr, types: Mapping[str, Type]) -> Term:
    """An expression over columns of some types."""
    if isinstance(node, exp.Column):
        name, column_type = node.name, types[node.name]
        return Term(_kind_of(column_type), lambda row: _decoded(row[name], column_type))
    if isinstance(node, (exp.Literal, exp.Null, exp.Boolean, exp.Interval)):
        return _constant(node)

    def of(part: exp.Expr) -> Term:
        return _term(part, types)

    for nodes, rule in _RULES:
        if isinstance(node, nodes):
            return rule(node, of)
    for nodes, kind, arguments, function in _FUNCTIONS:
        if isinstance(node, nodes):
            given = [of(node.args[name]) for name in arguments if node.args.get(name) is not None]
            return Term(kind, _strict(function, *given))
    raise UnsupportedError(f"the definition does not compute {node.sql(dialect='spark')}")


Of: TypeAlias = Callable[[exp.Expr], Term]


def _constant(node: exp.Expr) -> Term:
    if isinstance(node, exp.Interval):
        span = _span(node)
        return Term(
            scalar.Span if span.months else dt.timedelta, lambda row: span if span.months else span.length
        )
    if not isinstance(node, exp.Literal):
        truth = None if isinstance(node, exp.Null) else bool(node.this)
        return Term(None if truth is None else bool, lambda row: truth)
    text = node.name
    if node.is_string:
        return Term(str, lambda row: text)
    if not text.replace(".", "", 1).isdigit():
        return Term(float, lambda row: float(text))
    whole, _, fraction = text.partition(".")
    exact = scalar.plain(Fraction(f"{whole or 0}.{fraction or 0}"))
    return Term(len(fraction), lambda row: exact)


def _span(node: exp.Expr) -> scalar.Span:
    amount, sign = node.this, 1
    while isinstance(amount, (exp.Neg, exp.Paren)):
        amount, sign = amount.this, -sign if isinstance(amount, exp.Neg) else sign
    number = sign * int(amount.name.replace(" ", ""))
    unit = node.args["unit"].name.upper().rstrip("S")
    if unit in _MONTHS:
        return scalar.Span(number * _MONTHS[unit], dt.timedelta())
    return scalar.Span(0, number * _UNITS[unit] * _MICROSECOND)


# Numbers.


def _negated(node: exp.Expr, of: Of) -> Term:
    inner = of(node.this)
    return Term(inner.kind, _strict(operator.neg, inner))


def _arithmetic(node: exp.Expr, of: Of) -> Term:
    left, right = of(node.this), of(node.expression)
    function = {exp.Add: operator.add, exp.Sub: operator.sub, exp.Mul: operator.mul}[type(node)]  # type: ignore[index]
    if _number(left.kind) or _number(right.kind):
        kind = _common([left.kind, right.kind])
        if kind is float:
            return Term(kind, _strict(function, _as_kind(left, kind), _as_kind(right, kind)))
        scales = [side.kind for side in (left, right) if isinstance(side.kind, int)]
        scale = sum(scales) if isinstance(node, exp.Mul) else max(scales)
        return Term(
            scale, _strict(lambda a, b: scalar.within(scalar.plain(function(a, b)), scale), left, right)
        )
    if left.kind in (scalar.Span, dt.timedelta) and right.kind in (dt.date, dt.datetime):
        left, right = right, left
    if left.kind in (dt.date, dt.datetime) and right.kind in (scalar.Span, dt.timedelta):
        return Term(left.kind, _strict(lambda moment, by: scalar.moved(moment, by, function), left, right))
    return Term(dt.timedelta, _strict(function, left, right))


def _quotient(node: exp.Expr, of: Of) -> Term:
    sides = [_as_kind(of(side), float) for side in (node.this, node.expression)]
    return Term(float, _strict(scalar.divided, *sides))


def _absolute(node: exp.Expr, of: Of) -> Term:
    inner = of(node.this)
    return Term(inner.kind, _strict(abs, inner))


def _rounded(node: exp.Expr, of: Of) -> Term:
    inner, decimals = of(node.this), node.args.get("decimals")
    digits = 0 if decimals is None else int(decimals.name)
    if isinstance(inner.kind, int):
        return Term(min(inner.kind, digits), _strict(lambda number: scalar.half_away(number, digits), inner))

    def near(number: float) -> float:
        # Doubles from here on are whole numbers; of others the shortest decimal that is the number counts.
        if not abs(number) < 2**52:
            return number
        return float(scalar.half_away(Fraction(repr(number)), digits))

    return Term(float, _strict(near, inner))


# Logic.


_COMPARED: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
}


def _comparison(test: Callable[[Any, Any], bool], left: Term, right: Term) -> Term:
    kind = _common([left.kind, right.kind])
    sides = (_as_kind(left, kind), _as_kind(right, kind))
    return Term(bool, _strict(lambda a, b: test(scalar.ordered(a), scalar.ordered(b)), *sides))


def _compared(node: exp.Expr, of: Of) -> Term:
    return _comparison(_COMPARED[type(node)], of(node.this), of(node.expression))


def _null_safe(node: exp.Expr, of: Of) -> Term:
    left, right = of(node.this), of(node.expression)
    equal, wanted = _comparison(operator.eq, left, right), isinstance(node, exp.NullSafeEQ)

    def value(row: Row) -> bool:
        same = equal.value(row)
        both = left.value(row) is None and right.value(row) is None
        return (both if same is None else same) is wanted

    return Term(bool, value)


def _both(node: exp.Expr, of: Of) -> Term:
    left, right = of(node.this), of(node.expression)
    decisive = isinstance(node, exp.Or)

    def value(row: Row) -> bool | None:
        values = (left.value(row), right.value(row))
        return decisive if decisive in values else None if None in values else not decisive

    return Term(bool, value)


def _not(node: exp.Expr, of: Of) -> Term:
    return Term(bool, _strict(operator.not_, of(node.this)))


def _is(node: exp.Expr, of: Of) -> Term:
    inner, what = of(node.this), node.expression
    negated = isinstance(what, exp.Not)
    constant = _constant(what.this if negated else what).value({})
    return Term(bool, lambda row: (inner.value(row) is constant) is not negated)


def _in(node: exp.Expr, of: Of) -> Term:
    value = of(node.this)
    equal = [_comparison(operator.eq, value, of(member)) for member in node.expressions]

    def any_of(row: Row) -> bool | None:
        same = [test.value(row) for test in equal]
        return True if True in same else None if None in same else False

    return Term(bool, any_of)


def _between(node: exp.Expr, of: Of) -> Term:
    low = _comparison(operator.ge, of(node.this), of(node.args["low"]))
    high = _comparison(operator.le, of(node.this), of(node.args["high"]))

    def value(row: Row) -> bool | None:
        values = (low.value(row), high.value(row))
        return False if False in values else None if None in values else True

    return Term(bool, value)


def _case(node: exp.Expr, of: Of) -> Term:
    branches = node.args.get("ifs") or [node]
    otherwise = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
    subject = of(node.this) if isinstance(node, exp.Case) and node.this is not None else None
    tests = [of(branch.this) for branch in branches]
    if subject is not None:
        tests = [_comparison(operator.eq, subject, test) for test in tests]
    values = [of(branch.args["true"]) for branch in branches]
    values.append(of(exp.Null() if otherwise is None else otherwise))
    kind = _common([value.kind for value in values])
    *chosen, last = [_as_kind(value, kind) for value in values]

    def value(row: Row) -> Any:
        for test, result in zip(tests, chosen, strict=True):
            if test.value(row):
                return result.value(row)
        return last.value(row)

    return Term(kind, value)


def _coalesce(node: exp.Expr, of: Of) -> Term:
    parts = [of(part) for part in (node.this, *node.expressions)]
    kind = _common([part.kind for part in parts])
    same = [_as_kind(part, kind) for part in parts]
    return Term(kind, lambda row: next((v for part in same if (v := part.value(row)) is not None), None))


def _null_if(node: exp.Expr, of: Of) -> Term:
    value = of(node.this)
    equal = _comparison(operator.eq, value, of(node.expression))
    return Term(value.kind, lambda row: None if equal.value(row) else value.value(row))


# Texts.


def _text(term: Term) -> Term:
    """A value as SQL writes it."""
    scale = term.kind if isinstance(term.kind, int) else 0

    def written(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, dt.datetime):
            text = value.isoformat(" ", "microseconds")
            return text.rstrip("0").rstrip(".")
        if isinstance(value, (int, Fraction)):
            units = str(abs(int(value * 10**scale))).rjust(scale + 1, "0")
            whole, fraction = units[: len(units) - scale], units[len(units) - scale :]
            return "-" * (value < 0) + whole + (f".{fraction}" if scale else "")
        return str(value)

    return term if term.kind is str else Term(str, _strict(written, term))


def _concatenated(node: exp.Expr, of: Of) -> Term:
    parts = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    return Term(str, _strict(lambda *texts: "".join(texts), *(_text(of(part)) for part in parts)))


def _element(node: exp.Expr, of: Of) -> Term:
    split, (position,) = node.this, node.expressions
    at = int(position.name)

    def element(text: str, delimiter: str) -> str | None:
        parts = text.split(delimiter)
        return parts[at] if at < len(parts) else None

    return Term(str, _strict(element, of(split.this), of(split.expression)))


def _padded(node: exp.Expr, of: Of) -> Term:
    length, pattern = int(node.expression.name), node.args.get("fill_pattern")
    sign = " " if pattern is None else pattern.name

    def padded(text: str) -> str:
        missing = max(0, length - len(text))
        fill = (sign * missing)[:missing]
        return (fill + text if node.args.get("is_left") else text + fill)[:length]

    return Term(str, _strict(padded, of(node.this)))


# JSON.


def _at_path(node: exp.Expr, of: Of, fractions: bool = False) -> Term:
    """What lies at a path of a JSON text, as a text; of numbers with a fraction only where they are cast."""
    if isinstance(node, exp.Anonymous):
        source, path = node.expressions
        path_keys = [a or b or int(c) for a, b, c in _JSON_STEP.findall(path.name)]
    else:
        source = node.this
        path_keys = [part.this for part in node.expression.expressions[1:]]
    structures = not isinstance(node, exp.Anonymous)

    def lying(text: str) -> str | None:
        try:
            value = json.loads(text, parse_constant=scalar.no_json, object_pairs_hook=scalar.first_of_each)
        except ValueError:
            return None
        for key in path_keys:
            if isinstance(key, str):
                value = value.get(key) if isinstance(value, dict) else None
            else:
                value = value[key] if isinstance(value, list) and key < len(value) else None
        if isinstance(value, (dict, list)):
            if structures:
                raise ValueError("an object or array, which engines write differently")
            return None
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            value = float(value)
        if isinstance(value, float) and not fractions:
            raise ValueError("a number with a fraction, which engines write differently: cast it to DOUBLE")
        return value if value is None or isinstance(value, str) else json.dumps(value)

    return Term(str, _strict(lying, of(source)))


# Times.


def _part_of(node: exp.Expr, of: Of) -> Term:
    return Term(0, _strict(scalar.PARTS[node.this.name.upper()], of(node.expression)))


def _truncated(node: exp.Expr, of: Of) -> Term:
    unit = node.args["unit"].name.upper()

    def begin(value: dt.date) -> dt.datetime:
        moment = scalar.moment_of(value)
        if unit in ("SECOND", "MINUTE", "HOUR"):
            return moment - ((moment - _EPOCH) % (_UNITS[unit] * _MICROSECOND))
        midnight = scalar.midnight(moment)
        if unit == "WEEK":
            return midnight - dt.timedelta(days=midnight.weekday())
        months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}.get(unit)
        if months is None:
            return midnight
        return midnight.replace(day=1, month=(midnight.month - 1) // months * months + 1)

    return Term(dt.datetime, _strict(begin, of(node.this)))


def _formatted(node: exp.Expr, of: Of) -> Term:
    inner = node.this.this if isinstance(node.this, exp.TimeStrToTime) else node.this
    pattern = node.args["format"].name.replace("strict", "")
    fields: dict[str, Callable[[dt.datetime], str]] = {
        "%Y": lambda moment: f"{moment.year:04}",
        "%m": lambda moment: f"{moment.month:02}",
        "%d": lambda moment: f"{moment.day:02}",
        "%H": lambda moment: f"{moment.hour:02}",
        "%M": lambda moment: f"{moment.minute:02}",
        "%S": lambda moment: f"{moment.second:02}",
    }

    def written(value: dt.date) -> str:
        moment = scalar.moment_of(value)
        return re.sub("%.", lambda match: fields[match[0]](moment), pattern)

    return Term(str, _strict(written, of(inner)))


def _units_between(node: exp.Expr, of: Of) -> Term:
    unit = _UNITS[str(node.args["unit"]).upper().rstrip("S")]

    def whole(left: dt.date, right: dt.date) -> int | None:
        return scalar.whole_quotient((scalar.moment_of(left) - scalar.moment_of(right)) // _MICROSECOND, unit)

    return Term(0, _strict(whole, of(node.this), of(node.expression)))


def _days_added(node: exp.Expr, of: Of) -> Term:
    sign = -1 if isinstance(node, exp.DateSub) else 1

    def later(day: dt.date, days: int) -> dt.date:
        return scalar.day_of(day) + dt.timedelta(days=sign * days)

    return Term(dt.date, _strict(later, of(node.this), of(node.expression)))


def _zoned(node: exp.Expr, of: Of) -> Term:
    zone = ZoneInfo(node.args["zone"].name)

    def shown(value: dt.date) -> dt.datetime:
        return scalar.moment_of(value).replace(tzinfo=dt.UTC).astimezone(zone).replace(tzinfo=None)

    return Term(dt.datetime, _strict(shown, of(node.this)))


def _window_edge(node: exp.Expr, of: Of) -> Term:
    given = of(node.expressions[0])
    size, *slides = (int(part.name) for part in node.expressions[1:])
    # Of windows that begin together and end one after the other all begin where the longest does.
    slide = slides[0] if len(slides) == 1 else size
    ahead = size if str(node.this).upper() == END else 0

    def edge(value: Any) -> Any:
        if isinstance(value, dt.datetime):
            ticks = (value - _EPOCH) // _MICROSECOND
            return _EPOCH + (ticks - ticks % slide + ahead) * _MICROSECOND
        return value - value % slide + ahead

    return Term(given.kind, _strict(edge, given))


def _called(node: exp.Expr, of: Of) -> Term:
    name, given = str(node.this).upper(), node.expressions
    if name == "PMOD":
        return Term(0, _strict(scalar.positive_remainder, *map(of, given)))
    if name in (START, END):
        return _window_edge(node, of)
    if name in _SINCE_1970:
        unit = _SINCE_1970[name] * _MICROSECOND
        return Term(dt.datetime, _strict(lambda number: _EPOCH + number * unit, of(given[0])))
    if name == "JSON_VALUE":
        return _at_path(node, of)
    if name == "MASK":
        return Term(str, _strict(scalar.masked, of(given[0])))
    raise UnsupportedError(f"the definition does not compute {node.sql(dialect='spark')}")


# Casts.


def _cast(node: exp.Expr, of: Of) -> Term:
    to, inner = node.args["to"], node.this.unnest()
    path = isinstance(inner, exp.JSONExtractScalar) or (
        isinstance(inner, exp.Anonymous) and str(inner.this).upper() == "JSON_VALUE"
    )
    number = to.this in exp.DataType.NUMERIC_TYPES
    term = _at_path(inner, of, fractions=True) if path and number else of(node.this)
    if to.this in _BITS:
        return Term(0, _strict(lambda value: scalar.to_whole(value, _BITS[to.this]), term))
    if to.this == exp.DType.DOUBLE:
        return Term(float, _strict(scalar.to_double, term))
    if to.this == exp.DType.FLOAT:
        return Term(float, _strict(scalar.to_single, term))
    if to.this == exp.DType.DECIMAL:
        precision, scale = (int(part.name) for part in to.expressions)
        return Term(scale, _strict(lambda value: scalar.to_decimal(value, precision, scale), term))
    if to.this in exp.DataType.TEXT_TYPES:
        return _text(term)
    if to.this == exp.DType.BOOLEAN:
        return Term(bool, _strict(bool, term))
    if to.this in (exp.DType.DATE, exp.DType.DATE32):
        return Term(dt.date, _strict(scalar.day_of, _as_kind(term, dt.date) if term.kind is str else term))
    return Term(dt.datetime, _strict(scalar.moment_of, _as_kind(term, dt.datetime)))


_RULES: tuple[tuple[Any, Callable[[exp.Expr, Of], Term]], ...] = (
    (exp.Paren, lambda node, of: of(node.this)),
    (exp.Neg, _negated),
    ((exp.Add, exp.Sub, exp.Mul), _arithmetic),
    (exp.Div, _quotient),
    (exp.Abs, _absolute),
    (exp.Round, _rounded),
    ((exp.NullSafeEQ, exp.NullSafeNEQ), _null_safe),
    (tuple(_COMPARED), _compared),
    ((exp.And, exp.Or), _both),
    (exp.Not, _not),
    (exp.Is, _is),
    (exp.In, _in),
    (exp.Between, _between),
    ((exp.Case, exp.If), _case),
    (exp.Coalesce, _coalesce),
    (exp.Nullif, _null_if),
    ((exp.Concat, exp.DPipe), _concatenated),
    (exp.Bracket, _element),
    (exp.Pad, _padded),
    (exp.JSONExtractScalar, _at_path),
    (exp.Extract, _part_of),
    ((exp.TimestampTrunc, exp.DateTrunc), _truncated),
    (exp.TimeToStr, _formatted),
    (exp.TimestampDiff, _units_between),
    ((exp.DateAdd, exp.DateSub, exp.TsOrDsAdd), _days_added),
    (exp.AtTimeZone, _zoned),
    (exp.Anonymous, _called),
    (exp.Cast, _cast),
)
_VALUE, _SIDES = ("this",), ("this", "expression")
# Functions that are NULL of NULL: their kind, the names of their arguments, and what they compute.
_FUNCTIONS: tuple[tuple[Any, Kind, tuple[str, ...], Callable[..., Any]], ...] = (
    (exp.IntDiv, 0, _SIDES, scalar.whole_quotient),
    (exp.Mod, 0, _SIDES, scalar.remainder),
    (exp.Floor, 0, _VALUE, scalar.floor),
    (exp.Ceil, 0, _VALUE, scalar.ceiling),
    (exp.Sqrt, float, _VALUE, scalar.square_root),
    (exp.Like, bool, _SIDES, scalar.like),
    (exp.Lower, str, _VALUE, str.lower),
    (exp.Upper, str, _VALUE, str.upper),
    (exp.Trim, str, _VALUE, lambda text: text.strip(" ")),
    (exp.Length, 0, _VALUE, len),
    (exp.Reverse, str, _VALUE, lambda text: text[::-1]),
    (exp.MD5, str, _VALUE, lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()),
    (exp.StartsWith, bool, _SIDES, str.startswith),
    (exp.EndsWith, bool, _SIDES, str.endswith),
    (exp.Contains, bool, _SIDES, operator.contains),
    (exp.StrPosition, 0, ("this", "substr"), lambda text, part: text.find(part) + 1),
    (exp.Substring, str, ("this", "start", "length"), scalar.substring),
    (exp.Left, str, _SIDES, lambda text, length: text[:length]),
    (exp.Right, str, _SIDES, scalar.right_part),
    (exp.Replace, str, (*_SIDES, "replacement"), scalar.replaced),
    (exp.SplitPart, str, ("this", "delimiter", "part_index"), scalar.split_part),
    (exp.RegexpExtract, str, (*_SIDES, "group"), scalar.first_match),
    (exp.RegexpLike, bool, _SIDES, lambda text, pattern: scalar.pattern_of(pattern).search(text) is not None),
    (exp.RegexpReplace, str, (*_SIDES, "replacement"), scalar.substituted),
    (exp.DayOfWeek, 0, _VALUE, scalar.PARTS["DOW"]),
    (exp.Year, 0, _VALUE, scalar.PARTS["YEAR"]),
    (exp.Quarter, 0, _VALUE, scalar.PARTS["QUARTER"]),
    (exp.Month, 0, _VALUE, scalar.PARTS["MONTH"]),
    ((exp.Day, exp.DayOfMonth), 0, _VALUE, scalar.PARTS["DAY"]),
    (exp.DayOfYear, 0, _VALUE, scalar.PARTS["DOY"]),
    (exp.Hour, 0, _VALUE, scalar.PARTS["HOUR"]),
    (exp.Minute, 0, _VALUE, scalar.PARTS["MINUTE"]),
    (exp.Second, 0, _VALUE, scalar.PARTS["SECOND"]),
    ((exp.Week, exp.WeekOfYear), 0, _VALUE, scalar.PARTS["WEEK"]),
    ((exp.TsOrDsToDate, exp.Date), dt.date, _VALUE, scalar.day_of),
    (exp.DateDiff, 0, _SIDES, scalar.days_between),
)
