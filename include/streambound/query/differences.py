"""Differences of timestamps, however they are written, as ``x <= y + INTERVAL n UNIT``.

``a.ts - b.ts <= INTERVAL '5' MINUTE``, ``TIMESTAMPDIFF(MINUTE, b.ts, a.ts) < 5``, ``INTERVAL '1 hour 30
minutes'`` and the like say what a comparison of two timestamps with an offset says; that is what is decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import expressions as exp

from streambound.query.dialects.grammar import SPAN

_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 7 * 86_400_000_000,
}
# The days that a number of months may have: of twelve, and of each beside them.
_MONTHS = {"MONTH": 1, "MON": 1, "QUARTER": 3, "YEAR": 12, "YR": 12}
_YEAR_DAYS, _MONTH_DAYS = (365, 366), (28, 31)
_SHORT = {
    **{
        "US": "MICROSECOND",
        "MCS": "MICROSECOND",
        "MS": "MILLISECOND",
        "S": "SECOND",
        "SEC": "SECOND",
        "SS": "SECOND",
    },
    **{
        "M": "MINUTE",
        "MI": "MINUTE",
        "MIN": "MINUTE",
        "N": "MINUTE",
        "H": "HOUR",
        "HH": "HOUR",
        "HR": "HOUR",
    },
    **{"D": "DAY", "DD": "DAY", "W": "WEEK", "WK": "WEEK", "WW": "WEEK"},
}
_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_CLOCK = re.compile(r"([+-])?(?:(\d+)[ \s])?(\d+):(\d+)(?::(\d+(?:\.\d+)?))?")
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
}
_SIGNS = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.EQ: "=", exp.NEQ: "<>"}
# Where a difference in a unit is the number of its boundaries between, not of whole units.
_BOUNDARIES = ("azure", "duckdb", "timeplus", "materialize")


@dataclass(frozen=True)
class _Linear:
    """Columns added, columns subtracted, and a constant: microseconds, or ticks."""

    plus: tuple[exp.Expr, ...] = ()
    minus: tuple[exp.Expr, ...] = ()
    microseconds: int = 0
    ticks: int = 0
    months: int = 0

    def added(self, linear: _Linear, sign: int) -> _Linear:
        plus, minus = (linear.plus, linear.minus) if sign > 0 else (linear.minus, linear.plus)
        return _Linear(
            (*self.plus, *plus),
            (*self.minus, *minus),
            self.microseconds + sign * linear.microseconds,
            self.ticks + sign * linear.ticks,
            self.months + sign * linear.months,
        )


def plain(condition: exp.Expr, dialect: str, relaxed: list[exp.Expr], negated: bool = False) -> exp.Expr:
    """A condition with its differences of timestamps written as comparisons; itself where it has none.

    Args:
        relaxed: takes the comparisons that are wider than what was written: a number of boundaries of a unit
            between two moments says their distance to within one unit, and a number of months to within a few
            days. Verdicts are the same for both.
        negated: whether it stands within NOT, where what is wider is narrower.
    """
    if isinstance(condition, (exp.And, exp.Or, exp.Not, exp.Paren)):
        made = condition
        for part in ("this", "expression"):
            inner = condition.args.get(part)
            if inner is None:
                continue
            changed = plain(inner, dialect, relaxed, negated ^ isinstance(condition, exp.Not))
            if changed is not inner:
                made = made.copy() if made is condition else made
                made.set(part, changed)
        return made
    if isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
        ends = [
            op(this=condition.this.copy(), expression=condition.args[end].copy())
            for op, end in ((exp.GTE, "low"), (exp.LTE, "high"))
        ]
        low, high = (plain(end, dialect, relaxed, negated) for end in ends)
        if low is ends[0] and high is ends[1]:
            return condition
        return _placed(exp.Paren(this=exp.And(this=low.copy(), expression=high.copy())), condition)
    if isinstance(condition, exp.Anonymous) and str(condition.this).upper() == "DATE_DIFF_WITHIN":
        return _near(condition)
    if type(condition) not in _SIGNS:
        return condition
    return _comparison(condition, dialect, relaxed, negated)


def band(left: Sequence[exp.Expr], right: Sequence[exp.Expr], before: int, after: int) -> Iterable[exp.Expr]:
    """That the latest of ``right`` is at most so long before the latest of ``left``, or after it."""
    for node in left:
        yield _any([exp.GTE(this=later.copy(), expression=_moved(node, -before)) for later in right])
    for later in right:
        yield _any([exp.LTE(this=later.copy(), expression=_moved(item, after)) for item in left])


def _any(parts: Sequence[exp.Expr]) -> exp.Expr:
    first, *rest = parts
    for node in rest:
        first = exp.Or(this=first, expression=node)
    return exp.Paren(this=first) if rest else first


def microseconds(node: exp.Expr) -> int | None:
    """The length of an interval; None of what is none, or has months."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = microseconds(node.this)
        return None if inner is None else -inner
    if isinstance(node, (exp.Add, exp.Sub)):
        left, right = microseconds(node.this), microseconds(node.expression)
        if left is None or right is None:
            return None
        return left + right if isinstance(node, exp.Add) else left - right
    if (
        isinstance(node, exp.Cast)
        and node.to.this == exp.DType.INTERVAL
        and isinstance(node.this, exp.Literal)
    ):
        return _length(node.this.name, None)
    if not isinstance(node, exp.Interval) or node.this is None:
        return None
    sign, amount = 1, node.this
    while isinstance(amount, (exp.Neg, exp.Paren)):
        sign = -sign if isinstance(amount, exp.Neg) else sign
        amount = amount.this
    if not isinstance(amount, exp.Literal):
        return None
    unit = node.args.get("unit")
    span = _length(str(amount.this), None if unit is None else unit.sql().upper())
    return None if span is None else sign * span


