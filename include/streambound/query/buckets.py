"""``DATE_TRUNC('hour', a.ts) = DATE_TRUNC('hour', b.ts)``: timestamps of one bucket are less than one apart.

The equality of the buckets is one of derived columns; that they are near each other is said beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import expressions as exp

from streambound.query.derived import Expressions
from streambound.query.model import Attribute, Join, Op
from streambound.query.scope import MICROSECONDS, place_of
from streambound.query.values import Family

_HOUR, _DAY = MICROSECONDS["HOUR"], MICROSECONDS["DAY"]
# The longest of each; a day may have an hour more where clocks are changed.
_WIDTHS = {
    **{unit: MICROSECONDS[unit] for unit in ("MILLISECOND", "SECOND", "MINUTE", "HOUR")},
    **{"DAY": _DAY + _HOUR, "WEEK": 7 * _DAY + _HOUR, "MONTH": 31 * _DAY + _HOUR},
    **{"QUARTER": 92 * _DAY + _HOUR, "YEAR": 366 * _DAY},
}


def same_bucket(left: exp.Expr, right: exp.Expr, whole: exp.Expr, scope: Expressions) -> Iterator[Join]:
    """What the equality of two buckets says of the timestamps in them; nothing of other expressions."""
    (first, width), (second, other) = (_bucket(side, scope) for side in (left, right))
    if first is None or second is None or width != other:
        return
    place = place_of(whole, scope.sql)
    yield Join(first, Op.LT, second, place, width, f" + INTERVAL {width // MICROSECONDS['SECOND']} SECONDS")
    yield Join(first, Op.GT, second, place, -width, f" - INTERVAL {width // MICROSECONDS['SECOND']} SECONDS")


def _bucket(node: exp.Expr, scope: Expressions) -> tuple[Attribute | None, int]:
    """The application timestamp that an expression rounds down, and the length of what it rounds to."""
    while isinstance(node, exp.Paren):
        node = node.this
    inner = node.this
    while isinstance(inner, (exp.Paren, exp.TimeStrToTime, exp.TsOrDsToDate)):
        inner = inner.this
    if not isinstance(inner, exp.Column):
        return None, 0
    stamp = scope.attribute(inner)
    if not scope.is_timestamp(stamp) or scope.type_of(stamp).family is not Family.TIMESTAMP:
        return None, 0
    unit = ""
    if isinstance(node, (exp.TimestampTrunc, exp.DateTrunc)):
        named = node.args.get("unit")
        unit = "" if named is None else named.name.upper()
    elif isinstance(node, (exp.TsOrDsToDate, exp.Date)) or (
        isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE
    ):
        unit = "DAY"
    return (stamp, _WIDTHS[unit]) if unit in _WIDTHS else (None, 0)
