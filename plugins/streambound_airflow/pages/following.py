"""Runs while they live: queued, running with how far they are, finished, or failed with the first error.

What is told here is Airflow's own, so that it is there also for a run that recorded nothing: one that is
queued, was skipped, or failed before its first record.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from statistics import median
from typing import Any

from airflow.models import DagRun, TaskInstance
from airflow.models.asset import AssetEvent
from airflow.models.xcom import XComModel
from airflow.utils.log.log_reader import TaskLogReader
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, TaskInstanceState
from pydantic import BaseModel, Field
from sqlalchemy import select

from streambound_airflow.pages.access import may_read_logs
from streambound_airflow.pages.detail import row_of_query
from streambound_airflow.places import DAGS
from streambound_airflow.selection import progress_paths

UNDER_WAY = (DagRunState.QUEUED, DagRunState.RUNNING)
# Of tasks that have ended, whichever way.
ENDED = (
    TaskInstanceState.SUCCESS,
    TaskInstanceState.FAILED,
    TaskInstanceState.SKIPPED,
    TaskInstanceState.UPSTREAM_FAILED,
    TaskInstanceState.REMOVED,
)
# Runs that ended are looked back over, to find a query's own; and shown for so long.
LOOKED_BACK, LASTING = 200, dt.timedelta(hours=24)
# Successful runs that an estimate rests on.
RUNS_TO_ESTIMATE = 5
# Lines of a log that are looked through, and characters of an error that are shown.
LINES, SHOWN = 5_000, 4_000
log = logging.getLogger(__name__)


class Failure(BaseModel):
    """The first error of a run, and what to do."""

    task: str = Field(description="The task that failed first; empty if none did.")
    message: str
    fix: str | None = None


class FollowedRun(BaseModel):
    """A run of one of our DAGs as Airflow has it."""

    dag_id: str
    run_id: str
    state: str = Field(description="queued, running, success or failed.")
    alone: bool = Field(default=False, description="Whether it was started for one query alone.")
    queued_at: dt.datetime | None = None
    started_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    seconds: float | None = Field(default=None, description="Since it started, until now or its end.")
    estimate: float | None = Field(default=None, description="What runs like it took, in seconds.")
    done: int = 0
    total: int = Field(default=0, description="How many steps there are, as far as is known.")
    steps: str = Field(default="tasks", description="What is counted: tasks, or partitions that are read.")
    now: list[str] = Field(default_factory=list, description="The tasks that are running.")
    behind: str | None = Field(default=None, description="The run that this one waits for.")
    skipped: str | None = Field(default=None, description="Why nothing was to be done.")
    failure: Failure | None = Field(default=None, description="For those who may read its logs.")
    wrote: dict[str, str] = Field(default_factory=dict, description="What it told others, by asset.")

    @property
    def active(self) -> bool:
        """Whether it is still to end."""
        return self.state in UNDER_WAY


class FollowedRuns(BaseModel):
    """Runs that are under way for a query, and the last that were started for it alone."""

    runs: list[FollowedRun]

    @property
    def active(self) -> bool:
        """Whether one of them is still to end."""
        return any(run.active for run in self.runs)


def of_query(name: str, user: Any) -> FollowedRuns:
    """The runs under way that a query is in, and of each DAG the last that was for it alone, for a day.

    Raises:
        Refused: no such query is known.
    """
    row_of_query(name)
    since = dt.datetime.now(dt.UTC) - LASTING
    with create_session(scoped=False) as session:
        ours = select(DagRun).where(DagRun.dag_id.in_(DAGS)).order_by(DagRun.id.desc())
        active = [
            run
            for run in session.scalars(ours.where(DagRun.state.in_(UNDER_WAY)))
            if run.dag_id != "ingest_flights" and _about(run) in ((), (name,))
        ]
        ended = session.scalars(ours.where(DagRun.end_date > since).limit(LOOKED_BACK))
        last: dict[str, DagRun] = {}
        for run in ended:
            if _about(run) == (name,):
                last.setdefault(run.dag_id, run)
        busy = {run.dag_id for run in active if _about(run) == (name,)}
        shown = [*active, *(run for dag_id, run in last.items() if dag_id not in busy)]
        return FollowedRuns(runs=[_followed(run, session, user) for run in shown])


def of_run(dag_id: str, run_id: str, user: Any) -> FollowedRun | None:
    """A run as Airflow has it; None of one that it does not know (any more), or of another's DAG."""
    if dag_id not in DAGS:
        return None
    with create_session(scoped=False) as session:
        run = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
        return None if run is None else _followed(run, session, user)


def _about(run: DagRun) -> tuple[str, ...]:
    """The queries that a run was started for; none: all of them."""
    chosen = (run.conf or {}).get("queries") if isinstance(run.conf, Mapping) else None
    return tuple(chosen) if isinstance(chosen, list) else ()


