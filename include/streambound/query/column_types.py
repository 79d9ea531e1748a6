"""Types of columns and the ordered values that they hold.

A comparison only needs an order, so every value is *encoded* once into its ordered form:
numbers as ``int`` or exact ``Fraction``, dates as days, timestamps as microseconds, strings as
themselves (code-point order), NaN as the largest number, equal to itself (as in Spark).
Discrete types (integer, decimal, date, boolean) have a step; the others are dense, so an interval
of theirs is infinite (Arasu et al., section 6: boundedness through |sat(A, P)|).
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache, total_ordering
from typing import Any, TypeAlias

from streambound.errors import CatalogError, DataError
from streambound.query.type_names import ACCEPTED, canonical, fix_of

EPOCH_DAY = dt.date(1970, 1, 1)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
DAYS = range((dt.date.min - EPOCH_DAY).days, (dt.date.max - EPOCH_DAY).days + 1)
MICROSECONDS = range(DAYS.start * 86_400_000_000, DAYS.stop * 86_400_000_000)
# More than any decimal or double needs; the fraction that "1e999999999" stands for fills the memory.
EXPONENTS = range(-1100, 400)
# How much of a wrong value a message repeats.
SHOWN = 80


@total_ordering
class NotANumber:
    """SQL's NaN under Spark's order: larger than every number and equal to itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NotANumber)

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, NotANumber)

    def __hash__(self) -> int:
        return hash("NaN")

    def __repr__(self) -> str:
        return "NaN"


NAN = NotANumber()
# int, Fraction, float, str or NotANumber; the values of one family are ordered among each other,
# which a union type could not say.
Value: TypeAlias = Any


