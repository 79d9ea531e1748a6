"""What an evaluation's own estimate of its share is worth, by the nightly benchmark."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "cache_estimates",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("query", sa.Text, primary_key=True),
        sa.Column("size", sa.BigInteger, primary_key=True),
        sa.Column("compared_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("night", sa.Text, nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("results", sa.BigInteger, nullable=False),
        sa.Column("exact", sa.BigInteger, nullable=False),
        sa.Column("estimated", sa.Float),
        sa.Column("standard_error", sa.Float, nullable=False),
        sa.Column("share", sa.Float),
        sa.Column("estimated_share", sa.Float),
        sa.Column("holds", sa.Boolean, nullable=False),
    )
    op.create_index("ix_cache_estimates_compared_at", "cache_estimates", ["compared_at"])
