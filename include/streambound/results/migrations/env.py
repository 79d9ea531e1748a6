"""Run by Alembic on the connection, and in the transaction, that ``results.upgrade`` hands over."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    # SQLite's is, too, as results.connection begins transactions itself.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
