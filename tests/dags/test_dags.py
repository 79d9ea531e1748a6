"""Every DAG parses fast and in silence, has what an operator of it needs, and starts nothing by itself."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import reference
from streambound.approximate.policies import POLICIES

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).resolve().parents[2]
DAGS = ["benchmark_caches", "evaluate_history", "ingest_flights", "materialize_synopses", "validate_queries"]
# Tasks without a process of their own neither try again nor run out of time.
EMPTY = {"all_passed"}


def run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], env=dict(os.environ), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def probed(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What Airflow reads of our DAGs: as they are, with many queries, and with settings of the demo."""
    many = tmp_path_factory.mktemp("many")
    (many / "queries").mkdir()
    (many / "streams.yml").write_text((ROOT / "include" / "registry" / "streams.yml").read_text())
    for number in range(500):
        (many / "queries" / f"query_{number:03}.sql").write_text("SELECT origin FROM departures")
    variables = {
        "as they are": {},
        "many queries": {"STREAMBOUND_REGISTRY": str(many)},
        "no demo": {"STREAMBOUND_DEMO": "no"},
        "neither": {"STREAMBOUND_DEMO": "perhaps"},
    }
    probe = [str(Path(__file__).with_name("probe.py")), str(ROOT / "dags")]
    lines = run(*probe, *map(json.dumps, variables.values())).splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    return dict(zip(variables, found, strict=True))


