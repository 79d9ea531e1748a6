"""Conditions that Spark itself can check before rows reach Python: those that only drop what no query counts.

Only comparisons whose meaning is the same in Spark are pushed: integers, dates and strings against
constants. Tasks check all conditions again, so what is pushed need only hold of each tuple that counts. Rows
that break a promise of the catalog, or have no timestamp, are let through, so that they are told as ever.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from streambound.query.model import Domain, Filter, Op, Relation
from streambound.query.values import Family, Value
from streambound.spark.frames import quoted
from streambound.synopsis.plan import StreamSynopsis

if TYPE_CHECKING:
    from pyspark.sql import Column

_OPERATORS = {
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.GE: operator.ge,
    Op.GT: operator.gt,
}
_LARGEST = 2**63 - 1
_EPOCH = dt.date(1970, 1, 1).toordinal()


# How Spark calls the types whose comparisons are pushed.
_KINDS = {"tinyint", "smallint", "int", "bigint", "string", "date"}


def pushdown(
    relation: Relation, columns: Iterable[str], synopses: Iterable[StreamSynopsis], kinds: Mapping[str, str]
) -> Column | None:
    """A condition that holds of each row that counts for one of the synopses, or has to be told of.

    None where all rows are wanted. ``columns`` are those that are read, ``kinds`` what Spark calls the types
    of those that there are.
    """
    wanted = [_Rows(relation, kinds).accepted(synopsis) for synopsis in synopses]
    told = _Rows(relation, kinds).to_be_told(columns)
    if told is None or not all(wanted):
        return None
    return reduce(operator.or_, [reduce(operator.and_, conditions) for conditions in wanted] + told)


@dataclass(frozen=True)
class _Rows:
    """Conditions on the rows of a relation, whose columns have these types in Spark."""

    relation: Relation
    kinds: Mapping[str, str]

    def accepted(self, synopsis: StreamSynopsis) -> list[Column]:
        """Some conditions that a tuple must meet to count."""
        found = [quoted(a.column).isNotNull() for a in synopsis.required if a.column in self.kinds]
        for atom in synopsis.filters:
            if isinstance(atom, Filter):
                found += self._compared(atom.attribute.column, atom.op, atom.constant.value)
        for condition in synopsis.derived:
            found += self._compared(condition.attribute.column, condition.op, condition.value)
        return found

    def to_be_told(self, columns: Iterable[str]) -> list[Column] | None:
        """Conditions of rows that break a promise; None if one cannot be said in Spark."""
        found = []
        for column in map(self.relation.column, columns):
            if column.name not in self.kinds:
                return None
            if not column.nullable or column.name == self.relation.timestamp:
                found.append(quoted(column.name).isNull())
            outside = self._outside(column.name, column.domain)
            if outside is None:
                return None
            found += outside
            if column.name == self.relation.timestamp:
                uneven = self._uneven(column.name)
                if uneven is None:
                    return None
                found += uneven
        return found

    def _uneven(self, stamp: str) -> list[Column] | None:
        """Conditions of timestamps that break a promise; None if that takes all rows of a timestamp."""
        from pyspark.sql import functions as f

        if self.relation.rates:
            return None
        if self.relation.tick == 1:
            return []
        if self.kinds[stamp] != "timestamp":
            return None
        return [f.unix_micros(quoted(stamp)) % self.relation.tick != 0]

    def _outside(self, column: str, domain: Domain | None) -> list[Column] | None:
        if domain is None:
            return []
        found = []
        for op, end in ((Op.LT, domain.minimum), (Op.GT, domain.maximum)):
            if end is not None:
                conditions = self._compared(column, op, end)
                if not conditions:
                    return None
                found += conditions
        if domain.values is not None:
            literals = [self._literal(column, value) for value in domain.values]
            if any(literal is None for literal in literals):
                return None
            found.append(~quoted(column).isin(literals))
        return found

    def _compared(self, column: str, op: Op, value: Value | None) -> list[Column]:
        literal = self._literal(column, value)
        return [] if literal is None else [_OPERATORS[op](quoted(column), literal)]

    def _literal(self, column: str, value: Value | None) -> Column | None:
        """A constant that Spark compares with a column as this project does; None if it may not."""
        from pyspark.sql import functions as f

        kind, stored = self.relation.column(column).type, self.kinds.get(column)
        plain: Any = None
        if stored not in _KINDS:
            return None
        if kind.family is Family.STRING and isinstance(value, str) and stored == "string":
            plain = value
        elif kind.family is Family.DATE and isinstance(value, int) and stored == "date":
            plain = _day(value)
        elif kind.family is Family.NUMBER and kind.step == 1 and isinstance(value, int):
            plain = value if stored not in ("string", "date") and abs(value) <= _LARGEST else None
        return None if plain is None else f.lit(plain)


def _day(days: int) -> dt.date | None:
    try:
        return dt.date.fromordinal(_EPOCH + days)
    except (ValueError, OverflowError):
        return None
