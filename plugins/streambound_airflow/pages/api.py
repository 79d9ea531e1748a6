"""The JSON API below ``/streambound/api/v1``: what the pages show, for other tools; see ``openapi.json``."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse

from streambound_airflow.pages import answers, decided, detail, following, limited, overview
from streambound_airflow.pages.access import LOGGED, OWN_PAGES, READS, TRIGGERS, User
from streambound_airflow.pages.examination import EXAMINERS
from streambound_airflow.pages.overview import Wanted
from streambound_airflow.pages.problems import Refused, responses
from streambound_airflow.pages.schemas import (
    AnswerPage,
    AnswerView,
    CheckBody,
    CheckRequest,
    ChoicesBody,
    EvaluationPage,
    Notable,
    Outcome,
    Quality,
    QualityBody,
    QueryDetail,
    QueryPage,
    RunDetail,
    RunPage,
    StartedRun,
    StateBody,
    VerdictPage,
)
from streambound_airflow.pages.sources import store
from streambound_airflow.pages.triggering import DagId, start
from streambound_airflow.parameters import refuse_unknown


def _refuse_unknown_parameters(request: Request) -> None:
    """Refuses what an operation does not know: a filter that is misspelt would list everything."""
    declared = request.scope["route"].dependant.query_params
    refuse_unknown(list(request.query_params), [parameter.alias for parameter in declared])


router = APIRouter(
    prefix="/api/v1",
    tags=["streambound"],
    dependencies=[READS, OWN_PAGES, Depends(_refuse_unknown_parameters)],
    responses=responses(401, 403, 422, 503),
)
Name = Annotated[str, Path(description="The name of a query.", min_length=1, max_length=200)]
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
Offset = Annotated[int, Query(ge=0, le=1_000_000, description="How many are passed over.")]
Text = Annotated[
    str, Query(max_length=200, description="Words of a query's name, verdict, owner, description or note.")
]
Owner = Annotated[str | None, Query(max_length=200, description="The owner that a query's file names.")]
Engine = Annotated[str | None, Query(max_length=50, description="The engine of its text, such as spark.")]
Noted = Annotated[Notable | None, Query(description="What it is besides its verdict.")]
View = Annotated[
    AnswerView | None, Query(description="By default the answer as it is now, where it is kept as a whole.")
]
# Without NUL, which PostgreSQL takes in no text.
Identifier = Annotated[str, Path(min_length=1, max_length=250, pattern=r"^[^\x00]+$")]


@router.get("/queries")
def list_queries(
    text: Text = "",
    verdict: Outcome | None = None,
    notable: Noted = None,
    owner: Owner = None,
    quality: Quality | None = None,
    engine: Engine = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> QueryPage:
    """The registered queries with the newest that is known of each, problems first."""
    return overview.page(Wanted(text, verdict, notable, owner, quality, engine), limit, offset)


@router.get("/queries/{name}", responses=responses(404))
def get_query(name: Name) -> QueryDetail:
    """A query's text, and its newest verdict under the criterion that evaluations go by."""
    return detail.detail(name)


@router.get("/queries/{name}/verdicts", responses=responses(404))
def list_verdicts(name: Name, limit: Limit = 50, offset: Offset = 0) -> VerdictPage:
    """A query's verdicts under all criteria, the newest first."""
    detail.row_of_query(name)
    records = store().verdicts_of(name, limit, offset)
    return VerdictPage(verdicts=[detail.recorded_verdict(record) for record in records])


@router.get("/queries/{name}/evaluations", responses=responses(404))
def list_evaluations(name: Name, limit: Limit = 50, offset: Offset = 0) -> EvaluationPage:
    """A query's evaluations, the newest first."""
    detail.row_of_query(name)
    records = store().answers_of(name, limit, offset)
    return EvaluationPage(evaluations=[detail.evaluation(record) for record in records])


@router.get("/queries/{name}/answers", responses=responses(404))
def list_answers(name: Name, view: View = None, limit: Limit = 100, offset: Offset = 0) -> AnswerPage:
    """Rows of a query's answer as it is now, or the changes that made it, the newest partition first."""
    return answers.page(name, view, limit, offset)


@router.get(
    "/queries/{name}/answers.{kind}",
    response_class=StreamingResponse,
    responses={
        **responses(404),
        200: {"content": {media: {"schema": {"type": "string"}} for media in answers.MEDIA.values()}},
    },
)
def download_answers(name: Name, kind: answers.Kind, view: View = None) -> StreamingResponse:
    """All rows of the same as one file, sent while it is read."""
    return answers.download(name, kind, view)


@router.get("/queries/{name}/state", responses=responses(404))
def get_state(name: Name, limit: Limit = 400, offset: Offset = 0) -> StateBody:
    """The newest checkpoints of a query, or with an offset those before, in the order of their partitions."""
    return detail.state(name, limit, offset)


@router.get("/queries/{name}/choices", responses=responses(404))
def get_choices(name: Name) -> ChoicesBody:
    """What the last benchmark of caches chose for an unbounded query."""
    return limited.choices(name)


@router.get("/queries/{name}/runs", responses=responses(404))
def list_query_runs(name: Name, user: User) -> following.FollowedRuns:
    """Runs that are under way for a query, and of each DAG the last of today that was for it alone."""
    return following.of_query(name, user)


@router.post(
    "/queries/{name}/runs/{dag_id}",
    status_code=202,
    dependencies=[TRIGGERS, LOGGED],
    responses=responses(404, 408, 500),
)
def start_run(name: Name, dag_id: DagId, user: User) -> StartedRun:
    """Start a run of a DAG for this query alone, or tell of the one that is queued or running already.

    Needs Airflow's right to trigger that DAG. What could only fail is refused.
    """
    recorded, now = detail.detail(name), None
    if dag_id != "validate_queries" and recorded.sql:
        now = CheckBody.model_validate(EXAMINERS.examine(recorded.sql, name, suggest=False))
    return start(dag_id, recorded, now, user)


@router.get("/runs")
def list_runs(limit: Limit = 50, offset: Offset = 0, dag_id: DagId | None = None) -> RunPage:
    """Recorded runs, the newest first."""
    return decided.runs(limit, offset, dag_id)


@router.get("/runs/{dag_id}/{run_id}")
def get_run(dag_id: Identifier, run_id: Identifier) -> RunDetail:
    """What a run decided and evaluated; nothing of one that recorded nothing."""
    return decided.run_detail(dag_id, run_id)


@router.get("/runs/{dag_id}/{run_id}/status", responses=responses(404))
def get_run_status(dag_id: Identifier, run_id: Identifier, user: User) -> following.FollowedRun:
    """How far a run of one of our DAGs is, as Airflow has it; also of one that has recorded nothing."""
    runs = following.of_run(dag_id, run_id, user)
    if runs is None:
        raise Refused(404, "Airflow knows no such run of ours", accepted="a run of api/v1/runs")
    return runs


@router.get("/quality")
def list_quality() -> QualityBody:
    """The newest quality of every stream, answer and benchmark."""
    return decided.quality()


@router.post("/check", responses=responses(400, 408, 413, 500))
def check_query(asked: CheckRequest) -> CheckBody:
    """The verdict on a text against the registry's catalog. Nothing is executed, and nothing is recorded."""
    return CheckBody.model_validate(
        EXAMINERS.examine(asked.sql, criterion=asked.criterion, engine=asked.engine, dialect=asked.dialect)
    )


@router.get("/openapi.json", include_in_schema=False)
def get_document(request: Request) -> JSONResponse:
    """The OpenAPI document."""
    document: dict[str, Any] = request.app.openapi()
    return JSONResponse(document)