def _length(text: str, unit: str | None) -> int | None:
    if match := _CLOCK.fullmatch(text.strip()):
        return _of_clock(match, unit)
    if unit is not None:
        canonical = _unit(unit)
        try:
            amount = Fraction(text.strip())
        except (ValueError, ZeroDivisionError):
            return None
        whole = amount * _UNITS[canonical] if canonical else Fraction(1, 2)
        return int(whole) if whole.denominator == 1 and abs(whole) < 10**18 else None
    total, end = 0, 0
    while end < len(text) and (match := _PART.match(text, end)):
        part = _length(match[1], match[2].upper())
        if part is None:
            return None
        total, end = total + part, match.end()
    return total if end and end == len(text) else None


def _of_clock(match: re.Match[str], unit: str | None) -> int | None:
    """``1 02:03:04`` and ``02:03``, of which the unit says what they are."""
    sign, days, first, second, third = match.groups()
    words = (unit or "HOUR TO SECOND").split()
    if third is None and words[-1] == "SECOND" and "MINUTE" in words[:1]:
        hours, minutes, seconds = "0", first, second
    else:
        hours, minutes, seconds = first, second, third or "0"
    length = int(days or 0) * _UNITS["DAY"] + int(hours) * _UNITS["HOUR"] + int(minutes) * _UNITS["MINUTE"]
    whole = length + Fraction(seconds) * _UNITS["SECOND"]
    return (-1 if sign == "-" else 1) * int(whole) if whole.denominator == 1 else None


def _unit(text: str) -> str | None:
    """The name of a unit, however it is shortened; None of months and the like."""
    name = text.strip("'\"").upper().split("(")[0]
    for form in (name, name.removesuffix("S")):
        if form in _UNITS:
            return form
        if form in _SHORT:
            return _SHORT[form]
    return None


