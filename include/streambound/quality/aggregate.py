"""The counting itself: one DuckDB aggregation over the files of several partitions.

The statement is built of sqlglot nodes, identifiers quoted, values as parameters: no text of a
catalog or a file becomes SQL.
"""

from __future__ import annotations

import datetime as dt
import glob
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from sqlglot import exp

from streambound.query.column_types import EPOCH, Family
from streambound.query.model import Column, Domain, Relation
from streambound.storage.partitions import Partition

# Names of our own beside the stream's columns, in a form that no catalog uses.
FILE = "streambound file"
# Characters of a value that is recorded.
LONGEST = 120
SOURCE = f"SELECT * FROM read_parquet(?, filename = '{FILE}', hive_partitioning = false)"


@dataclass(frozen=True)
class Counted:
    """Counts of rows of one partition, nulls of every column; ``first`` and ``last`` in microseconds or
    ticks. ``least`` and ``greatest`` by column are values for JSON; None of a column that is all NULL."""

    rows: int
    nulls: Mapping[str, int]
    outside_day: int
    outside_domain: Mapping[str, int]
    most_at_once: int
    first: int | None
    last: int | None
    least: Mapping[str, Any] = field(default_factory=dict)
    greatest: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def empty(cls, relation: Relation) -> Counted:
        """The counts of a partition without rows."""
        nulls = {column.name: 0 for column in relation.columns}
        return cls(0, nulls, 0, {column.name: 0 for column in with_domain(relation)}, 0, None, None)


def never_null(relation: Relation) -> list[Column]:
    """The columns that promise to have no NULL: those listed, and the timestamp."""
    return [column for column in relation.columns if not column.nullable]


def with_domain(relation: Relation) -> list[Column]:
    """The columns whose values are declared."""
    return [column for column in relation.columns if column.domain is not None]


def count(
    relation: Relation, partitions: Sequence[Partition], days: Mapping[str, tuple[int, int] | None]
) -> dict[str, Counted]:
    """Counts by partition name; one without rows is absent. ``days`` bounds each one's timestamps.

    Raises:
        duckdb.Error: a file cannot be read.
    """
    import duckdb

    files = [(str(path), p.name, *(days[p.name] or (None, None))) for p in partitions for path in p.files]
    statement, parameters = _statement(relation)
    with duckdb.connect() as connection:
        connection.register("files", _table_of(files))
        # Parameters follow the text: those of the select list come before the scan's, which takes patterns.
        connection.execute(statement, [*parameters, [glob.escape(path) for path, *_ in files]])
        return {str(row[0]): _counted(relation, row) for row in connection.fetchall()}


def _table_of(files: Sequence[tuple[str, str, int | None, int | None]]) -> pa.Table:
    kinds = {"path": pa.string(), "part": pa.string(), "starts": pa.int64(), "ends": pa.int64()}
    columns = zip(*files, strict=True)
    return pa.table({name: pa.array(c, kinds[name]) for name, c in zip(kinds, columns, strict=True)})


def _counted(relation: Relation, row: Sequence[Any]) -> Counted:
    rows, most, first, last, outside_day = row[1:6]
    nulls = [column.name for column in relation.columns]
    domains = [column.name for column in with_domain(relation)]
    ends = row[len(row) - 2 * len(nulls) :]
    counts = [int(number) for number in row[6 : len(row) - len(ends)]]
    columns = list(zip(relation.columns, ends[::2], ends[1::2], strict=True))
    return Counted(
        rows=int(rows),
        nulls=dict(zip(nulls, counts, strict=False)),
        outside_day=int(outside_day),
        outside_domain=dict(zip(domains, counts[len(nulls) :], strict=True)),
        most_at_once=int(most or 0),
        first=first,
        last=last,
        least={column.name: shown(column, low) for column, low, _ in columns},
        greatest={column.name: shown(column, high) for column, _, high in columns},
    )


