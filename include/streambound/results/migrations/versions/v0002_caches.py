"""What a memory of k tuples keeps of results: nightly benchmarks, and answers of unbounded queries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "cache_benchmarks",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("query", sa.Text, primary_key=True),
        sa.Column("size", sa.BigInteger, primary_key=True),
        sa.Column("contender", sa.Text, primary_key=True),
        sa.Column("benchmarked_at", MOMENT, nullable=False),
        sa.Column("night", sa.Text, nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("alpha", sa.Float),
        sa.Column("kept", sa.BigInteger, nullable=False),
        sa.Column("possible", sa.BigInteger, nullable=False),
        sa.Column("optimum", sa.BigInteger, nullable=False),
        sa.Column("share", sa.Float),
        sa.Column("chosen", sa.Boolean, nullable=False),
        sa.Column("why", sa.Text),
        sa.Column("drifted", sa.Boolean, nullable=False),
    )
    op.create_index("ix_cache_benchmarks_benchmarked_at", "cache_benchmarks", ["benchmarked_at"])
    op.create_table(
        "cache_answers",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("query", sa.Text, primary_key=True),
        sa.Column("evaluated_at", MOMENT, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("alpha", sa.Float),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("results", sa.BigInteger, nullable=False),
        sa.Column("estimated_results", sa.Float),
        sa.Column("standard_error", sa.Float),
        sa.Column("estimated_share", sa.Float),
    )
    op.create_index("ix_cache_answers_evaluated_at", "cache_answers", ["evaluated_at"])
