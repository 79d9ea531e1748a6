"""Conditions that Spark itself can check before rows reach Python: those that only drop what no query counts.

They are those that tasks ask DuckDB, in Spark's dialect, on columns whose values mean the same there:
integers, dates, strings and timestamps. Tasks check all conditions again, so what is pushed need only hold of
each tuple that counts. Rows that break a promise of the catalog, or have no timestamp, are let through, so
that they are told as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from sqlglot import exp

from streambound.errors import DataError
from streambound.plan.model import StreamSynopsis
from streambound.query.column_types import Family
from streambound.query.model import Filter, Relation
from streambound.tasks import encoded_sql
from streambound.tasks.promises import promises

# How Spark calls the types whose values are compared as this project does.
_KINDS = {
    Family.NUMBER: {"tinyint", "smallint", "int", "bigint"},
    Family.STRING: {"string"},
    Family.DATE: {"date"},
    Family.TIMESTAMP: {"timestamp"},
}
# What a session's settings may give another meaning in a string, beside what has to be escaped.
_UNSURE = set("\\'$")


def pushdown(
    relation: Relation, columns: Iterable[str], synopses: Iterable[StreamSynopsis], kinds: Mapping[str, str]
) -> str | None:
    """A condition in Spark's SQL that holds of each row that counts for a synopsis, or has to be told of.

    None where all rows are wanted. ``columns`` are those that are read, ``kinds`` what Spark calls the types
    of those that there are.
    """
    rows = _Rows(relation, kinds)
    wanted = [rows.accepted(synopsis) for synopsis in synopses]
    nodes = rows.reported(list(columns))
    if nodes is None or not all(wanted):
        return None
    return exp.or_(*(exp.and_(*conditions) for conditions in wanted), *nodes).sql(dialect="spark")


@dataclass(frozen=True)
class _Rows:
    """Conditions on the rows of a relation, whose columns have these types in Spark."""

    relation: Relation
    kinds: Mapping[str, str]

    def accepted(self, synopsis: StreamSynopsis) -> list[exp.Expr]:
        """Some conditions that a tuple must meet to count."""
        nodes: list[exp.Expr] = [
            exp.not_(_null(a.column)) for a in synopsis.required if a.column in self.kinds
        ]
        filters = [atom for atom in synopsis.filters if isinstance(atom, Filter)]
        compared = [(atom.attribute.column, atom.op, atom.constant.value) for atom in filters]
        compared += [(item.attribute.column, item.op, item.value) for item in synopsis.derived]
        for name, op, value in compared:
            column, kind = exp.column(name, quoted=True), self.relation.column(name).type
            # A constant that SQL cannot say is told by the task.
            with suppress(DataError):
                condition = self._in_spark(name, encoded_sql.compared(column, kind, op, value))
                nodes += [] if condition is None else [condition]
        return nodes

    def reported(self, columns: list[str]) -> list[exp.Expr] | None:
        """Conditions of rows that break a promise; None if one cannot be said in Spark."""
        stamp = self.relation.timestamp
        if not self.kinds.keys() >= set(columns):
            return None
        if stamp in columns and self.relation.rates:
            # That takes all rows of a timestamp.
            return None
        nodes: list[exp.Expr] = [_null(name) for name in columns if name == stamp]
        for promise in promises(self.relation, columns):
            broken = self._in_spark(promise.column, promise.broken)
            if broken is None:
                return None
            nodes.append(broken)
        return nodes

    def _in_spark(self, name: str, condition: exp.Expr) -> exp.Expr | None:
        """A condition on a column in ordered form as one on Spark's; None if it may mean another there."""
        kind = self.relation.column(name).type
        column: exp.Expr = exp.column(name, quoted=True)
        if not isinstance(condition, exp.Is):
            if (kind.family is Family.NUMBER and kind.resolution != 1) or self.kinds.get(
                name
            ) not in _KINDS.get(kind.family, ()):
                return None
            texts = [literal.name for literal in condition.find_all(exp.Literal) if literal.is_string]
            if any(_UNSURE & set(text) or not text.isprintable() for text in texts):
                return None
            column = encoded_sql.normal(column, kind)
        return condition.transform(lambda node: column.copy() if isinstance(node, exp.Column) else node)


def _null(name: str) -> exp.Expr:
    return exp.Is(this=exp.column(name, quoted=True), expression=exp.null())
