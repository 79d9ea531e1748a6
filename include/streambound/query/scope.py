"""Names and literals in a query, resolved against the relations in its FROM clause."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import expressions as exp
from sqlglot.errors import ErrorLevel

from streambound.errors import DataError, Location, QueryError, UnsupportedError, meant, named, unknown_column
from streambound.query.column_types import NULL, Family, Type, parse_type
from streambound.query.dialects.grammar import MOVED, span_of
from streambound.query.dialects.tokens import code, first_location, location_at
from streambound.query.differences import has_months
from streambound.query.model import Attribute, Column, Constant, Occurrence, Term
from streambound.query.type_names import canonical

NUMBER = Type("number", Family.NUMBER, None)
INTEGER = parse_type("bigint")
# Beyond this a literal is no double, and its exact value is only a waste of memory.
MAX_EXPONENT = 308
MAX_INTERVAL_DIGITS = 15
_EPOCH = datetime(1970, 1, 1)
_DAY = 86_400_000_000
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 7 * 86_400_000_000,
}
DOUBLE = parse_type("double")
_FIRST_WORD = re.compile(r"\w+|\W")
# Words of conditions and of SELECT that are read as a column if they are misspelt.
_WORDS = ("DISTINCT", "FALSE", "NOT", "NULL", "TRUE")
# Units whose length depends on where they begin.
_CALENDAR = ("MONTH", "QUARTER", "YEAR")
STRING = parse_type("string")
BOOLEAN = parse_type("boolean")


def location_of(node: exp.Expr, sql: str) -> Location:
    """Where ``node`` stands in ``sql``; the whole text's start if it cannot be told."""
    span = _span(node) or span_of(node)
    if span is not None:
        return location_at(sql, *span)
    # sqlglot records no position for markers, intervals and the like: their surroundings have one.
    parent = node.parent
    while parent is not None and _span(parent) is None:
        parent = parent.parent
    around = None if parent is None else _span(parent)
    written = _FIRST_WORD.match(node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE))
    if written is not None:
        plain = code(sql).upper()
        for start in (0 if around is None else around[0], 0):
            if (at := plain.find(written[0].upper(), start)) >= 0:
                return location_at(sql, at, at + len(written[0]))
    return (first_location(sql) or Location(1, 1)) if around is None else location_at(sql, *around)


def _span(node: exp.Expr) -> tuple[int, int] | None:
    """From where to where the names and literals of a node stand."""
    # A star that nobody wrote, as in FROM S alone, stands at the first character.
    spans = [(n.meta["start"], n.meta["end"] + 1) for n in node.walk() if n.meta.get("end")]
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None


# Units of time, which some functions take as an argument.
_WORDS_OF_TIME = frozenset(f"{unit}{plural}" for unit in (*MICROSECONDS, *_CALENDAR) for plural in ("", "S"))


def is_word(column: exp.Column) -> bool:
    """Whether a name is no column: a unit of time in a call, or what a lambda names."""
    if column.args.get("table"):
        return False
    if isinstance(column.parent, exp.Func) and column.name.upper() in _WORDS_OF_TIME:
        return True
    if isinstance(column.parent, exp.Bracket) and column.name.upper() in ("ARRAY", "MAP", "ROW"):
        return True
    lambda_ = column.find_ancestor(exp.Lambda)
    return lambda_ is not None and column.name in {given.name for given in lambda_.expressions}


# What Spark says of the file that a row is from, beside the row's columns.
FILES = "_METADATA"


