"""What may be asked of each DAG; the rest its form refuses, or at once its first task in one message."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException
from tests.dags.test_evaluation import dag_of
from tests.dags.test_operators import FakeTaskInstance

from streambound.results import Results
from streambound_airflow import alerts, forms
from streambound_airflow.backfill import form_of, never_back

pytestmark = pytest.mark.airflow

ROTATION = (
    "SELECT a.dest, d.origin FROM arrivals a JOIN departures d ON a.tailnum = d.tailnum"
    " WHERE a.arrived_at < d.departed_at"
)
OLD, LATE = {"from": "2011-01-01", "to": "2011-12-31"}, {"from": "2013-02-01"}
FIRST_TASK = {"ingest_flights": "ingest"}


@pytest.fixture
def offered(registry: Path) -> Path:
    """A registry with one unbounded equijoin."""
    (registry / "queries" / "rotation.sql").write_text(ROTATION)
    return registry


@pytest.fixture
def asked(offered: Path, working_folder: Path) -> Path:
    """The same with verdicts, and three days of history."""
    for stream in ("departures", "arrivals"):
        for day in ("2013-01-01", "2013-01-02", "2013-01-03"):
            folder = working_folder / "streams" / stream / f"date={day}"
            folder.mkdir(parents=True)
            (folder / "part-00000.parquet").write_bytes(b"")
    verdicts = {"bounded": "bounded", "unbounded": "unbounded", "rotation": "unbounded"}
    texts = {name: (offered / "queries" / f"{name}.sql").read_text() for name in verdicts}
    bodies = [{"query": name, "verdict": found, "sql": texts[name]} for name, found in verdicts.items()]
    Results(f"sqlite:///{working_folder}/connected.db").record_verdicts("v", bodies)
    return offered


def form(dag_id: str, conf: dict[str, Any]) -> dict[str, Any]:
    """What a run gets of a form that was filled in.

    Raises:
        ValueError: the form refuses it; Airflow answers 400.
    """
    from airflow.serialization.serialized_objects import DagSerialization

    # As the API server has it.
    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag_of(dag_id)))
    found: dict[str, Any] = stored.params.deep_merge(conf).validate()
    return found


def start(dag_id: str, params: dict[str, Any]) -> Any:
    """Runs the first task of a DAG."""
    return run_task(dag_id, FIRST_TASK.get(dag_id, "choose"), params)


def run_task(dag_id: str, task_id: str, params: dict[str, Any], **context: Any) -> Any:
    """Runs a task without its DAG's others."""
    task = dag_of(dag_id).get_task(task_id)
    context = {"ti": FakeTaskInstance(), "outlet_events": {}, "dag_run": run_of("manual"), **context}
    return task.python_callable(params=params, run_id="r", dag=task.dag, **context)


REFUSED_BY_THE_FORM: list[tuple[str, dict[str, Any], str]] = [
    *(
        (dag, {"queries": ["nope"]}, "'nope' is not one of")
        for dag in ("validate_queries", "evaluate_history")
    ),
    *(
        (dag, {"queries": ["nope"]}, "'nope' is not one of")
        for dag in ("materialize_synopses", "benchmark_caches")
    ),
    ("evaluate_history", {"queries": "bounded"}, "'bounded' is not of type 'array', 'null'"),
    ("evaluate_history", {"queries": ["bounded", "bounded"]}, "has non-unique elements"),
    ("evaluate_history", {"from": "soon"}, "'soon' is not a 'date'"),
    ("evaluate_history", {"to": "2013-02-30"}, "'2013-02-30' is not a 'date'"),
    ("evaluate_history", {"recompute": "perhaps"}, "'perhaps' is not of type 'boolean'"),
    ("materialize_synopses", {"publish": 1}, "1 is not of type 'boolean'"),
    ("ingest_flights", {"from": 20130101}, "20130101 is not of type"),
    ("validate_queries", {"criterion": "guess"}, "'guess' is not one of"),
    ("benchmark_caches", {"sizes": []}, "should be non-empty"),
    ("benchmark_caches", {"sizes": [0]}, "0 is less than the minimum of 1"),
    ("benchmark_caches", {"sizes": [5, 5]}, "has non-unique elements"),
    ("benchmark_caches", {"sizes": [10**9]}, "is greater than the maximum"),
    ("benchmark_caches", {"sizes": list(range(1, 52))}, "is too long"),
    ("benchmark_caches", {"sizes": ["many"]}, "'many' is not of type 'integer'"),
    ("benchmark_caches", {"days": 0}, "0 is less than the minimum"),
    ("benchmark_caches", {"days": 10**6}, "is greater than the maximum"),
    ("benchmark_caches", {"held_out": 0}, "0 is less than the minimum"),
    ("benchmark_caches", {"runs": 0}, "0 is less than the minimum"),
    ("benchmark_caches", {"policies": ["best"]}, "'best' is not one of"),
    ("benchmark_caches", {"streams": ["ships"]}, "'ships' is not one of"),
    ("benchmark_caches", {"to": "2013-1-1"}, "is not a 'date'"),
]


