"""A PostgreSQL server for tests, started when the first test of a folder asks for it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

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