class Family(Enum):
    """Types of one family compare with each other."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    # Application time, whatever its type: it orders arrivals and compares with nothing else.
    TIME = "application time"
    STRING = "string"


INTEGERS = ("int", "bigint", "smallint", "tinyint")
# Whole numbers up to here are doubles, each of them.
DOUBLES = 2**53
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
# A part of a second below a microsecond.
_FINER = re.compile(r"[.,]\d{6}\d*[1-9]")
# As many digits as a decimal can have, and more: nothing is rounded.
_EXACT = Context(prec=80)


def shown(value: object) -> str:
    """A wrong value as a message repeats it: as SQL writes it, in one line, not all of it if it is long."""
    try:
        text = _sql_text(value)
    except (RecursionError, ValueError):
        # Nested too deeply, or an integer of thousands of digits.
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _sql_text(value: object) -> str:
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{str(value).removesuffix('+00:00')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value}'"
    if isinstance(value, dt.time):
        return f"TIME '{value}'"
    if isinstance(value, dt.timedelta):
        return f"INTERVAL '{value}'"
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_sql_text, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_sql_text(key)}: {_sql_text(inner)}' for key, inner in value.items())}}}"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, (str, int, float)):
        return repr(value)
    return f"a value of type {type(value).__name__}"


@dataclass(frozen=True)
class Type:
    """A column type: its SQL name, its family, and the step between neighbours (None if dense).

    The step is in units of the encoded values: 1 for whole numbers, days and truth values, 1/100 for
    ``decimal(p,2)``.
    """

    name: str
    family: Family
    resolution: Fraction | None

    @property
    def discrete(self) -> bool:
        """Whether an interval of values is finite."""
        return self.resolution is not None

    def encode(self, value: Any) -> Value | None:
        """The ordered form of a value read from JSON, YAML or Arrow; None stays None.

        Raises:
            DataError: the value does not belong to the type.
        """
        if value is None:
            return None
        try:
            return _ENCODERS[self.family](self, value)
        except (ValueError, TypeError, OverflowError, InvalidOperation):
            raise DataError(f"{shown(value)} is not a value of type {self.name}") from None

    def decode(self, value: Value | None) -> Any:
        """A value for JSON and Parquet from its ordered form."""
        return None if value is None else self._decoder(value)

    def decoded(self, column: Iterable[Value | None]) -> list[Any]:
        """Values for JSON and Parquet from their ordered forms."""
        decoder = self._decoder
        return [None if value is None else decoder(value) for value in column]

    @cached_property
    def _decoder(self) -> Callable[[Value], Any]:
        if self.family is Family.NUMBER:
            return int if self.resolution == 1 else self._decode_number
        return _DECODERS.get(self.family, _itself)

    def text(self, value: Value | None) -> str:
        """A value as SQL writes it."""
        decoded = self.decode(value)
        if decoded is None:
            return "NULL"
        if self.family is Family.STRING:
            return "'" + str(decoded).replace("\\", "\\\\").replace("'", "''") + "'"
        if self.family in (Family.DATE, Family.TIMESTAMP):
            return f"{self.family.name} '{str(decoded).removesuffix('+00:00')}'"
        if isinstance(decoded, Decimal):
            return format(decoded, "f")
        return str(decoded).upper() if self.family is Family.BOOLEAN else str(decoded)

    def _decode_number(self, value: Value) -> Any:
        if isinstance(value, NotANumber):
            return math.nan
        if self.resolution is None:
            return float(value)
        scale = len(str(self.resolution.denominator)) - 1
        return Decimal((Fraction(value) / self.resolution).numerator).scaleb(-scale, _EXACT)


def parse_type(text: str | None) -> Type:
    """The type that ``text`` names (see ``type_names``; any case).

    Raises:
        CatalogError: an unknown type.
    """
    if text is None:
        raise CatalogError("unknown column type null", accepted=ACCEPTED)
    if (name := canonical(str(text))) is None:
        raise CatalogError(f"unknown column type {shown(text)}", accepted=ACCEPTED, fix=fix_of(str(text)))
    if name.startswith("decimal"):
        return Type(name, Family.NUMBER, Fraction(1, 10 ** digits_of(name)[1]))
    return Type(name, *_KINDS[name])


_KINDS: dict[str, tuple[Family, Fraction | None]] = {
    **dict.fromkeys(INTEGERS, (Family.NUMBER, Fraction(1))),
    **dict.fromkeys(("float", "double"), (Family.NUMBER, None)),
    "boolean": (Family.BOOLEAN, Fraction(1)),
    "date": (Family.DATE, Fraction(1)),
    "timestamp": (Family.TIMESTAMP, None),
    "string": (Family.STRING, None),
}


def digits_of(name: str) -> tuple[int, int]:
    """Precision and scale of a decimal type, by its name."""
    precision, scale = name.removeprefix("decimal(").removesuffix(")").split(",")
    return int(precision), int(scale)


# Digits of a product of decimals of which so many rows can be added that no history has more.
_ADDED_DIGITS = 26


def exact_sum(kinds: Sequence[Type]) -> bool:
    """Whether an engine adds up products of values exactly: integers, two at most, or decimals of few digits.

    >>> exact_sum([parse_type("int"), parse_type("bigint")]), exact_sum([parse_type("double")])
    (True, False)
    """
    if all(kind.name in INTEGERS for kind in kinds):
        return len(kinds) <= 2
    decimal = all(kind.name.startswith("decimal") for kind in kinds)
    return decimal and sum(digits_of(kind.name)[0] for kind in kinds) <= _ADDED_DIGITS


# The type of the literal NULL, which is of every type.
NULL = Type("null", Family.STRING, None)


def common_type(left: Type, right: Type) -> Type | None:
    """The type that holds the values of two, as UNION needs it; None if they do not compare.

    Integers widen to 64 bits, decimals to the finer step, and with a double everything is one.
    """
    if NULL in (left, right):
        return right if left == NULL else left
    if left == right:
        return left
    if left.family is not right.family:
        return None
    if left.family is not Family.NUMBER:
        return left
    if left.resolution is None or right.resolution is None:
        return parse_type("double")
    if left.resolution == right.resolution == 1 and left.name in INTEGERS and right.name in INTEGERS:
        return parse_type("bigint")
    resolution = min(left.resolution, right.resolution)
    scale = len(str(resolution.denominator)) - 1
    return Type(f"decimal(38,{scale})", Family.NUMBER, resolution)


def _encoded_number(kind: Type, value: Any) -> Value:
    if kind.resolution is None:
        # A binary float stays one: Python compares it with Fraction exactly.
        near = value if isinstance(value, float) else float(_exact_fraction(value))
        return NAN if math.isnan(near) else _single_precision(near) if kind.name == "float" else near
    exact = _exact_fraction(value)
    if exact % kind.resolution != 0 or not _number_range(kind.name)[0] <= exact < _number_range(kind.name)[1]:
        raise ValueError(value)
    return int(exact) if exact.denominator == 1 else exact


def _single_precision(value: float) -> float:
    """The nearest number of 32 bits; OverflowError beyond the largest."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


