"""What the API answers with. Sizes are units (stored values and counts), moments are UTC."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from streambound.results import EVALUATED_BY

Outcome = Literal["bounded", "unbounded", "unknown", "invalid", "unchecked"]
Final = Literal["bounded", "unbounded", "never-final", "unknown"]
Units = int | None
AnswerView = Literal["answer", "changes"]
# What a query may be besides its verdict, each a tile and a filter of the list.
Notable = Literal["failed", "near", "changed"]
# partial: checks hold, and the answer is the part of one that a limited memory keeps.
Quality = Literal["ok", "partial", "failed", "unchecked"]
# Decimals, dates and timestamps (ISO 8601) are texts, and so are inf and nan, which JSON has not.
Cell = bool | int | float | str | None
JOB = "The DAG that the run is of; empty where an earlier release did not record it."


class StatePoint(BaseModel):
    """The largest state of one evaluation."""

    evaluated_at: dt.datetime
    peak_units: int


class CachePart(BaseModel):
    """How large a part of its answer a query has, in so many tuples of memory."""

    size: int
    policy: str
    share: float | None = Field(default=None, description="Of the exact answer's rows, estimated.")


class QueryRow(BaseModel):
    """A query, and the newest that is known of it."""

    name: str
    owner: str | None = None
    description: str | None = None
    registered: bool = Field(default=True, description="Whether its file is in the registry.")
    verdict: Outcome = Field(
        default="unchecked", description="The newest under the criterion that evaluations go by."
    )
    criterion: str = Field(default=EVALUATED_BY, description="The criterion of the verdict.")
    stale: bool = Field(default=False, description="Its text has changed since it was checked.")
    units: Units = Field(default=None, description="The bound of its state.")
    units_formula: str | None = None
    note: str = Field(default="", description="Why it has no bounded plan, or what is missing.")
    checked_at: dt.datetime | None = None
    check_job: str | None = Field(default=None, description=JOB)
    check_run: str | None = None
    evaluated_at: dt.datetime | None = None
    evaluation_job: str | None = Field(default=None, description=JOB)
    evaluation_run: str | None = None
    partitions: int | None = None
    missing_partitions: int = 0
    rows_read: int | None = None
    answer_rows: int | None = None
    quality: Quality = "unchecked"
    quality_note: str = ""
    engine: str = Field(default="spark", description="The engine, or else the dialect, of its text.")
    notable: list[Notable] = Field(
        default_factory=list,
        description="failed: data that it reads, or its answers, failed their checks. near: its peak is at"
        " least 90% of its bound. changed: its verdict or bound is another one than a day ago.",
    )
    before: str = Field(default="", description="What it was a day ago, if it is changed.")
    states: list[StatePoint] = Field(default_factory=list, description="Of its last evaluations.")
    cache_size: str | None = Field(default=None, description="Tuples of memory that its file asks for.")
    cache: CachePart | None = None


class QueryPage(BaseModel):
    """Some of the queries that match."""

    total: int = Field(description="How many match.")
    registered: int = Field(description="How many there are.")
    counts: dict[Outcome, int] = Field(description="Of all registered queries, by verdict.")
    notable: dict[Notable, int] = Field(description="Of all registered queries, by what they are besides.")
    owners: dict[str, int] = Field(description="Of all registered queries, by owner where one is named.")
    engines: dict[str, int] = Field(description="Of all registered queries, by engine.")
    qualities: dict[Quality, int] = Field(description="Of all registered queries, by quality.")
    queries: list[QueryRow]


class Where(BaseModel):
    """A place in a text, from 1."""

    line: int
    column: int


class ReasonBody(BaseModel):
    """One finding."""

    code: str
    message: str
    attributes: list[str] = Field(default_factory=list)
    where: Where | None = None
    criterion: str | None = None
    branch: str | None = None


class SuggestionBody(BaseModel):
    """A bounded variant of a query, decided again."""

    sql: str
    verdict: str = "bounded"
    units: Units = None
    units_formula: str | None = None
    unplanned: str | None = None
    change: str = ""
    catalog: dict[str, Any] | None = Field(default=None, description="Declarations that do the same.")
    catalog_units: Units = None
    cardinality: dict[str, Any] | None = Field(
        default=None, description="The same where only the number of values is known."
    )
    cardinality_units: Units = None


class CauseBody(BaseModel):
    """What lacks of time, and one thing to do."""

    message: str
    fix: str
    where: Where | None = None


class BlockerBody(BaseModel):
    """A construct that is not supported yet."""

    # Pydantic has a method construct.
    name: str = Field(alias="construct")
    message: str
    where: Where | None = None


class VerdictBody(BaseModel):
    """A verdict, as ``streambound check --format json`` prints it."""

    query: str
    verdict: Outcome
    projection: str | None = None
    units: Units = None
    units_formula: str | None = None
    unplanned: str | None = None
    refused: str | None = None
    criterion: str | None = None
    reasons: list[ReasonBody] = Field(default_factory=list)
    published: dict[str, str] = Field(default_factory=dict)
    suggestions: list[SuggestionBody] = Field(default_factory=list)
    error: str | None = None
    code: str | None = None
    final: Final | None = Field(default=None, description="The verdict where rows are answered once.")
    causes: list[CauseBody] = Field(default_factory=list, description="What the reasons have in common.")
    blockers: list[BlockerBody] = Field(default_factory=list, description="All that is not supported yet.")
    assumes: list[str] = Field(
        default_factory=list, description="What was assumed of functions that are not known."
    )
    dialect: str | None = Field(default=None, description="Of the text; none for Spark SQL.")
    guessed: str | None = Field(default=None, description="The sign by which the dialect was told.")


class RecordedVerdict(VerdictBody):
    """A verdict of a run; an earlier release recorded less of it."""

    run_id: str
    job: str = Field(default="", description=JOB)
    checked_at: dt.datetime
    sql: str = ""


class QueryDetail(BaseModel):
    """A query with its text and its newest verdict under the criterion that evaluations go by."""

    summary: QueryRow
    sql: str
    verdict: RecordedVerdict | None = None


class VerdictPage(BaseModel):
    """Verdicts of one query under all criteria, the newest first."""

    verdicts: list[RecordedVerdict]


class EvaluationBody(BaseModel):
    """What evaluating a query over its history gave, in one run."""

    run_id: str
    job: str = Field(default="", description=JOB)
    query: str
    evaluated_at: dt.datetime
    partitions: int
    missing_partitions: list[str] = Field(default_factory=list)
    streams: list[str] = Field(default_factory=list)
    rows_read: int
    answer_rows: int
    answer_count: int | None = None
    peak_units: Units = None
    units: Units = None
    seconds: float | None = None
    digest: str | None = None


class EvaluationPage(BaseModel):
    """Evaluations of one query, the newest first."""

    evaluations: list[EvaluationBody]


class AnswerColumn(BaseModel):
    """A column of SELECT, with its type in SQL."""

    name: str
    type: str


class AnswerRow(BaseModel):
    """A row of an answer, or a change of one."""

    partition: str | None = Field(default=None, description="Of a change: the partition that made it.")
    row: list[Cell] = Field(description="In the order of the columns.")
    count: int = Field(description="Its multiplicity; of a change negative where rows are taken back.")
    new: bool = Field(default=False, description="Of a change: whether the last evaluation made it.")


class AnswerPage(BaseModel):
    """Some rows of the answer that the last evaluation left."""

    query: str
    evaluated: bool = Field(description="Whether there is an answer; without one there is nothing else.")
    view: AnswerView | None = Field(
        default=None,
        description="answer: the rows as they are now. changes: the rows that partitions added or took"
        " back, the newest partition first.",
    )
    views: list[AnswerView] = Field(default_factory=list, description="Those that this query has.")
    total: int = Field(default=0, description="How many rows the view has.")
    new: int | None = Field(
        default=None, description="Changes that the last evaluation made; null if it made all of them."
    )
    answer_rows: int | None = Field(default=None, description="Different rows of the answer.")
    answer_count: int | None = Field(default=None, description="The same with their multiplicities.")
    rows_before: int | None = Field(default=None, description="Different rows in the evaluation before.")
    last_partition: str | None = Field(default=None, description="The last that the answer rests on.")
    share: float | None = Field(
        default=None, description="Of the exact answer, estimated, for a query in limited memory."
    )
    error: str | None = Field(default=None, description="Why the last evaluation failed.")
    columns: list[AnswerColumn] = Field(default_factory=list)
    rows: list[AnswerRow] = Field(default_factory=list)


class CheckpointBody(BaseModel):
    """The state at a partition's boundary."""

    partition: str
    units: int
    peak_units: int
    rows: int = Field(description="Input rows up to the boundary.")
    answer_count: int = Field(description="Answer rows up to it, with their multiplicities.")
    digest: str


