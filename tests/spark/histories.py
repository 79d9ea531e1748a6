"""Parquet histories for tests: rows cut into partitions, and what plain SQL says about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot
from hypothesis import reject
from tests.strategies import Case

from streambound.boundedness.criterion.exact import exact
from streambound.errors import PlanError
from streambound.evaluation.events import Encoded, encode_static
from streambound.evaluation.onepass import OnePass, static_values
from streambound.plan.model import Plan
from streambound.plan.tables.planner import plan_of as any_plan_of
from streambound.plan.tables.table_planner import StaticValues
from streambound.query.catalog import Catalog
from streambound.query.model import History, Query, Relation, RelationKind
from streambound.query.parse import parse
from streambound.query.statement import Statement
from streambound.state.engine import EngineState
from streambound.state.table import Table
from streambound.tasks.emit import arrow_type
from streambound.tasks.encoded_sql import encoded

KEY = "part"
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Registered:
    """A query by name."""

    name: str
    sql: str
    mode: str | None = None


def compact_plan(query: Query, values: StaticValues | None = None) -> Plan:
    """The plan of a query in which no stream ends."""
    found = any_plan_of(query, values)
    assert found.ending is None
    return found


def empty_tables(plan: Plan) -> dict[str, Table]:
    """An empty table of each stream of a plan that does not step through time."""
    return {min(streams): table for streams, table in EngineState(plan).fresh().items()}


def compact_pass(query: Query, static: dict[str, list[Encoded]]) -> OnePass:
    """The engine of a query that does not step through time."""
    return OnePass(compact_plan(query, static_values(query, static)), static)


def plan_of(case: Case, statics: Mapping[str, Rows]) -> Plan:
    """The plan of a random query; the test is abandoned if it has none (tests/evaluation holds that)."""
    values = static_values(case.query, encode_static(case.statement, statics))
    try:
        found = compact_plan(case.query, values) if exact(case.query).bounded else None
    except PlanError:
        found = None
    if found is None:
        reject()
    return found


def schema_of(relation: Relation) -> pa.Schema:
    """The columns of a relation as files hold them."""
    return pa.schema([(c.name, arrow_type(c.type)) for c in relation.columns])


def table(relation: Relation, rows: Rows) -> pa.Table:
    """Rows as JSON gives them, as a table."""
    plain = [
        {c.name: c.type.decode(c.type.encode(row.get(c.name))) for c in relation.columns} for row in rows
    ]
    return pa.Table.from_pylist(plain, schema=schema_of(relation))


def placed(catalog: Catalog, folder: Path) -> Catalog:
    """The catalog with a history below ``folder`` for every relation."""
    return Catalog(
        tuple(
            replace(r, history=History(str(folder / r.name), None if r.kind is RelationKind.STATIC else KEY))
            for r in catalog.relations
        )
    )


def write(relation: Relation, rows: Rows, folder: Path, part: int | None, files: int = 1) -> None:
    """Rows as a partition, or as a static relation, in some files."""
    target = folder / relation.name / (f"{KEY}={part}" if part is not None else "")
    target.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        pq.write_table(table(relation, rows[number::files]), target / f"part-{number:05}.parquet")


def write_file(relation: Relation, rows: Rows, file: Path, compression: str = "snappy") -> None:
    """Rows as one file."""
    pq.write_table(table(relation, rows), file, compression=compression)


def read_answers(folder: Path, query: Query | Statement) -> dict[str, Counter[tuple[Any, ...]]]:
    """The answer rows (encoded) with their counts, by partition name."""
    found = {}
    for file in sorted(folder.glob(f"{KEY}=*/*.parquet")):
        *columns, counts = (c.to_pylist() for c in pq.ParquetFile(file).read().columns)
        kinds = [kind for _, kind in query.outputs]
        rows = zip(*([k.encode(v) for v in c] for k, c in zip(kinds, columns, strict=True)), strict=True)
        found[file.parent.name.removeprefix(f"{KEY}=")] = Counter(
            {row: int(n) for row, n in zip(rows, counts, strict=True)}
        )
    return found


def plain_sql(sql: str, catalog: Catalog, tables: Mapping[str, pa.Table]) -> Counter[tuple[Any, ...]]:
    """What DuckDB answers to the query as the user wrote it, encoded."""
    query = parse(sql, catalog, "plain")
    kinds = [query.type_of(o.term) for o in query.select]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, data in tables.items():
            connection.register(name, data)
        (text,) = sqlglot.transpile(sql, read="spark", write="duckdb")
        rows = connection.execute(text).fetchall()
    # A literal's own type decides how DuckDB returns it; encoded, one of equal value is the same.
    return Counter(
        tuple(
            k.encode(v) if hasattr(o.term, "column") else encoded(o.term.value)
            for k, o, v in zip(kinds, query.select, row, strict=True)
        )
        for row in rows
    )
