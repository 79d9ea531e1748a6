"""Bringing the results database to this release's schema: migrations, run by Alembic in one transaction.

``migrations/versions`` has one file a version. A database that an earlier release made, which counted its
version itself or not at all, is recognised and joins in at its version; one of a later release is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    inspect,
    select,
    text,
)
from sqlalchemy.schema import DropTable

from streambound.errors import StorageError
from streambound.results.address import shown
from streambound.results.schema import METADATA, VERSION

MIGRATIONS = Path(__file__).with_name("migrations")
# Not Alembic's own name for it: the results may lie in a database that has other migrations as well.
VERSION_TABLE = Table("streambound_version", MetaData(), Column("version_num", String(32), primary_key=True))
# The count of the releases before there were migrations: versions 1 and 2.
COUNTED = Table("streambound_schema", MetaData(), Column("version", Integer, primary_key=True))
COUNTED_VERSIONS = (1, 2)
# Any number will do, as long as every streambound process that changes the schema takes the same.
SCHEMA_LOCK = 7_316_020_713
# Alembic's proxies belong to the process: two threads, each with a database of its own, must take turns.
_UPGRADING = threading.Lock()

# The columns of each table, those of its key marked.
Shape = Mapping[str, frozenset[tuple[str, bool]]]


def version_of(connection: Connection) -> int:
    """The version of the schema; 0 for a database without our tables.

    Raises:
        StorageError: it has tables of our names that no release made, or its version makes no sense.
    """
    tables = set(inspect(connection).get_table_names())
    if VERSION_TABLE.name in tables:
        versions = connection.execute(select(VERSION_TABLE)).scalars().all()
        if len(versions) != 1 or not versions[0].isdecimal() or _revision(int(versions[0])) != versions[0]:
            what = ", ".join(map(repr, versions)) or "nothing"
            raise _refused(connection.engine.url, f"no readable schema version ({what})")
        return int(versions[0])
    counted = connection.execute(select(COUNTED)).scalar() if COUNTED.name in tables else None
    if counted is None:
        return _recognised(connection) if tables & set(METADATA.tables) else 0
    if counted not in COUNTED_VERSIONS:
        raise _refused(connection.engine.url, f"schema version {counted}")
    return int(counted)


def is_current(connection: Connection) -> bool:
    """Whether there is nothing to upgrade.

    Raises:
        StorageError: the database is of a later release, or not ours.
    """
    # Statements of one transaction do not see one moment: wait for an upgrade that is under way.
    _lock(connection, "pg_advisory_xact_lock_shared")
    version = version_of(connection)
    if version > VERSION:
        raise _refused(connection.engine.url, f"schema version {version}, of a later release")
    return version == VERSION and inspect(connection).has_table(VERSION_TABLE.name)


def upgrade(connection: Connection) -> None:
    """Upgrade the database to this release's version, within the transaction that is open.

    Raises:
        StorageError: the database is of a later release, or not ours.
    """
    _lock(connection, "pg_advisory_xact_lock")
    if is_current(connection):
        return
    version = version_of(connection)
    tables = inspect(connection)
    if version and not tables.has_table(VERSION_TABLE.name):
        _alembic(connection, "stamp", version)
    if tables.has_table(COUNTED.name):
        connection.execute(DropTable(COUNTED))
    _alembic(connection, "upgrade", VERSION)


def _lock(connection: Connection, function: str) -> None:
    # SQLite needs none: its transactions see one moment, and those that write come one after the other.
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT {function}(:key)"), {"key": SCHEMA_LOCK})


def _revision(version: int) -> str:
    return f"{version:04d}"


def _alembic(connection: Connection, what: Literal["stamp", "upgrade"], version: int) -> None:
    # Only here: most processes find a database that is up to date, and need no Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection, "version_table": VERSION_TABLE.name})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with _UPGRADING:
        {"stamp": command.stamp, "upgrade": command.upgrade}[what](config, _revision(version))


def _recognised(connection: Connection) -> int:
    """The version of a database that names none, by its tables."""
    shape = _shape(connection)
    for version in range(VERSION, 0, -1):
        if _shape_of(version) == shape:
            return version
    raise _refused(connection.engine.url, "tables of our names but no schema version")


@cache
def _shape_of(version: int) -> Shape:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        _alembic(connection, "upgrade", version)
        return _shape(connection)


def _shape(connection: Connection) -> Shape:
    inspector = inspect(connection)
    shape = {}
    for table in set(inspector.get_table_names()) & set(METADATA.tables):
        keys = inspector.get_pk_constraint(table)["constrained_columns"]
        shape[table] = frozenset((c["name"], c["name"] in keys) for c in inspector.get_columns(table))
    return shape


def _refused(url: URL, what: str) -> StorageError:
    return StorageError(
        f"the results database has {what}",
        subject=shown(url),
        accepted=f"schema versions 1 to {VERSION}, or a database without tables of ours",
        fix="use the release that wrote it, or name another database with STREAMBOUND_DATABASE_URL",
    )