@pytest.mark.parametrize(("dag_id", "conf", "told"), REFUSED_BY_THE_FORM)
def test_the_form_refuses(offered: Path, dag_id: str, conf: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match="Invalid input for param") as caught:
        form(dag_id, conf)
    assert told in str(caught.value)


REFUSED_AT_ONCE: list[tuple[str, dict[str, Any], str]] = [
    *(
        (dag, {"from": "2013-01-03", "to": "2013-01-01"}, "exchange the two ends")
        for dag in ("ingest_flights", "evaluate_history", "materialize_synopses")
    ),
    *(
        (dag, days, "accepted: departures has 2013-01-01 to 2013-01-03")
        for dag in ("evaluate_history", "materialize_synopses")
        for days in (OLD, LATE)
    ),
    ("benchmark_caches", {"to": "2011-12-31"}, "nothing to read from the first to 2011-12-31"),
    ("benchmark_caches", {"days": 7, "held_out": 7}, "7 of 7 days are to be held out"),
    ("benchmark_caches", {"days": 5, "held_out": 7}, "7 of 5 days are to be held out"),
    ("benchmark_caches", {"queries": ["bounded"]}, "it is bounded and needs no cache"),
    (
        "benchmark_caches",
        {"queries": ["rotation"], "streams": ["weather"]},
        "it reads arrivals and departures",
    ),
    # Nothing to evaluate is nothing to publish.
    ("evaluate_history", {"queries": ["unbounded"]}, "none of the chosen queries can be evaluated"),
    ("materialize_synopses", {"queries": ["unbounded"], "publish": True}, "none of the chosen queries"),
]


@pytest.mark.parametrize(("dag_id", "conf", "told"), REFUSED_AT_ONCE)
def test_the_first_task_refuses_once_with_one_message(
    asked: Path, dag_id: str, conf: dict[str, Any], told: str
) -> None:
    params = form(dag_id, conf)
    with pytest.raises(AirflowFailException) as caught:
        start(dag_id, params)
    assert told in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("dag_id", "conf", "chosen"),
    [
        ("validate_queries", {}, ["bounded", "rotation", "typo", "unbounded", "windy"]),
        ("validate_queries", {"queries": ["windy"], "criterion": "arasu"}, ["windy"]),
        ("evaluate_history", {"from": "2013-01-03"}, ["departures"]),
        ("evaluate_history", {"to": "2013-01-01", "queries": ["bounded"]}, ["departures"]),
        ("materialize_synopses", {"from": "2013-01-02", "to": "2013-01-02"}, ["departures"]),
        ("benchmark_caches", {"days": 3, "held_out": 1, "sizes": [5]}, ["rotation"]),
        ("benchmark_caches", {"streams": ["arrivals"], "to": "2013-01-02"}, ["rotation"]),
    ],
)
def test_what_is_possible_starts(asked: Path, dag_id: str, conf: dict[str, Any], chosen: list[str]) -> None:
    assert start(dag_id, form(dag_id, conf)) == chosen


def test_each_dag_offers_what_is_registered(offered: Path) -> None:
    registered = ["bounded", "rotation", "typo", "unbounded", "windy"]
    for dag_id in ("validate_queries", "evaluate_history", "materialize_synopses", "benchmark_caches"):
        dag = dag_of(dag_id)
        schema = dag.params.get_param("queries").schema
        assert schema["items"]["enum"] == schema["examples"] == registered
        for name in dag.params:
            param = dag.params.get_param(name)
            assert param.schema["title"] and param.description, f"{dag_id}, {name}"


def test_one_query_that_has_nothing_to_read_is_left_to_be_dropped_by_name(
    asked: Path, working_folder: Path
) -> None:
    """Others can be evaluated, so the run goes on."""
    sql = "SELECT DISTINCT origin FROM weather"
    (asked / "queries" / "weather.sql").write_text(sql)
    Results(f"sqlite:///{working_folder}/connected.db").record_verdicts(
        "w", [{"query": "weather", "verdict": "bounded", "sql": sql}]
    )
    folder = working_folder / "streams" / "weather" / "date=2013-06-01"
    folder.mkdir(parents=True)
    (folder / "part-00000.parquet").write_bytes(b"")
    assert start("evaluate_history", form("evaluate_history", {"to": "2013-01-02"})) == [
        "departures",
        "weather",
    ]
    with pytest.raises(AirflowFailException) as caught:
        start("evaluate_history", form("evaluate_history", {"from": "2013-07-01"}))
    assert "departures has 2013-01-01 to 2013-01-03; weather has 2013-06-01 to 2013-06-01" in str(
        caught.value
    )


