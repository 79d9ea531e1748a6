"""Databases on both kinds of server, empty at first."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.postgres import postgres
from tests.results.databases import Database

from scripts.local_postgres import LocalPostgres

__all__ = ["postgres"]


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
