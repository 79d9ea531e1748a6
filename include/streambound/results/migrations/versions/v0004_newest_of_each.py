"""Indices by query and moment: what is newest of each is found among years of nights."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"

INDICES = {
    "ix_verdicts_query": ("verdicts", ["query", "checked_at", "run_id"]),
    "ix_answers_query": ("answers", ["query", "evaluated_at", "run_id"]),
    "ix_cache_answers_query": ("cache_answers", ["query", "evaluated_at", "run_id"]),
    "ix_quality_subject": ("quality", ["kind", "subject", "checked_at", "run_id"]),
}


def upgrade() -> None:
    """Create the indices."""
    for name, (table, columns) in INDICES.items():
        op.create_index(name, table, columns)