# Of a backfill


def run_of(kind: str, day: str | None = "2013-01-02") -> Any:
    moment = None if day is None else dt.datetime.fromisoformat(f"{day}T04:00:00+00:00")
    return SimpleNamespace(run_type=kind, logical_date=moment, dag_id="d", run_id="r")


@pytest.mark.parametrize(
    ("kind", "day", "to", "expected"),
    [
        ("backfill", "2013-01-02", None, "2013-01-02"),
        ("backfill", "2013-01-02", "2013-01-03", "2013-01-03"),
        ("backfill", None, None, None),
        ("scheduled", "2013-01-02", None, None),
        ("asset_triggered", None, None, None),
        ("manual", "2013-01-02", None, None),
    ],
)
def test_a_run_of_a_backfill_ends_with_its_day(
    kind: str, day: str | None, to: str | None, expected: str | None
) -> None:
    params = {"from": None, "to": to, "recompute": True}
    known = SimpleNamespace(params=params)
    found = form_of({"params": params, "dag": known, "dag_run": run_of(kind, day)})
    assert found == {"from": None, "to": expected, "recompute": True}
    assert params["to"] == to


def published(home: Path, query: str, *partitions: str) -> None:
    folder = home / "answers" / query
    folder.mkdir(parents=True)
    (folder / "_answer.json").write_text(json.dumps({"partitions": partitions}))


def test_a_backfill_takes_no_published_day_back(working_folder: Path) -> None:
    published(working_folder, "q", "2013-01-01", "2013-01-05")
    published(working_folder, "w", "2013-01-01", "2013-01-03")
    published(working_folder, "parts", "1", "2")
    (working_folder / "answers" / "torn").mkdir()
    (working_folder / "answers" / "torn" / "_answer.json").write_text("{")
    old, asked_for = {"to": "2013-01-02"}, {"to": "2013-01-02"}
    assert never_back(old, None, ["q", "w", "parts", "torn", "none"])["to"] == "2013-01-05"
    assert never_back(old, None, ["w"])["to"] == "2013-01-03"
    assert never_back(old, None, ["parts", "torn", "none"])["to"] == "2013-01-02"
    assert never_back({"to": "2013-01-09"}, None, ["q"])["to"] == "2013-01-09"
    assert never_back(asked_for, "2013-01-02", ["q"])["to"] == "2013-01-02"
    assert never_back({"to": None}, None, ["q"])["to"] is None


def test_an_evaluation_of_a_backfill_reads_up_to_its_day(asked: Path, working_folder: Path) -> None:
    instance = FakeTaskInstance()
    params = form("evaluate_history", {})
    run_task("evaluate_history", "choose", params, ti=instance, dag_run=run_of("backfill"))
    assert instance.pushed["form"]["to"] == "2013-01-02"
    (run,) = [r for r in Results(f"sqlite:///{working_folder}/connected.db").runs() if r.run_id == "r"]
    assert run.last_partition == "2013-01-02"


def test_a_benchmark_of_a_backfill_looks_up_to_its_day(asked: Path) -> None:
    instance = FakeTaskInstance()
    params = form("benchmark_caches", {})
    run_task("benchmark_caches", "choose", params, ti=instance, dag_run=run_of("backfill"))
    assert "--to=2013-01-02" in instance.pushed["arguments"]


def test_only_verdicts_have_no_part_in_backfills() -> None:
    assert dag_of("validate_queries").allowed_run_types == set(forms.NOT_IN_BACKFILLS)
    assert "backfill" not in forms.NOT_IN_BACKFILLS
    assert dag_of("evaluate_history").allowed_run_types is None


@pytest.mark.parametrize(
    ("dag_id", "last"),
    [
        ("validate_queries", "summarise"),
        ("materialize_synopses", "all_materialized"),
        ("evaluate_history", "all_answered"),
        ("benchmark_caches", "all_chosen"),
    ],
)
def test_the_task_that_concludes_a_run_tells_its_findings(
    dag_id: str, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMBOUND_ALERTS", "log")
    for task in dag_of(dag_id).tasks:
        expected = [alerts.FindingsNotifier] if task.task_id == last else []
        assert [type(one) for one in task.on_success_callback] == expected
        assert [type(one) for one in task.on_failure_callback] == expected
