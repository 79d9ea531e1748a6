"""Connecting to the results database: locking, the schema's version, and its errors made typed.

SQLite: write-ahead log, a busy timeout, and BEGIN IMMEDIATE for writes, so that concurrent Airflow
tasks wait for each other instead of failing when a read turns into a write. A connection
lives for one transaction: tasks are forked, and a SQLite connection must not cross a fork.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from streambound import settings
from streambound.errors import StorageError
from streambound.results.address import DIALECTS, FIX, masked, shown
from streambound.results.upgrade import is_current, upgrade

BUSY_SECONDS = 60


def connect(url: URL) -> Engine:
    """An engine without a pool; a SQLite file's folder is created.

    Raises:
        StorageError: the driver is not installed, or the folder cannot be created.
    """
    try:
        if url.get_backend_name() == "sqlite":
            Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(
            url, poolclass=NullPool, json_serializer=partial(json.dumps, default=str, sort_keys=True)
        )
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise StorageError(
            f"the database driver is missing: {error}",
            subject=shown(url),
            fix=settings.installing("postgres"),
        ) from None
    except (ArgumentError, TypeError, ValueError):
        raise _unusable(url) from None
    except OSError as error:
        raise StorageError(
            f"the folder cannot be created: {error.strerror}", subject=shown(url), fix=FIX
        ) from None
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _on_sqlite_connect)
        event.listen(engine, "begin", _on_sqlite_begin)
    return engine


def _on_sqlite_connect(connection: Any, record: object) -> None:
    # The driver's own transaction control would begin late and DEFERRED; see _on_sqlite_begin.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
    connection.execute("PRAGMA synchronous=NORMAL")


def _on_sqlite_begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


@contextmanager
def transaction(engine: Engine, *, writing: bool) -> Iterator[Connection]:
    """One transaction: committed when the block ends, rolled back when it raises.

    Raises:
        StorageError: the database failed.
    """
    with database_errors(engine.url), _connected(engine) as connection:
        chosen = connection.execution_options(writing=writing)
        with chosen.begin():
            yield chosen


def _connected(engine: Engine) -> Connection:
    try:
        return engine.connect()
    except (TypeError, ValueError):
        raise _unusable(engine.url) from None


def _unusable(url: URL) -> StorageError:
    parameters = ", ".join(url.query) or "none"
    return StorageError(
        f"the driver cannot use the parameters of the results database's address ({parameters})",
        subject=shown(url),
        accepted=DIALECTS,
        fix=FIX,
    )


@contextmanager
def database_errors(url: URL) -> Iterator[None]:
    """Turns the database's errors into StorageError, the password masked."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        cause = str(getattr(error, "orig", None) or error).strip()
        reason = masked(" ".join(cause.split()), url)
        raise StorageError(
            f"the results database failed: {reason}", subject=shown(url), fix=_cure(reason.lower())
        ) from None


def _cure(reason: str) -> str:
    cures = {
        "not a database": "move the file away, or name another with STREAMBOUND_DATABASE_URL",
        "malformed": "restore the file from a backup, or move it away to start anew",
        "readonly": "make the file and its folder writable",
        "unable to open": "check that the path is a file in a folder that can be written",
        "locked": "wait for the other writer to end, and run again",
        "full": "free some space on the disk",
    }
    fitting = [cure for sign, cure in cures.items() if sign in reason]
    return fitting[0] if fitting else "check that the server runs and that STREAMBOUND_DATABASE_URL is right"


def prepare(engine: Engine) -> None:
    """Creates the tables in an empty database, upgrades an older one in place, and refuses any other.

    Of several processes that come at once one does it, in one transaction, and the others wait.

    Raises:
        StorageError: the database is of a later release or has tables that are not ours, or an upgrade
            failed; it is then as it was.
    """
    if engine.url.get_backend_name() == "sqlite":
        _use_write_ahead_log(engine)
    with transaction(engine, writing=False) as connection:
        if is_current(connection):
            return
    with transaction(engine, writing=True) as connection:
        upgrade(connection)


def _use_write_ahead_log(engine: Engine) -> None:
    # SQLite does not wait on its own here: two processes that open a new file at once would collide.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        with database_errors(engine.url):
            raw = sqlite3.connect(str(engine.url.database), timeout=BUSY_SECONDS, isolation_level=None)
            try:
                raw.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
            finally:
                raw.close()
        time.sleep(0.05)
