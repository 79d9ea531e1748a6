"""The results database: what is written is read back, repeated writes replace, failures are typed."""

from __future__ import annotations

import datetime as dt
import inspect
import multiprocessing
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from streambound.compiler import compile as compile_query
from streambound.compiler.report import check
from streambound.errors import StorageError
from streambound.results import (
    EVALUATED_BY,
    Answer,
    CacheAnswer,
    CacheBenchmark,
    CacheEstimate,
    Figure,
    QualityOutcome,
    Results,
    Run,
)
from streambound.results import connection as connection_module
from streambound.results.schema import METADATA

NOON = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)


def verdict(query: str, outcome: str = "bounded", **more: object) -> dict[str, object]:
    return {
        "query": query,
        "sql": "SELECT S.A FROM S",
        "verdict": outcome,
        "projection": "preserving",
        "units": 1000,
        "criterion": "exact",
        "reasons": [{"code": "ok", "message": "fine", "attributes": ["S.A"], "where": None}],
        "published": {"arasu": "bounded"},
        "suggestions": [],
        "error": None,
        "final": "never-final",
        **more,
    }


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/deep/er/results.db"


@pytest.fixture
def results(url: str) -> Results:
    return Results(url)


def test_a_verdict_is_read_back_whole(results: Results) -> None:
    told = {"message": "m", "fix": "f", "where": {"line": 1, "column": 8}}
    more = {"dialect": "flink", "guessed": "DESCRIPTOR", "causes": [told], "assumes": ["f is total"]}
    more |= {"units_formula": "keys", "unplanned": "why", "refused": "two keys", "code": "unsupported"}
    body = verdict("q5", blockers=[{"construct": "PIVOT", **told}], **more)
    results.record_verdicts("run 1", [body, verdict("q6")], checked_at=NOON, job="nightly")
    read, plain = Results(str(results.url)).latest_verdicts()
    assert (read.run_id, read.checked_at, read.job) == ("run 1", NOON, "nightly")
    assert {name: _listed(getattr(read, name)) for name in body} == body
    assert (read.outcome, plain.outcome, plain.dialect, plain.causes) == ("unsupported", "bounded", None, ())


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def test_units_beyond_64_bits_stay_exact(results: Results) -> None:
    huge = 10**30 + 7
    results.record_verdicts("r", [verdict("wide", units=huge), verdict("none", units=None)])
    assert [v.units for v in results.latest_verdicts()] == [None, huge]
    results.record_answer(Answer("r", "wide", 1, 2, 3, answer_count=huge, units=huge, peak_units=huge))
    (answer,) = results.latest_answers()
    assert (answer.answer_count, answer.units, answer.peak_units) == (huge, huge, huge)


def test_recording_again_replaces(results: Results) -> None:
    results.record_verdicts("r", [verdict("q1", "unknown"), verdict("q2")])
    results.record_verdicts("r", [verdict("q1", "bounded", units=3)])
    assert [(v.query, v.verdict, v.units) for v in results.verdicts("r")] == [
        ("q1", "bounded", 3),
        ("q2", "bounded", 1000),
    ]


def test_the_newest_verdict_wins_over_runs(results: Results) -> None:
    results.record_verdicts("b", [verdict("q1", "unbounded")], checked_at=NOON)
    results.record_verdicts("a", [verdict("q1", "bounded")], checked_at=NOON + dt.timedelta(seconds=1))
    assert [(v.run_id, v.verdict) for v in results.latest_verdicts()] == [("a", "bounded")]


def test_a_verdict_of_another_criterion_is_not_what_evaluations_go_by(results: Results) -> None:
    later = NOON + dt.timedelta(days=1)
    results.record_verdicts("r1", [verdict("q1"), verdict("q2", "invalid", criterion=None)], NOON)
    asked = [verdict(name, "unknown", criterion="schiff_ozcep") for name in ("q1", "q2", "q3")]
    results.record_verdicts("r2", asked, later)
    assert [(v.query, v.verdict) for v in results.latest_verdicts()] == [("q1", "bounded"), ("q2", "invalid")]
    assert [v.verdict for s in results.latest_summary() if (v := s.verdict)] == ["bounded", "invalid"]
    assert [v.run_id for v in results.latest_verdicts("schiff_ozcep")] == ["r2"] * 3
    assert [v.criterion for v in results.verdicts_of("q1")] == ["schiff_ozcep", "exact"]
    assert [v.run_id for v in results.verdicts_of("q1", criterion="exact")] == ["r1"]


