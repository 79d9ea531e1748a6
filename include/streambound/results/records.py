"""What the results database holds, as frozen values.

Each is of a run, by its ``run_id`` and its ``job``, the id of its DAG: Airflow's run ids are unique within
a DAG only. The job is empty where an earlier release did not record it, and where no DAG is at work.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeVar

# The criterion that evaluations go by: the compiler's own, which decides every query.
EVALUATED_BY = "exact"


def now() -> dt.datetime:
    """The present moment, UTC."""
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True)
class VerdictRecord:
    """The verdict on one query in one run, as ``streambound check --format json`` prints it.

    ``units`` counts stored values and counts; None where ``units_formula`` names what is undeclared.
    """

    run_id: str
    query: str
    verdict: str
    checked_at: dt.datetime
    sql: str = ""
    projection: str | None = None
    criterion: str | None = None
    units: int | None = None
    units_formula: str | None = None
    reasons: Sequence[Mapping[str, Any]] = ()
    published: Mapping[str, str] = field(default_factory=dict)
    suggestions: Sequence[Mapping[str, Any]] = ()
    error: str | None = None
    # Of these an earlier release recorded nothing.
    final: str | None = None
    unplanned: str | None = None
    refused: str | None = None
    code: str | None = None
    dialect: str | None = None
    guessed: str | None = None
    causes: Sequence[Mapping[str, Any]] = ()
    blockers: Sequence[Mapping[str, Any]] = ()
    assumes: Sequence[str] = ()
    job: str = ""

    @property
    def outcome(self) -> str:
        """The verdict; ``unsupported`` of what is valid and not decided."""
        return "unsupported" if self.blockers else self.verdict

    @classmethod
    def from_json(cls, run_id: str, body: Mapping[str, Any], checked_at: dt.datetime, job: str = "") -> Self:
        """The record of one object of ``check --format json``; a key ``sql`` may be added to it."""
        said = {field.name: body[field.name] for field in fields(cls) if body.get(field.name) is not None}
        lists = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
        return cls(**{**said, **lists, "run_id": run_id, "checked_at": checked_at, "job": job})


@dataclass(frozen=True)
class Run:
    """One run of a job (a DAG or a command).

    ``state`` is Airflow's word (running, success, failed). What is None leaves an earlier record of
    the same run as it was, so a run is recorded once when it starts and again when it ends.
    """

    run_id: str
    job: str
    state: str
    started_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    first_partition: str | None = None
    last_partition: str | None = None
    engine: str | None = None
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Answer:
    """What evaluating one query over a history gave.

    ``partitions`` and ``missing_partitions`` count and name the partitions that the answers rest on and those
    kept out; ``rows_read`` counts the rows in the former, in whichever run they were read;
    ``streams`` names the relations read; ``answer_rows`` counts distinct answer rows and
    ``answer_count`` their multiplicities (may exceed 64 bits; None if not counted).
    """

    run_id: str
    query: str
    partitions: int
    rows_read: int
    answer_rows: int
    answer_count: int | None = None
    missing_partitions: Sequence[str] = ()
    streams: Sequence[str] = ()
    peak_units: int | None = None
    units: int | None = None
    seconds: float | None = None
    digest: str | None = None
    evaluated_at: dt.datetime = field(default_factory=now)
    job: str = ""


@dataclass(frozen=True)
class PartitionMetrics:
    """The metrics of one partition of a stream (see ``quality.metrics``)."""

    run_id: str
    stream: str
    partition: str
    metrics: Mapping[str, Any]
    job: str = ""


@dataclass(frozen=True)
class QualityOutcome:
    """The data quality of a stream (``kind='stream'``), of a query's answers (``kind='answers'``) or
    of its benchmark of caches (``kind='caches'``).

    ``evaluated`` counts expectations. ``failed`` has one mapping a failed partition:
    ``{"partition": "2013-01-02", "reasons": ["..."]}``, or one without partition otherwise. ``docs`` is
    the Data Docs page. ``expectations`` has each with how often it failed: ``{"says": "...", "failed": 0}``.
    ``observed`` has of each column of a stream ``{"different": 16, "exact": true}``, over all partitions
    that were checked.
    """

    run_id: str
    subject: str
    success: bool
    evaluated: int
    kind: str = "stream"
    failed: Sequence[Mapping[str, Any]] = ()
    docs: str | None = None
    checked_at: dt.datetime = field(default_factory=now)
    job: str = ""
    # Of these an earlier release recorded nothing.
    expectations: Sequence[Mapping[str, Any]] = ()
    observed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def failed_partitions(self) -> tuple[str, ...]:
        """The names of the failed partitions."""
        return tuple(str(item["partition"]) for item in self.failed if "partition" in item)


@dataclass(frozen=True)
class CacheBenchmark:
    """What one contender kept of a query's results in ``size`` tuples of memory, in one benchmark.

    ``contender`` is the policy, with HEEB's ``alpha`` (in sizes of the cache); one named ``earlier ...`` is
    the choice of an earlier night that stands. ``night`` is the last partition that was looked at. ``kept``
    and the ``optimum`` are results on the held-out days, of which an unlimited memory makes ``possible``;
    ``share`` is kept/possible, None where nothing is possible. ``why`` is said of the one that is ``chosen``.
    ``drifted``: the streams have left the models of the choice before.
    """

    run_id: str
    query: str
    size: int
    contender: str
    night: str
    policy: str
    kept: int
    possible: int
    optimum: int
    alpha: float | None = None
    share: float | None = None
    chosen: bool = False
    why: str | None = None
    drifted: bool = False
    benchmarked_at: dt.datetime = field(default_factory=now)
    job: str = ""


@dataclass(frozen=True)
class CacheAnswer:
    """How complete the answer of an unbounded query is that was evaluated in ``size`` tuples of memory.

    ``results`` were found of ``estimated_results`` (with a ``standard_error``; 0: they were counted); None
    where nothing could be estimated. ``alpha`` is HEEB's.
    """

    run_id: str
    query: str
    size: int
    policy: str
    why: str
    results: int
    alpha: float | None = None
    estimated_results: float | None = None
    standard_error: float | None = None
    estimated_share: float | None = None
    evaluated_at: dt.datetime = field(default_factory=now)
    job: str = ""


@dataclass(frozen=True)
class CacheEstimate:
    """What an evaluation in ``size`` tuples makes of the held-out days of a benchmark, and the truth.

    It found ``results`` of ``exact`` (``share``), and took these to be ``estimated`` with a
    ``standard_error`` (``estimated_share``); None where it could not tell. ``holds``: the truth is within
    the stated interval. ``night`` is the last partition that was looked at.
    """

    run_id: str
    query: str
    size: int
    night: str
    policy: str
    results: int
    exact: int
    estimated: float | None = None
    standard_error: float = 0.0
    share: float | None = None
    estimated_share: float | None = None
    holds: bool = True
    compared_at: dt.datetime = field(default_factory=now)
    job: str = ""


@dataclass(frozen=True)
class Figure:
    """One measured number of a run, such as a benchmark's ratio."""

    run_id: str
    name: str
    value: float
    unit: str = ""
    job: str = ""


@dataclass(frozen=True)
class QuerySummary:
    """The newest that is known of one query; ``quality`` is that of its streams and its answers."""

    query: str
    verdict: VerdictRecord | None
    answer: Answer | None
    quality: tuple[QualityOutcome, ...]


# Any of them.
Record = TypeVar(
    "Record",
    Answer,
    CacheAnswer,
    CacheBenchmark,
    CacheEstimate,
    Figure,
    PartitionMetrics,
    QualityOutcome,
    Run,
    VerdictRecord,
)
