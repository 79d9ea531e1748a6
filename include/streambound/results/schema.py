"""The tables of the results database.

Each table's primary key is what makes a repeated write replace the earlier one: an Airflow task
that is tried again records the same facts twice. A run id is Airflow's, which is unique only
within its DAG, so each key has the job, which is the DAG's id. It is empty where a release before version 5
recorded it of a job that cannot be told any more. Databases are created and upgraded by ``migrations``.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    Index,
    Integer,
    MetaData,
    Numeric,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

# Of the newest file in migrations/versions; a change of the tables below needs one more.
VERSION = 7


class ExactInteger(TypeDecorator[int]):
    """An integer of any size: units and counts may exceed 64 bits, and are never rounded or wrapped.

    PostgreSQL's NUMERIC holds it; elsewhere it is decimal text.
    """

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """NUMERIC without a precision on PostgreSQL, else TEXT."""
        kind = Numeric() if dialect.name == "postgresql" else Text()
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:
        """A Python integer as the dialect's parameter."""
        if value is None:
            return None
        return Decimal(int(value)) if dialect.name == "postgresql" else str(int(value))

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        """The Python integer again."""
        return None if value is None else int(value)


class Moment(TypeDecorator[dt.datetime]):
    """A point in time, UTC; SQLite forgets zones, so the zone is put back when read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """An aware datetime in UTC; a naive one is taken as UTC already."""
        if value is None or value.tzinfo is None:
            return value
        moment = value.astimezone(dt.UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """An aware datetime in UTC."""
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=dt.UTC)


METADATA = MetaData()


def _job() -> Column[str]:
    return Column("job", Text, primary_key=True, server_default="")


VERDICTS = Table(
    "verdicts",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("query", Text, primary_key=True),
    Column("checked_at", Moment, nullable=False, index=True),
    Column("sql", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("projection", Text),
    Column("criterion", Text),
    Column("units", ExactInteger),
    Column("units_formula", Text),
    Column("reasons", JSON, nullable=False),
    Column("published", JSON, nullable=False),
    Column("suggestions", JSON, nullable=False),
    Column("error", Text),
    Column("final", Text),
    Column("unplanned", Text),
    Column("refused", Text),
    Column("code", Text),
    Column("dialect", Text),
    Column("guessed", Text),
    Column("causes", JSON, nullable=False, server_default="[]"),
    Column("blockers", JSON, nullable=False, server_default="[]"),
    Column("assumes", JSON, nullable=False, server_default="[]"),
    _job(),
)

RUNS = Table(
    "runs",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("job", Text, primary_key=True),
    Column("started_at", Moment, index=True),
    Column("ended_at", Moment),
    Column("state", Text, nullable=False),
    Column("first_partition", Text),
    Column("last_partition", Text),
    Column("engine", Text),
    Column("parameters", JSON(none_as_null=True)),
)

ANSWERS = Table(
    "answers",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("query", Text, primary_key=True),
    Column("evaluated_at", Moment, nullable=False, index=True),
    Column("streams", JSON, nullable=False),
    Column("partitions", BigInteger, nullable=False),
    Column("missing_partitions", JSON, nullable=False),
    Column("rows_read", BigInteger, nullable=False),
    Column("answer_rows", BigInteger, nullable=False),
    Column("answer_count", ExactInteger),
    Column("peak_units", ExactInteger),
    Column("units", ExactInteger),
    Column("seconds", Float),
    Column("digest", Text),
    _job(),
)

PARTITION_METRICS = Table(
    "partition_metrics",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("partition", Text, primary_key=True),
    Column("metrics", JSON, nullable=False),
    _job(),
)

QUALITY = Table(
    "quality",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("checked_at", Moment, nullable=False, index=True),
    Column("success", Boolean, nullable=False),
    Column("evaluated", Integer, nullable=False),
    Column("failed", JSON, nullable=False),
    Column("docs", Text),
    Column("expectations", JSON, nullable=False, server_default="[]"),
    Column("observed", JSON, nullable=False, server_default="{}"),
    _job(),
)

FIGURES = Table(
    "figures",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Float, nullable=False),
    Column("unit", Text, nullable=False),
    _job(),
)

CACHE_BENCHMARKS = Table(
    "cache_benchmarks",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("query", Text, primary_key=True),
    Column("size", BigInteger, primary_key=True),
    Column("contender", Text, primary_key=True),
    Column("benchmarked_at", Moment, nullable=False, index=True),
    Column("night", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("alpha", Float),
    Column("kept", BigInteger, nullable=False),
    Column("possible", BigInteger, nullable=False),
    Column("optimum", BigInteger, nullable=False),
    Column("share", Float),
    Column("chosen", Boolean, nullable=False),
    Column("why", Text),
    Column("drifted", Boolean, nullable=False),
    _job(),
)

CACHE_ANSWERS = Table(
    "cache_answers",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("query", Text, primary_key=True),
    Column("evaluated_at", Moment, nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("policy", Text, nullable=False),
    Column("alpha", Float),
    Column("why", Text, nullable=False),
    Column("results", BigInteger, nullable=False),
    Column("estimated_results", Float),
    Column("standard_error", Float),
    Column("estimated_share", Float),
    _job(),
)

CACHE_ESTIMATES = Table(
    "cache_estimates",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("query", Text, primary_key=True),
    Column("size", BigInteger, primary_key=True),
    Column("compared_at", Moment, nullable=False, index=True),
    Column("night", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("results", BigInteger, nullable=False),
    Column("exact", BigInteger, nullable=False),
    Column("estimated", Float),
    Column("standard_error", Float, nullable=False),
    Column("share", Float),
    Column("estimated_share", Float),
    Column("holds", Boolean, nullable=False),
    _job(),
)

# The newest of each query, and the history of one, are found without reading the others' rows.
_INDEXED: dict[str, tuple[Column[Any], ...]] = {
    "ix_verdicts_query": tuple(VERDICTS.c["query", "checked_at", "run_id", "job", "criterion"]),
    "ix_answers_query": tuple(ANSWERS.c["query", "evaluated_at", "run_id", "job"]),
    "ix_cache_answers_query": tuple(CACHE_ANSWERS.c["query", "evaluated_at", "run_id", "job"]),
    "ix_quality_subject": tuple(QUALITY.c["kind", "subject", "checked_at", "run_id", "job"]),
}
for _name, _columns in _INDEXED.items():
    Index(_name, *_columns)
