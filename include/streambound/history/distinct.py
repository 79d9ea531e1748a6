"""How many different rows answer files hold, in bounded memory: what exceeds it goes to disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from streambound.tasks import ordered
from streambound.tasks.engine import FILES, MEMORY_MB, Query, opened, scan


def distinct_rows(schema: pa.Schema, files: Sequence[Path], memory_mb: int = MEMORY_MB) -> int:
    """The number of different rows in files of one schema, whose last column is a count.

    Raises:
        DataError: a file cannot be read.
    """
    if not files:
        return 0
    columns = [ordered.column(name, FILES) for name in schema.names[:-1]]
    chosen = exp.select(*columns).distinct().from_(scan([str(file) for file in files]))
    counted = exp.select(exp.Count(this=exp.Star())).from_(exp.alias_(chosen.subquery(), "rows", table=True))
    with opened(memory_mb) as engine:
        ((found,),) = engine.rows(Query(counted.sql(dialect=ordered.DIALECT)))
    return int(found)
