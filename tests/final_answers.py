"""The answer over the final data: the changes of the definition added up, and DuckDB's for the plain SQL."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb

from streambound.evaluation.events import batches, encode_static
from streambound.evaluation.reference import initial, reference
from streambound.query.parse import defined
from streambound.query.parse.corpus import CorpusLine

Rows = Counter[tuple[Any, ...]]


def answer_by_definition(line: CorpusLine) -> Rows:
    """What the definition says in all: the initial rows and all changes."""
    assert line.catalog is not None
    query = defined(line.sql, line.catalog, line.id)
    static = encode_static(query, line.static)
    rows: Rows = Counter()
    markers = [initial(query, static), *reference(query, batches(query, line.events), static)]
    for answer in (answer for marker in markers for answer in marker):
        rows[comparable(answer.row)] += answer.count
        assert rows[comparable(answer.row)] >= 0 or len(markers) > 1
    assert all(count >= 0 for count in rows.values()), f"{line.sql} has rows fewer than none"
    return +rows


def answer_by_duckdb(line: CorpusLine, sql: str) -> Rows:
    """The answer over the final data as DuckDB has it, its values as ``comparable`` makes them.

    Args:
        sql: the query as DuckDB writes it.

    Raises:
        duckdb.Error: DuckDB cannot run it.
    """
    assert line.catalog is not None
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
        # Spark's, which DuckDB lacks.
        connection.execute("CREATE MACRO pmod(a, b) AS ((a % b) + b) % b")
        for relation in line.catalog.relations:
            columns = [column.name for column in relation.columns]
            declared = ", ".join(f"{column.name} {column.type.name}" for column in relation.columns)
            connection.execute(f"CREATE TABLE {relation.name} ({declared})")
            arrived = [event for event in line.events if event["stream"] == relation.name]
            rows = [
                [row[name] for name in columns] for row in (*line.static.get(relation.name, ()), *arrived)
            ]
            if rows:
                marks = ", ".join("?" for _ in columns)
                connection.executemany(f"INSERT INTO {relation.name} VALUES ({marks})", rows)
        return Counter(comparable(row) for row in connection.execute(sql).fetchall())


def comparable(row: Sequence[Any]) -> tuple[Any, ...]:
    """A decoded row as one that equals that of another engine; of roots ten digits are compared."""
    return tuple(map(_comparable, row))


def _comparable(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else Fraction(f"{value:.10g}")
    return Fraction(value) if isinstance(value, Decimal) else value
