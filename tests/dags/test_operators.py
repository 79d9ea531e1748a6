"""The operators: a finding is not a crash, what is invalid fails alone and once, everything is recorded."""

from __future__ import annotations

import inspect
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException

from streambound.errors import DataError, StorageError
from streambound.results import Results
from streambound.spark.session import JAVA_OPTIONS, java_options
from streambound_airflow import database
from streambound_airflow.failures import reported
from streambound_airflow.operators import BoundedMemoryCheckOperator, StreamQualityOperator, switched_on
from streambound_airflow.spark_submit import EvaluateHistoryOperator

pytestmark = pytest.mark.airflow

OPERATORS = (BoundedMemoryCheckOperator, StreamQualityOperator)


class FakeTaskInstance:
    """Remembers what was pushed."""

    def __init__(self) -> None:
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


def execute(operator: Any) -> tuple[Any, FakeTaskInstance]:
    instance = FakeTaskInstance()
    return operator.execute({"run_id": "r1", "ti": instance}), instance


def check(query: str, **arguments: Any) -> BoundedMemoryCheckOperator:
    return BoundedMemoryCheckOperator(task_id="check", query=query, **arguments)


def recorded(folder: Path) -> dict[str, Any]:
    return {v.query: v for v in Results(f"sqlite:///{folder}/connected.db").latest_verdicts()}


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_template_field_is_an_argument_that_becomes_an_attribute_untouched(operator: Any) -> None:
    arguments = inspect.signature(operator.__init__).parameters
    assert set(operator.template_fields) <= set(arguments)
    given = {name: f"{{{{ params.{name} }}}}" for name in operator.template_fields}
    built = operator(task_id="t", **given)
    assert {name: getattr(built, name) for name in operator.template_fields} == given


def test_a_bounded_query_succeeds(working_folder: Path, registry: Path) -> None:
    verdict, _ = execute(check("bounded"))
    assert (verdict["query"], verdict["verdict"], verdict["units"]) == ("bounded", "bounded", 3)
    found = recorded(working_folder)["bounded"]
    assert (found.run_id, found.verdict, found.units) == ("r1", "bounded", 3)
    assert found.sql == (registry / "queries" / "bounded.sql").read_text()


def test_what_dags_find_under_one_run_id_is_kept_by_dag(working_folder: Path, registry: Path) -> None:
    catalog = registry / "streams.yml"
    plain = catalog.with_name("plain.yml")
    plain.write_text(catalog.read_text().replace("values: [EWR, JFK, LGA]", "values: [EWR]"))
    for dag_id, chosen in (("a_dag", catalog), ("b_dag", plain)):
        with DAG(dag_id, schedule=None):
            mapped = BoundedMemoryCheckOperator.partial(task_id="check", catalog=str(chosen))
        execute(mapped.expand(query=["bounded"]).unmap({"query": "bounded"}))
    store = Results(f"sqlite:///{working_folder}/connected.db")
    assert [[v.units for v in store.verdicts("r1", job)] for job in ("a_dag", "b_dag")] == [[3], [1]]