class StateBody(BaseModel):
    """The state of a query over the partitions of its history."""

    query: str
    bound: Units = None
    total: int = Field(default=0, description="How many checkpoints there are.")
    checkpoints: list[CheckpointBody] = Field(default_factory=list)
    late: list[str] = Field(default_factory=list, description="Partitions that came too late.")
    faults: list[str] = Field(default_factory=list, description="What is damaged.")


class ChoiceBody(BaseModel):
    """What the last benchmark chose for one size of memory."""

    size: int = Field(description="Cached tuples.")
    units: int
    policy: str
    alpha: float | None = None
    why: str
    kept: int
    optimum: int
    share: float | None = Field(default=None, description="kept of all results on the held-out days.")
    error: float | None = Field(default=None, description="Half of the share's 95% interval.")
    optimum_share: float | None = None


class ChoicesBody(BaseModel):
    """The choices of a query's last benchmark of caches."""

    query: str
    night: str | None = Field(default=None, description="The last partition that it looked at.")
    first_night: str | None = Field(default=None, description="The first of those that it held out.")
    held_out: int | None = Field(default=None, description="How many partitions: results are theirs.")
    possible: int | None = None
    drifted: bool = False
    choices: list[ChoiceBody] = Field(default_factory=list)


class OutcomeBody(BaseModel):
    """The quality of a stream, of a query's answers or of its benchmark of caches."""

    run_id: str
    job: str = Field(default="", description=JOB)
    kind: str
    subject: str
    success: bool
    evaluated: int = Field(description="Expectations.")
    failed: list[dict[str, Any]] = Field(default_factory=list)
    checked_at: dt.datetime
    docs: str | None = Field(default=None, description="Its page, below quality/docs/.")


