"""A PostgreSQL server for the tests of this folder, started when the first of them asks for it."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.results.databases import Database

from scripts.local_postgres import LocalPostgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[LocalPostgres]:
    # Not pytest's own folder: the server is another user's where we are root, who may not pass there.
    folder = Path(tempfile.mkdtemp(prefix="streambound-postgres-"))
    folder.chmod(0o711)
    try:
        with LocalPostgres(folder / "server", lasting=False) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(
    request: pytest.FixtureRequest, tmp_path: Path, numbers: Iterator[int]
) -> Callable[[], Database]:
    """Makes an empty database at each call."""

    def make() -> Database:
        number = next(numbers)
        if request.param == "sqlite":
            return Database(f"sqlite:///{tmp_path}/results-{number}.db")
        server: LocalPostgres = request.getfixturevalue("postgres")
        server.create_databases(f"results_{number}")
        return Database(server.url(f"results_{number}"))

    return make


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def database(new_database: Callable[[], Database]) -> Database:
    return new_database()
