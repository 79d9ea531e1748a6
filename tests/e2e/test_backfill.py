"""Backfills through the real scheduler: which DAGs have them, which days their runs are about, in what order.

Three days of flights are there; the evaluation has not run yet.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.pipeline import daytime_dags

from scripts.airflow_local import Layout, LocalAirflow, free_port
from scripts.airflow_rest import AirflowApiError, AirflowClient
from streambound.query.registry import read_query
from streambound.results import Results

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.heavy]

ROOT = Path(__file__).resolve().parents[2]
QUERY = "late_departures"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("backfill")


@pytest.fixture(scope="module")
def api(home: Path) -> Iterator[AirflowClient]:
    registry = home / "registry"
    (registry / "queries").mkdir(parents=True)
    shutil.copy(ROOT / "include" / "registry" / "streams.yml", registry)
    shutil.copy(ROOT / "include" / "registry" / "queries" / f"{QUERY}.sql", registry / "queries")
    dags = daytime_dags(home / "dags")
    layout = Layout(airflow_home=home / "airflow", home=home, registry=registry, dags=dags, port=free_port())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STREAMBOUND_DATABASE_URL", "STREAMBOUND_STREAMS", "AIRFLOW_CONN_STREAMBOUND_DB"):
            patch.delenv(name, raising=False)
        with LocalAirflow(layout) as airflow:
            client = airflow.client()
            for dag_id in ("ingest_flights", "validate_queries", "materialize_synopses", "evaluate_history"):
                client.wait_for_dag(dag_id)
            since = datetime.now(UTC).isoformat()
            run_id = client.trigger("ingest_flights", {"from": "2013-01-01", "to": "2013-01-03"})
            assert client.wait_for_run("ingest_flights", run_id, 300) == "success"
            # Skipped, as nothing has been checked yet.
            arrived = client.asset_run("materialize_synopses", since, 60)
            assert arrived is not None
            client.wait_for_run("materialize_synopses", arrived, 120)
            # A verdict that no run of Airflow has emitted, so that the backfill is what evaluates first.
            sql = read_query(registry / "queries" / f"{QUERY}.sql").sql
            verdict = {"query": QUERY, "verdict": "bounded", "sql": sql}
            store(home).record_verdicts("v", [verdict])
            yield client


def store(home: Path) -> Results:
    return Results(f"sqlite:///{home}/results.db")


def backfill(api: AirflowClient, dag_id: str, first: str, last: str, **more: Any) -> list[dict[str, Any]]:
    """Backfills days through the REST API; its runs in the order in which they began, once all have ended."""
    body = {"dag_id": dag_id, "from_date": f"{first}T00:00:00Z", "to_date": f"{last}T23:59:59Z"}
    made = api.request("POST", "/backfills", {**body, "max_active_runs": 1, "dag_run_conf": {}, **more})
    end = time.monotonic() + 500
    while not (found := api.request("GET", f"/backfills/{made['id']}"))["completed_at"]:
        assert time.monotonic() < end, found
        time.sleep(2)
    answer = api.request("GET", f"/dags/{dag_id}/dagRuns", params={"limit": 50, "run_type": "backfill"})
    days = {f"{first[:8]}{day:02}" for day in range(int(first[8:]), int(last[8:]) + 1)}
    runs = [run for run in answer["dag_runs"] if run["logical_date"][:10] in days]
    return sorted(runs, key=lambda run: str(run["start_date"]))


def test_each_run_evaluates_up_to_its_day_and_none_takes_a_day_back(api: AirflowClient, home: Path) -> None:
    # The first backfill makes Airflow run the latest night that was missed, beside it: all that is there.
    since = datetime.now(UTC).isoformat()
    (first,) = backfill(api, "evaluate_history", "2013-01-01", "2013-01-01")
    assert first["state"] == "success", api.failure_log("evaluate_history", first["dag_run_id"])
    wait_for_the_night(api, since)
    # Only backfills evaluate what arrives now.
    api.request("PATCH", "/dags/materialize_synopses", {"is_paused": True})
    ingested = api.trigger("ingest_flights", {"from": "2013-01-04", "to": "2013-01-06"})
    assert api.wait_for_run("ingest_flights", ingested, 300) == "success"
    assert last_days(home, backfill(api, "evaluate_history", "2013-01-04", "2013-01-05")) == [
        "2013-01-04",
        "2013-01-05",
    ]
    assert days(home)[-1] == "2013-01-05"
    again = backfill(api, "evaluate_history", "2013-01-04", "2013-01-04", reprocess_behavior="completed")
    assert last_days(home, again) == ["2013-01-05"]
    assert days(home) == [f"2013-01-0{day}" for day in range(1, 6)]


def wait_for_the_night(api: AirflowClient, since: str) -> None:
    """Returns when the runs that Airflow has scheduled since have ended."""
    path, chosen = "/dags/evaluate_history/dagRuns", {"limit": 50, "run_type": "scheduled"}
    end = time.monotonic() + 300
    while True:
        runs = api.request("GET", path, params=chosen)["dag_runs"]
        if runs and all(run["state"] in ("success", "failed") for run in runs):
            return
        assert time.monotonic() < end, f"no night has ended since {since}: {runs}"
        time.sleep(2)


def last_days(home: Path, runs: list[dict[str, Any]]) -> list[str | None]:
    """The last day that each of the runs was about; all have succeeded."""
    assert {run["state"] for run in runs} == {"success"}
    known = {run.run_id: run.last_partition for run in store(home).runs()}
    return [known[run["dag_run_id"]] for run in runs]


def days(home: Path) -> list[str]:
    """The days that the published answer rests on."""
    found: list[str] = json.loads((home / "answers" / QUERY / "_answer.json").read_text())["partitions"]
    return found


@pytest.mark.parametrize(
    ("dag_id", "told"),
    [
        ("validate_queries", "does not allow backfill runs"),
        ("materialize_synopses", "non-periodic schedule"),
        ("ingest_flights", "non-periodic schedule"),
    ],
)
def test_where_a_day_has_no_part_a_backfill_is_refused(api: AirflowClient, dag_id: str, told: str) -> None:
    with pytest.raises(AirflowApiError) as caught:
        backfill(api, dag_id, "2013-01-02", "2013-01-02")
    assert caught.value.status is not None and 400 <= caught.value.status < 500
    assert told in str(caught.value)


def test_a_form_that_is_wrong_is_refused_before_any_run_is_made(api: AirflowClient) -> None:
    with pytest.raises(AirflowApiError) as caught:
        backfill(api, "evaluate_history", "2013-01-02", "2013-01-02", dag_run_conf={"queries": ["nope"]})
    assert caught.value.status is not None and 400 <= caught.value.status < 500
    assert "'nope' is not one of" in str(caught.value)
