"""Runs while they live: what the pages say of one that is queued, running, skipped or has failed."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from airflow.models import DagRun, TaskInstance
from airflow.models.asset import AssetEvent
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, TaskInstanceState
from sqlalchemy import select
from tests.dags.test_pages import Seen, decide

from streambound.results import Results
from streambound_airflow.pages import following
from streambound_airflow.selection import PROGRESS, run_folder

pytestmark = pytest.mark.airflow

API = "/streambound/api/v1"
BEGAN = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)


def made(airflow: dict[str, Any], dag_id: str, conf: dict[str, Any] | None = None) -> str:
    """A queued run, through Airflow's own API."""
    body = {"logical_date": None, "conf": conf or {}}
    answer = airflow["admin"].post(f"/api/v2/dags/{dag_id}/dagRuns", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["dag_run_id"])


def moved(
    dag_id: str, run_id: str, state: DagRunState, began: dt.datetime, **tasks: TaskInstanceState
) -> None:
    """A run in another state, as the scheduler would leave it."""
    ended = None if state is DagRunState.RUNNING else began + dt.timedelta(seconds=90)
    with create_session() as session:
        run = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
        run.start_date, run.end_date = began, ended
        run._state = state
        query = select(TaskInstance).where(TaskInstance.dag_id == dag_id, TaskInstance.run_id == run_id)
        for one in session.scalars(query):
            one.state = tasks.get(one.task_id)
            one.end_date = ended


def status(airflow: dict[str, Any], dag_id: str, run_id: str, who: str = "viewer") -> dict[str, Any]:
    answer = airflow[who].get(f"{API}/runs/{dag_id}/{run_id}/status")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_run_that_was_started_is_shown_until_it_has_ended(airflow: dict[str, Any]) -> None:
    started = airflow["admin"].post(f"{API}/queries/bounded/runs/validate_queries").json()
    (run,) = airflow["viewer"].get(f"{API}/queries/bounded/runs").json()["runs"]
    assert (run["run_id"], run["state"], run["alone"]) == (started["run_id"], "queued", True)
    assert airflow["viewer"].get(f"{API}/queries/unbounded/runs").json() == {"runs": []}
    seen = Seen(airflow["viewer"].get("/streambound/queries/bounded").text)
    assert seen.all("ul", class_="followed", data_active="true")
    assert seen.all("li", data_busy="validate_queries")
    now = dt.datetime.now(dt.UTC)
    moved("validate_queries", run["run_id"], DagRunState.SUCCESS, now - dt.timedelta(minutes=2))
    (run,) = airflow["viewer"].get(f"{API}/queries/bounded/runs").json()["runs"]
    assert (run["state"], run["seconds"]) == ("success", 90)
    part = Seen(airflow["viewer"].get("/streambound/queries/bounded/following").text)
    assert part.all("ul", data_active="false") and "after 1 min 30 s" in part.text and not part.all("main")
    # Of long ago nothing is said.
    moved("validate_queries", run["run_id"], DagRunState.SUCCESS, BEGAN - dt.timedelta(days=400))
    assert airflow["viewer"].get(f"{API}/queries/bounded/runs").json() == {"runs": []}


def test_a_running_run_tells_its_partitions_and_what_runs_like_it_took(airflow: dict[str, Any]) -> None:
    ended = made(airflow, "evaluate_history")
    moved("evaluate_history", ended, DagRunState.SUCCESS, BEGAN)
    running = made(airflow, "evaluate_history")
    states = {"choose": TaskInstanceState.SUCCESS, "evaluate": TaskInstanceState.RUNNING}
    moved("evaluate_history", running, DagRunState.RUNNING, dt.datetime.now(dt.UTC), **states)
    found = status(airflow, "evaluate_history", running)
    assert (found["estimate"], found["steps"], found["done"], found["now"]) == (90, "tasks", 1, ["evaluate"])
    folder = run_folder("evaluate_history", running)
    folder.mkdir(parents=True)
    (folder / PROGRESS).write_text(json.dumps({"read": 32, "partitions": 366}))
    found = status(airflow, "evaluate_history", running)
    assert (found["steps"], found["done"], found["total"]) == ("partitions", 32, 366)
    behind = made(airflow, "evaluate_history", {"queries": ["bounded"]})
    assert status(airflow, "evaluate_history", behind)["behind"] == running
    # The run for all queries is this one's too.
    runs = airflow["viewer"].get(f"{API}/queries/bounded/runs").json()["runs"]
    assert {(one["run_id"], one["alone"]) for one in runs} == {(running, False), (behind, True)}
    text = airflow["viewer"].get(f"/streambound/runs/evaluate_history/{running}").text
    assert "32 of 366 partitions read" in " ".join(Seen(text).text.split())


