"""Nights of a real Airflow: days arrive, synopses follow, answers are published; a killed task is retried.

Three queries over flights, one of each kind of state. What a night leaves must equal what an evaluation of
everything leaves: rows, digests of answers, digests of checkpoints.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.crash.processes import descendants, parents
from tests.e2e.pipeline import daytime_dags
from tests.spark.nights import left

from scripts.airflow_local import Layout, LocalAirflow, free_port
from scripts.airflow_rest import AirflowClient
from streambound.results import Results

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.heavy]

ROOT = Path(__file__).resolve().parents[2]
QUERIES = ("carriers_by_origin", "late_after_low_visibility", "late_departures")
FIRST = {"from": "2013-01-01", "to": "2013-01-03"}


@dataclass(frozen=True)
class Nights:
    """A running Airflow with three days of flights, and its home."""

    api: AirflowClient
    home: Path

    def run(self, dag_id: str, conf: dict[str, Any] | None = None) -> str:
        """A run that is triggered by hand, to its end."""
        run_id = self.api.trigger(dag_id, conf)
        assert self.ended(dag_id, run_id) == "success", self.api.failure_log(dag_id, run_id)
        return run_id

    def ended(self, dag_id: str, run_id: str) -> str:
        return self.api.wait_for_run(dag_id, run_id, 400)

    def newest(self, dag_id: str, since: str) -> dict[str, Any]:
        """The first run of a DAG that was queued after a moment."""
        for _ in range(60):
            answer = self.api.request("GET", f"/dags/{dag_id}/dagRuns", params={"limit": 50})
            runs = [r for r in answer["dag_runs"] if (r["queued_at"] or "") >= since]
            if runs:
                return dict(min(runs, key=lambda r: str(r["queued_at"])))
            time.sleep(0.5)
        raise AssertionError(f"no run of {dag_id} since {since}")

    def read(self, run_id: str) -> dict[str, int]:
        """The rows that an evaluation read, by query."""
        import json

        paths = (self.home / "runs").glob("*/*/summary.json")
        (body,) = [found for path in paths if (found := json.loads(path.read_text()))["run_id"] == run_id]
        return {answer["query"]: answer["rows_read"] for answer in body["answers"]}

    def left(self) -> dict[str, dict[str, Any]]:
        return {query: left(self.home, query) for query in QUERIES}

    def from_scratch(self, folder: Path) -> dict[str, dict[str, Any]]:
        """What one evaluation of all that is there leaves."""
        home = folder / "whole"
        shutil.rmtree(home, ignore_errors=True)
        env = {
            **os.environ,
            "STREAMBOUND_HOME": str(home),
            "STREAMBOUND_REGISTRY": str(self.home / "registry"),
        }
        env |= {"STREAMBOUND_STREAMS": str(self.home / "streams"), "STREAMBOUND_SPARK_MASTER": "local[2]"}
        command = [sys.executable, str(ROOT / "spark_apps" / "evaluate_history.py")]
        subprocess.run(command, env=env, check=True, capture_output=True, timeout=300)
        return {query: left(home, query) for query in QUERIES}


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    home = tmp_path_factory.mktemp("nights")
    registry = home / "registry"
    (registry / "queries").mkdir(parents=True)
    shutil.copy(ROOT / "include" / "registry" / "streams.yml", registry)
    for name in QUERIES:
        shutil.copy(ROOT / "include" / "registry" / "queries" / f"{name}.sql", registry / "queries")
    dags = daytime_dags(home / "dags")
    layout = Layout(airflow_home=home / "airflow", home=home, registry=registry, dags=dags, port=free_port())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STREAMBOUND_DATABASE_URL", "STREAMBOUND_STREAMS", "AIRFLOW_CONN_STREAMBOUND_DB"):
            patch.delenv(name, raising=False)
        with LocalAirflow(layout) as airflow:
            found = Nights(airflow.client(), home)
            for dag_id in ("ingest_flights", "validate_queries", "materialize_synopses", "evaluate_history"):
                found.api.wait_for_dag(dag_id)
            yield found


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def test_nights(nights: Nights, tmp_path: Path) -> None:
    """One night after the other, in one Airflow."""
    first_days_are_evaluated_when_the_queries_have_been_checked(nights)
    second_evaluation_reads_nothing(nights)
    new_day_is_read_once_and_published(nights, tmp_path)
    nothing_new_starts_nothing(nights)


def first_days_are_evaluated_when_the_queries_have_been_checked(nights: Nights) -> None:
    since = now()
    ingested = nights.run("ingest_flights", FIRST)
    assert nights.api.task_states("ingest_flights", ingested)["announce"] == "success"
    arrived = nights.newest("materialize_synopses", since)
    assert arrived["partition_key"] == "2013"
    nights.ended("materialize_synopses", arrived["dag_run_id"])
    states = nights.api.task_states("materialize_synopses", arrived["dag_run_id"])
    assert states["choose"] == states["all_materialized"] == "skipped" and "failed" not in states.values()
    since = now()
    nights.run("validate_queries")
    evaluated = nights.newest("evaluate_history", since)
    assert nights.ended("evaluate_history", evaluated["dag_run_id"]) == "success"
    assert all(nights.read(evaluated["dag_run_id"]).values())


def second_evaluation_reads_nothing(nights: Nights) -> None:
    before = nights.left()
    again = nights.run("evaluate_history")
    assert nights.read(again) == dict.fromkeys(QUERIES, 0)
    assert nights.left() == before
    results = Results(f"sqlite:///{nights.home}/results.db")
    digests = [{a.query: a.digest for a in results.answers(run.run_id, run.job)} for run in results.runs()]
    evaluated = [found for found in digests if found]
    assert len(evaluated) == 2 and evaluated[0] == evaluated[1]


def new_day_is_read_once_and_published(nights: Nights, folder: Path) -> None:
    since = now()
    nights.run("ingest_flights", {"from": "2013-01-04", "to": "2013-01-04"})
    arrived = nights.newest("materialize_synopses", since)["dag_run_id"]
    assert nights.ended("materialize_synopses", arrived) == "success", nights.api.failure_log(
        "materialize_synopses", arrived
    )
    states = nights.api.task_states("materialize_synopses", arrived)
    assert {states[f"synopsis[{query}]"] for query in QUERIES} == {"success"}
    log = nights.api.log("materialize_synopses", arrived, "materialize")
    assert "late_departures: 4 markers up to 2013-01-04, 3,4" in log and "units" in log
    assert "1 partition read (2013-01-04), evaluated from the boundary after 2013-01-03" in log
    assert all(0 < rows < 2_000 for rows in nights.read(arrived).values())
    events = nights.api.request("GET", "/assets/events", params={"limit": 100})["asset_events"]
    named = {(e["name"], e.get("partition_key")) for e in events}
    assert {("synopses", query) for query in QUERIES} <= named
    assert ("flight_months", "2013-01") in named
    days = [e["extra"]["days"] for e in events if e["name"] == "flight_months"]
    assert sorted(days) == [["2013-01-01", "2013-01-02", "2013-01-03"], ["2013-01-04"]]
    published = nights.newest("evaluate_history", since)["dag_run_id"]
    assert nights.ended("evaluate_history", published) == "success"
    assert nights.read(published) == dict.fromkeys(QUERIES, 0)
    assert nights.left() == nights.from_scratch(folder)


def nothing_new_starts_nothing(nights: Nights) -> None:
    again = nights.run("ingest_flights", {"from": "2013-01-04", "to": "2013-01-04"})
    assert nights.api.task_states("ingest_flights", again)["announce"] == "skipped"


def task_process(name: str) -> int | None:
    """The task process that drives the Spark application of that name: the parent of spark-submit."""
    above = parents()
    found = [p for p, line in descendants(os.getpid()).items() if "SparkSubmit" in line and name in line]
    return above.get(found[0]) if found else None


@pytest.mark.parametrize("job", ["materialize", "evaluate"])
def test_a_killed_task_is_retried(job: str, nights: Nights, tmp_path: Path) -> None:
    """The scheduler's own retry, while the driver of the killed task may still run."""
    if not (nights.home / "answers").exists():
        first_days_are_evaluated_when_the_queries_have_been_checked(nights)
    day, since = {"materialize": "2013-01-10", "evaluate": "2013-01-11"}[job], now()
    nights.run("ingest_flights", {"from": day, "to": day})
    end, victim = time.monotonic() + 200, None
    while victim is None and time.monotonic() < end:
        victim = task_process(f"streambound-{job}")
        time.sleep(0.05)
    assert victim is not None
    # Spark takes longer than that to start.
    time.sleep(random.Random(job).uniform(0, 3))
    os.kill(victim, signal.SIGKILL)
    tries = {}
    for dag_id in ("materialize_synopses", "evaluate_history"):
        run_id = nights.newest(dag_id, since)["dag_run_id"]
        assert nights.ended(dag_id, run_id) == "success", nights.api.failure_log(dag_id, run_id)
        tries |= {t["task_id"]: t["try_number"] for t in nights.api.task_instances(dag_id, run_id)}
    assert tries[job] == 2
    assert nights.left() == nights.from_scratch(tmp_path)
