"""Three days of flights through the real scheduler, each DAG started by a person in a browser.

The registry has two bounded queries, one unbounded, one equijoin that is evaluated in a cache, and one with a
typing error; the file of one day is damaged between ingest and evaluation.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.e2e.browser import Visitor, visitor
from tests.e2e.collector import Received, collector

from scripts.airflow_layout import generated_secrets
from scripts.airflow_local import Layout, LocalAirflow, free_port
from scripts.airflow_rest import AirflowClient, TaskStates
from streambound.results import Results

ROOT = Path(__file__).resolve().parents[2]
QUERIES = ("aircraft_rotation", "carriers_by_origin", "late_departures", "tail_numbers_seen")
DAMAGED = "2013-01-02"
# A run may take so long, and Airflow to start one after an event, on a machine that is busy.
RUN_SECONDS, START_SECONDS = 900.0, 180.0
DAYS = {"from": "2013-01-01", "to": "2013-01-03"}


@dataclass(frozen=True)
class Ran:
    """What the DAGs left, in an Airflow that still runs.

    Attributes:
        runs: the id of the run that was followed, a DAG; ``states`` and ``tasks`` are of the same runs.
        whole: the file that was damaged, as it was before.
        skipped: the run of the synopses that the first days started, before there was any verdict.
        errors: what the browser's console called an error while the forms were filled in.
        metrics: what of ours a collector received, while Airflow runs.
    """

    layout: Layout
    runs: dict[str, str]
    states: dict[str, str]
    tasks: dict[str, TaskStates]
    logs: dict[str, str]
    xcom: dict[str, Any]
    whole: bytes
    skipped: str
    errors: tuple[str, ...]
    metrics: Received

    @property
    def home(self) -> Path:
        return self.layout.home

    @property
    def run_id(self) -> str:
        """The evaluation that the verdicts' asset started."""
        return self.runs["evaluate_history"]

    @property
    def results(self) -> Results:
        return Results(f"sqlite:///{self.home}/results.db")

    def client(self, username: str = "admin") -> AirflowClient:
        return AirflowClient(self.layout.url, username, self.password(username))

    def password(self, username: str) -> str:
        return generated_secrets(self.layout)[f"{username}_password"]


def damaged_file(home: Path) -> Path:
    return home / "streams" / "departures" / f"date={DAMAGED}" / "part-00000.parquet"


def daytime_dags(folder: Path) -> Path:
    """Our DAGs with their nights half a day from now, so that none starts by itself while they are judged."""
    hour = (datetime.now(UTC).hour + 12) % 24
    folder.mkdir()
    for file in (ROOT / "dags").glob("*.py"):
        text = file.read_text()
        moved, nights = re.subn(r'(?<=CronTriggerTimetable\()"0 \d+ \* \* \*"', f'"0 {hour} * * *"', text)
        assert nights == text.count("CronTriggerTimetable(")
        (folder / file.name).write_text(moved)
    return folder


@contextmanager
def pipeline(home: Path) -> Iterator[Ran]:
    """The flow through an Airflow of its own, which is stopped on leaving."""
    registry = home / "registry"
    (registry / "queries").mkdir(parents=True)
    shutil.copy(ROOT / "include" / "registry" / "streams.yml", registry)
    for name in QUERIES:
        shutil.copy(ROOT / "include" / "registry" / "queries" / f"{name}.sql", registry / "queries")
    (registry / "queries" / "typo.sql").write_text("SELECT DISTINCT orgin\nFROM departures\n")
    with collector() as (port, metrics):
        sent = {"ON": "True", "HOST": "127.0.0.1", "PORT": str(port)}
        settings = {f"AIRFLOW__METRICS__OTEL_{name}": value for name, value in sent.items()}
        # Neither DAGs nor registry change: to read them again and again takes half a core.
        settings["AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL"] = "3600"
        layout = Layout(
            airflow_home=home / "airflow",
            home=home,
            registry=registry,
            dags=daytime_dags(home / "dags"),
            port=free_port(),
            settings=settings,
        )
        with LocalAirflow(layout) as airflow:
            api = airflow.client()
            with visitor(layout.url, viewport={"width": 1280, "height": 1000}) as person:
                person.log_in("admin", generated_secrets(layout)["admin_password"])
                ran = _followed(api, person, layout, metrics)
            yield ran


def _followed(api: AirflowClient, person: Visitor, layout: Layout, metrics: Received) -> Ran:
    runs: dict[str, str] = {}
    states: dict[str, str] = {}
    tasks: dict[str, TaskStates] = {}

    def finish(dag_id: str, run_id: str) -> str:
        runs[dag_id] = run_id
        states[dag_id] = api.wait_for_run(dag_id, run_id, RUN_SECONDS)
        tasks[dag_id] = api.task_states(dag_id, run_id)
        return run_id

    for dag_id in ("ingest_flights", "materialize_synopses", "validate_queries", "evaluate_history"):
        api.wait_for_dag(dag_id)
    # The answers and the new history would start it, beside all that is looked at here.
    api.wait_for_dag("benchmark_caches")
    api.request("PATCH", "/dags/benchmark_caches", {"is_paused": True})
    since = datetime.now(UTC).isoformat()
    ingested = finish("ingest_flights", person.trigger("ingest_flights", DAYS))
    whole = damaged_file(layout.home).read_bytes()
    damaged_file(layout.home).write_bytes(b"damaged")
    # Days that arrive before any verdict start no evaluation: this run must not come after the verdicts.
    arrived = api.asset_run("materialize_synopses", since, START_SECONDS)
    assert arrived is not None, "the days that arrived did not start the synopses"
    api.wait_for_run("materialize_synopses", arrived, RUN_SECONDS)
    since = datetime.now(UTC).isoformat()
    validated = finish("validate_queries", person.trigger("validate_queries"))
    evaluated = api.asset_run("evaluate_history", since, START_SECONDS)
    assert evaluated is not None, "the verdicts' asset did not start the evaluation"
    finish("evaluate_history", evaluated)
    streams = ["arrivals", "departures"]
    index = {name: at for at, name in enumerate(sorted([*QUERIES, "typo"]))}
    logs = {
        "ingest": api.log("ingest_flights", ingested, "ingest"),
        "typo": api.log("validate_queries", validated, "check", map_index=index["typo"]),
        "unbounded": api.log("validate_queries", validated, "check", map_index=index["tail_numbers_seen"]),
        "choose": api.log("evaluate_history", evaluated, "choose"),
        "quality": api.log("evaluate_history", evaluated, "quality", map_index=streams.index("departures")),
        "failures": api.failure_log("evaluate_history", evaluated),
    }
    path = f"/dags/validate_queries/dagRuns/{validated}/taskInstances/check/xcomEntries/return_value"
    entry = api.request("GET", path, params={"map_index": index["tail_numbers_seen"], "deserialize": "true"})
    return Ran(
        layout, runs, states, tasks, logs, entry["value"], whole, arrived, tuple(person.errors), metrics
    )
