"""Verdicts, runs, answers, quality and figures in one database: SQLite by default, PostgreSQL by URL."""

from streambound.results.records import (
    EVALUATED_BY,
    Answer,
    CacheAnswer,
    CacheBenchmark,
    CacheEstimate,
    Figure,
    PartitionMetrics,
    QualityOutcome,
    QuerySummary,
    Run,
    VerdictRecord,
)
from streambound.results.store import Results

__all__ = [
    "EVALUATED_BY",
    "Answer",
    "CacheAnswer",
    "CacheBenchmark",
    "CacheEstimate",
    "Figure",
    "PartitionMetrics",
    "QualityOutcome",
    "QuerySummary",
    "Results",
    "Run",
    "VerdictRecord",
]
