"""Dates, timestamps in UTC, lengths of time, their parts and windows."""

from __future__ import annotations

import re

from sqlglot import expressions as exp

from streambound.query.computing.spark_form import PART_CALLS
from streambound.query.computing.typed import (
    DATE,
    LENGTH,
    STRING,
    TIMESTAMP,
    WHOLE,
    Columns,
    Rules,
    Translation,
    Typed,
    as_micros,
    as_moment,
    binary,
    call,
    cast,
    numeral,
)
from streambound.query.windows import END

_UNITS = {
    **{"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000},
    **{"HOUR": 3_600_000_000, "DAY": 86_400_000_000, "WEEK": 7 * 86_400_000_000},
}

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}

# Parts of a date or timestamp, by what asks for them, and the engine's own function.
_PARTS: dict[str, str] = {
    **{name: name.lower() for name in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "WEEK")},
    **{"DOY": "dayofyear", "DAYOFYEAR": "dayofyear"},
}

# Moments by what has passed since 1970, in microseconds.
SINCE_1970 = {"TIMESTAMP_SECONDS": 1_000_000, "TIMESTAMP_MILLIS": 1_000, "TIMESTAMP_MICROS": 1}
# A place, whose clock has a name that engines share.
_ZONE = re.compile(r"UTC|[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_-]+)+")

_OF_DAY = ("hour", "minute", "second")

_TRUNCATED = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")

# A moment in parts of which all have leading zeros, and are told apart.
_WRITTEN = re.compile(r"(?:%Y(?!%Y)|%[mdHMS]strict|[ /:._-])+")

# Days of the week from Sunday, which is 1; from Monday.
_FROM_SUNDAY, _FROM_MONDAY = ("DOW", "DAYOFWEEK"), ("ISODOW", "DOW_ISO", "DAYOFWEEK_ISO")


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


