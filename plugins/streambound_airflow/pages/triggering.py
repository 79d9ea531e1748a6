"""Starting a run of one of our DAGs for one query, in the name of who asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from airflow.api.common.trigger_dag import trigger_dag
from airflow.exceptions import DagNotFound, DagRunAlreadyExists, ParamValidationError
from airflow.models import DagModel, DagRun
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState
from airflow.utils.types import DagRunTriggeredByType
from sqlalchemy import select, update

from streambound.approximate.requested_size import cache_size
from streambound.errors import QueryError
from streambound_airflow.pages.access import may_trigger
from streambound_airflow.pages.problems import Problem, Refused
from streambound_airflow.pages.schemas import CheckBody, QueryDetail, StartedRun

DagId = Literal["validate_queries", "evaluate_history", "materialize_synopses", "benchmark_caches"]
DAGS: tuple[str, ...] = get_args(DagId)
# What a query's page has a button for.
BUTTONS = {
    "validate_queries": "Check now",
    "evaluate_history": "Evaluate now",
    "benchmark_caches": "Benchmark caches",
}
UNDER_WAY = (DagRunState.QUEUED, DagRunState.RUNNING)


@dataclass(frozen=True)
class Offer:
    """A button of a query's page; ``problem`` says why it would do nothing now."""

    dag_id: str
    label: str
    problem: Problem | None


def start(dag_id: str, detail: QueryDetail, now: CheckBody | None, user: Any) -> StartedRun:
    """The run for this query that is queued or running, or a new one; all else in its form is the default.

    It emits no asset: these start runs for all queries.

    Args:
        now: the verdict on the query's text as it is now; None if it could not be decided here.

    Raises:
        Refused: the run could only fail, or Airflow does not know the DAG or refuses the run.
    """
    if (problem := _obstacle(dag_id, detail, now) or _unready(dag_id)) is not None:
        raise Refused(problem.status, problem.message, fix=problem.fix)
    row = detail.summary
    conf: dict[str, Any] = {"queries": [row.name]}
    conf |= {"publish" if dag_id == "materialize_synopses" else "announce": False}
    try:
        # Of its own: what Airflow calls below ends the transaction of a thread's common session.
        with create_session(scoped=False) as session:
            # Changes nothing, but whoever asks at the same moment waits here until this run is there.
            session.execute(update(DagModel).where(DagModel.dag_id == dag_id).values(dag_id=dag_id))
            active = select(DagRun).where(DagRun.dag_id == dag_id, DagRun.state.in_(UNDER_WAY))
            for run in session.scalars(active.order_by(DagRun.id)):
                if run.conf == conf:
                    return StartedRun(dag_id=dag_id, run_id=run.run_id, state=str(run.state), started=False)
            made = trigger_dag(
                dag_id,
                triggered_by=DagRunTriggeredByType.REST_API,
                triggering_user_name=user.get_name(),
                conf=conf,
                session=session,
            )
            if made is None:
                raise Refused(503, f"Airflow started no run of {dag_id}", fix="look at the API server's log")
            return StartedRun(dag_id=dag_id, run_id=made.run_id, state=str(made.state), started=True)
    except DagNotFound:
        raise Refused(404, f"Airflow has no DAG {dag_id}", fix="look at its import errors") from None
    except (ParamValidationError, ValueError) as error:
        raise Refused(422, f"Airflow refuses the run: {error}") from None
    except DagRunAlreadyExists:
        raise Refused(422, "a run was started at this very moment", fix="try again") from None


def offered(detail: QueryDetail, now: CheckBody | None, user: Any) -> list[Offer]:
    """The runs that can succeed for a query, where the user has the right to start them."""
    return [
        Offer(dag_id, label, _unready(dag_id))
        for dag_id, label in BUTTONS.items()
        if _obstacle(dag_id, detail, now) is None and may_trigger(user, dag_id)
    ]


def _obstacle(dag_id: str, detail: QueryDetail, now: CheckBody | None) -> Problem | None:
    """Why a run of a DAG for this query could only fail; None if nothing is known against it."""
    row = detail.summary
    if not row.registered:
        return _problem(f"{row.name} is not registered any more", "add its file to the registry again")
    if dag_id == "validate_queries":
        return None
    if now is None:
        return _problem(f"{row.name} cannot be decided here", f"start {dag_id} in Airflow's own form")
    if now.verdict == "invalid":
        return _problem(f"{row.name} is invalid: {now.error}", "correct its file")
    if dag_id == "benchmark_caches":
        return None if now.uncached is None else _problem(f"{row.name}: {now.uncached}", None)
    return _unchecked(detail) or _unevaluated(detail, now)


def _unchecked(detail: QueryDetail) -> Problem | None:
    """Evaluations go by the verdict that is recorded, of the text as it is."""
    if detail.verdict is None:
        return _problem(f"{detail.summary.name} is not checked yet", "check it first")
    if detail.verdict.sql != detail.sql:
        return _problem(f"{detail.summary.name} has changed since it was checked", "check it first")
    return None


def _unevaluated(detail: QueryDetail, now: CheckBody) -> Problem | None:
    row = detail.summary
    try:
        size = cache_size(row.name, detail.sql)
    except QueryError as error:
        return _problem(f"{row.name}: {error.message}", error.fix)
    exact = now.verdict == "bounded" and (size is None or now.uncached is not None)
    if not exact and size is None:
        return _problem(f"{row.name} is {now.verdict}", "bound it, or give it a memory: -- cache size: N")
    if (why := now.unplanned if exact else now.uncached) is not None:
        return _problem(f"{row.name}: {why}", None)
    if row.verdict != "bounded" and (size is None or row.verdict == "invalid"):
        return _problem(f"{row.name} was {row.verdict} when it was checked", "check it again")
    return None


def _unready(dag_id: str) -> Problem | None:
    """Why Airflow would run nothing of a DAG now; None if it would, or has yet to find the DAG."""
    model = DagModel.get_current(dag_id)
    if model is not None and model.has_import_errors:
        return _problem(f"the file of the DAG {dag_id} cannot be imported", "look at its import errors")
    if model is not None and model.is_paused:
        return _problem(f"the DAG {dag_id} is paused, its runs would wait", "switch it on in Airflow")
    return None


def _problem(message: str, fix: str | None) -> Problem:
    return Problem(status=422, code="invalid-request", message=message, accepted=None, fix=fix)
