"""Empty databases on both kinds of server, and what earlier releases left in them (``releases/*.sql``)."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, make_url
from sqlalchemy.pool import NullPool

RELEASES = Path(__file__).with_name("releases")


@dataclass(frozen=True)
class Database:
    """One database, empty at first."""

    url: str

    @property
    def kind(self) -> str:
        return make_url(self.url).get_backend_name()

    def load(self, release: str) -> None:
        """Bring it to what a release left, as the server's own dump tells it."""
        script = (RELEASES / f"{release}.{self.kind}.sql").read_text()
        if self.kind == "sqlite":
            with sqlite3.connect(str(make_url(self.url).database)) as raw:
                raw.executescript(script)
            return
        self.execute(script)

    def execute(self, *statements: str) -> list[Any]:
        """Run statements as they are, each on its own; the rows of the last."""
        engine = create_engine(self.url, poolclass=NullPool)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            done = [connection.exec_driver_sql(statement) for statement in statements][-1]
            return [tuple(row) for row in done] if done.returns_rows else []

    def tables(self) -> set[str]:
        """The names of its tables."""
        queries = {
            "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
            "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
        }
        return {name for (name,) in self.execute(queries[self.kind])}

    def content(self) -> dict[str, Any]:
        """All rows of all tables."""
        return {name: sorted(map(repr, self.execute(f'SELECT * FROM "{name}"'))) for name in self.tables()}