def test_evaluations_go_by_the_criterion_of_the_compiler() -> None:
    for function in (compile_query, check):
        assert inspect.signature(function).parameters["criterion"].default == EVALUATED_BY


def test_a_querys_history_is_read_in_parts_the_newest_first(results: Results) -> None:
    for day in range(5):
        moment = NOON + dt.timedelta(days=day)
        results.record_verdicts(f"r{day}", [verdict("q1"), verdict("q2")], checked_at=moment)
        for query in ("q1", "q2"):
            results.record_answer(Answer(f"r{day}", query, 1, 2, day, evaluated_at=moment))
            results.record_cache_answer(CacheAnswer(f"r{day}", query, 5, "lru", "x", 1, evaluated_at=moment))
    assert [v.run_id for v in results.verdicts_of("q1", 2)] == ["r4", "r3"]
    assert [a.run_id for a in results.answers_of("q2", 2, 3)] == ["r1", "r0"]
    assert [c.query for c in results.cache_answers_of("q2", 1)] == ["q2"]
    recent = [(a.query, a.run_id) for a in results.recent_answers(2)]
    assert recent == [("q1", "r4"), ("q1", "r3"), ("q2", "r4"), ("q2", "r3")]
    assert results.verdicts_of("q3") == []


def test_runs_are_found_by_job_and_in_parts(results: Results) -> None:
    for number in range(4):
        moment = NOON + dt.timedelta(hours=number)
        job = "validate_queries" if number % 2 else "evaluate_history"
        results.record_run(Run(f"r{number}", job, "success", started_at=moment))
    assert [r.run_id for r in results.runs(2, 1)] == ["r2", "r1"]
    assert [r.run_id for r in results.runs(job="validate_queries")] == ["r3", "r1"]
    found = results.run("validate_queries", "r1")
    assert found is not None and found.started_at == NOON + dt.timedelta(hours=1)
    assert results.run("evaluate_history", "r1") is None


def test_the_newest_moments_change_with_each_kind_of_record(results: Results) -> None:
    assert results.newest_moments() == (None, None, None, None)
    results.record_verdicts("r", [verdict("q1")], checked_at=NOON)
    results.record_answer(Answer("r", "q1", 1, 2, 3, evaluated_at=NOON))
    results.record_cache_answer(CacheAnswer("r", "q1", 5, "lru", "x", 1, evaluated_at=NOON))
    results.record_quality(QualityOutcome("r", "s", True, 1, checked_at=NOON))
    assert results.newest_moments() == (NOON,) * 4
    later = NOON + dt.timedelta(seconds=1)
    results.record_answer(Answer("r", "q1", 1, 2, 4, evaluated_at=later))
    assert results.newest_moments() == (NOON, later, NOON, NOON)


def test_a_moment_in_another_zone_is_stored_as_utc(results: Results) -> None:
    results.record_verdicts(
        "r", [verdict("q")], checked_at=NOON.astimezone(dt.timezone(dt.timedelta(hours=9)))
    )
    (record,) = results.latest_verdicts()
    assert record.checked_at == NOON and record.checked_at.utcoffset() == dt.timedelta(0)


def test_the_end_of_a_run_keeps_what_its_start_said(results: Results) -> None:
    results.record_run(Run("r", "evaluate_history", "running", started_at=NOON, parameters={"at": NOON}))
    results.record_run(Run("r", "validate_queries", "running", started_at=NOON))
    ended = NOON + dt.timedelta(minutes=3)
    results.record_run(Run("r", "evaluate_history", "success", ended_at=ended, last_partition="2013-12-31"))
    first, second = results.runs()
    assert first == Run(
        "r", "evaluate_history", "success", NOON, ended, None, "2013-12-31", None, {"at": str(NOON)}
    )
    assert second.job == "validate_queries" and second.parameters is None


def test_partitions_of_an_earlier_try_are_forgotten(results: Results) -> None:
    results.record_partition_metrics("r", "s", {"2013-01-01": {"rows": 1}, "2013-01-02": {"rows": 2}})
    results.record_partition_metrics("r", "t", {"2013-01-01": {"rows": 9}})
    results.record_partition_metrics("r", "s", {"2013-01-02": {"rows": 3}})
    assert [(m.partition, m.metrics) for m in results.partition_metrics("r", "s")] == [
        ("2013-01-02", {"rows": 3})
    ]
    assert len(results.partition_metrics("r", "t")) == 1


