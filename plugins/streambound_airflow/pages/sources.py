"""What the pages read: the registry's files and the results database, each kept while it has not changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from streambound import settings
from streambound.errors import QueryError
from streambound.projects.registry import registry_of
from streambound.query.catalog import NamedQuery
from streambound.query.registry import Mentions, metadata, read_query
from streambound.results import Results

# A file's name, the time of its last change in nanoseconds, and its size in bytes.
Stamp = tuple[str, int, int]


@dataclass(frozen=True)
class Registered:
    """A registered query: its text and the ``-- key: value`` lines that lead it.

    ``error`` says why the file cannot be read; its text is empty then.
    """

    name: str
    sql: str
    about: Mapping[str, str]
    error: str | None = None


def stamps() -> tuple[Stamp, ...]:
    """What is registered now: one stamp a query file, by name. No file is read."""
    stamped = []
    try:
        with os.scandir(settings.registry() / "queries") as entries:
            for entry in entries:
                if entry.name.endswith(".sql"):
                    status = entry.stat()
                    stamped.append((entry.name, status.st_mtime_ns, status.st_size))
    except OSError as error:
        raise QueryError(
            f"the registry cannot be read: {error.strerror}",
            subject=str(settings.registry() / "queries"),
            fix="create the folder, or set STREAMBOUND_REGISTRY",
        ) from None
    return tuple(sorted(stamped))


def registered(stamped: tuple[Stamp, ...]) -> dict[str, Registered]:
    """The registered queries by name; a file that has not changed is not read again."""
    folder = str(settings.registry() / "queries")
    return {stamp[0].removesuffix(".sql"): _read(folder, stamp) for stamp in stamped}


@lru_cache(maxsize=4096)
def _read(folder: str, stamp: Stamp) -> Registered:
    query = read_query(Path(folder) / stamp[0])
    error = None if query.error is None else query.error.one_line()
    return Registered(query.name, query.sql, dict(metadata(query.sql)), error)


def mentioned(sql: str) -> tuple[NamedQuery, ...]:
    """The registered queries that a text may name; none where the registry cannot be read."""
    try:
        files = registered(stamps())
    except QueryError:
        return ()
    registry = registry_of(settings.registry())
    sound = [registry.of_text(file.name, file.sql) for file in files.values() if not file.error]
    return Mentions(NamedQuery(query.name, query.sql, query.dialect) for query in sound).of(sql)


def dialect_of(name: str, sql: str) -> str | None:
    """What is said of the dialect of a text, registered under a name or in its place."""
    return registry_of(settings.registry()).of_text(name, sql).dialect


def catalog_file() -> Path:
    """The stream catalog that queries are checked against."""
    return registry_of(settings.registry()).catalog_file


def store() -> Results:
    """The results database that Airflow's connection names; its schema is looked at once a process.

    Raises:
        AirflowFailException: the connection has no address.
        StorageError: the address is not one of a database that is supported.
    """
    from streambound_airflow.database import results

    return _opened(results().url.render_as_string(hide_password=False))


@lru_cache(maxsize=4)
def _opened(url: str) -> Results:
    return Results(url)
