"""The pages. Each gathers its values and renders one template."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from streambound import settings
from streambound.errors import StorageError
from streambound.report.pages import state_chart
from streambound_airflow.pages import (
    answers,
    decided,
    detail,
    documents,
    following,
    limited,
    manual,
    overview,
)
from streambound_airflow.pages.access import OWN_PAGES, READS, User
from streambound_airflow.pages.api import Engine, Identifier, Name, Offset, Owner, Text, View
from streambound_airflow.pages.examination import EXAMINERS
from streambound_airflow.pages.overview import Wanted
from streambound_airflow.pages.problems import Problem, Refused, problem_of
from streambound_airflow.pages.rendering import render, root_of
from streambound_airflow.pages.schemas import (
    AnswerPage,
    AnswerView,
    CheckBody,
    Notable,
    Outcome,
    Quality,
    QueryDetail,
    RecordedVerdict,
    StateBody,
)
from streambound_airflow.pages.sources import store
from streambound_airflow.pages.triggering import offered

router = APIRouter(dependencies=[READS, OWN_PAGES], include_in_schema=False)
# Evaluations that a query's page shows.
SHOWN = 20
# Rows of its answer.
ROWS = 200
# Checkpoints of the chart over time; the table shows the last of them.
CHARTED, TABLED = 1_000, 30


@router.get("/")
def home() -> Response:
    """The first page."""
    return RedirectResponse("queries", 307)


@router.get("/queries")
def queries_page(
    request: Request,
    text: Text = "",
    verdict: Outcome | Literal[""] | None = None,
    notable: Notable | Literal[""] | None = None,
    owner: Owner = None,
    quality: Quality | Literal[""] | None = None,
    engine: Engine = None,
) -> HTMLResponse:
    """Every registered query with the newest that is known of it; those that are filtered out are hidden, so
    that another filter needs no other page."""
    wanted = Wanted(text, verdict or None, notable or None, owner or None, quality or None, engine or None)
    listed = overview.page(Wanted())
    return render(
        request,
        "queries.html",
        page=listed,
        wanted=wanted,
        nothing=Wanted(),
        shown={row.name for row in listed.queries if wanted.takes(row)},
    )


@router.get("/queries/{name}")
def query_page(
    request: Request, name: Name, user: User, view: View = None, offset: Offset = 0
) -> HTMLResponse:
    """All that is known of one query."""
    recorded = detail.detail(name)
    examined = _examined(recorded)
    now = examined["now"]
    database = store()
    evaluations = database.answers_of(name, SHOWN)
    answer, answer_fault = _answer(name, view, offset)
    state, state_fault = _state(name)
    return render(
        request,
        "query.html",
        row=recorded.summary,
        query=recorded,
        current=_is_current(recorded) and (now is None or _same(recorded.verdict, now)),
        **examined,
        answer=answer,
        answer_fault=answer_fault,
        offset=offset,
        limit=ROWS,
        state=state,
        state_fault=state_fault,
        tabled=state.checkpoints[::-1][:TABLED],
        chart=state_chart(detail.points(state, evaluations), recorded.summary.units, name=name),
        evaluations=[detail.evaluation(record) for record in evaluations],
        turns=detail.turns(name),
        choices=limited.choices(name),
        limited=limited.limited(
            name, next(iter(database.cache_answers_of(name, 1)), None) if recorded.summary.cache else None
        ),
        offered=offered(recorded, now, user),
        followed=following.of_query(name, user),
    )


def _is_current(recorded: QueryDetail) -> bool:
    verdict = recorded.verdict
    return verdict is not None and verdict.sql == recorded.sql


def _same(recorded: RecordedVerdict | None, now: CheckBody) -> bool:
    """Whether a verdict that was recorded still holds: the catalog may have changed since."""
    keys = ("verdict", "units", "units_formula")
    return recorded is not None and all(getattr(recorded, key) == getattr(now, key) for key in keys)


def _examined(query: QueryDetail) -> dict[str, Any]:
    """What is drawn of a query now, or why it cannot be; and the verdict on the text as it is now."""
    recorded = query.verdict if _is_current(query) else None
    if not query.sql:
        return {"shown": None, "now": None, "engine": None, "undrawn": None}
    try:
        # Suggestions that are recorded are not searched for again.
        now = _decided(query.sql, query.summary.name, suggest=recorded is None)
        if recorded is not None and not _same(recorded, now):
            now = _decided(query.sql, query.summary.name)
    except Refused as refused:
        return {"shown": None, "now": None, "engine": None, "undrawn": refused.problem}
    return {"shown": now.shown, "now": now, "engine": now.engine, "undrawn": None}


def _decided(sql: str, name: str, **how: Any) -> CheckBody:
    return CheckBody.model_validate(EXAMINERS.examine(sql, name, **how))


def _answer(name: str, view: AnswerView | None, offset: int) -> tuple[AnswerPage, Problem | None]:
    """Rows of the answer; files that cannot be read cost their part of the page, not the page."""
    try:
        return answers.page(name, view, ROWS, offset), None
    except StorageError as error:
        return AnswerPage(query=name, evaluated=False), problem_of(error)


def _state(name: str) -> tuple[StateBody, Problem | None]:
    """The checkpoints; a table that cannot be read costs its part of the page, not the page."""
    try:
        return detail.state(name, CHARTED), None
    except StorageError as error:
        return StateBody(query=name), problem_of(error)


@router.get("/queries/{name}/following")
def followed_part(request: Request, name: Name, user: User) -> HTMLResponse:
    """The runs of a query, as a part of its page."""
    return render(request, "following.html", followed=following.of_query(name, user))


@router.get("/quality/docs/{path:path}")
def document_page(request: Request, path: str) -> Response:
    """A page of the Data Docs; their index is the Quality page."""
    root = root_of(request)
    if path in ("", "index.html"):
        return RedirectResponse(f"{root}quality", 307)
    return documents.document(path, root)


@router.get("/site/{path:path}")
def site_page(path: str) -> Response:
    """The documentation as a site that is searched."""
    return documents.site(path)


@router.get("/runs/{dag_id}/{run_id}")
def run_page(request: Request, dag_id: Identifier, run_id: Identifier, user: User) -> HTMLResponse:
    """What a run decided and evaluated, and how far it is."""
    status = following.of_run(dag_id, run_id, user)
    followed = following.FollowedRuns(runs=[] if status is None else [status])
    return render(request, "run.html", found=decided.run_detail(dag_id, run_id), followed=followed)


@router.get("/runs/{dag_id}/{run_id}/following")
def followed_run(request: Request, dag_id: Identifier, run_id: Identifier, user: User) -> HTMLResponse:
    """How far a run is, as a part of its page."""
    status = following.of_run(dag_id, run_id, user)
    followed = following.FollowedRuns(runs=[] if status is None else [status])
    return render(request, "following.html", followed=followed)


@router.get("/help")
def help_page(request: Request) -> HTMLResponse:
    """What words mean, the codes of reasons, and the documents."""
    published = settings.documentation_url()
    return render(
        request, "help.html", documents=manual.listed(), codes=manual.meanings(), published=published
    )


@router.get("/docs/{path:path}")
def manual_page(request: Request, path: str) -> Response:
    """A document, or a file that one shows or links to."""
    if not path.endswith(".md"):
        return documents.enclosed(documents.inside(manual.folder(), path, manual.FILES))
    return render(request, "manual.html", document=manual.document(path))


@router.get("/static/{name}")
def static_file(name: str) -> Response:
    """Styles and scripts."""
    return documents.static(name)