@pytest.fixture(scope="module")
def parsed(probed: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return probed["as they are"]


def test_all_parse_without_an_error_or_a_warning(parsed: dict[str, Any]) -> None:
    assert parsed["errors"] == {}
    assert parsed["warnings"] == []
    assert sorted(parsed["dags"]) == DAGS


def test_parsing_is_light(parsed: dict[str, Any]) -> None:
    assert parsed["heavy"] == []
    # About 0.2 s of a processor.
    assert parsed["seconds"] < 3


def test_a_registry_of_five_hundred_queries_parses_as_fast(probed: dict[str, dict[str, Any]]) -> None:
    parsed, many = probed["as they are"], probed["many queries"]
    assert many["errors"] == {} and many["warnings"] == []
    assert len(many["dags"]["evaluate_history"]["params"]["queries"]["items"]["enum"]) == 500
    # It costs a listing of the folder; most of the time is Airflow's own.
    assert many["seconds"] < parsed["seconds"] + 1


def test_each_asset_has_one_producer_and_somebody_who_reads_it(parsed: dict[str, Any]) -> None:
    tasks = [(dag_id, task) for dag_id, dag in parsed["dags"].items() for task in dag["tasks"].values()]
    produced = [name for _, task in tasks for name in task["outlets"]]
    assert sorted(produced) == sorted(parsed["assets"])
    assert len(produced) == len(set(produced))
    waited_for = " ".join(dag["waits_for"] for dag in parsed["dags"].values())
    read = {name for _, task in tasks for name in task["inlets"]}
    assert [name for name in produced if name not in read and f"'{name}'" not in waited_for] == []
    assert len({uri for uri, _, _ in parsed["assets"].values()}) == len(produced)
    for name, (uri, group, extra) in parsed["assets"].items():
        assert uri.startswith("x-streambound://") and group == "streambound", name
        assert extra["about"].endswith("."), name


def test_materialisation_evaluation_and_benchmark_follow_from_assets(parsed: dict[str, Any]) -> None:
    dags = parsed["dags"]
    assert "'flight_months'" in dags["materialize_synopses"]["waits_for"]
    benchmark = dags["benchmark_caches"]
    assert benchmark["timetable"] == "AssetOrTimeSchedule" and benchmark["next_run"] is not None
    # Both, not any: or an evaluation would start a benchmark, whose choices start an evaluation.
    assert benchmark["waits_for"].startswith("AssetAll(")
    assert "'flight_history'" in benchmark["waits_for"] and "'answers'" in benchmark["waits_for"]


def test_what_depends_on_days_can_be_backfilled_a_run_a_day(parsed: dict[str, Any]) -> None:
    backfills = {dag_id: dag["backfill"] for dag_id, dag in parsed["dags"].items()}
    days = ["2013-01-02", "2013-01-03", "2013-01-04"]
    assert {dag_id: found and [day[:10] for day in found] for dag_id, found in backfills.items()} == {
        "benchmark_caches": days,
        "evaluate_history": days,
        "ingest_flights": None,
        "materialize_synopses": None,
        "validate_queries": None,
    }


def test_without_the_demo_nothing_waits_for_flights(probed: dict[str, dict[str, Any]]) -> None:
    parsed, alone = probed["as they are"], probed["no demo"]
    assert alone["errors"] == {} and alone["warnings"] == []
    assert sorted(alone["dags"]) == [dag_id for dag_id in DAGS if dag_id != "ingest_flights"]
    assert "flight" not in json.dumps([alone["assets"], *(dag["tasks"] for dag in alone["dags"].values())])
    assert alone["assets"]["history"][0] == "x-streambound://streams"
    waits_for = {dag_id: dag["waits_for"] for dag_id, dag in alone["dags"].items()}
    assert "'history'" in waits_for["materialize_synopses"]
    assert (
        waits_for["benchmark_caches"].startswith("AssetAll(") and "'history'" in waits_for["benchmark_caches"]
    )
    # Everything else is as with it.
    for dag_id, dag in alone["dags"].items():
        assert dag["tasks"].keys() == parsed["dags"][dag_id]["tasks"].keys()
        assert dag["params"].keys() == parsed["dags"][dag_id]["params"].keys()


def test_neither_yes_nor_no_is_an_error_of_the_dags(probed: dict[str, dict[str, Any]]) -> None:
    told = probed["neither"]
    assert told["dags"] == {}
    assert all("STREAMBOUND_DEMO is 'perhaps'" in text for text in told["errors"].values())


@pytest.mark.parametrize("dag_id", DAGS)
def test_each_dag_says_what_a_backfill_does(parsed: dict[str, Any], dag_id: str) -> None:
    assert "**Backfill**" in parsed["dags"][dag_id]["doc_md"]


@pytest.mark.parametrize("dag_id", DAGS)
def test_each_dag_is_documented_owned_and_limited(parsed: dict[str, Any], dag_id: str) -> None:
    dag = parsed["dags"][dag_id]
    assert "**Schedule**" in dag["doc_md"] and "npaus" in dag["doc_md"]
    assert dag["owner"] == "streambound" and "streambound" in dag["tags"]
    assert dag["max_active_runs"] == 1 and dag["catchup"] is False
    for task_id, task in dag["tasks"].items():
        assert task["owner"] == "streambound"
        if task_id not in EMPTY:
            assert task["retries"] >= 1 and task["backoff"] > 1, task_id
            assert 0 < task["timeout"] <= 2 * 3600, task_id


@pytest.mark.parametrize("dag_id", DAGS)
def test_unpausing_a_dag_starts_nothing_now(parsed: dict[str, Any], dag_id: str) -> None:
    dag = parsed["dags"][dag_id]
    assert dag["start_date"] is None
    if dag["next_run"] is not None:
        # An hour may have struck since.
        assert dt.datetime.fromisoformat(dag["next_run"]) > dt.datetime.fromisoformat(parsed["asked"])


def test_the_evaluation_waits_for_verdicts_or_the_night(parsed: dict[str, Any]) -> None:
    dags = parsed["dags"]
    assert dags["evaluate_history"]["timetable"] == "AssetOrTimeSchedule"
    assert dags["benchmark_caches"]["tasks"]["announce"]["outlets"] == ["cache_choices"]
    waits_for = dags["evaluate_history"]["waits_for"]
    # Any of the two, not both.
    assert waits_for.startswith("AssetAny(") and "'verdicts'" in waits_for and "'cache_choices'" in waits_for
    assert dags["validate_queries"]["tasks"]["announce"]["outlets"] == ["verdicts"]
    assert dags["evaluate_history"]["tasks"]["announce"]["outlets"] == ["answers"]
    assert dags["ingest_flights"]["tasks"]["ingest"]["outlets"] == ["flight_history"]
    assert dags["ingest_flights"]["tasks"]["announce"]["outlets"] == ["flight_months"]
    assert dags["ingest_flights"]["next_run"] is None


def test_what_starts_runs_for_all_queries_can_be_left_out(parsed: dict[str, Any]) -> None:
    """A run for one query does not start a run for all: its asset comes from a task that the form skips."""
    waited_for = " ".join(dag["waits_for"] for dag in parsed["dags"].values())
    for dag_id, dag in parsed["dags"].items():
        tells = [
            name
            for name, task in dag["tasks"].items()
            if any(f"'{o}'" in waited_for for o in task["outlets"])
        ]
        if "queries" in dag["params"]:
            assert tells == (["announce"] if "announce" in dag["params"] else []), dag_id


def test_arriving_days_start_the_synopses_and_nothing_else_does(parsed: dict[str, Any]) -> None:
    dag = parsed["dags"]["materialize_synopses"]
    assert dag["timetable"] == "PartitionedAssetTimetable" and dag["next_run"] is None
    assert dag["tasks"]["synopsis"]["outlets"] == ["synopses"]
    assert set(dag["params"]) >= {"queries", "from", "to", "recompute"}


def test_one_spark_application_at_a_time(parsed: dict[str, Any]) -> None:
    tasks = parsed["dags"]["evaluate_history"]["tasks"]
    assert {name: task["pool"] for name, task in tasks.items() if task["pool"] != "default_pool"} == {
        "evaluate": "spark"
    }
    tasks = parsed["dags"]["materialize_synopses"]["tasks"]
    assert [name for name, task in tasks.items() if task["pool"] == "spark"] == ["materialize"]


def test_answers_do_not_wait_for_benchmarks(parsed: dict[str, Any]) -> None:
    dags = parsed["dags"]
    # Airflow adds the weights of what follows.
    benchmark = sum(task["weight"] for task in dags["benchmark_caches"]["tasks"].values())
    assert dags["evaluate_history"]["tasks"]["evaluate"]["weight"] > benchmark
    assert dags["materialize_synopses"]["tasks"]["materialize"]["weight"] > benchmark


def test_each_application_is_submitted_by_its_name_and_has_two_hours(parsed: dict[str, Any]) -> None:
    tasks = {task_id: task for dag in parsed["dags"].values() for task_id, task in dag["tasks"].items()}
    submitted = {
        task_id: (Path(task["application"]), task["submitted_as"], task["timeout"])
        for task_id, task in tasks.items()
        if task["application"]
    }
    evaluation = ROOT / "spark_apps" / "evaluate_history.py"
    assert evaluation.is_file()
    assert submitted == {
        "evaluate": (evaluation, "streambound-evaluate-history", 7200),
        "materialize": (evaluation, "streambound-materialize-synopses", 7200),
        "benchmark": (ROOT / "spark_apps" / "benchmark_caches.py", "streambound-benchmark-caches", 7200),
    }


def test_the_form_of_the_benchmark_offers_what_there_is(parsed: dict[str, Any]) -> None:
    params = parsed["dags"]["benchmark_caches"]["params"]
    registered = sorted(path.stem for path in (ROOT / "include" / "registry" / "queries").glob("*.sql"))
    assert params["queries"]["items"]["enum"] == params["queries"]["examples"] == registered
    assert params["streams"]["items"]["enum"] == [
        "S",
        "T",
        "arrivals",
        "cancellations",
        "departures",
        "weather",
    ]
    assert params["policies"]["items"]["enum"] == list(POLICIES)
    assert params["sizes"]["items"]["minimum"] == 1 and params["sizes"]["items"]["maximum"] >= 10**6
    assert [params[name]["minimum"] for name in ("days", "held_out", "runs")] == [2, 1, 1]
    tasks = parsed["dags"]["benchmark_caches"]["tasks"]
    assert [name for name, task in tasks.items() if task["pool"] == "spark"] == ["benchmark"]


def test_mapped_tasks_have_readable_names(parsed: dict[str, Any]) -> None:
    assert parsed["dags"]["validate_queries"]["tasks"]["check"]["map_name"] == "{{ task.title }}"
    assert parsed["dags"]["evaluate_history"]["tasks"]["quality"]["map_name"] == "{{ task.stream }}"
    assert parsed["dags"]["evaluate_history"]["tasks"]["evaluate"]["map_name"] == "{{ task.title }}"
    assert parsed["dags"]["materialize_synopses"]["tasks"]["materialize"]["map_name"] == "{{ task.title }}"
    assert parsed["dags"]["materialize_synopses"]["tasks"]["synopsis"]["map_name"] == "{{ query }}"


def test_forms_offer_the_registered_queries_and_days(parsed: dict[str, Any]) -> None:
    params = parsed["dags"]["evaluate_history"]["params"]
    registered = sorted(path.stem for path in (ROOT / "include" / "registry" / "queries").glob("*.sql"))
    assert params["queries"]["examples"] == registered
    assert params["from"]["format"] == params["to"]["format"] == "date"
    assert params["include_failed_partitions"]["type"] == "boolean"
    assert parsed["dags"]["validate_queries"]["params"]["criterion"]["enum"][0] == "exact"


def test_the_library_does_not_import_airflow() -> None:
    texts = {path: path.read_text() for path in (ROOT / "include" / "streambound").rglob("*.py")}
    assert [str(p) for p, text in texts.items() if "import airflow" in text or "from airflow" in text] == []


def test_the_page_of_reference_is_what_airflow_parses(parsed: dict[str, Any]) -> None:
    shown = (reference.FOLDER / "dags.md").read_text(encoding="utf-8")
    assert shown == reference.dags_page(parsed["dags"])
