"""Ascending values of a type strictly between two others: where the slots of a witness stand.

Values are encoded as in ``query.column_types``. Integers, decimals and dates step on their grid; doubles
are integers where there is room for them, else evenly spaced; timestamps are whole microseconds;
strings extend a common prefix by digits (code-point order).
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from streambound.query.column_types import Family, Value

# Between neighbours where nothing bounds them: a minute, so that they can be read.
_MINUTE = 60_000_000


def between(
    family: Family, low: Value | None, high: Value | None, count: int, resolution: Fraction | None
) -> list[Value] | None:
    """``count`` ascending values between ``low`` and ``high`` (None: open); None if there is no room.

    ``resolution`` is the grid that all of them lie on; None for doubles and strings.
    """
    if family is Family.STRING:
        return _strings(low, high, count)
    if family is Family.TIMESTAMP:
        return (
            _spread(low, high, count)
            if low is not None and high is not None
            else _grid(low, high, count, Fraction(_MINUTE))
        )
    if resolution is None and low is not None and high is not None:
        return _doubles(low, high, count)
    return _grid(low, high, count, resolution or Fraction(1))


def _grid(low: Value | None, high: Value | None, count: int, resolution: Fraction) -> list[Value] | None:
    if low is None and high is not None:
        last = math.ceil(Fraction(high) / resolution) - 1
        first = last - count + 1
    else:
        first = math.floor(Fraction(low or 0) / resolution) + 1
        last = first + count - 1
    if low is not None and high is not None and last * resolution >= high:
        return None
    return [_exact(resolution * i) for i in range(first, last + 1)]


def _spread(low: Value, high: Value, count: int) -> list[Value] | None:
    if high - low <= count:
        return None
    return [low + (high - low) * (i + 1) // (count + 1) for i in range(count)]


def _doubles(low: Value, high: Value, count: int) -> list[Value] | None:
    width = Fraction(high) - Fraction(low)
    values = [float(Fraction(low) + width * (i + 1) / (count + 1)) for i in range(count)]
    ordered = [low, *values, high]
    return values if all(a < b for a, b in pairwise(ordered)) else None


def _exact(number: Fraction) -> Value:
    return int(number) if number.denominator == 1 else number


def _strings(low: str | None, high: str | None, count: int) -> list[Value] | None:
    prefix = _prefix(low or "", high)
    if prefix is None:
        return None
    digits = len(str(count))
    return [f"{prefix}{i + 1:0{digits}}" for i in range(count)]


def _prefix(low: str, high: str | None) -> str | None:
    """A string all of whose extensions lie between two others; None if there is none."""
    if high is None or not high.startswith(low):
        return low
    rest = high[len(low) :]
    if not rest:
        return None
    code = ord(rest[0])
    if code == 0:
        return _prefix(low + "\0", high)
    # The code points of surrogates are no characters.
    return low + chr(0xD7FF if code == 0xE000 else code - 1)
