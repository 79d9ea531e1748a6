"""The functions of expressions by the definition, over plain values (see ``definition_values``).

Whole numbers and decimals are ``int`` and ``Fraction``, doubles ``float``; moments are in UTC without a zone.
A result of None is NULL; what has no value at all raises an ``ArithmeticError`` or a ``ValueError``.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
import operator
import re
import struct
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from streambound.query.column_types import NAN

# Exact numbers have up to 38 digits, whole ones 128 bits.
_WHOLE, _DECIMAL = 2**127, 10**38
_WHOLE_TEXT = re.compile(r"[+-]?([0-9]{1,37}(\.[0-9]*)?|\.[0-9]+)")
_DOUBLE_TEXT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?[df]?")
_SPECIAL_TEXT = re.compile(r"[+-]?(inf|infinity|nan)")
_HEXADECIMAL = re.compile(r"[+-]?0x[0-9a-f.]*p[+-]?[0-9]+[df]?")


class Span(NamedTuple):
    """An interval: months, whose length differs, and a length."""

    months: int
    length: dt.timedelta


def plain(number: Fraction | int) -> Fraction | int:
    return int(number) if number == int(number) else number


def within(number: Fraction | int, scale: int) -> Fraction | int:
    end = _DECIMAL if scale else _WHOLE
    if not -end < number * 10**scale < end:
        raise OverflowError("a number of more digits than there are")
    return number


def moved(moment: Any, by: Span | dt.timedelta, function: Callable[[Any, Any], Any]) -> Any:
    if not isinstance(by, Span):
        return function(moment, by)
    # A day that the month does not have is its last.
    year, month = divmod(moment.year * 12 + moment.month - 1 + function(0, by.months), 12)
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def divided(left: float, right: float) -> float | None:
    return left / right if right else None


def whole_quotient(left: int, right: int) -> int | None:
    """The quotient rounded toward zero; None by zero."""
    if not right:
        return None
    return abs(left) // abs(right) * (1 if (left < 0) is (right < 0) else -1)


def remainder(left: int, right: int) -> int | None:
    """The remainder, with the sign of the dividend; None by zero."""
    return (abs(left) % abs(right)) * (-1 if left < 0 else 1) if right else None


def positive_remainder(left: int, right: int) -> int | None:
    """Spark: what is negative has the divisor added, and its remainder taken again."""
    rest = remainder(left, right)
    return remainder(rest + right, right) if rest is not None and rest < 0 else rest


def half_away(number: Fraction | int, digits: int) -> Fraction | int:
    units = abs(number) * 10**digits
    made = Fraction(math.floor(units + Fraction(1, 2)), 10**digits)
    return plain(-made if number < 0 else made)


def floor(number: Any) -> int | None:
    return of_bits(math.floor(number), 127) if math.isfinite(number) else None


def ceiling(number: Any) -> int | None:
    return of_bits(math.ceil(number), 127) if math.isfinite(number) else None


def square_root(number: Any) -> float:
    return math.sqrt(number) if number >= 0 else math.nan


def of_bits(number: int, bits: int) -> int | None:
    return number if -(2**bits) <= number < 2**bits else None


def ordered(value: Any) -> Any:
    """NaN equals itself, and is larger than every number."""
    return NAN if isinstance(value, float) and math.isnan(value) else value


def like(text: str, pattern: str) -> bool:
    regex = "".join({"%": ".*", "_": "."}.get(sign, re.escape(sign)) for sign in pattern)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def substring(text: str, start: int, length: int | None = None) -> str:
    return text[start - 1 :] if length is None else text[start - 1 : start - 1 + length]


def right_part(text: str, length: int) -> str:
    return text[max(0, len(text) - length) :]


def replaced(text: str, part: str, by: str) -> str:
    return text.replace(part, by) if part else text


def split_part(text: str, delimiter: str, position: int) -> str:
    parts = text.split(delimiter)
    return parts[position - 1] if position <= len(parts) else ""


@lru_cache(maxsize=256)
def pattern_of(text: str) -> re.Pattern[str]:
    """A regular expression in which ``.`` is no end of a line."""
    pieces = re.findall(r"\[\^?(?:[^\]\\]|\\.)+\]|\\.|.", text, re.DOTALL)
    return re.compile("".join("[^\n\r\x85\u2028\u2029]" if p == "." else p for p in pieces), re.ASCII)


def first_match(text: str, pattern: str, group: int) -> str:
    match = pattern_of(pattern).search(text)
    return (match[group] or "") if match else ""


def substituted(text: str, pattern: str, by: str) -> str:
    return pattern_of(pattern).sub(lambda match: by, text)


def masked(text: str) -> str:
    if any(ord(sign) > 0xFFFF for sign in text):
        raise ValueError("a character beyond U+FFFF is masked in two ways")
    signs = {"Lu": "X", "Ll": "x", "Nd": "n"}
    return "".join(signs.get(unicodedata.category(sign), "-") for sign in text)


def no_json(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def midnight(day: dt.date) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day)


def moment_of(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else midnight(value)


def day_of(value: dt.date) -> dt.date:
    return value.date() if isinstance(value, dt.datetime) else value


PARTS: dict[str, Callable[[Any], int]] = {
    **{
        name: operator.attrgetter(name.lower())
        for name in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
    },
    "QUARTER": lambda value: (value.month + 2) // 3,
    "WEEK": lambda value: int(value.isocalendar()[1]),
    **dict.fromkeys(("DOY", "DAYOFYEAR"), lambda value: int(value.timetuple().tm_yday)),
    # From Sunday, which is 1; from Monday.
    **dict.fromkeys(("DOW", "DAYOFWEEK"), lambda value: value.isoweekday() % 7 + 1),
    **dict.fromkeys(("ISODOW", "DOW_ISO", "DAYOFWEEK_ISO"), lambda value: int(value.isoweekday())),
}


def days_between(left: dt.date, right: dt.date) -> int:
    return (day_of(left) - day_of(right)).days


def to_whole(value: Any, bits: int) -> int | None:
    """Toward zero; NULL of what is no number of the type."""
    if isinstance(value, str):
        text = value.strip(" ")
        if not _WHOLE_TEXT.fullmatch(text):
            return None
        whole = text.partition(".")[0]
        return of_bits(int(whole) if whole.strip("+-") else 0, bits)
    return of_bits(math.trunc(value), bits) if math.isfinite(value) else None


def to_double(value: Any) -> float | None:
    if not isinstance(value, str):
        return float(value)
    text = value.strip(" ").lower()
    if _HEXADECIMAL.fullmatch(text):
        raise ValueError("a hexadecimal number in a text")
    if _DOUBLE_TEXT.fullmatch(text):
        number = float(text.rstrip("df"))
        return number
    return float(text) if _SPECIAL_TEXT.fullmatch(text) else None


def to_single(value: Any) -> float:
    return float(struct.unpack("<f", struct.pack("<f", float(value)))[0])


def to_decimal(value: Fraction | int, precision: int, scale: int) -> Fraction | int | None:
    number = half_away(value, scale)
    return number if abs(number) < 10 ** (precision - scale) else None
