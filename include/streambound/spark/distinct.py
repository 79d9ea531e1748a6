"""How many different rows answer files hold, in bounded memory: what exceeds it goes to disk."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from streambound.spark import ordered
from streambound.spark.engine import MEMORY_MB, opened, translated

ANSWERS = "answers"


def distinct_rows(schema: pa.Schema, files: Sequence[Path], memory_mb: int = MEMORY_MB) -> int:
    """The number of different rows in files of one schema, whose last column is a count.

    Raises:
        DataError: a file cannot be read.
    """
    if not files:
        return 0
    columns = [ordered.column(name, ANSWERS) for name in schema.names[:-1]]
    chosen = exp.select(*columns).distinct().from_(ordered.table(ANSWERS))
    counted = exp.select(exp.Count(this=exp.Star())).from_(exp.alias_(chosen.subquery(), "rows", table=True))
    with translated(None), opened(memory_mb) as engine:
        patterns = [glob.escape(str(file)) for file in files]
        engine.connection.read_parquet(patterns, hive_partitioning=False).create_view(ANSWERS)
        found = engine.connection.execute(counted.sql(dialect=ordered.DIALECT)).fetchone()
    return int(found[0]) if found else 0