def shown(column: Column, value: Any) -> bool | int | float | str | None:
    """A value that DuckDB gave, for JSON: whole numbers and finite ones as they are, all others as text."""
    if column.type.family is Family.TIMESTAMP and isinstance(value, int):
        try:
            return (EPOCH + dt.timedelta(microseconds=value)).isoformat()
        except OverflowError:
            return f"{value} microseconds after 1970"
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _statement(relation: Relation) -> tuple[str, list[Any]]:
    """The aggregation and the parameters of its conditions: first by partition and timestamp, then by
    partition, so that the most rows at one timestamp need no second scan."""
    at = _at(relation)
    strays = [outside(column) for column in with_domain(relation)]
    # NULLs are counted in every column: that reads all of the file, so a corrupt page is found here.
    conditions = [_before_or_after(at), *(is_null(column) for column in relation.columns)]
    conditions += [condition for condition, _ in strays]
    names = [f"n{position}" for position in range(len(conditions))]
    ends = [
        (kind, column, f"{kind.key}{position}")
        for position, column in enumerate(relation.columns)
        for kind in (exp.Min, exp.Max)
    ]
    inner = (
        exp.select(_own("part"), exp.alias_(at, "at", quoted=True), _as(exp.Count(this=exp.Star()), "n"))
        .select(*(_as(_rows_where(c), name) for c, name in zip(conditions, names, strict=True)))
        .select(*(_as(kind(this=ordered(column)), name) for kind, column, name in ends))
        .from_(exp.Subquery(this=exp.maybe_parse(SOURCE, dialect="duckdb"), alias=identifier("history")))
        .join("files", on=exp.EQ(this=column_of("history", FILE), expression=_own("path")))
        .group_by(_own("part"), exp.Literal.number(2))
    )
    outer = (
        exp.select(
            _own_column("part"),
            _sum("n"),
            _most(),
            exp.Min(this=_own_column("at")),
            exp.Max(this=_own_column("at")),
        )
        .select(*(_sum(name) for name in names))
        .select(*(kind(this=_own_column(name)) for kind, _, name in ends))
        .from_(inner.subquery("counts"))
        .group_by(_own_column("part"))
    )
    return outer.sql(dialect="duckdb"), [value for _, values in strays for value in values]


def _at(relation: Relation) -> exp.Expr:
    """The timestamp as microseconds or ticks; NULL for a relation without one."""
    if relation.timestamp is None:
        return exp.cast(exp.null(), "BIGINT")
    return ordered(relation.column(relation.timestamp))


def ordered(column: Column) -> exp.Expr:
    """A column's value as it is compared."""
    stored = column_of("history", column.name)
    # Microseconds compare alike whether the file's timestamps carry a zone or not.
    is_moment = column.type.family is Family.TIMESTAMP
    return exp.Anonymous(this="EPOCH_US", expressions=[stored]) if is_moment else stored


def outside(column: Column) -> tuple[exp.Expr, list[Any]]:
    """Whether a value is outside its column's domain (NULL is not), and the parameters of that."""
    domain = column.domain or Domain()
    value = ordered(column)
    if domain.values is not None:
        members = [_parameter(column, v) for v in domain.values]
        return exp.not_(exp.In(this=value, expressions=[exp.Placeholder() for _ in members])), members
    ends = [(exp.LT, domain.minimum), (exp.GT, domain.maximum)]
    present = [(kind, end) for kind, end in ends if end is not None]
    tests = [kind(this=value.copy(), expression=exp.Placeholder()) for kind, _ in present]
    return exp.or_(*tests) if tests else exp.false(), [_parameter(column, end) for _, end in present]


def _parameter(column: Column, encoded: Any) -> Any:
    return encoded if column.type.family is Family.TIMESTAMP else column.type.decode(encoded)


def _before_or_after(at: exp.Expr) -> exp.Expr:
    before = exp.LT(this=at.copy(), expression=_own("starts"))
    return exp.or_(before, exp.GTE(this=at.copy(), expression=_own("ends")))


def is_null(column: Column) -> exp.Expr:
    """Whether a column's value is NULL."""
    return exp.Is(this=column_of("history", column.name), expression=exp.null())


def _rows_where(condition: exp.Expr) -> exp.Expr:
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition))


def _most() -> exp.Expr:
    timed = exp.not_(exp.Is(this=_own_column("at"), expression=exp.null()))
    return exp.Filter(this=exp.Max(this=_own_column("n")), expression=exp.Where(this=timed))


def _sum(name: str) -> exp.Expr:
    return exp.Sum(this=_own_column(name))


def _as(expression: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(expression, name, quoted=True)


def identifier(name: str) -> exp.Identifier:
    """A quoted name."""
    return exp.to_identifier(name, quoted=True)


def column_of(table: str, name: str) -> exp.Column:
    """A column of a table."""
    return exp.Column(this=identifier(name), table=identifier(table))


def _own(name: str) -> exp.Column:
    return column_of("files", name)


def _own_column(name: str) -> exp.Column:
    return exp.Column(this=identifier(name))
