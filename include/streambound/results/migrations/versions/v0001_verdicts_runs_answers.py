"""Verdicts, runs, answers, metrics of partitions, quality and figures."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

EXACT_INTEGER = sa.Text().with_variant(sa.Numeric(), "postgresql")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    _verdicts()
    _runs()
    _answers()
    _quality()
    op.create_table(
        "figures",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
    )


def _verdicts() -> None:
    op.create_table(
        "verdicts",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("query", sa.Text, primary_key=True),
        sa.Column("checked_at", MOMENT, nullable=False),
        sa.Column("sql", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("projection", sa.Text),
        sa.Column("criterion", sa.Text),
        sa.Column("units", EXACT_INTEGER),
        sa.Column("units_formula", sa.Text),
        sa.Column("reasons", sa.JSON, nullable=False),
        sa.Column("published", sa.JSON, nullable=False),
        sa.Column("suggestions", sa.JSON, nullable=False),
        sa.Column("error", sa.Text),
    )
    op.create_index("ix_verdicts_checked_at", "verdicts", ["checked_at"])


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("started_at", MOMENT),
        sa.Column("ended_at", MOMENT),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("first_partition", sa.Text),
        sa.Column("last_partition", sa.Text),
        sa.Column("engine", sa.Text),
        sa.Column("parameters", sa.JSON(none_as_null=True)),
    )
    op.create_index("ix_runs_started_at", "runs", ["started_at"])


def _answers() -> None:
    op.create_table(
        "answers",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("query", sa.Text, primary_key=True),
        sa.Column("evaluated_at", MOMENT, nullable=False),
        sa.Column("streams", sa.JSON, nullable=False),
        sa.Column("partitions", sa.BigInteger, nullable=False),
        sa.Column("missing_partitions", sa.JSON, nullable=False),
        sa.Column("rows_read", sa.BigInteger, nullable=False),
        sa.Column("answer_rows", sa.BigInteger, nullable=False),
        sa.Column("answer_count", EXACT_INTEGER),
        sa.Column("peak_units", EXACT_INTEGER),
        sa.Column("units", EXACT_INTEGER),
        sa.Column("seconds", sa.Float),
        sa.Column("digest", sa.Text),
    )
    op.create_index("ix_answers_evaluated_at", "answers", ["evaluated_at"])


def _quality() -> None:
    op.create_table(
        "partition_metrics",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("partition", sa.Text, primary_key=True),
        sa.Column("metrics", sa.JSON, nullable=False),
    )
    op.create_table(
        "quality",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("subject", sa.Text, primary_key=True),
        sa.Column("checked_at", MOMENT, nullable=False),
        sa.Column("success", sa.Boolean, nullable=False),
        sa.Column("evaluated", sa.Integer, nullable=False),
        sa.Column("failed", sa.JSON, nullable=False),
        sa.Column("docs", sa.Text),
    )
    op.create_index("ix_quality_checked_at", "quality", ["checked_at"])