def _followed(run: DagRun, session: Any, user: Any) -> FollowedRun:
    tasks = list(
        session.scalars(
            select(TaskInstance).where(TaskInstance.dag_id == run.dag_id, TaskInstance.run_id == run.run_id)
        )
    )
    followed = FollowedRun(
        dag_id=run.dag_id,
        run_id=run.run_id,
        state=str(run.state),
        alone=len(_about(run)) == 1,
        queued_at=run.queued_at,
        started_at=run.start_date,
        ended_at=run.end_date,
        done=sum(task.state in ENDED for task in tasks),
        total=len(tasks),
        now=sorted({task.task_id for task in tasks if task.state == TaskInstanceState.RUNNING}),
    )
    if run.start_date is not None:
        followed.seconds = ((run.end_date or dt.datetime.now(dt.UTC)) - run.start_date).total_seconds()
    if followed.active:
        followed.estimate = _estimate(run, session)
    if run.state == DagRunState.QUEUED:
        running = select(DagRun.run_id).where(
            DagRun.dag_id == run.dag_id, DagRun.state == DagRunState.RUNNING
        )
        followed.behind = session.scalar(running.limit(1))
    if run.state == DagRunState.RUNNING and (read := _partitions_read(run)) is not None:
        followed.done, followed.total, followed.steps = *read, "partitions"
    followed.skipped = _skipped(run, session)
    followed.wrote = _written(run, session)
    if run.state == DagRunState.FAILED and may_read_logs(user, run.dag_id):
        followed.failure = _failure(run, tasks)
    return followed


def _estimate(run: DagRun, session: Any) -> float | None:
    """The median of the last successful runs with the same form, else of any."""
    query = select(DagRun).where(DagRun.dag_id == run.dag_id, DagRun.state == DagRunState.SUCCESS)
    ended = list(session.scalars(query.order_by(DagRun.id.desc()).limit(LOOKED_BACK)))
    took = [(run.conf, (run.end_date - run.start_date).total_seconds()) for run in ended if run.end_date]
    alike = [seconds for conf, seconds in took if conf == run.conf] or [seconds for _, seconds in took]
    return median(alike[:RUNS_TO_ESTIMATE]) if alike else None


def _partitions_read(run: DagRun) -> tuple[int, int] | None:
    """How many partitions the Spark applications of a run have read, of how many."""
    read: list[tuple[int, int]] = []
    for path in progress_paths(run.dag_id, run.run_id):
        with suppress(OSError, ValueError, KeyError, TypeError):
            body = json.loads(path.read_text(encoding="utf-8"))
            read.append((int(body["read"]), int(body["partitions"])))
    return (sum(done for done, _ in read), sum(whole for _, whole in read)) if read else None


def _skipped(run: DagRun, session: Any) -> str | None:
    """Why a run of ours found nothing to do, as its first task says."""
    query = XComModel.get_many(run_id=run.run_id, dag_ids=run.dag_id, task_ids="choose", key="skipped")
    row = session.scalar(query)
    return None if row is None else str(XComModel.deserialize_value(row))


def _written(run: DagRun, session: Any) -> dict[str, str]:
    """What the events of a run's assets say, in words."""
    events = session.scalars(
        select(AssetEvent)
        .where(AssetEvent.source_dag_id == run.dag_id, AssetEvent.source_run_id == run.run_id)
        .order_by(AssetEvent.id)
    )
    figures: dict[str, str] = {}
    for event in events:
        extra = {key: value for key, value in (event.extra or {}).items() if not key.startswith("from_")}
        if event.partition_key and "boundary" in extra:
            figures[event.partition_key] = (
                f"state up to {extra['boundary']}, {extra['rows_read']:,} rows read"
            )
        elif "days" in extra:
            figures["days that are new or have changed"] = f"{len(extra['days']):,}"
        elif (
            extra and all(isinstance(value, int) for value in extra.values()) and event.partition_key is None
        ):
            figures |= {key: f"{value:,}" for key, value in extra.items()}
    return figures


def _failure(run: DagRun, tasks: Iterable[TaskInstance]) -> Failure:
    failed = [task for task in tasks if task.state == TaskInstanceState.FAILED]
    if not failed:
        return Failure(task="", message="no task failed: the run was ended, or took too long")
    first = min(
        failed, key=lambda task: (task.end_date or dt.datetime.max.replace(tzinfo=dt.UTC), task.task_id)
    )
    name = first.task_id if first.map_index < 0 else f"{first.task_id}[{first.map_index}]"
    said = _error(first)
    if said is None:
        return Failure(task=name, message="its log says no error", fix="look at the task's log")
    lines = said[:SHOWN].splitlines()
    fixes = [line.strip().removeprefix("fix: ") for line in lines if line.strip().startswith("fix: ")]
    kept = [line for line in lines if not line.strip().startswith("fix: ")]
    return Failure(task=name, message="\n".join(kept), fix=fixes[0] if fixes else None)


def _error(task: TaskInstance) -> str | None:
    """What the first error in a task's log says; a log may lie anywhere, with a handler of anybody's."""
    try:
        lines, _ = TaskLogReader().read_log_chunks(task, task.try_number, {})
        message: str | None = None
        for _, line in zip(range(LINES), lines, strict=False):
            body = line.model_dump()
            for detail in body.get("error_detail") or ():
                return str(detail.get("exc_value"))
            if message is None and str(body.get("level")) == "error":
                message = str(body.get("event"))
        return message
    except Exception as error:
        log.warning(
            "the log of %s %s, task %s, cannot be read: %s", task.dag_id, task.run_id, task.task_id, error
        )
        return None
