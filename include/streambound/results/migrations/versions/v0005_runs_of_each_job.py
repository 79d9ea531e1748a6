"""The job in each key: the runs of two DAGs may have one id.

What is there gets the job that records such things, if a run of that job and id was recorded. Of all else,
such as a verdict from a DAG of somebody's own, the job cannot be told: it stays empty.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

KEYS = {
    "verdicts": ("run_id", "query"),
    "answers": ("run_id", "query"),
    "partition_metrics": ("run_id", "stream", "partition"),
    "quality": ("run_id", "kind", "subject"),
    "figures": ("run_id", "name"),
    "cache_benchmarks": ("run_id", "query", "size", "contender"),
    "cache_answers": ("run_id", "query"),
    "cache_estimates": ("run_id", "query", "size"),
}
# The first of the jobs that has a run of the id wins: both check streams, and one alone published answers.
STREAMS = ("evaluate_history", "materialize_synopses")
# Table, which rows of it, and the jobs that record them.
RECORDED = (
    ("verdicts", "", ("validate_queries",)),
    ("answers", "", ("evaluate_history",)),
    ("cache_answers", "", ("evaluate_history",)),
    ("cache_benchmarks", "", ("benchmark_caches",)),
    ("cache_estimates", "", ("benchmark_caches",)),
    ("partition_metrics", "", STREAMS),
    ("quality", " AND kind = 'stream'", STREAMS),
    ("quality", " AND kind = 'answers'", ("evaluate_history",)),
    ("quality", " AND kind = 'caches'", ("benchmark_caches",)),
)
INDICES = {
    "ix_verdicts_query": ("verdicts", ["query", "checked_at", "run_id", "job", "criterion"]),
    "ix_answers_query": ("answers", ["query", "evaluated_at", "run_id", "job"]),
    "ix_cache_answers_query": ("cache_answers", ["query", "evaluated_at", "run_id", "job"]),
    "ix_quality_subject": ("quality", ["kind", "subject", "checked_at", "run_id", "job"]),
}


def upgrade() -> None:
    """Add the column to each table and its key, say whose the rows are, and index it."""
    for name, (table, _) in INDICES.items():
        op.drop_index(name, table)
    for table, key in KEYS.items():
        _add_job(table, key)
    for table, which, jobs in RECORDED:
        for job in jobs:
            op.execute(
                f"UPDATE {table} SET job = '{job}' WHERE job = ''{which} AND EXISTS"
                f" (SELECT 1 FROM runs WHERE runs.run_id = {table}.run_id AND runs.job = '{job}')"
            )
    for name, (table, columns) in INDICES.items():
        op.create_index(name, table, columns)


def _add_job(table: str, key: Sequence[str]) -> None:
    bind = op.get_bind()
    primary_key = sa.inspect(bind).get_pk_constraint(table)["name"]
    # SQLite's key has no name; there the whole table is written anew, and the new key replaces it.
    anew = bind.dialect.name == "sqlite"
    with op.batch_alter_table(table) as batch:
        batch.add_column(sa.Column("job", sa.Text, primary_key=anew, nullable=False, server_default=""))
        if not anew:
            assert primary_key is not None
            batch.drop_constraint(primary_key, type_="primary")
        batch.create_primary_key(f"{table}_pkey", [*key, "job"])