def test_a_failed_run_tells_its_first_error_to_those_who_may_read_logs(
    airflow: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = made(airflow, "ingest_flights")
    tasks = {"ingest": TaskInstanceState.FAILED, "announce": TaskInstanceState.UPSTREAM_FAILED}
    moved("ingest_flights", run_id, DagRunState.FAILED, BEGAN, **tasks)
    said = "the disk is full\n  accepted: room\n  fix: make room"
    monkeypatch.setattr(following, "_error", lambda task: said if task.task_id == "ingest" else None)
    failure = {"task": "ingest", "message": "the disk is full\n  accepted: room", "fix": "make room"}
    assert status(airflow, "ingest_flights", run_id)["failure"] == failure
    seen = Seen(airflow["viewer"].get(f"/streambound/runs/ingest_flights/{run_id}").text)
    assert "the disk is full" in seen.text and "What to do: make room" in seen.text
    monkeypatch.setattr(following, "may_read_logs", lambda user, dag_id: False)
    assert status(airflow, "ingest_flights", run_id)["failure"] is None
    monkeypatch.undo()
    moved("ingest_flights", run_id, DagRunState.FAILED, BEGAN)
    assert "the run was ended" in status(airflow, "ingest_flights", run_id)["failure"]["message"]


def test_a_skipped_run_tells_why_and_an_ingest_what_it_wrote(airflow: dict[str, Any]) -> None:
    skipped, ingested = made(airflow, "materialize_synopses"), made(airflow, "ingest_flights")
    moved("materialize_synopses", skipped, DagRunState.SUCCESS, BEGAN)
    moved("ingest_flights", ingested, DagRunState.SUCCESS, BEGAN)
    with create_session() as session:
        XComModel.set(
            "skipped",
            "not checked yet: a, b",
            dag_id="materialize_synopses",
            task_id="choose",
            run_id=skipped,
            session=session,
        )
        for extra in ({"departures": 842, "arrivals": 830}, {"days": ["2013-01-01", "2013-01-02"]}):
            session.add(
                AssetEvent(asset_id=1, extra=extra, source_dag_id="ingest_flights", source_run_id=ingested)
            )
    assert status(airflow, "materialize_synopses", skipped)["skipped"] == "not checked yet: a, b"
    seen = Seen(airflow["viewer"].get(f"/streambound/runs/materialize_synopses/{skipped}").text)
    assert "Nothing was to be done: not checked yet: a, b." in seen.text and not seen.all("div", id="empty")
    wrote = {"departures": "842", "arrivals": "830", "days that are new or have changed": "2"}
    assert status(airflow, "ingest_flights", ingested)["wrote"] == wrote
    with create_session() as session:
        for event in session.scalars(select(AssetEvent)):
            session.delete(event)


def test_what_is_no_run_of_ours_has_no_status(
    airflow: dict[str, Any], registry: Path, working_folder: Path
) -> None:
    decide(Results(f"sqlite:///{working_folder}/connected.db"), registry)
    for address in ("runs/validate_queries/r1/status", "runs/other/r1/status", "queries/none/runs"):
        answer = airflow["viewer"].get(f"{API}/{address}")
        assert (answer.status_code, "error" in answer.json()) == (404, True), address
        assert airflow["anonymous"].get(f"{API}/{address}").status_code == 401
    # What is recorded is told all the same.
    assert "4 queries were decided" in airflow["viewer"].get("/streambound/runs/validate_queries/r1").text