def _length(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    interval = _interval(node)
    if interval is None or interval[0]:
        return None
    return Typed(cast(numeral(interval[1]), "HUGEINT"), LENGTH)


def moved_by(value: Typed, interval: exp.Expr, kind: type[exp.Binary]) -> Typed | None:
    span = _interval(interval)
    if span is None or value.type not in (TIMESTAMP, DATE, LENGTH):
        return None
    months, micros = span if kind is exp.Add else (-span[0], -span[1])
    if value.type == LENGTH:
        return None if months else Typed(binary(exp.Add, value.node, numeral(micros)), LENGTH)
    if value.type == DATE and micros % _UNITS["DAY"]:
        return None
    if months:
        step = exp.Interval(this=exp.Literal.string(str(months)), unit=exp.var("MONTH"))
        moved = binary(exp.Add, value.node, step)
        return Typed(cast(moved, "DATE") if value.type == DATE else moved, value.type)
    if value.type == DATE:
        return Typed(binary(exp.Add, value.node, cast(numeral(micros // _UNITS["DAY"]), "INT")), DATE)
    return Typed(as_moment(binary(exp.Add, as_micros(value), numeral(micros))), TIMESTAMP)


def _formatted(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    """A moment as text, of parts with leading zeros."""
    inner, given = node.this, node.args.get("format")
    value = of(inner.this if isinstance(inner, exp.TimeStrToTime) else inner)
    if value.type not in (DATE, TIMESTAMP) or not isinstance(given, exp.Literal):
        return None
    if not _WRITTEN.fullmatch(given.name):
        return None
    pattern = exp.Literal.string(given.name.replace("strict", ""))
    return Typed(call("STRFTIME", cast(value.node, "TIMESTAMP"), pattern), STRING)


def _part_of(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    if isinstance(node, exp.Extract):
        unit, value = node.this.name.upper(), of(node.expression)
        if unit in (*_FROM_SUNDAY, *_FROM_MONDAY):
            return _week_day(value, unit in _FROM_SUNDAY)
        name = _PARTS.get(unit)
    else:
        name, value = PART_CALLS.get(type(node)), of(node.this)
    if name is None or value.type not in (DATE, TIMESTAMP) or (value.type == DATE and name in _OF_DAY):
        return None
    return Typed(cast(call(name, value.node), "HUGEINT"), WHOLE)


def _day_of_week(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    return _week_day(of(node.this), True)


def _week_day(value: Typed, from_sunday: bool) -> Typed | None:
    if value.type not in (DATE, TIMESTAMP):
        return None
    if not from_sunday:
        return Typed(cast(call("ISODOW", value.node), "HUGEINT"), WHOLE)
    return Typed(binary(exp.Add, cast(call("DAYOFWEEK", value.node), "HUGEINT"), numeral(1)), WHOLE)


def _truncated(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    unit, value = node.args.get("unit"), of(node.this)
    name = "" if unit is None else unit.name.upper()
    if name not in _TRUNCATED or node.args.get("zone") or value.type not in (DATE, TIMESTAMP):
        return None
    made = call("DATE_TRUNC", exp.Literal.string(name.lower()), cast(value.node, "TIMESTAMP"))
    return Typed(cast(made, "TIMESTAMP"), TIMESTAMP)


def _day(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    value = of(node.this)
    if node.args.get("format") or node.args.get("zone") or value.type not in (DATE, TIMESTAMP):
        return None
    return Typed(cast(value.node, "DATE"), DATE)


def _days(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    """Days added to a date, or between two."""
    left, right = of(node.this), of(node.expression)
    if isinstance(node, exp.DateDiff):
        if node.args.get("unit") or not all(side.type in (DATE, TIMESTAMP) for side in (left, right)):
            return None
        days = [cast(side.node, "DATE") for side in (right, left)]
        return Typed(cast(call("DATE_DIFF", exp.Literal.string("day"), *days), "HUGEINT"), WHOLE)
    unit = node.args.get("unit")
    if left.type not in (DATE, TIMESTAMP) or not right.whole or (unit is not None and unit.name != "DAY"):
        return None
    kind = exp.Add if isinstance(node, (exp.DateAdd, exp.TsOrDsAdd)) else exp.Sub
    return Typed(binary(kind, cast(left.node, "DATE"), cast(right.node, "INT")), DATE)


def _units_between(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    """Whole units between two moments, rounded toward zero."""
    unit = str(node.args.get("unit") or "").upper().rstrip("S")
    left, right = of(node.this), of(node.expression)
    if unit not in _UNITS or not all(side.type in (DATE, TIMESTAMP) for side in (left, right)):
        return None
    difference = binary(exp.Sub, as_micros(left), as_micros(right))
    return Typed(binary(exp.IntDiv, difference, numeral(_UNITS[unit])), WHOLE)


def since_1970(node: exp.Expr, of: Translation) -> Typed | None:
    """A moment by the seconds since 1970, or by fractions of them."""
    (given,) = map(of, node.expressions) if len(node.expressions) == 1 else (None,)
    if given is None or not given.whole:
        return None
    scale = numeral(SINCE_1970[str(node.this).upper()])
    return Typed(as_moment(binary(exp.Mul, given.node, cast(scale, "HUGEINT"))), TIMESTAMP)


def _zoned(node: exp.Expr, of: Translation, columns: Columns) -> Typed | None:
    """What a clock in a zone shows at a moment."""
    value, zone = of(node.this), node.args["zone"]
    if value.type not in (DATE, TIMESTAMP) or not isinstance(zone, exp.Literal) or not zone.is_string:
        return None
    if not _ZONE.fullmatch(zone.name):
        return None
    moment = cast(cast(value.node, "TIMESTAMP"), "TIMESTAMPTZ")
    return Typed(call("TIMEZONE", exp.Literal.string(zone.name), moment), TIMESTAMP)


def window_edge(node: exp.Expr, of: Translation) -> Typed | None:
    """The start or the end of a row's last window: of a moment, its length, and how far windows are apart."""
    left, lengths = of(node.expressions[0]), node.expressions[1:]
    if not lengths or not all(part.name.isdigit() for part in lengths):
        return None
    size, *further = (int(part.name) for part in lengths)
    # Of windows that end left after the right all begin where the longest does.
    step = further[0] if len(further) == 1 else size
    if left.type == TIMESTAMP:
        # Quicker than with unbounded numbers.
        moment: exp.Expr = call("EPOCH_US", left.node)
    elif left.whole:
        moment = left.node
    else:
        return None
    by = numeral(step)
    past = binary(exp.Mod, binary(exp.Add, binary(exp.Mod, moment, by), by), by)
    edge = binary(exp.Sub, moment, past)
    if str(node.this).upper() == END:
        edge = binary(exp.Add, edge, numeral(size))
    return Typed(edge if left.whole else as_moment(edge), left.type)


RULES: Rules = (
    (exp.Interval, _length),
    (exp.TimeToStr, _formatted),
    (exp.DayOfWeek, _day_of_week),
    ((exp.Extract, *PART_CALLS), _part_of),
    ((exp.TimestampTrunc, exp.DateTrunc), _truncated),
    ((exp.TsOrDsToDate, exp.Date), _day),
    (exp.TimestampDiff, _units_between),
    (exp.AtTimeZone, _zoned),
    ((exp.DateDiff, exp.DateAdd, exp.DateSub, exp.TsOrDsAdd), _days),
)