def test_figures_are_read_back(results: Results) -> None:
    results.record_figures([Figure("r", "scan ratio", 1.7, "x"), Figure("r", "memory", 2.5e9, "bytes")])
    assert [f.name for f in results.figures("r")] == ["memory", "scan ratio"]


def test_the_summary_joins_verdict_answer_and_quality(results: Results) -> None:
    results.record_verdicts("r", [verdict("q1"), verdict("q2", "unbounded", units=None)])
    results.record_answer(Answer("r", "q1", 3, 10, 2, streams=("s", "t"), missing_partitions=("p1",)))
    failed = [{"partition": "p1", "reasons": ["2 NULLs in A"]}]
    results.record_quality(QualityOutcome("r", "s", False, 4, failed=failed))
    results.record_quality(QualityOutcome("r", "other", False, 4))
    results.record_quality(QualityOutcome("r", "q1", True, 3, kind="answers"))
    first, second = results.latest_summary()
    assert [(q.subject, q.success) for q in first.quality] == [("s", False), ("q1", True)]
    assert first.quality[0].failed_partitions == ("p1",)
    assert first.answer is not None and first.answer.missing_partitions == ("p1",)
    assert second.answer is None and second.quality == ()


def record_everything(results: Results, job: str, day: int) -> None:
    moment = NOON + dt.timedelta(days=day)
    results.record_verdicts("r", [verdict("q", units=day)], moment, job)
    results.record_answer(Answer("r", "q", 1, 2, day, evaluated_at=moment, job=job))
    results.record_cache_answer(CacheAnswer("r", "q", day, "lru", "x", 1, evaluated_at=moment, job=job))
    results.record_quality(QualityOutcome("r", "s", True, day, checked_at=moment, job=job))
    results.record_partition_metrics("r", "s", {f"part {day}": {"rows": day}}, job)
    results.record_figures([Figure("r", "ratio", day, job=job)])
    cell = CacheBenchmark("r", "q", 5, "lru", "2026-11-27", "lru", day, 9, 9, job=job)
    results.record_cache_benchmarks("r", [cell], job)
    estimate = CacheEstimate("r", "q", 5, "2026-11-27", "lru", day, 9, job=job)
    results.record_cache_estimates("r", [estimate], job)


def everything(results: Results, job: str) -> list[object]:
    (metrics,) = results.partition_metrics("r", "s", job)
    (answer,), (cached,) = results.answers("r", job), results.cache_answers("r", job)
    (outcome,), (figure,) = results.quality("r", job), results.figures("r", job)
    (cell,), (estimate,) = results.cache_benchmarks("r", job), results.cache_estimates("r", job)
    (found,) = results.verdicts("r", job)
    recorded = [found, answer, cached, outcome, metrics, figure, cell, estimate]
    assert {one.job for one in recorded} == {job}  # type: ignore[attr-defined]
    numbers = [found.units, answer.answer_rows, cached.size, outcome.evaluated, metrics.metrics["rows"]]
    return [*numbers, figure.value, cell.kept, estimate.results]


def test_runs_of_two_dags_with_one_id_are_told_apart(results: Results) -> None:
    record_everything(results, "mine", 1)
    record_everything(results, "yours", 2)
    assert everything(results, "mine") == [1] * 8 and everything(results, "yours") == [2] * 8
    record_everything(results, "mine", 3)
    assert everything(results, "mine") == [3] * 8 and everything(results, "yours") == [2] * 8
    assert [(v.job, v.run_id) for v in results.latest_verdicts()] == [("mine", "r")]
    assert [v.job for v in results.verdicts_of("q")] == ["mine", "yours"]
    assert [v.job for v in results.earlier_verdicts("r", "mine")] == ["yours"]
    assert [a.job for a in results.earlier_answers("r", "mine")] == ["yours"]
    assert results.earlier_answers("r", "yours") == []


def test_an_empty_database_reads_as_empty(results: Results) -> None:
    assert results.latest_summary() == [] and results.runs() == []


