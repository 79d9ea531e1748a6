"""Around the Spark application: what is evaluated, what is kept out, what is recorded, what fails."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowFailException

from streambound.errors import DataError, PlanError, QueryError
from streambound.query.catalog import load_catalog
from streambound.results import QualityOutcome, Results
from streambound_airflow import lineage, recording, selection, synopses
from streambound_airflow.ingest import ingest_days
from streambound_airflow.validation import chosen_queries, conclude

pytestmark = pytest.mark.airflow


@pytest.fixture
def store(working_folder: Path) -> Results:
    return Results(f"sqlite:///{working_folder}/results.db")


def verdict(store: Results, registry: Path, query: str, verdict: str, sql: str | None = None) -> None:
    sql = (registry / "queries" / f"{query}.sql").read_text() if sql is None else sql
    reasons = [{"code": "c", "message": f"why {verdict}"}]
    body = {"query": query, "verdict": verdict, "sql": sql, "reasons": reasons}
    store.record_verdicts("v", [body], job="validate_queries")


def test_all_registered_queries_are_chosen_if_none_is(registry: Path) -> None:
    assert chosen_queries([]) == chosen_queries(None) == ["bounded", "typo", "unbounded", "windy"]
    assert chosen_queries(["windy", "bounded", "windy"]) == ["bounded", "windy"]


def test_an_empty_registry_and_an_unknown_query_are_clear_errors(registry: Path) -> None:
    with pytest.raises(QueryError, match="no query is registered as nope"):
        chosen_queries(["bounded", "nope"])
    for path in (registry / "queries").glob("*.sql"):
        path.unlink()
    with pytest.raises(QueryError, match="the registry is empty"):
        chosen_queries(None)


def test_a_validation_with_an_invalid_query_is_recorded_as_failed(store: Results, registry: Path) -> None:
    verdict(store, registry, "bounded", "bounded")
    verdict(store, registry, "unbounded", "unbounded")
    assert conclude(store, "v", ["bounded", "unbounded"], strict=False) == {"bounded": 1, "unbounded": 1}
    assert store.runs()[0].state == "success"
    conclude(store, "v", ["bounded", "unbounded"], strict=True)
    assert store.runs()[0].state == "failed"
    assert conclude(store, "v", ["bounded", "typo"], strict=False) == {"bounded": 1, "unchecked": 1}
    assert store.runs()[0].state == "failed"
    (registry / "streambound.toml").write_text('errors = ["unknown"]')
    conclude(store, "v", ["bounded", "unbounded"], strict=False)
    assert store.runs()[0].state == "success"
    (registry / "streambound.toml").write_text('errors = ["unbounded"]')
    conclude(store, "v", ["bounded", "unbounded"], strict=False)
    assert store.runs()[0].state == "failed"


def test_only_queries_with_a_current_bounded_verdict_are_evaluated(
    store: Results, registry: Path, caplog: pytest.LogCaptureFixture
) -> None:
    verdict(store, registry, "bounded", "bounded")
    verdict(store, registry, "unbounded", "unbounded")
    verdict(store, registry, "windy", "bounded", sql="SELECT an older text")
    assert selection.select(store, None) == {"bounded": ["departures"]}
    assert "left out: unbounded, unbounded: why unbounded" in caplog.text
    assert "left out: typo, not checked yet" in caplog.text
    assert "left out: windy, changed since it was checked" in caplog.text
    with pytest.raises(PlanError, match="none of the chosen queries"):
        selection.select(store, ["unbounded"])


def test_what_another_criterion_says_leaves_no_query_out(
    store: Results, registry: Path, caplog: pytest.LogCaptureFixture
) -> None:
    verdict(store, registry, "bounded", "bounded")
    sql = (registry / "queries" / "bounded.sql").read_text()
    body = {"verdict": "unbounded", "criterion": "schiff_ozcep", "sql": sql}
    store.record_verdicts("later", [{**body, "query": "bounded"}, {**body, "query": "windy"}])
    assert selection.select(store, ["bounded", "windy"]) == {"bounded": ["departures"]}
    assert "left out: windy, not checked yet by the criterion exact" in caplog.text
    assert synopses.unchecked(store, ["bounded", "windy"]) == ["windy"]


def test_queries_that_cannot_be_read_any_more_are_left_out(
    store: Results, registry: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for query in ("bounded", "windy", "typo"):
        verdict(store, registry, query, "bounded")
    (registry / "queries" / "windy.sql").write_bytes(b"\xff")
    assert selection.select(store, ["bounded", "windy", "typo"]) == {"bounded": ["departures"]}
    assert "windy.sql: not UTF-8 text" in caplog.text and "left out: typo" in caplog.text


def test_what_is_decided_but_not_evaluated_yet_is_left_out(
    store: Results, registry: Path, caplog: pytest.LogCaptureFixture
) -> None:
    later = (
        "SELECT d.departed_at FROM departures d, weather w WHERE w.observed_at <= d.departed_at"
        " UNION SELECT TIMESTAMP '2013-01-01 00:00:00' FROM weather"
    )
    (registry / "queries" / "later.sql").write_text(later)
    verdict(store, registry, "bounded", "bounded")
    verdict(store, registry, "later", "bounded")
    assert selection.select(store, ["bounded", "later"]) == {"bounded": ["departures"]}
    assert "left out: later, " in caplog.text and "some alternatives of OR or UNION" in caplog.text


def test_a_union_is_evaluated(store: Results, registry: Path) -> None:
    union = "SELECT origin FROM departures UNION ALL SELECT origin FROM weather"
    (registry / "queries" / "union.sql").write_text(union)
    verdict(store, registry, "union", "bounded")
    assert selection.select(store, ["union"]) == {"union": ["departures", "weather"]}


def test_what_sub_queries_read_is_read(store: Results, registry: Path) -> None:
    nested = (
        "SELECT day, dest, n FROM (SELECT day, dest, n, ROW_NUMBER() OVER (PARTITION BY day ORDER BY n) AS r"
        " FROM (SELECT window(departed_at, '1 day').start AS day, dest, COUNT(*) AS n FROM departures"
        " GROUP BY window(departed_at, '1 day'), dest) q) p WHERE r <= 3"
    )
    (registry / "queries" / "nested.sql").write_text(nested)
    verdict(store, registry, "nested", "bounded")
    assert selection.select(store, ["nested"]) == {"nested": ["departures"]}
    found = lineage.relations_of(nested, load_catalog(registry / "streams.yml"), "nested")
    assert [relation.name for relation in found] == ["departures"]


READS = {"q": ["departures"], "w": ["departures", "weather"], "p": ["planes"]}


PARAMS: dict[str, Any] = {"from": None, "to": None, "recompute": False}


def checked(stream: str, partitions: int, *failed: str) -> dict[str, Any]:
    return {"stream": stream, "partitions": partitions, "failed_partitions": list(failed)}


def failing(store: Results, stream: str, *partitions: str) -> None:
    failed = [{"partition": name, "reasons": ["late", "odd"]} for name in partitions]
    store.record_quality(QualityOutcome("r", stream, False, 9, failed=failed, job="evaluate_history"))


def test_a_failed_partition_is_kept_out_with_its_reasons(store: Results, working_folder: Path) -> None:
    failing(store, "departures", "2013-01-02")
    found = [checked("departures", 3, "2013-01-02"), checked("weather", 3), checked("planes", 1)]
    chosen = selection.keep_out(store, "evaluate_history", "r", READS, found, include_failed=False)
    assert chosen == {"reads": READS, "excluded": {"departures": 1}, "dropped": {}}
    (arguments,) = selection.spark_arguments(
        "evaluate_history", "r", chosen["reads"], {**PARAMS, "from": "2013-01-01"}
    )
    assert arguments[:3] == ["--queries=q,w,p", "--from=2013-01-01", "--run-id=r"]
    exclude = Path(next(a for a in arguments if a.startswith("--exclude=")).removeprefix("--exclude="))
    assert json.loads(exclude.read_text()) == {"departures": {"2013-01-02": "late; odd"}}
    assert "--recompute" not in arguments
    (again,) = selection.spark_arguments(
        "evaluate_history", "r", chosen["reads"], {**PARAMS, "recompute": True}
    )
    assert "--recompute" in again and not any(one.startswith("--shard") for one in again)


@pytest.mark.parametrize(
    ("shards", "given"), [("1", [None]), ("2", ["1/2", "2/2"]), ("9", ["1/3", "2/3", "3/3"])]
)
def test_each_shard_has_an_application_with_a_summary_of_its_own(
    shards: str, given: list[str | None], store: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMBOUND_SHARDS", shards)
    made = selection.spark_arguments("evaluate_history", "r", READS, PARAMS)
    options = [dict(one.removeprefix("--").split("=", 1) for one in arguments) for arguments in made]
    assert [one.get("shard") for one in options] == given
    assert {one["queries"] for one in options} == {"q,w,p"}
    for name, one in zip("qwp", options, strict=False):
        summary = Path(one["summary"])
        summary.parent.mkdir(parents=True)
        summary.write_text(json.dumps({"answers": [{"query": name, "error": None}]}))
        (summary.parent / selection.PROGRESS).write_text("{}")
    assert list(recording.summary_of("evaluate_history", "r")) == list("qwp"[: len(given)])
    # Another try begins without them, whatever it is shared among.
    selection.keep_out(store, "evaluate_history", "r", {"q": []}, [], True)
    assert not selection.summary_paths("evaluate_history", "r")
    assert not any(path.exists() for path in selection.progress_paths("evaluate_history", "r"))


@pytest.mark.parametrize("shards", ["0", "-1", "many", "1001"])
def test_what_is_no_number_of_shards_is_refused(shards: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMBOUND_SHARDS", shards)
    with pytest.raises(DataError, match=f"STREAMBOUND_SHARDS is '{shards}'"):
        selection.spark_arguments("evaluate_history", "r", READS, PARAMS)


def test_a_failed_partition_is_evaluated_if_asked_to(store: Results) -> None:
    failing(store, "departures", "2013-01-02")
    chosen = selection.keep_out(
        store,
        "evaluate_history",
        "r",
        {"q": ["departures"]},
        [checked("departures", 3, "2013-01-02")],
        include_failed=True,
    )
    assert chosen["excluded"] == {}


def test_queries_with_nothing_sound_to_read_are_dropped_by_name(store: Results) -> None:
    failing(store, "planes", "all")
    found = [checked("departures", 3), checked("weather", 0), checked("planes", 1, "all")]
    chosen = selection.keep_out(
        store, "evaluate_history", "r", {**READS, "n": ["nowhere"]}, found, include_failed=False
    )
    assert list(chosen["reads"]) == ["q"]
    assert chosen["dropped"] == {
        "w": "stream weather has no partition in the chosen days",
        "p": "every partition of planes failed",
        "n": "stream nowhere could not be checked",
    }
    with pytest.raises(DataError, match="no query has anything to read"):
        selection.keep_out(store, "evaluate_history", "r", {"p": ["planes"]}, found, include_failed=False)


def test_runs_of_two_dags_with_one_id_keep_their_partitions_apart(store: Results) -> None:
    failing(store, "departures", "2013-01-02")
    found, reads = [checked("departures", 3, "2013-01-02")], {"q": ["departures"]}
    paths = []
    for job in ("evaluate_history", "materialize_synopses"):
        selection.keep_out(store, job, "r", reads, found, include_failed=False)
        paths.append(selection.run_folder(job, "r") / "exclude.json")
    first, second = (json.loads(path.read_text()) for path in paths)
    assert first == {"departures": {"2013-01-02": "late; odd"}} and second == {}


def test_no_two_runs_have_one_folder(working_folder: Path) -> None:
    names = ("a", "b-a", "a:b", "a+b", "a-b", "..", ".", "é", "x" * 300, "x" * 301, "é" * 250)
    folders = {selection.run_folder(job, run) for job in names for run in names}
    assert len(folders) == len(names) ** 2
    for folder in folders:
        folder.mkdir(parents=True)
        assert folder.resolve().parent.parent == (working_folder / "runs").resolve()


def test_the_summary_of_a_run_that_an_earlier_release_began_is_read(working_folder: Path) -> None:
    earlier = working_folder / "runs" / "manual__2026-11-27T12-00-00-00-00"
    earlier.mkdir(parents=True)
    (earlier / "summary.json").write_text(json.dumps({"answers": [{"query": "q", "error": None}]}))
    run = "manual__2026-11-27T12:00:00+00:00"
    assert list(recording.summary_of("evaluate_history", run)) == ["q"]
    # A run that has begun by now has said nothing yet, whatever lies there of another.
    selection.run_folder("evaluate_history", run).mkdir(parents=True)
    with pytest.raises(DataError, match="left no summary"):
        recording.summary_of("evaluate_history", run)


def answer(query: str, sql: str, **changed: Any) -> dict[str, Any]:
    body = {
        "query": query,
        "sql": sql,
        "verdict": "bounded",
        "units": 3,
        "peak_units": 3,
        "rows": 90,
        "rows_read": 30,
        "answer_rows": 2,
        "answer_count": str(2**70),
        "partitions": ["2013-01-01", "2013-01-03"],
        "missing_partitions": [{"stream": "departures", "partition": "2013-01-02", "reason": "odd"}],
        "digest": "ab",
        "seconds": 1.5,
        "error": None,
    }
    return {**body, **changed}


def summarised(run_id: str, *answers: dict[str, Any]) -> None:
    folder = selection.run_folder("evaluate_history", run_id)
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({"run_id": run_id, "answers": answers}))


def answered(home: Path, query: str, *origins: str) -> None:
    folder = home / "answers" / query / "date=2013-01-01"
    folder.mkdir(parents=True)
    counts = pa.array([1] * len(origins))
    pq.write_table(pa.table({"origin": origins, "count": counts}), folder / "part-00000.parquet")


def test_answers_are_recorded_with_what_is_missing_and_failures_are_named(
    store: Results, working_folder: Path, registry: Path
) -> None:
    sql = "SELECT DISTINCT origin FROM departures"
    summarised("r", answer("q", sql), answer("twice", sql), answer("bad", sql, error="corrupt", digest=None))
    answered(working_folder, "q", "JFK", "LGA")
    answered(working_folder, "twice", "JFK", "JFK")
    reads = {name: ["departures"] for name in ("q", "twice", "bad", "lost")}
    chosen = {"reads": reads, "excluded": {"departures": 1}, "dropped": {"gone": "no stream"}}
    found = recording.record(store, "r", chosen)
    assert found["evaluated"] == 2 and found["kept_out"] == {"departures": 1}
    assert found["failures"] == {
        "gone": "no stream",
        "bad": "corrupt",
        "lost": "the Spark application does not mention it",
        "twice": "1 rows more than once",
    }
    kept = {a.query: a for a in store.answers("r", "evaluate_history")}
    assert sorted(kept) == ["q", "twice"]
    assert kept["q"].missing_partitions == ("departures 2013-01-02",)
    assert kept["q"].answer_count == 2**70 and kept["q"].streams == ("departures",)
    with pytest.raises(DataError, match="failed: bad, gone, lost, twice; the others are recorded") as caught:
        recording.conclude(store, "r", found)
    assert "  bad: corrupt" in str(caught.value)
    assert store.runs()[0].state == "failed"


def test_a_run_without_failures_is_a_success(store: Results) -> None:
    recording.conclude(store, "r", {"failures": {}})
    assert store.runs()[0].state == "success"


def test_without_a_summary_the_log_to_read_is_named(store: Results) -> None:
    with pytest.raises(DataError, match="left no summary"):
        recording.record(store, "r", {"reads": {"q": ["s"]}, "excluded": {}, "dropped": {}})
    with pytest.raises(DataError, match="before its answers were recorded"):
        recording.conclude(store, "r", None)


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        (("2013-01-31", "2013-01-01"), "the range ends at 2013-01-01 but starts at 2013-01-31"),
        (("soon", None), "from is 'soon', which is no day"),
        ((None, "2013-02-30"), "to is '2013-02-30', which is no day"),
    ],
)
def test_days_that_choose_nothing_are_refused_at_once_and_once(
    ends: tuple[str | None, str | None], told: str, store: Results, registry: Path
) -> None:
    params = {"from": ends[0], "to": ends[1], "queries": [], "include_failed_partitions": False}
    with pytest.raises(DataError) as caught:
        ingest_days(store, "r", params)
    assert told in str(caught.value)
    dag = dag_of("evaluate_history")
    choose = dag.get_task("choose").python_callable
    with pytest.raises(AirflowFailException) as failed:
        choose(params=params, run_id="r", ti=None, dag=dag)
    assert told in str(failed.value)


def dag_of(name: str) -> Any:
    path = Path(__file__).resolve().parents[2] / "dags" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"dag_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)()