@lru_cache
def _number_range(name: str) -> tuple[Fraction, Fraction]:
    """The least value of an exact type, and what its values are below."""
    if name.startswith("decimal"):
        precision, scale = digits_of(name)
        end = Fraction(10 ** (precision - scale))
        return Fraction(1, 10**scale) - end, end
    # The width of an integer is no bound; but what compares with doubles has to be one, as every int is.
    return (
        (Fraction(-(2**63)), Fraction(2**63))
        if name == "bigint"
        else (Fraction(-DOUBLES), Fraction(DOUBLES + 1))
    )


def whole_numbers(kind: Type) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    low, end = _number_range(kind.name)
    return int(low), int(end) - 1


def _exact_fraction(value: Any) -> Fraction:
    if isinstance(value, bool) or (isinstance(value, str) and not _NUMBER.fullmatch(value.strip())):
        raise ValueError(value)
    if isinstance(value, (str, float, Decimal)):
        number = value if isinstance(value, Decimal) else Decimal(str(value).strip())
        digits, exponent = number.as_tuple()[1:]
        if not isinstance(exponent, int):
            raise ValueError(value)
        if exponent not in EXPONENTS or len(digits) + exponent not in EXPONENTS:
            raise OverflowError(value)
        return Fraction(number)
    return Fraction(value)


def _encoded_boolean(kind: Type, value: Any) -> int:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return int(value.lower() == "true")
    raise ValueError(value)


def _encoded_date(kind: Type, value: Any) -> int:
    if isinstance(value, dt.datetime):
        raise ValueError(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _value_in_range(value, DAYS)
    day = value if isinstance(value, dt.date) else dt.date.fromisoformat(value)
    return (day - EPOCH_DAY).days


def _encoded_timestamp(kind: Type, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return _value_in_range(value, MICROSECONDS)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if isinstance(value, str) and _FINER.search(value):
        # Python would cut it to microseconds.
        raise ValueError(value)
    moment = value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(value)
    # Histories are in UTC: a naive timestamp is one of theirs.
    moment = moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment
    # An offset can put the first or last hours outside the years 1 to 9999.
    return _value_in_range((moment - EPOCH) // dt.timedelta(microseconds=1), MICROSECONDS)


def _value_in_range(value: int, range_: range) -> int:
    if value not in range_:
        raise OverflowError(value)
    return value


def _encoded_string(kind: Type, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    # A lone surrogate is no character: it cannot be written as UTF-8 (UnicodeEncodeError is a ValueError).
    value.encode()
    return value


_ENCODERS = {
    Family.NUMBER: _encoded_number,
    Family.BOOLEAN: _encoded_boolean,
    Family.DATE: _encoded_date,
    Family.TIMESTAMP: _encoded_timestamp,
    Family.STRING: _encoded_string,
}


def _date_of(day: Value) -> dt.date:
    return EPOCH_DAY + dt.timedelta(days=int(day))


def _timestamp_of(moment: Value) -> dt.datetime:
    return EPOCH + dt.timedelta(microseconds=int(moment))


def _itself(value: Value) -> Value:
    return value


_DECODERS: dict[Family, Callable[[Value], Any]] = {
    Family.BOOLEAN: bool,
    Family.DATE: _date_of,
    Family.TIMESTAMP: _timestamp_of,
}
