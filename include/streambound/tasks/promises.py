"""The catalog's promises on the columns that a query reads, checked over the rows of partitions.

They are counted in one statement; of what is broken the first row is looked for, which is told as on one
machine (``evaluation.promises``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from streambound.errors import DataError
from streambound.evaluation.promises import fault, outside_day, too_many
from streambound.query.column_types import Value
from streambound.query.model import Column, Domain, Op, Rate, Relation
from streambound.storage.partitions import partition_day
from streambound.tasks import encoded_sql
from streambound.tasks.embedded_engine import EmbeddedEngine, EngineQuery, numbered
from streambound.tasks.statements import PART, TUPLES

# Where a row is, in a form that no catalog uses for a column.
FILE, ROW = "streambound file", "streambound row"


@dataclass(frozen=True)
class Promise:
    """A condition that no row may meet, and the column that it is about."""

    column: str
    broken: exp.Expr


def promises(relation: Relation, columns: Iterable[str]) -> list[Promise]:
    """The promises that the catalog makes on some columns of each row of a relation."""
    declared = (relation.column(name) for name in columns)
    return [promise for column in declared if not column.of for promise in _of(relation, column)]


def promised(relation: Relation, columns: Iterable[str]) -> bool:
    """Whether the catalog makes promises on some columns of a relation."""
    names = list(columns)
    return bool(promises(relation, names)) or _rated(relation, names)


def faults(
    session: EmbeddedEngine, relation: Relation, columns: Sequence[str], parts: Sequence[Sequence[str]]
) -> list[dict[str, DataError]]:
    """Of each partition in the current ``tuples`` the columns that break a promise, and the first such row.

    Args:
        columns: those that are read, and are in ``tuples``.
        parts: the files of each partition.
    """
    faults_: list[dict[str, DataError]] = [{} for _ in parts]
    if made := promises(relation, columns):
        for part, *counts in session.rows(EngineQuery(_counted(made).sql(dialect=encoded_sql.DIALECT))):
            for promise, count in zip(made, counts, strict=True):
                if count and promise.column not in faults_[part]:
                    faults_[part][promise.column] = _first(session, relation, promise, parts[part])
    if _rated(relation, columns):
        _take_days(session, relation, parts, faults_)
        for rate in relation.rates:
            for (part,) in session.rows(
                EngineQuery(_crowded(relation, rate).sql(dialect=encoded_sql.DIALECT))
            ):
                if str(relation.timestamp) not in faults_[part]:
                    error = _first_surplus(session, relation, rate, parts[part])
                    faults_[part][str(relation.timestamp)] = error
    return faults_


def _of(relation: Relation, column: Column) -> list[Promise]:
    stored = encoded_sql.column(column.name, TUPLES)
    made = []
    # That a timestamp is NULL is told of the file.
    if not column.nullable and column.name != relation.timestamp:
        made.append(Promise(column.name, exp.Is(this=stored, expression=exp.null())))
    outside = _outside(column, stored, column.domain or Domain())
    if outside:
        made.append(Promise(column.name, exp.or_(*outside)))
    if column.name == relation.timestamp and relation.tick > 1:
        rest = exp.Mod(this=stored.copy(), expression=exp.Literal.number(relation.tick))
        made.append(Promise(column.name, exp.NEQ(this=rest, expression=exp.Literal.number(0))))
    return made


def _outside(column: Column, stored: exp.Column, domain: Domain) -> list[exp.Expr]:
    tests: list[exp.Expr] = []
    if domain.values is not None:
        tests.append(exp.not_(exp.paren(encoded_sql.member(stored.copy(), column.type, domain.values))))
    if domain.minimum is not None:
        tests.append(encoded_sql.compared(stored.copy(), column.type, Op.LT, domain.minimum))
    if domain.maximum is not None:
        tests.append(encoded_sql.compared(stored.copy(), column.type, Op.GT, domain.maximum))
    return tests


def _rated(relation: Relation, columns: Iterable[str]) -> bool:
    return bool(relation.rates) and relation.timestamp in set(columns)


def _counted(made: list[Promise]) -> exp.Select:
    """For each partition its number, and for each promise how many rows break it."""
    part = encoded_sql.column(PART, TUPLES)
    counts = [_rows_where(promise.broken) for promise in made]
    return exp.select(part, *counts).from_(encoded_sql.table(TUPLES)).group_by(part.copy())


def _rows_where(condition: exp.Expr) -> exp.Expr:
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition))


def _take_days(
    session: EmbeddedEngine,
    relation: Relation,
    parts: Sequence[Sequence[str]],
    by_part: list[dict[str, DataError]],
) -> None:
    """Note partitions with rows of another day than theirs: intervals of a rate would lie in two of them."""
    days = [partition_day(relation, files) for files in parts]
    if not any(days):
        return
    part, stamp = encoded_sql.column(PART, TUPLES), encoded_sql.column(str(relation.timestamp), TUPLES)
    ends = exp.select(part, exp.Min(this=stamp), exp.Max(this=stamp.copy()))
    ends = ends.from_(encoded_sql.table(TUPLES)).group_by(part.copy())
    for number, low, high in session.rows(EngineQuery(ends.sql(dialect=encoded_sql.DIALECT))):
        for moment in (low, high):
            error = outside_day(relation, days[number], moment)
            if error is not None:
                by_part[number].setdefault(str(relation.timestamp), error)


def _interval(relation: Relation, rate: Rate) -> exp.Expr:
    """Where the interval begins that a row's timestamp is in."""
    stamp = encoded_sql.column(str(relation.timestamp), TUPLES)
    if rate.length == 1:
        return stamp
    # The rest of a negative number is negative here.
    rest = _rest(exp.paren(exp.Add(this=_rest(stamp, rate), expression=_length(rate))), rate)
    return exp.Sub(this=stamp.copy(), expression=exp.paren(rest))