def test_an_unbounded_query_is_a_finding_with_its_sql_underlined(
    working_folder: Path, registry: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(BoundedMemoryCheckOperator, "log", logging.getLogger("a task"))
    with caplog.at_level(logging.INFO):
        verdict, _ = execute(check("unbounded", fail_on_unbounded="False"))
    assert verdict["verdict"] == "unbounded" and verdict["reasons"][0]["where"] == {"line": 2, "column": 17}
    lines = [record.getMessage() for record in caplog.records]
    shown = lines.index("    SELECT DISTINCT tailnum")
    assert lines[shown + 1] == "                    ^^^^^^^"
    assert recorded(working_folder)["unbounded"].verdict == "unbounded"


@pytest.mark.parametrize("switch", [True, "True", "true"])
def test_an_unbounded_query_fails_if_asked_to(working_folder: Path, registry: Path, switch: Any) -> None:
    operator, instance = check("unbounded", fail_on_unbounded=switch), FakeTaskInstance()
    with pytest.raises(AirflowFailException, match=r"unbounded is unbounded: .*tailnum"):
        operator.execute({"run_id": "r1", "ti": instance})
    assert instance.pushed["return_value"]["verdict"] == "unbounded"
    assert recorded(working_folder)["unbounded"].verdict == "unbounded"


def test_a_bounded_query_passes_even_then(registry: Path) -> None:
    assert execute(check("bounded", fail_on_unbounded=True))[0]["verdict"] == "bounded"


def test_an_invalid_query_fails_once_with_one_error(working_folder: Path, registry: Path) -> None:
    instance = FakeTaskInstance()
    with pytest.raises(AirflowFailException) as caught:
        check("typo").execute({"run_id": "r1", "ti": instance})
    told = str(caught.value)
    assert told.startswith("typo: line 1, column 17") and "^^^^^" in told and "orgin" in told
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert instance.pushed["return_value"]["verdict"] == "invalid"
    assert recorded(working_folder)["typo"].error


def test_a_file_that_is_not_text_is_invalid(working_folder: Path, registry: Path) -> None:
    (registry / "queries" / "noise.sql").write_bytes(b"SELECT \xff\xfe")
    with pytest.raises(AirflowFailException, match="not UTF-8"):
        execute(check("noise"))
    assert recorded(working_folder)["noise"].verdict == "invalid"


def test_a_project_says_the_dialect_the_catalog_and_what_fails(working_folder: Path, registry: Path) -> None:
    (registry / "mine.yml").write_text("streams: {E: {level: boolean, n: int}}")
    (registry / "queries" / "bounded.sql").write_text("SELECT DISTINCT level FROM E GROUP BY level")
    (registry / "queries" / "unbounded.sql").write_text("SELECT DISTINCT n FROM E")
    (registry / "queries" / "typo.sql").write_text("SELECT level FROM E MODEL x")
    said = 'dialect = "flink"\ncatalog = "mine.yml"\nerrors = ["unbounded"]\n'
    (registry / "streambound.toml").write_text(said)
    verdict, _ = execute(check("bounded"))
    assert (verdict["verdict"], verdict["dialect"]) == ("bounded", "flink")
    with pytest.raises(AirflowFailException, match="unbounded is unbounded"):
        execute(check("unbounded"))
    assert execute(check("typo"))[0]["verdict"] == "invalid"
    assert {one.dialect for one in recorded(working_folder).values()} == {"flink", None}
    assert execute(check("other", sql="SELECT `n` FROM `E`"))[0]["dialect"] == "flink"
    (registry / "streambound.toml").write_text("errors = ['all']")
    with pytest.raises(AirflowFailException, match=r"streambound.toml.*errors has all"):
        execute(check("bounded"))


def test_sql_and_catalog_can_be_given(tmp_path: Path) -> None:
    catalog = tmp_path / "mine.yml"
    catalog.write_text("streams: {E: {level: boolean}}")
    verdict, _ = execute(check("mine", sql="SELECT DISTINCT level FROM E", catalog=str(catalog)))
    assert verdict["verdict"] == "bounded"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"criterion": "guess"}, "accepted: exact, arasu, schiff_ozcep"),
        ({"fail_on_unbounded": "perhaps"}, "neither true nor false"),
        ({"catalog": "/nowhere.yml"}, "cannot be read"),
    ],
)
def test_wrong_arguments_fail_at_once(registry: Path, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(AirflowFailException, match=told):
        execute(check("bounded", **arguments))


def test_switches_are_what_airflow_renders() -> None:
    assert [switched_on(v) for v in (True, "True", "yes", False, "False", "")] == [True] * 3 + [False] * 3


def test_only_outside_causes_are_tried_again() -> None:
    with pytest.raises(AirflowFailException, match="corrupt"), reported():
        raise DataError("corrupt")
    with pytest.raises(AirflowException, match="locked") as caught, reported():
        raise StorageError("locked")
    assert not isinstance(caught.value, AirflowFailException)


def test_without_the_connection_the_settings_name_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(conn_id: str) -> Any:
        raise AirflowNotFoundException(conn_id)

    assert str(database.results().url).endswith("connected.db")
    monkeypatch.setattr(database.Connection, "get", missing)
    assert str(database.results().url) == f"sqlite:///{tmp_path}/results.db"


def test_a_connection_without_an_address_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_STREAMBOUND_DB", '{"conn_type": "generic"}')
    with pytest.raises(AirflowFailException, match="set its extra to"):
        database.results()


@pytest.fixture
def weather(working_folder: Path, registry: Path) -> Path:
    """A stream with a sound day and a day with a wrong airport; two not written, one of them the flights'."""
    (registry / "streams.yml").write_text(
        "streams:\n  weather:\n    timestamp: at\n    columns: {at: timestamp, origin: string}\n"
        "    domains: {origin: {values: [JFK]}}\n    history: {path: weather, partition_by: date}\n"
        "  unwritten:\n    columns: {a: int}\n    history: {path: unwritten, partition_by: part}\n"
        "  departures:\n    columns: {a: int}\n    history: {path: departures, partition_by: date}\n"
    )
    for day, origin in (("2013-01-01", "JFK"), ("2013-01-02", "LHR"), ("2013-01-03", "JFK")):
        folder = working_folder / "streams" / "weather" / f"date={day}"
        folder.mkdir(parents=True)
        at = pa.array([f"{day}T12:00:00Z"]).cast(pa.timestamp("us", tz="UTC"))
        pq.write_table(pa.table({"at": at, "origin": [origin]}), folder / "part-00000.parquet")
    return working_folder


def quality(stream: str, **arguments: Any) -> StreamQualityOperator:
    return StreamQualityOperator(task_id="quality", stream=stream, **arguments)


def test_quality_names_the_partitions_that_fail(weather: Path) -> None:
    operator = quality("weather")
    found, _ = execute(operator)
    assert found == {"stream": "weather", "partitions": 3, "failed_partitions": ["2013-01-02"]}
    (outcome,) = Results(f"sqlite:///{weather}/connected.db").quality("r1", operator.dag_id)
    assert outcome.failed[0]["reasons"] == ["1 rows with origin outside its declared domain"]
    assert Path(str(outcome.docs)).is_file()


def test_quality_keeps_to_the_chosen_days(weather: Path) -> None:
    found, _ = execute(quality("weather", first="2013-01-03", last=""))
    assert found == {"stream": "weather", "partitions": 1, "failed_partitions": []}
    assert execute(quality("weather", first="2013-01-03 00:00:00"))[0]["partitions"] == 1
    assert execute(quality("weather", first="2014-01-01"))[0]["partitions"] == 0
    with pytest.raises(AirflowFailException, match="exchange the two ends"):
        execute(quality("weather", first="2013-01-03", last="2013-01-01"))


@pytest.mark.parametrize(
    ("stream", "told"),
    [
        ("wether", "accepted: "),
        ("unwritten", "fix: run the job that writes this stream"),
        ("departures", "fix: run ingest_flights"),
    ],
)
def test_a_stream_that_is_not_there_fails(weather: Path, stream: str, told: str) -> None:
    with pytest.raises(AirflowFailException, match=told):
        execute(quality(stream))


def submit(monkeypatch: pytest.MonkeyPatch, code: int, **given: Any) -> None:
    monkeypatch.delenv(JAVA_OPTIONS, raising=False)

    def execute(self: Any, context: Any) -> None:
        assert {JAVA_OPTIONS: java_options(), **given.get("env_vars", {})}.items() <= self.env_vars.items()
        raise AirflowException(f"Cannot execute: spark-submit ... Error code is: {code}.")

    monkeypatch.setattr(SparkSubmitOperator, "execute", execute)
    execute_it = EvaluateHistoryOperator.execute.__wrapped__  # type: ignore[attr-defined]
    execute_it(EvaluateHistoryOperator(task_id="evaluate", **given), {})


def test_a_query_that_failed_does_not_repeat_the_evaluation_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submit(monkeypatch, 2)
    submit(monkeypatch, 2, env_vars={JAVA_OPTIONS: "-Dmine=1"})
    with pytest.raises(AirflowException, match=r"code is: 3\."):
        submit(monkeypatch, 3)
    with pytest.raises(AirflowException, match=r"code is: 255\."):
        submit(monkeypatch, 255)
