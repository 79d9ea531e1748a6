"""A results database as a whole, copied row by row into another, of the same kind or not.

No program of the database's own is needed, so the versions of client and server need not fit each other.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, insert, select

from streambound.errors import StorageError
from streambound.results.address import shown
from streambound.results.connection import connect, prepare, transaction
from streambound.results.schema import METADATA
from streambound.results.upgrade import upgrade, version_of

ROWS_AT_ONCE = 1_000


def is_there(url: URL) -> bool:
    """Whether a database has tables of ours; it is not created by asking.

    Raises:
        StorageError: it cannot be reached, or its tables are not ours.
    """
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        return False
    with transaction(connect(url), writing=False) as connection:
        return version_of(connection) > 0


def copy(source: URL, target: URL) -> None:
    """Copy all rows as they are at one moment, into a database that has no tables of ours yet.

    The source is first brought to this release's schema. The target has all of them, or nothing.

    Raises:
        StorageError: either database failed, or the target has tables of ours.
    """
    origin = connect(source)
    prepare(origin)
    if source.get_backend_name() == "postgresql":
        # Otherwise each statement would see a moment of its own.
        origin = origin.execution_options(isolation_level="REPEATABLE READ")
    with (
        transaction(origin, writing=False) as readable,
        transaction(connect(target), writing=True) as writing,
    ):
        if version_of(writing):
            raise StorageError(
                "the results database holds results already",
                subject=shown(target),
                accepted="a database without tables of ours",
                fix="name another with STREAMBOUND_DATABASE_URL",
            )
        upgrade(writing)
        for table in METADATA.sorted_tables:
            rows = select(table).order_by(*table.primary_key).execution_options(yield_per=ROWS_AT_ONCE)
            for batch in readable.execute(rows).mappings().partitions():
                writing.execute(insert(table), [dict(row) for row in batch])
