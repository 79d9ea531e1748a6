"""The catalog's promises on the columns that a query reads: NOT NULL and declared domains, counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from streambound.errors import DataError
from streambound.query.model import Column, Domain, Op, Relation
from streambound.spark import ordered
from streambound.spark.statements import PART, TUPLES


@dataclass(frozen=True)
class Promise:
    """A condition that no row may meet, the column that it is about, and the words for it."""

    column: str
    broken: exp.Expr
    words: str

    def fault(self, relation: Relation, partition: str, rows: int) -> DataError:
        """What is said of a partition in which ``rows`` rows break it."""
        return DataError(
            f"partition {partition}: {rows:,} rows have a {self.column} that {self.words}",
            subject=f"stream {relation.name}",
            fix="mend the data, correct the catalog, or exclude the partition",
        )


def promises(relation: Relation, columns: Iterable[str]) -> list[Promise]:
    """The promises that the catalog makes on some columns of a relation."""
    return [promise for name in columns for promise in _of(relation.column(name))]


def _of(column: Column) -> list[Promise]:
    found = ordered.column(column.name, TUPLES)
    made = []
    if not column.nullable:
        is_null = exp.Is(this=found, expression=exp.null())
        made.append(Promise(column.name, is_null, "is NULL though the catalog says not_null"))
    outside = _outside(column, found, column.domain or Domain())
    if outside:
        made.append(Promise(column.name, exp.or_(*outside), "is outside its declared domain"))
    return made


def _outside(column: Column, found: exp.Column, domain: Domain) -> list[exp.Expr]:
    tests: list[exp.Expr] = []
    if domain.values is not None:
        tests.append(exp.not_(exp.paren(ordered.member(found.copy(), column.type, domain.values))))
    if domain.minimum is not None:
        tests.append(ordered.compared(found.copy(), column.type, Op.LT, domain.minimum))
    if domain.maximum is not None:
        tests.append(ordered.compared(found.copy(), column.type, Op.GT, domain.maximum))
    return tests


def check_statement(made: list[Promise]) -> exp.Select:
    """For each partition its number, and for each promise how many rows break it."""
    part = ordered.column(PART, TUPLES)
    counts = [_rows_where(promise.broken) for promise in made]
    return exp.select(part, *counts).from_(ordered.table(TUPLES)).group_by(part.copy())


def _rows_where(condition: exp.Expr) -> exp.Expr:
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition))
