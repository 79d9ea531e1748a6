"""What the API answers about streams, what is made of them, and their quality."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from pydantic import BaseModel, Field

from streambound_airflow.pages.schemas import JOB, Cell, Outcome, Quality

Subject = Literal["stream", "answers", "caches"]


class DayBody(BaseModel):
    """The rows of one partition; null where it could not be read."""

    partition: str
    rows: int | None
    failed: bool = False


class StreamRow(BaseModel):
    """A stream or table of the catalog, and what the newest check found."""

    name: str
    kind: str = Field(description="stream, finite, static or versioned.")
    description: str = ""
    quality: Quality = "unchecked"
    failed_partitions: int = Field(default=0, description="In the newest check.")
    reason: str = Field(default="", description="The newest failed partition, and why.")
    checked_at: dt.datetime | None = None
    check_run: str | None = None
    check_job: str | None = Field(default=None, description=JOB)
    partitions: int = Field(default=0, description="That were checked, in whichever run.")
    rows: int | None = None
    newest: str | None = Field(default=None, description="The last partition, where there are several.")
    days: list[DayBody] = Field(default_factory=list, description="The last partitions.")
    readers: list[str] = Field(default_factory=list, description="Registered queries that name it.")


class StreamPage(BaseModel):
    """Some of the streams; those that failed come first."""

    total: int
    failed: int
    streams: list[StreamRow]


class ColumnBody(BaseModel):
    """A column as it is declared, and as it was observed in all partitions that were checked."""

    name: str
    type: str
    nullable: bool
    timestamp: bool = Field(default=False, description="Whether it is the application timestamp.")
    domain: str = Field(default="", description="Declared values.")
    least: Cell = None
    greatest: Cell = None
    different: int | None = Field(default=None, description="Different values, in the newest check.")
    exact: bool = Field(default=True, description="Whether these were counted; else estimated.")
    nulls: int | None = None
    outside: int | None = Field(default=None, description="Values outside the domain, if one is declared.")


class RateBody(BaseModel):
    """A number of rows that is declared, beside the most that were observed."""

    says: str
    declared: int | None
    observed: int | None


class ReaderBody(BaseModel):
    """A registered query that reads a stream."""

    name: str
    verdict: Outcome
    through: list[str] = Field(default_factory=list, description="Queries between; none if it names it.")
    missing: list[str] = Field(
        default_factory=list, description="Partitions of the stream that its answer is without."
    )


class StreamDetail(BaseModel):
    """A stream or table: declared beside observed."""

    summary: StreamRow
    timestamp: str | None = None
    granularity: str | None = None
    allowed_lateness: str | None = None
    outside_day: int | None = Field(default=None, description="Rows in a partition of another day.")
    first: str | int | None = Field(default=None, description="The least timestamp.")
    last: str | int | None = Field(default=None, description="The greatest timestamp.")
    history: str | None = None
    partition_by: str | None = None
    rates: list[RateBody] = Field(default_factory=list)
    columns: list[ColumnBody] = Field(default_factory=list)
    readers: list[ReaderBody] = Field(default_factory=list)


class PartitionBody(BaseModel):
    """What the newest check of a partition found."""

    partition: str
    quality: Quality
    reasons: list[str] = Field(default_factory=list)
    rows: int | None = None
    nulls: int | None = None
    first: str | int | None = None
    last: str | int | None = None
    checked_at: dt.datetime
    run_id: str
    job: str = Field(default="", description=JOB)


class PartitionPage(BaseModel):
    """Some partitions of a stream, the newest first."""

    total: int
    failed: int
    partitions: list[PartitionBody]


class NodeBody(BaseModel):
    """A stream, a query or an answer."""

    key: str
    kind: Literal["stream", "query", "answer"]
    name: str
    verdict: Outcome | None = None
    quality: Quality | None = None
    rows: int | None = Field(default=None, description="Of an answer.")


class EdgeBody(BaseModel):
    """What is read by what, by keys."""

    source: str
    target: str


class LineageBody(BaseModel):
    """Streams, the queries over them, and their answers."""

    nodes: list[NodeBody]
    edges: list[EdgeBody]


class ExpectationBody(BaseModel):
    """What is expected, and how often it failed: partitions of a stream, else 0 or 1."""

    says: str
    failed: int


class ExampleBody(BaseModel):
    """Rows that break a promise."""

    reason: str
    rows: list[dict[str, Cell]]


class FailureBody(BaseModel):
    """A failed partition; without a partition an answer or a benchmark."""

    partition: str | None = None
    reasons: list[str] = Field(default_factory=list)
    examples: list[ExampleBody] = Field(default_factory=list)


class CheckedBody(BaseModel):
    """One check of a subject."""

    run_id: str
    job: str = Field(default="", description=JOB)
    checked_at: dt.datetime
    success: bool
    evaluated: int = Field(description="Expectations.")
    failures: int = Field(description="Failed partitions, or failures.")


class CheckedPage(BaseModel):
    """Checks of a subject, the newest first."""

    checks: list[CheckedBody]


class SubjectBody(BaseModel):
    """The quality of a stream, of a query's answer or of its benchmark, as the newest check found it."""

    kind: Subject
    subject: str
    check: CheckedBody
    expectations: list[ExpectationBody] = Field(
        default_factory=list, description="None of a check by an earlier release."
    )
    failures: list[FailureBody] = Field(default_factory=list, description="The newest partition first.")
    total: int = Field(description="How many failures there are.")
    docs: str | None = Field(default=None, description="Its page of Data Docs, below quality/docs/.")
