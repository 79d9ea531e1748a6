"""Which numbers Spark SQL compares exactly, as this project does; the others are refused.

Spark compares an exact number with a double as two doubles, and decimals in a type that holds them all,
rounded where that would need more than 38 digits. Such comparisons are not transitive: ``a = x`` and
``x = b`` with integers ``a``, ``b`` and a double ``x`` do not imply ``a = b``. All theory here takes
comparisons for exact (see ``constraints``), so there is no answer where Spark's is not.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from streambound.query.column_types import DOUBLES, INTEGERS, Family, Value, digits_of
from streambound.query.model import Column, Constant, Domain, is_null
from streambound.query.type_names import MOST_DIGITS

# Decimals of so many digits are told apart, and ordered alike, by the doubles next to them.
EXACT_DIGITS = 15
COMPARABLE = (
    f"beside a double: int, decimal(p,0) of at most {EXACT_DIGITS} digits, or a declared domain of doubles;"
    f" else at most {MOST_DIGITS} digits before and after the point together"
)
# What Spark takes an integer for beside a decimal.
_DIGITS_OF_INTEGERS = 20


def exactly(*terms: Column | Constant) -> bool:
    """Whether Spark compares these as the numbers that they are, all with each other."""
    if any(isinstance(t, Column) and t.of for t in terms):
        # Values of expressions are not computed here: they are decided as the numbers that they stand for.
        return True
    numbers = [t for t in terms if t.type.family is Family.NUMBER and not is_null(t)]
    if any(map(dense, numbers)):
        return all(map(in_doubles, numbers))
    if all(isinstance(t, Column) and t.type.name in INTEGERS for t in numbers):
        return True
    digits = [_digits(number) for number in numbers]
    return max(before for before, _ in digits) + max(after for _, after in digits) <= MOST_DIGITS


def dense(term: Column | Constant) -> bool:
    """Whether Spark takes it, and so what it is compared with, for a double."""
    return term.type.name in ("double", "float")


def in_doubles(term: Column | Constant) -> bool:
    """Whether each of its values is a double."""
    if dense(term):
        return True
    if isinstance(term, Constant):
        return _is_double(term.value)
    kind, domain = term.type, term.domain or Domain()
    if domain.values is not None:
        return all(map(_is_double, domain.values))
    if kind.resolution != 1:
        return False
    narrow = kind.name != "bigint" if kind.name in INTEGERS else digits_of(kind.name)[0] <= EXACT_DIGITS
    ends = (domain.minimum, domain.maximum)
    return narrow or all(end is not None and abs(end) <= DOUBLES for end in ends)


def _is_double(value: Value) -> bool:
    return isinstance(value, float) or Fraction(float(value)) == value


def _digits(term: Column | Constant) -> tuple[int, int]:
    """Digits before and after the point: what does not fit 38 of them, Spark rounds after the point."""
    if isinstance(term, Constant):
        units, after = abs(Fraction(term.value or 0)), 0
        while units.denominator != 1:
            units, after = units * 10, after + 1
        return max(0, len(str(units.numerator)) - after), after
    if term.type.name in INTEGERS:
        return _DIGITS_OF_INTEGERS, 0
    precision, scale = digits_of(term.type.name)
    return precision - scale, scale


def beside(column: Column, value: float) -> Value | None:
    """What an exact column is compared with, so that all comparisons are those of Spark with a double.

    None if no number does: then values of the column that differ are one double. Of decimals that doubles
    tell apart, the one with the fewest digits next to the double stands for it.
    """
    if in_doubles(column) or (column.type.resolution == 1 and abs(value) < DOUBLES):
        return _int_or_fraction(Fraction(value))
    if column.type.name in INTEGERS or digits_of(column.type.name)[0] > EXACT_DIGITS:
        return None
    shortest = Decimal(repr(value))
    return (
        _int_or_fraction(Fraction(shortest))
        if len(shortest.normalize().as_tuple().digits) <= EXACT_DIGITS
        else None
    )


def _int_or_fraction(exact: Fraction) -> Value:
    return int(exact) if exact.denominator == 1 else exact