@dataclass(frozen=True)
class Scope:
    """The SQL text and the occurrences that its names may refer to."""

    sql: str
    occurrences: tuple[Occurrence, ...]

    def term(self, node: exp.Expr) -> Term:
        """The attribute or constant that ``node`` is.

        Raises:
            QueryError: an unknown or ambiguous name, a malformed literal.
            UnsupportedError: any other expression.
        """
        if isinstance(node, exp.Paren):
            return self.term(node.this)
        if isinstance(node, exp.Column):
            return self.attribute(node)
        constant = self._literal(node)
        if constant is None:
            raise UnsupportedError(
                f"{describe(node, self.sql)} is not supported yet",
                location=location_of(node, self.sql),
                accepted="columns and constants",
                fix=keyword_meant(node),
            )
        return constant

    def shifted(self, node: exp.Expr) -> tuple[Term, int]:
        """An application timestamp with its offset (ticks, or microseconds), or any other term with 0.

        Raises:
            UnsupportedError: arithmetic on anything but an application timestamp.
        """
        if isinstance(node, exp.Paren):
            return self.shifted(node.this)
        if not isinstance(node, (exp.Add, exp.Sub)):
            return self.term(node), 0
        base, step = node.this, node.expression
        if isinstance(node, exp.Add) and not self._is_stamp(base):
            base, step = step, base
        if not self._is_stamp(base) or has_months(step):
            # A month later is a value of the row, not a distance.
            return self.term(node), 0
        term, before = self.shifted(base)
        offset = self._offset(step, self.type_of(term))
        return term, before + (offset if isinstance(node, exp.Add) else -offset)

    def _is_stamp(self, node: exp.Expr) -> bool:
        while isinstance(node, (exp.Paren, exp.Add, exp.Sub)):
            node = node.this
        return isinstance(node, exp.Column) and self.is_timestamp(self.attribute(node))

    def _offset(self, node: exp.Expr, kind: Type) -> int:
        """A constant offset of an application timestamp: an interval, or a number of ticks."""
        if isinstance(node, exp.Interval):
            self._refuse_unit(node)
        offset = self._interval(node) if isinstance(node, exp.Interval) else self._ticks(node)
        if offset is None or (kind.family is Family.NUMBER) is isinstance(node, exp.Interval):
            # A month, or a function that makes an interval, is valid SQL.
            error = UnsupportedError if self._is_length(node) else QueryError
            raise error(
                f"{node.sql(dialect='spark')} cannot be added to a timestamp of type {kind.name}",
                location=location_of(node, self.sql),
                accepted="an integer number of ticks"
                if kind.family is Family.NUMBER
                else "INTERVAL 10 MINUTES",
            )
        return offset

    def _is_length(self, node: exp.Expr) -> bool:
        """Whether it is a length of time that has no number of microseconds here."""
        if isinstance(node, exp.Interval):
            return str(node.args.get("unit") or "").upper().rstrip("S") in _CALENDAR
        return isinstance(node, exp.Func)

    def _refuse_unit(self, node: exp.Interval) -> None:
        """Refuse a unit that is none, as a misspelt one is."""
        unit = node.args.get("unit")
        name = "" if unit is None else unit.sql(dialect="spark").upper()
        if isinstance(unit, exp.Var) and name.rstrip("S") not in (*MICROSECONDS, *_CALENDAR):
            raise QueryError(
                f"{name} is not a unit of time",
                location=location_of(unit, self.sql),
                accepted=", ".join(f"{unit}S" for unit in MICROSECONDS),
                fix=meant(name, (form for unit in MICROSECONDS for form in (unit, f"{unit}S"))),
            )

    def _ticks(self, node: exp.Expr) -> int | None:
        literal = self._literal(node)
        return literal.value if literal is not None and literal.type is INTEGER else None

    def _interval(self, node: exp.Interval) -> int | None:
        unit = str(node.args.get("unit") or "").upper().rstrip("S")
        amount = node.this
        sign = 1
        if isinstance(amount, exp.Neg):
            amount, sign = amount.this, -1
        if unit not in MICROSECONDS or not isinstance(amount, exp.Literal):
            return None
        try:
            decimal = Decimal(str(amount.this).strip())
        except (InvalidOperation, ValueError):
            return None
        if not decimal.is_finite() or abs(decimal.adjusted()) > MAX_INTERVAL_DIGITS:
            return None
        exact = Fraction(decimal) * MICROSECONDS[unit] * sign
        return int(exact) if exact.denominator == 1 else None

    def attribute(self, node: exp.Column) -> Attribute:
        """The attribute that a column name refers to.

        Raises:
            QueryError: no column of that name is in scope, or more than one.
        """
        location = location_of(node, self.sql)
        if node.args.get("db") or node.args.get("catalog"):
            raise QueryError(f"{node.sql()} has too many parts", location=location, accepted="alias.column")
        owners = self._owners(node.table, location)
        attributes = [
            Attribute(o.alias, column.name)
            for o in owners
            for column in o.relation.columns
            if column.name.lower() == node.name.lower()
        ]
        if not attributes:
            columns = sorted(c.name for o in owners for c in o.relation.columns)
            whose = (
                f"{owners[0].relation.name} has no column" if node.table else "no stream in FROM has a column"
            )
            likely = columns if node.table else [*columns, *_WORDS]
            fix = meant(node.name, likely)
            raise unknown_column(f"{whose} {node.name}", node.name, location, columns, fix)
        if len(attributes) > 1:
            raise QueryError(
                f"the column {node.name} is ambiguous",
                location=location,
                accepted=" or ".join(map(str, attributes)),
                fix=f"write {attributes[0]}",
            )
        return attributes[0]

    def _owners(self, alias: str, location: Location) -> tuple[Occurrence, ...]:
        if not alias:
            return self.occurrences
        owners = tuple(o for o in self.occurrences if o.alias.lower() == alias.lower())
        if not owners:
            if alias.upper() == FILES:
                what = f"the pseudo-column {FILES}"
                raise named(what, f"{what} is not supported yet", location)
            aliases = [o.alias for o in self.occurrences]
            renamed = [o.alias for o in self.occurrences if o.relation.name.lower() == alias.lower()]
            raise QueryError(
                f"unknown stream or alias {alias}",
                location=location,
                accepted=", ".join(aliases),
                fix=f"write {renamed[0]}, as FROM calls it" if renamed else meant(alias, aliases),
            )
        return owners

    def type_of(self, term: Term) -> Type:
        """The type of an attribute or constant."""
        return term.type if isinstance(term, Constant) else self.column(term).type

    def column(self, attribute: Attribute) -> Column:
        """The catalog column behind an attribute."""
        return self.owner(attribute).relation.column(attribute.column)

    def owner(self, attribute: Attribute) -> Occurrence:
        """The occurrence that an attribute belongs to."""
        return next(o for o in self.occurrences if o.alias == attribute.occurrence)

    def nullable(self, attribute: Attribute) -> bool:
        """Whether an attribute may be NULL; an application timestamp never is."""
        return self.column(attribute).nullable and not self.is_timestamp(attribute)

    def is_timestamp(self, term: Term) -> bool:
        """Whether a term is the application timestamp of its stream."""
        return isinstance(term, Attribute) and any(
            o.alias == term.occurrence and o.relation.timestamp == term.column for o in self.occurrences
        )

    def _literal(self, node: exp.Expr) -> Constant | None:
        if isinstance(node, exp.Paren):
            return self._literal(node.this)
        if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Interval):
            return self._later(node)
        if not isinstance(node, (exp.Neg, exp.Literal, exp.Boolean, exp.Null, exp.Cast)):
            return None
        number = isinstance(node, exp.Literal) and not node.is_string
        text = str(node.this) if number else node.sql(dialect="spark")
        if isinstance(node, exp.Neg):
            inner = self._literal(node.this)
            if inner is None or inner.type not in (NUMBER, INTEGER, DOUBLE) or inner.value is None:
                return None
            return Constant(-inner.value, text, inner.type)
        if isinstance(node, exp.Literal):
            return Constant(node.this, text, STRING) if node.is_string else self._number(node, text)
        if isinstance(node, exp.Boolean):
            return Constant(int(bool(node.this)), text, BOOLEAN)
        if isinstance(node, exp.Null):
            return Constant(None, text, NULL)
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
            return self._typed(node, text)
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Null):
            name = canonical(node.to.sql(dialect="spark"))
            return Constant(None, "NULL", NULL if name is None else parse_type(name))
        return None

    def _later(self, node: exp.Add | exp.Sub) -> Constant | None:
        """A date or timestamp and a length of time, as ``DATE '2026-01-31' + INTERVAL '1' YEAR``."""
        base = self._literal(node.this)
        if base is None or base.type.family not in (Family.DATE, Family.TIMESTAMP) or base.value is None:
            return None
        sign = 1 if isinstance(node, exp.Add) else -1
        unit = str(node.expression.args.get("unit") or "").upper().rstrip("S")
        amount, dated = node.expression.this, base.type.family is Family.DATE
        text = f"{base.text} {'+' if sign > 0 else '-'} {node.expression.sql(dialect='spark')}"
        if unit in _MONTHS and isinstance(amount, exp.Literal) and amount.name.isdigit():
            start = _EPOCH + timedelta(**{"days" if dated else "microseconds": int(base.value)})
            months = start.year * 12 + start.month - 1 + sign * int(amount.name) * _MONTHS[unit]
            if not 12 <= months < 120_000:
                return None
            year, month = divmod(months, 12)
            day = min(start.day, monthrange(year, month + 1)[1])
            moved = start.replace(year=year, month=month + 1, day=day) - _EPOCH
            value = moved.days if dated else moved // timedelta(microseconds=1)
            return Constant(value, text, base.type)
        length = self._interval(node.expression)
        if length is None:
            return None
        step = _DAY if dated else 1
        if length % step:
            return Constant(int(base.value) * step + sign * length, text, parse_type("timestamp"))
        return Constant(int(base.value) + sign * length // step, text, base.type)

    def _number(self, node: exp.Expr, text: str) -> Constant:
        try:
            decimal = Decimal(str(node.this))
        except InvalidOperation:
            location = location_of(node, self.sql)
            raise QueryError(
                f"{text[:40]} is not a number", location=location, accepted="numbers such as 1.5"
            ) from None
        if decimal and abs(decimal.adjusted()) > MAX_EXPONENT:
            raise QueryError(
                f"the number {text[:40]} is out of range",
                location=location_of(node, self.sql),
                accepted=f"numbers from 1e-{MAX_EXPONENT} to 1e{MAX_EXPONENT}",
            )
        if "e" in str(node.this).lower():
            # As in Spark: an exponent makes a number a double.
            return Constant(self._double(decimal, text, node), text, DOUBLE)
        value = Fraction(decimal)
        if value.denominator == 1:
            return Constant(int(value), text, INTEGER)
        return Constant(value, text, NUMBER)

    def _typed(self, node: exp.Cast, text: str) -> Constant | None:
        name = node.to.sql(dialect="spark").lower()
        if name not in ("date", "timestamp", "timestamp_ltz", "timestamp_ntz"):
            return None
        kind = parse_type(name)
        text = f"{kind.name.upper()} '{node.this.this}'"
        return Constant(self._encoded(kind, node.this.this, node), text, kind)

    def _encoded(self, kind: Type, raw: object, node: exp.Expr) -> int:
        try:
            encoded = kind.encode(raw)
            assert isinstance(encoded, int)
            return encoded
        except DataError as error:
            raise QueryError(
                error.message,
                location=location_of(node, self.sql),
                accepted="'2026-01-31'" if kind.family is Family.DATE else "'2026-01-31 23:59:59'",
            ) from None

    def coerce(self, constant: Constant, kind: Type, node: exp.Expr) -> Constant:
        """A constant as a value of the type that it is compared with (Spark's implicit casts).

        Raises:
            QueryError: the types do not compare.
        """
        if constant.value is None:
            return Constant(None, constant.text, kind)
        if kind.family in (Family.DATE, Family.TIMESTAMP) and constant.type is STRING:
            return Constant(self._encoded(kind, constant.value, node), constant.text, kind)
        if kind.family is Family.TIMESTAMP and constant.type.family is Family.DATE:
            return Constant(int(constant.value) * _DAY, constant.text, kind)
        if kind.family is not constant.type.family:
            raise QueryError(
                f"{constant.text} is a {constant.type.family.value} and cannot be compared "
                f"with a {kind.family.value}",
                location=location_of(node, self.sql),
                accepted=f"a {kind.family.value}",
            )
        if kind.family is Family.NUMBER and kind.resolution is None:
            # Spark compares a double with a literal as doubles: 0.1 means the double nearest to it.
            return Constant(self._double(constant.value, constant.text, node), constant.text, kind)
        return Constant(constant.value, constant.text, kind)

    def as_double(self, constant: Constant, node: exp.Expr) -> Constant:
        """A number as a double; any other constant as it is."""
        if constant.value is None or constant.type not in (NUMBER, INTEGER):
            return constant
        return Constant(self._double(constant.value, constant.text, node), constant.text, DOUBLE)

    def _double(self, value: Decimal | Fraction | float, text: str, node: exp.Expr) -> float:
        try:
            if math.isfinite(near := float(value)):
                return near
        except OverflowError:
            pass
        raise QueryError(f"{text[:40]} is larger than any double", location=location_of(node, self.sql))


def describe(node: exp.Expr, sql: str = "") -> str:
    """What an expression is that no query of the class has, in words, as ``sql`` has it."""
    span = None if MOVED in node.meta else span_of(node)
    written = " ".join(sql[slice(*span)].split()) if span else ""
    written = written or node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE)
    if isinstance(node, exp.AggFunc):
        return f"the aggregate {written}"
    if isinstance(node, exp.Case):
        return f"the expression {written}"
    if isinstance(node, exp.Func):
        return f"the function call {written}"
    if isinstance(node, exp.Binary):
        return f"the expression {written}"
    if isinstance(node, (exp.Subquery, exp.Select)):
        return "a sub-query"
    return written or node.key.upper()


def keyword_meant(node: exp.Expr) -> str | None:
    """The keyword that was meant by what is read as a call of an unknown function: a name before ``(``."""
    return meant(node.name, ("AND", "IN", "NOT", "OR")) if isinstance(node, exp.Anonymous) else None
