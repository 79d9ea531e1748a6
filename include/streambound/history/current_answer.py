"""The answer as a whole from the files of partitions, in bounded memory: what exceeds it goes to disk."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from streambound.durable import flushed
from streambound.storage.parquet import write_table
from streambound.tasks import emit, encoded_sql
from streambound.tasks.embedded_engine import FILES, EmbeddedEngine, EngineQuery, opened, scan

INITIAL = "streambound initial"


def distinct_rows(schema: pa.Schema, files: Sequence[Path]) -> int:
    """The number of different rows in files of one schema, whose last column is a count.

    Raises:
        DataError: a file cannot be read.
    """
    if not files:
        return 0
    columns = [encoded_sql.column(name, FILES) for name in schema.names[:-1]]
    chosen = exp.select(*columns).distinct().from_(scan([str(file) for file in files]))
    counted = exp.select(exp.Count(this=exp.Star())).from_(exp.alias_(chosen.subquery(), "rows", table=True))
    with opened() as engine:
        ((count,),) = engine.rows(EngineQuery(counted.sql(dialect=encoded_sql.DIALECT)))
    return int(count)


def write_current(path: Path, initial: pa.Table, files: Sequence[Path]) -> emit.Digest:
    """Write what is the answer now: the rows before anything came, and all changes since.

    Args:
        initial: with the columns of an answer file, as the ``files`` have them.

    Raises:
        DataError: a file cannot be read.
        StorageError: the disk refuses.
    """
    with (
        opened() as engine,
        engine.registered(INITIAL, initial),
        closing(_added_up(engine, initial.schema, files)) as batches,
    ):
        digest, _ = emit.write_answers(path, initial.schema, batches)
    if digest.rows:
        flushed([path])
    else:
        write_table(initial.schema.empty_table(), path)
    return digest


def _added_up(
    engine: EmbeddedEngine, schema: pa.Schema, files: Sequence[Path]
) -> Generator[pa.RecordBatch, None, None]:
    """Rows in canonical order with the sums of their counts, where these are not 0."""
    *names, count = schema.names
    sources = [exp.alias_(encoded_sql.table(INITIAL), FILES, table=True, quoted=True)]
    sources += [scan([str(file) for file in files])] if files else []
    rows: exp.Query | None = None
    for source in sources:
        chosen = exp.select(*(encoded_sql.column(name, FILES) for name in schema.names)).from_(source)
        rows = chosen if rows is None else exp.union(rows, chosen, distinct=False)
    assert rows is not None
    total = exp.cast(exp.Sum(this=exp.column(count, quoted=True)), f"DECIMAL({encoded_sql.DIGITS}, 0)")
    columns = [exp.column(name, quoted=True) for name in names]
    ordinals = [exp.Literal.number(ordinal + 1) for ordinal in range(len(names))]
    select = exp.select(*columns, exp.alias_(total, count, quoted=True)).from_(rows.subquery("changes"))
    select = select.group_by(*ordinals).having(exp.NEQ(this=total.copy(), expression=exp.Literal.number(0)))
    select = select.order_by(*(exp.Ordered(this=ordinal.copy(), nulls_first=True) for ordinal in ordinals))
    with closing(engine.batches(EngineQuery(select.sql(dialect=encoded_sql.DIALECT)))) as batches:
        for batch in batches:
            yield batch.cast(schema)
