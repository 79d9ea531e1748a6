"""Writing rows so that writing the same again changes nothing: one that exists is replaced."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table, func
from sqlalchemy.dialects import postgresql, sqlite


def upsert(
    connection: Connection, table: Table, rows: list[dict[str, Any]], keep_existing: bool = False
) -> None:
    """Inserts rows; one whose key exists is replaced, or with ``keep_existing`` updated where not NULL."""
    if not rows:
        return
    # The two dialects spell ON CONFLICT alike, but each has a class of its own.
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table)
    changed = {
        column.name: func.coalesce(statement.excluded[column.name], column)
        if keep_existing
        else statement.excluded[column.name]
        for column in table.columns
        if not column.primary_key
    }
    connection.execute(
        statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed), rows
    )