def _rest(number: exp.Expr, rate: Rate) -> exp.Mod:
    return exp.Mod(this=number, expression=_length(rate))


def _length(rate: Rate) -> exp.Expr:
    return exp.Literal.number(rate.length)


def _crowded(relation: Relation, rate: Rate) -> exp.Select:
    """The partitions in which more rows than are promised share a timestamp, or an interval."""
    part, stamp = encoded_sql.column(PART, TUPLES), _interval(relation, rate)
    more = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(rate.rows))
    shared = exp.select(exp.alias_(part, PART, quoted=True)).from_(encoded_sql.table(TUPLES))
    shared = shared.group_by(part.copy(), stamp).having(more)
    return exp.select(encoded_sql.column(PART, "shared")).distinct().from_(shared.subquery("shared"))


def _first(session: EmbeddedEngine, relation: Relation, promise: Promise, files: Sequence[str]) -> DataError:
    """What is said of the first row that breaks a promise about its values."""
    column = relation.column(promise.column)
    rows = _numbered(relation, column, files).where(promise.broken.copy())
    for value, where in _first_value_and_row(session, relation, rows, files):
        if (data_error := fault(relation, column, value, where)) is not None:
            return data_error
    return _gone(relation, column)


def _first_surplus(
    session: EmbeddedEngine, relation: Relation, rate: Rate, files: Sequence[str]
) -> DataError:
    """What is said of the first row that is one too many at its timestamp, or in its interval."""
    column = relation.column(str(relation.timestamp))
    row_number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[_interval(relation, rate)],
        order=exp.Order(expressions=[encoded_sql.column(name, TUPLES) for name in (FILE, ROW)]),
    )
    rows = _numbered(relation, column, files).qualify(
        exp.EQ(this=row_number, expression=exp.Literal.number(rate.rows + 1))
    )
    for value, where in _first_value_and_row(session, relation, rows, files):
        return too_many(relation, rate, value, where)
    return _gone(relation, column)


def _numbered(relation: Relation, column: Column, files: Sequence[str]) -> exp.Select:
    """The value of a column, its file's number and the row's number in the file, of each row."""
    value = encoded_sql.outward(encoded_sql.column(column.name, TUPLES), column.type)
    rows = numbered(relation, column.name, files, FILE, ROW).subquery(TUPLES)
    return exp.select(value, *(encoded_sql.column(name, TUPLES) for name in (FILE, ROW))).from_(rows)


def _first_value_and_row(
    session: EmbeddedEngine, relation: Relation, rows: exp.Select, files: Sequence[str]
) -> Iterator[tuple[Value | None, str]]:
    """The value and the place of the first of some rows."""
    first = rows.order_by(*(encoded_sql.column(name, TUPLES) for name in (FILE, ROW))).limit(1)
    for value, file, row in session.rows(EngineQuery(first.sql(dialect=encoded_sql.DIALECT))):
        # Where Spark has read the rows, the files are a task's own.
        direct = relation.history is None or relation.history.direct
        yield encoded_sql.encoded(value), f"{files[file]}, row {row}" if direct else ""


def _gone(relation: Relation, column: Column) -> DataError:
    return DataError(
        f"rows with another {relation.name}.{column.name} than the catalog promises are there no longer",
        fix="do not write partitions while they are read; run it again",
    )