def write_many(url: str, worker: int) -> None:
    results = Results(url)
    for step in range(15):
        results.record_verdicts(f"run {worker}", [verdict(f"q{step}"), verdict("shared")])
        results.record_figures([Figure("all", f"{worker}.{step}", step)])


def test_processes_that_open_a_new_file_at_once_all_write(url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=write_many, args=(url, number)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    assert len(Results(url).figures("all")) == 60


def test_threads_share_one_results(results: Results) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: results.record_figures([Figure("r", str(n), n)]), range(40)))
    assert len(results.figures("r")) == 40


def test_a_failed_write_leaves_nothing(results: Results) -> None:
    with pytest.raises(StorageError, match="NOT NULL"):
        results.record_figures([Figure("r", "good", 1), Figure("r", "bad", None)])  # type: ignore[arg-type]
    assert results.figures("r") == []


def test_how_complete_an_answer_is_is_read_back(results: Results) -> None:
    answer = CacheAnswer("r", "q1", 500, "lru", "why", 7, estimated_results=9.5, estimated_share=0.75)
    results.record_cache_answer(answer)
    assert results.latest_cache_answers() == results.cache_answers("r") == [answer]


def test_the_benchmarks_of_a_run_replace_those_of_an_earlier_try(results: Results) -> None:
    one = CacheBenchmark("r", "q", 5, "heeb, alpha 4 k", "2013-01-31", "heeb", 7, 9, 8, 4.0, 7 / 9, True, "w")
    results.record_cache_benchmarks("r", [one, replace(one, size=6), replace(one, contender="lru")])
    results.record_cache_benchmarks("r", [one])
    assert results.cache_benchmarks("r") == [one]


def test_foreign_tables_of_our_names_are_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as raw:
        raw.execute("CREATE TABLE runs (something TEXT)")
    with pytest.raises(StorageError, match="no schema version"):
        Results(f"sqlite:///{tmp_path}/other.db").runs()


def test_a_file_that_is_not_a_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to have a header" * 100)
    with pytest.raises(StorageError, match="not a database") as caught:
        Results(f"sqlite:///{path}").latest_verdicts()
    assert str(path) in str(caught.value) and caught.value.fix is not None


def test_a_corrupt_file_is_named(results: Results, url: str) -> None:
    results.record_verdicts("r", [verdict(f"q{n}") for n in range(200)])
    path = Path(str(results.url.database))
    body = bytearray(path.read_bytes())
    body[4096:] = b"\xff" * (len(body) - 4096)
    path.write_bytes(bytes(body))
    with pytest.raises(StorageError):
        Results(url).latest_verdicts()


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="unable to open"):
        Results(f"sqlite:///{tmp_path}").latest_verdicts()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be created"):
        Results(f"sqlite:///{tmp_path}/file/results.db").latest_verdicts()


def test_a_read_only_database_is_named(results: Results) -> None:
    results.record_figures([Figure("r", "x", 1)])
    path = Path(str(results.url.database))
    # Root may write a file without write bits: the connection itself is read-only.
    read_only = create_engine(f"sqlite:///file:{path}?mode=ro&uri=true")
    with (
        pytest.raises(StorageError, match="readonly") as caught,
        connection_module.transaction(read_only, writing=True) as connection,
    ):
        connection.exec_driver_sql("DELETE FROM figures")
    assert caught.value.fix == "make the file and its folder writable"


def test_postgresql_holds_integers_of_any_size() -> None:
    dialect = postgresql.dialect()
    made = "".join(str(CreateTable(table).compile(dialect=dialect)) for table in METADATA.sorted_tables)
    assert "units NUMERIC" in made and "checked_at TIMESTAMP WITH TIME ZONE" in made


def test_what_estimates_are_worth_is_read_back_and_an_earlier_try_forgotten(results: Results) -> None:
    one = CacheEstimate(
        "r", "q", 500, "2013-01-31", "prob", 5, 100, 90.0, 5.0, 0.05, 1 / 18, compared_at=NOON
    )
    unknown = replace(one, size=100, estimated=None, estimated_share=None, holds=True)
    results.record_cache_estimates("r", [replace(one, query="gone")])
    results.record_cache_estimates("r", [one, unknown])
    results.record_cache_estimates("s", [replace(one, run_id="s", holds=False)])
    assert results.cache_estimates("r") == [unknown, one]
    assert [found.holds for found in results.cache_estimates("s")] == [False]