def _interval(length: int) -> exp.Interval:
    unit = next(name for name in reversed(_UNITS) if length % _UNITS[name] == 0 and name != "WEEK")
    return exp.Interval(this=exp.Literal.number(length // _UNITS[unit]), unit=exp.var(unit))


def _moved(stamp: exp.Expr, length: int) -> exp.Expr:
    if not length:
        return stamp.copy()
    kind = exp.Add if length > 0 else exp.Sub
    return kind(this=stamp.copy(), expression=_interval(abs(length)))


def _placed(made: exp.Expr, node: exp.Expr) -> exp.Expr:
    if SPAN in node.meta:
        made.meta[SPAN] = node.meta[SPAN]
    return made


def _comparison(condition: exp.Expr, dialect: str, relaxed: list[exp.Expr], negated: bool) -> exp.Expr:
    op: type[exp.Expr] = type(condition)
    left, right = condition.this, condition.expression
    for left_node, right_node, kind in ((left, right, op), (right, left, _MIRRORED[op])):
        if (
            made := _of_number(left_node, right_node, kind, condition, dialect, relaxed, negated)
        ) is not None:
            return _placed(made, condition)
    if _readable(left) and _readable(right):
        return condition
    first, second = _linear(left), _linear(right)
    if first is None or second is None:
        # A moment, or what is refused: the other side's intervals are still read.
        sides = [_normal(side, linear) for side, linear in ((left, first), (right, second))]
        if sides[0] is left and sides[1] is right:
            return condition
        return _placed(op(this=sides[0].copy(), expression=sides[1].copy()), condition)
    whole = first.added(second, -1)
    if whole.months:
        return _within_months(condition, whole, relaxed, negated)
    if len(whole.plus) == len(whole.minus) == 1 and not (whole.ticks and whole.microseconds):
        left_node, right_node = whole.plus[0], whole.minus[0]
        moved = _moved(right_node, -whole.microseconds)
        if whole.ticks:
            kind = exp.Sub if whole.ticks > 0 else exp.Add
            moved = kind(this=right_node.copy(), expression=exp.Literal.number(abs(whole.ticks)))
        return _placed(op(this=left_node.copy(), expression=moved), condition)
    return condition


def _within_months(condition: exp.Expr, whole: _Linear, relaxed: list[exp.Expr], negated: bool) -> exp.Expr:
    """A distance of so many months, as the widest that it may be; what says no more is left as it is."""
    if not len(whole.plus) == len(whole.minus) == 1 or whole.ticks or isinstance(condition, exp.NEQ):
        return condition
    low, high = (length - whole.microseconds for length in _lengths_of(-whole.months))
    (left,), (right,) = whole.plus, whole.minus
    made = []
    for op, end in ((exp.LTE, high), (exp.GTE, low)):
        strict = {exp.LTE: exp.LT, exp.GTE: exp.GT}[op]
        if isinstance(condition, (op, strict, exp.EQ)):
            kind = strict if isinstance(condition, strict) else op
            length = (low + high - end) if negated else end
            made.append(kind(this=left.copy(), expression=_moved(right, length)))
    if negated and len(made) > 1:
        return condition
    relaxed.append(condition)
    return _placed(_all(made), condition)


def _lengths_of(months: int) -> tuple[int, int]:
    """The least and the greatest length of a number of months."""
    years, rest = divmod(abs(months), 12)
    least, most = (
        (years * many + rest * each) * _UNITS["DAY"]
        for many, each in zip(_YEAR_DAYS, _MONTH_DAYS, strict=True)
    )
    return (least, most) if months >= 0 else (-most, -least)


def _normal(side: exp.Expr, linear: _Linear | None) -> exp.Expr:
    """A side with its intervals in the plain form."""
    if linear is None or len(linear.plus) != 1 or linear.minus or linear.ticks or linear.months:
        return side
    if _readable(side):
        return side
    return _moved(linear.plus[0], linear.microseconds)


def _readable(node: exp.Expr) -> bool:
    """Whether a side is read as it stands: a column, or one with plain intervals added."""
    if isinstance(node, exp.Paren):
        return _readable(node.this)
    if isinstance(node, (exp.Add, exp.Sub)):
        step = node.expression
        return _readable(node.this) and (
            _simple(step) or (isinstance(step, exp.Literal) and not step.is_string)
        )
    return isinstance(node, (exp.Column, exp.Literal, exp.Cast, exp.Null, exp.Boolean))


def _simple(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal):
        return False
    unit = node.args.get("unit")
    return isinstance(unit, exp.Var) and unit.name.upper().removesuffix("S") in _UNITS


def _linear(node: exp.Expr) -> _Linear | None:
    node = node.unnest()
    length = microseconds(node)
    if length is not None:
        return _Linear(microseconds=length)
    if (calendar := _calendar(node)) is not None:
        return calendar
    if isinstance(node, exp.Column):
        return _Linear((node,))
    if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
        return _Linear(ticks=int(node.this))
    if isinstance(node, exp.Neg):
        inner = _linear(node.this)
        return None if inner is None else _Linear().added(inner, -1)
    if isinstance(node, (exp.Add, exp.Sub)):
        left, right = _linear(node.this), _linear(node.expression)
        if left is None or right is None:
            return None
        return left.added(right, 1 if isinstance(node, exp.Add) else -1)
    return _later(node)


def _calendar(node: exp.Expr) -> _Linear | None:
    """An interval with months: ``INTERVAL '1' MONTH``, ``'1 month 3 days'::interval``."""
    unit, amount = node.args.get("unit"), node.this
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.INTERVAL:
        unit = None
    elif not isinstance(node, exp.Interval):
        return None
    if not isinstance(amount, exp.Literal):
        return None
    linear, end = _Linear(), 0
    text = amount.name if unit is None else f"{amount.name} {unit.sql()}"
    while end < len(text) and (match := _PART.match(text, end)):
        name, end = match[2].upper().removesuffix("S"), match.end()
        if name in _MONTHS and match[1].lstrip("+-").isdigit():
            part = _Linear(months=int(match[1]) * _MONTHS[name])
        elif (length := _length(match[1], match[2].upper())) is not None:
            part = _Linear(microseconds=length)
        else:
            return None
        linear = linear.added(part, 1)
    return linear if linear.months and end == len(text) else None


def has_months(node: exp.Expr) -> bool:
    """Whether an interval has months, which have no one length."""
    return _calendar(node) is not None


def _later(node: exp.Expr) -> _Linear | None:
    """``DATEADD(minute, 5, ts)`` and ``TIMESTAMPADD``."""
    if not isinstance(node, (exp.DateAdd, exp.TimestampAdd, exp.DateSub, exp.TimestampSub)):
        return (
            _later(difference)
            if isinstance(node, exp.Anonymous) and (difference := _as_difference(node))
            else None
        )
    unit = node.args.get("unit")
    canonical = None if unit is None else _unit(unit.name or unit.sql())
    amount = _whole(node.expression)
    inner = _linear(node.this)
    sign = -1 if isinstance(node, (exp.DateSub, exp.TimestampSub)) else 1
    if amount is None or inner is None:
        return None
    if unit is not None and (name := (unit.name or unit.sql()).upper().removesuffix("S")) in _MONTHS:
        return inner.added(_Linear(months=amount * _MONTHS[name]), sign)
    if canonical is None:
        return None
    return inner.added(_Linear(microseconds=amount * _UNITS[canonical]), sign)


def _as_difference(node: exp.Anonymous) -> exp.Expr | None:
    """A call that sqlglot does not know: of TIMESTAMPADD, or of DuckDB's DATE_SUB, which is a difference."""
    name, given = str(node.this).upper(), node.expressions
    if name in ("TIMESTAMPADD", "DATEADD", "TIMESTAMPSUB", "DATESUB") and len(given) == 3:
        kind = exp.TimestampSub if name.endswith("SUB") else exp.TimestampAdd
        return kind(
            this=given[2].copy(), expression=given[1].copy(), unit=exp.var(given[0].name or given[0].sql())
        )
    if name == "DATE_SUB" and len(given) == 3:
        return exp.TimestampDiff(
            this=given[2].copy(), expression=given[1].copy(), unit=exp.var(given[0].name or given[0].sql())
        )
    return None


def _whole(node: exp.Expr) -> int | None:
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = _whole(node.this)
        return None if inner is None else -inner
    if isinstance(node, (exp.Interval, exp.Cast)):
        return _whole(node.this) if isinstance(node.this, exp.Literal) else None
    text = str(node.this) if isinstance(node, exp.Literal) else ""
    return int(text) if re.fullmatch(r"\d{1,15}", text) else None


def _of_number(
    difference: exp.Expr,
    node: exp.Expr,
    op: type[exp.Expr],
    whole: exp.Expr,
    dialect: str,
    relaxed: list[exp.Expr],
    negated: bool,
) -> exp.Expr | None:
    """A difference in units compared with a whole number; None of anything else."""
    number = _whole(node) if isinstance(node, (exp.Literal, exp.Neg, exp.Paren)) else None
    difference = difference.unnest()
    if number is None:
        return None
    if isinstance(difference, exp.Abs):
        return _absolute(difference, number, op, whole, dialect, relaxed, negated)
    if isinstance(difference, exp.Extract) and difference.this.name.upper() == "EPOCH":
        inner = _linear(difference.expression)
        if inner is None or not len(inner.plus) == len(inner.minus) == 1:
            return None
        return op(
            this=inner.plus[0].copy(), expression=_moved(inner.minus[0], number * 10**6 - inner.microseconds)
        )
    if isinstance(difference, exp.Anonymous):
        difference = _as_difference(difference) or difference
    if not isinstance(difference, (exp.TimestampDiff, exp.DateDiff, exp.DatetimeDiff)):
        return None
    unit = difference.args.get("unit")
    name = "" if unit is None else (unit.name or unit.sql()).upper()
    canonical, months = _unit(name), _MONTHS.get(name.removesuffix("S"), 0)
    later, earlier = (_linear(_moment(side)) for side in (difference.this, difference.expression))
    if not (canonical or months) or later is None or earlier is None:
        return None
    distance = later.added(earlier, -1)
    if not len(distance.plus) == len(distance.minus) == 1 or distance.months or (months and negated):
        return None
    boundaries = isinstance(difference, exp.DateDiff) and dialect in _BOUNDARIES
    distances = _distances(number, op, boundaries)
    if distances is None:
        return None
    if boundaries or months:
        relaxed.append(whole)
    made = []
    for kind, units in distances:
        low, high = _lengths_of(units * months) if canonical is None else (units * _UNITS[canonical],) * 2
        length = (high if kind in (exp.LT, exp.LTE) else low) - distance.microseconds
        made.append(kind(this=distance.plus[0].copy(), expression=_moved(distance.minus[0], length)))
    return _all(made)


def _moment(node: exp.Expr) -> exp.Expr:
    """What sqlglot wraps as the argument of a difference."""
    while isinstance(node, (exp.TimeStrToTime, exp.TsOrDsToDate, exp.Paren)):
        node = node.this
    return node


def _distances(
    number: int, op: type[exp.Expr], boundaries: bool
) -> Sequence[tuple[type[exp.Expr], int]] | None:
    """What ``whole units between op number`` says of the distance itself, in units.

    Whole units are rounded toward zero.
    """
    if op is exp.LT:
        return _distances(number - 1, exp.LTE, boundaries)
    if op is exp.GT:
        return _distances(number + 1, exp.GTE, boundaries)
    if op is exp.LTE:
        return ((exp.LT, number + 1),) if boundaries or number >= 0 else ((exp.LTE, number),)
    if op is exp.GTE:
        return ((exp.GT, number - 1),) if boundaries or number <= 0 else ((exp.GTE, number),)
    if op is exp.EQ:
        low, high = (_distances(number, kind, boundaries) for kind in (exp.GTE, exp.LTE))
        assert low is not None and high is not None
        return (*low, *high)
    return None


def _absolute(
    node: exp.Abs,
    number: int,
    op: type[exp.Expr],
    whole: exp.Expr,
    dialect: str,
    relaxed: list[exp.Expr],
    negated: bool,
) -> exp.Expr | None:
    """``ABS(difference) <= n``: within n on both sides."""
    if op not in (exp.LT, exp.LTE):
        return None
    made = []
    for sign, kind in ((1, op), (-1, _MIRRORED[op])):
        limit = exp.Literal.number(number) if sign > 0 else exp.Neg(this=exp.Literal.number(number))
        if (side := _of_number(node.this, limit, kind, whole, dialect, relaxed, negated)) is None:
            return None
        made.append(side)
    return _all(made)


def _near(condition: exp.Anonymous) -> exp.Expr:
    """Timeplus: ``date_diff_within(2m, a, b)``."""
    if len(condition.expressions) != 3 or (length := microseconds(condition.expressions[0])) is None:
        return condition
    first, second = condition.expressions[1:]
    low = exp.GTE(this=first.copy(), expression=_moved(second, -length))
    high = exp.LTE(this=first.copy(), expression=_moved(second, length))
    return _placed(_all([low, high]), condition)


def _all(parts: Sequence[exp.Expr]) -> exp.Expr:
    first, *rest = parts
    for node in rest:
        first = exp.And(this=first, expression=node)
    return exp.Paren(this=first) if rest else first
