"""What a stream's files hold beside its promises: different values, and rows that break a promise.

Read by the check that reads the files anyway, so that whoever shows it reads what was recorded. How many
different values a column has is estimated first (DuckDB's HyperLogLog), which takes no memory, and counted
where they are few.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from streambound.quality.aggregate import column_of, identifier, is_null, ordered, outside, shown
from streambound.query.model import Relation
from streambound.storage.partitions import Partition

# Different values that are counted; of more their number is an estimate.
COUNTED = 10_000
# Rows that are recorded of a broken promise, and partitions of which they are.
EXAMPLES, EXAMPLE_PARTITIONS = 3, 20
_SOURCE = "SELECT * FROM read_parquet(?, union_by_name = true, hive_partitioning = false)"


def different(relation: Relation, partitions: Sequence[Partition]) -> dict[str, dict[str, Any]]:
    """How many different values each column has in some partitions together, and whether that is exact.

    Nothing where the files cannot be read together.
    """
    import duckdb

    files = [glob.escape(str(path)) for partition in partitions for path in partition.files]
    if not files:
        return {}
    names = [column.name for column in relation.columns]
    try:
        with duckdb.connect() as connection:
            about = _row(connection, [exp.ApproxDistinct(this=column_of("history", n)) for n in names], files)
            few = [name for name, number in zip(names, about, strict=True) if number <= COUNTED]
            exact = [exp.Count(this=exp.Distinct(expressions=[column_of("history", n)])) for n in few]
            counted = dict(zip(few, _row(connection, exact, files) if few else (), strict=True))
    except duckdb.Error:
        return {}
    return {
        name: {"different": int(counted.get(name, number)), "exact": name in counted}
        for name, number in zip(names, about, strict=True)
    }


def _row(connection: Any, chosen: Sequence[exp.Expr], files: list[str]) -> tuple[Any, ...]:
    row = connection.execute(_from_history(chosen).sql(dialect="duckdb"), [files]).fetchone()
    return tuple(row or ())


def _from_history(chosen: Sequence[exp.Expr]) -> exp.Select:
    source: exp.Expr = exp.maybe_parse(_SOURCE, dialect="duckdb")
    return exp.select(*chosen).from_(exp.Subquery(this=source, alias=identifier("history")))


def examples(
    relation: Relation,
    partition: Partition,
    broken: Mapping[str, str],
    day: tuple[int, int] | None,
) -> list[dict[str, Any]]:
    """The first rows of a partition that break each of some promises: the timestamp, and the column meant.

    Args:
        broken: the reason of each failure, by the promise's column in the table of metrics.
        day: the ends of the partition's day, in microseconds.
    """
    import duckdb

    files, breaking = [glob.escape(str(path)) for path in partition.files], []
    with duckdb.connect() as connection:
        for promise, reason in broken.items():
            asked = _asked(relation, promise, day)
            if asked is None or not files:
                continue
            statement, values, columns = asked
            try:
                rows = connection.execute(statement.sql(dialect="duckdb"), [files, *values]).fetchall()
            except duckdb.Error:
                continue
            samples = [
                {
                    name: shown(relation.column(name), value) if name != ROWS else value
                    for name, value in zip(columns, row, strict=True)
                }
                for row in rows
            ]
            breaking.append({"reason": reason, "rows": samples})
    return breaking


# What an example calls the number of rows at one timestamp.
ROWS = "rows at this timestamp"


def _asked(
    relation: Relation, promise: str, day: tuple[int, int] | None
) -> tuple[exp.Select, list[Any], list[str]] | None:
    """The statement that finds the rows, its parameters, and what the columns are; None where rows do not
    tell."""
    kind, _, name = promise.partition(".")
    timed = [] if relation.timestamp is None else [relation.timestamp]
    values: list[Any] = []
    if kind == "most_rows_at_one_timestamp" and timed:
        at = ordered(relation.column(timed[0]))
        counted = _from_history([at, exp.Count(this=exp.Star())]).group_by("1").order_by("2 DESC, 1")
        return (
            counted.having(f"COUNT(*) > {relation.max_rows_per_timestamp}").limit(EXAMPLES),
            [],
            [*timed, ROWS],
        )
    if kind == "nulls":
        condition, columns = is_null(relation.column(name)), [*timed, name]
    elif kind == "outside_domain":
        (condition, values), columns = outside(relation.column(name)), [*timed, name]
    elif kind == "outside_day" and day is not None and timed:
        at, columns = ordered(relation.column(timed[0])), timed
        condition = exp.or_(
            exp.LT(this=at, expression=exp.Literal.number(day[0])),
            exp.GTE(this=at.copy(), expression=exp.Literal.number(day[1])),
        )
    else:
        return None
    columns = list(dict.fromkeys(columns))
    chosen = [ordered(relation.column(column)) for column in columns]
    return _from_history(chosen).where(condition).limit(EXAMPLES), values, columns
