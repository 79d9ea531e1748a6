"""Three days of flights through the real scheduler: ingest, a damaged file, validation, evaluation.

The registry has two bounded queries, one unbounded and one with a typing error. The typing error fails its
own task and no other; the verdicts' asset starts the evaluation; the damaged partition is named and kept
out; the answers are those of plain SQL over what is left.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from scripts.airflow_local import Layout, LocalAirflow, free_port
from scripts.airflow_rest import AirflowClient, TaskStates
from streambound.results import Results

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

ROOT = Path(__file__).resolve().parents[2]
QUERIES = ("carriers_by_origin", "late_departures", "tail_numbers_seen")
DAMAGED = "2013-01-02"
DAYS = {"from": "2013-01-01", "to": "2013-01-03"}


@dataclass(frozen=True)
class Ran:
    """What is left of the pipeline once Airflow has stopped."""

    home: Path
    states: dict[str, str]
    tasks: dict[str, TaskStates]
    logs: dict[str, str]
    xcom: dict[str, Any]
    run_id: str

    @property
    def results(self) -> Results:
        return Results(f"sqlite:///{self.home}/results.db")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    home = tmp_path_factory.mktemp("pipeline")
    registry = home / "registry"
    (registry / "queries").mkdir(parents=True)
    shutil.copy(ROOT / "include" / "registry" / "streams.yml", registry)
    for name in QUERIES:
        shutil.copy(ROOT / "include" / "registry" / "queries" / f"{name}.sql", registry / "queries")
    (registry / "queries" / "typo.sql").write_text("SELECT DISTINCT orgin\nFROM departures\n")
    layout = Layout(airflow_home=home / "airflow", home=home, registry=registry, port=free_port())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STREAMBOUND_DATABASE_URL", "STREAMBOUND_STREAMS", "AIRFLOW_CONN_STREAMBOUND_DB"):
            patch.delenv(name, raising=False)
        with LocalAirflow(layout) as airflow:
            yield followed(airflow.client(), home)


def followed(api: AirflowClient, home: Path) -> Ran:
    states: dict[str, str] = {}
    tasks: dict[str, TaskStates] = {}

    def finish(dag_id: str, run_id: str) -> str:
        states[dag_id] = api.wait_for_run(dag_id, run_id, 300)
        tasks[dag_id] = api.task_states(dag_id, run_id)
        return run_id

    for dag_id in ("ingest_flights", "validate_queries", "evaluate_history"):
        api.wait_for_dag(dag_id)
    ingested = finish("ingest_flights", api.trigger("ingest_flights", DAYS))
    (home / "streams" / "departures" / f"date={DAMAGED}" / "part-00000.parquet").write_bytes(b"damaged")
    since = datetime.now(UTC).isoformat()
    validated = finish("validate_queries", api.trigger("validate_queries"))
    evaluated = api.asset_run("evaluate_history", since)
    assert evaluated is not None, "the verdicts' asset did not start the evaluation"
    finish("evaluate_history", evaluated)
    index = {name: at for at, name in enumerate(sorted([*QUERIES, "typo"]))}
    logs = {
        "ingest": api.log("ingest_flights", ingested, "ingest"),
        "typo": api.log("validate_queries", validated, "check", map_index=index["typo"]),
        "unbounded": api.log("validate_queries", validated, "check", map_index=index["tail_numbers_seen"]),
        "choose": api.log("evaluate_history", evaluated, "choose"),
        "quality": api.log("evaluate_history", evaluated, "quality", map_index=0),
        "failures": api.failure_log("evaluate_history", evaluated),
    }
    path = f"/dags/validate_queries/dagRuns/{validated}/taskInstances/check/xcomEntries/return_value"
    entry = api.request("GET", path, params={"map_index": index["tail_numbers_seen"], "deserialize": "true"})
    return Ran(home, states, tasks, logs, entry["value"], evaluated)


def test_the_flights_of_three_days_are_ingested(ran: Ran) -> None:
    assert ran.states["ingest_flights"] == "success"
    assert ran.tasks["ingest_flights"] == {
        "ingest": "success",
        "announce": "success",
        "generate_abstract": "success",
    }
    days = sorted(p.name for p in (ran.home / "streams" / "departures").iterdir())
    assert days == ["date=2013-01-01", "date=2013-01-02", "date=2013-01-03"]
    assert "departures: " in ran.logs["ingest"] and "in 3 daily partitions" in ran.logs["ingest"]


def test_an_invalid_query_fails_alone_and_once(ran: Ran) -> None:
    assert ran.states["validate_queries"] == "failed"
    assert ran.tasks["validate_queries"] == {
        "choose": "success",
        "check[carriers_by_origin]": "success",
        "check[late_departures]": "success",
        "check[tail_numbers_seen]": "success",
        "check[typo]": "failed",
        "summarise": "success",
        "all_passed": "upstream_failed",
    }
    assert "typo: line 1, column 17" in ran.logs["typo"]
    verdicts = {v.query: v.verdict for v in ran.results.latest_verdicts()}
    assert verdicts == {
        "carriers_by_origin": "bounded",
        "late_departures": "bounded",
        "tail_numbers_seen": "unbounded",
        "typo": "invalid",
    }


def test_an_unbounded_query_is_a_finding_in_log_and_xcom(ran: Ran) -> None:
    assert "unbounded  tail_numbers_seen" in ran.logs["unbounded"] and "^^^" in ran.logs["unbounded"]
    found = ran.xcom if isinstance(ran.xcom, dict) else json.loads(ran.xcom)
    assert found["verdict"] == "unbounded" and found["reasons"][0]["attributes"]
    assert "left out: tail_numbers_seen, unbounded" in ran.logs["choose"]


def test_the_damaged_partition_is_named_and_kept_out(ran: Ran) -> None:
    assert ran.states["evaluate_history"] == "success", ran.logs["failures"]
    assert ran.tasks["evaluate_history"]["quality[departures]"] == "success"
    assert f"partition {DAMAGED}: part-00000.parquet is not readable Parquet" in ran.logs["quality"]
    quality = {(q.kind, q.subject): q for q in ran.results.quality(ran.run_id)}
    assert quality["stream", "departures"].failed_partitions == (DAMAGED,)
    assert quality["answers", "late_departures"].success
    answers = {a.query: a for a in ran.results.answers(ran.run_id)}
    assert sorted(answers) == ["carriers_by_origin", "late_departures"]
    for answer in answers.values():
        assert answer.missing_partitions == (f"departures {DAMAGED}",)
        assert answer.partitions == 2


def test_the_answers_are_those_of_plain_sql_over_the_sound_partitions(ran: Ran) -> None:
    sound = [
        str(path)
        for path in sorted((ran.home / "streams" / "departures").rglob("*.parquet"))
        if DAMAGED not in str(path)
    ]
    for query in ("carriers_by_origin", "late_departures"):
        answered = ran.home / "answers" / query
        sql = (ran.home / "registry" / "queries" / f"{query}.sql").read_text()
        with duckdb.connect() as connection:
            connection.read_parquet(sound, hive_partitioning=False).create_view("departures")
            expected = connection.execute(f"SELECT * FROM ({sql}) ORDER BY ALL").fetchall()
            read = "SELECT * EXCLUDE (count) FROM read_parquet(?, hive_partitioning=false) ORDER BY ALL"
            found = connection.execute(read, [f"{answered}/*/*.parquet"]).fetchall()
        assert found == expected and expected
        assert not list(answered.glob(f"*{DAMAGED}*"))


def test_data_docs_are_built_and_the_runs_recorded(ran: Ran) -> None:
    index = ran.home / "quality" / "docs" / "index.html"
    assert "departures" in index.read_text()
    (outcome,) = [q for q in ran.results.quality(ran.run_id) if q.subject == "departures"]
    assert DAMAGED in Path(str(outcome.docs)).read_text()
    assert {run.job: run.state for run in ran.results.runs()} == {
        "ingest_flights": "success",
        "validate_queries": "failed",
        "evaluate_history": "success",
    }