class QualityBody(BaseModel):
    """The newest quality of every subject."""

    outcomes: list[OutcomeBody]


class RunBody(BaseModel):
    """A run of a DAG, as it was recorded."""

    run_id: str
    job: str
    state: str
    started_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    first_partition: str | None = None
    last_partition: str | None = None
    engine: str | None = None
    parameters: dict[str, Any] | None = None


class RunPage(BaseModel):
    """Runs, the newest first."""

    runs: list[RunBody]


class MadeChoice(BaseModel):
    """A policy that a run chose."""

    query: str
    size: int
    contender: str
    share: float | None = None
    why: str | None = None


class RunDetail(BaseModel):
    """What a run decided and evaluated."""

    dag_id: str
    run_id: str
    run: RunBody | None = None
    verdicts: list[RecordedVerdict] = Field(default_factory=list)
    evaluations: list[EvaluationBody] = Field(default_factory=list)
    choices: list[MadeChoice] = Field(default_factory=list)
    quality: list[OutcomeBody] = Field(default_factory=list)


Engine = Literal["spark", "flink", "risingwave", "materialize", "feldera", "ksqldb"]
Dialect = Literal[
    "spark",
    "flink",
    "sqrl",
    "ksql",
    "risingwave",
    "materialize",
    "feldera",
    "arroyo",
    "azure",
    "timeplus",
    "postgres",
    "duckdb",
]


class CheckRequest(BaseModel):
    """A query to decide. Nothing is executed, and nothing is recorded."""

    model_config = ConfigDict(extra="forbid")

    sql: str = Field(description="At most 65,536 bytes.", examples=["SELECT DISTINCT origin FROM departures"])
    criterion: Literal["exact", "arasu", "schiff_ozcep"] = "exact"
    engine: Engine | None = Field(
        default=None, description="Of which what it keeps is told; else that of the text or its dialect."
    )
    dialect: Dialect | None = Field(
        default=None, description="Of the text; else what the text or the project says, or a guess."
    )


class AnswerBody(BaseModel):
    """A row of what the query needs, and what an engine keeps of it."""

    question: str
    answer: str
    sql: str = Field(default="", description="To be copied, if there is something.")


class OperatorBody(BaseModel):
    """An operator of a query as an engine plans it, what is kept of it, and how that grows."""

    operator: str
    on: str
    keeps: str
    growth: str
    why: str | None = None
    most: int | None = None
    cleaned: str | None = None
    evidence: str | None = None
    source: str | None = None
    where: Where | None = None


class EngineBody(BaseModel):
    """What an engine keeps of a query as it is written."""

    name: str
    version: str | None = None
    mode: str | None = None
    growth: str
    operators: list[OperatorBody] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)


class Mark(BaseModel):
    """A problem where it stands in the text: characters from ``span[0]`` up to ``span[1]``."""

    code: str
    message: str
    span: tuple[int, int]
    page: str | None = None


class Shown(BaseModel):
    """The same for people, as markup without scripts and styles."""

    sql: str
    marks: list[Mark] = Field(default_factory=list, description="All problems, in the order they are told.")
    plan: str | None = None
    plan_text: str | None = None
    story: str | None = None
    published: str | None = None
    answers: list[AnswerBody] = Field(default_factory=list)


class CheckBody(VerdictBody):
    """The verdict on a text as it is now."""

    uncached: str | None = Field(
        default=None,
        description="Why no cache answers a part of it, or none is needed; null if one does.",
    )
    engine: EngineBody | None = Field(
        default=None, description="What an engine keeps of it as it is written."
    )
    shown: Shown


class StartedRun(BaseModel):
    """A run for one query."""

    dag_id: str
    run_id: str
    state: str = Field(description="As Airflow has it: queued or running.")
    started: bool = Field(description="Whether it is a new run; else the one that is under way already.")
