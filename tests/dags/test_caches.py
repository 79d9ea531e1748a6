"""Around the benchmark of caches: which queries take part, what is recorded, what fails; and one real night.

Groups: the form; what is recorded; the DAG run on real Spark, and the evaluation that uses its choice.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.approximate.nights import USUAL
from tests.approximate.nights import night as made_night

from streambound import settings
from streambound.approximate.nightly.accuracy import Accuracy
from streambound.approximate.nightly.benchmark import Fit
from streambound.approximate.nightly.night import write
from streambound.approximate.policies import POLICIES
from streambound.errors import DataError, PlanError, QueryError, StreamboundError
from streambound.results import Results
from streambound_airflow import caches, recording, selection

pytestmark = pytest.mark.airflow

ROTATION = (
    "SELECT a.dest, d.origin FROM arrivals a JOIN departures d ON a.tailnum = d.tailnum"
    " WHERE a.arrived_at < d.departed_at"
)
FORM: dict[str, Any] = {
    "queries": [],
    "streams": [],
    "sizes": [5, 20],
    "policies": [],
    "days": 6,
    "held_out": 2,
    "runs": 1,
    "to": None,
}


@pytest.fixture
def store(working_folder: Path) -> Results:
    return Results(f"sqlite:///{working_folder}/results.db")


@pytest.fixture
def rotation(registry: Path) -> Path:
    """The registry with an unbounded equijoin, which has a memory."""
    (registry / "queries" / "rotation.sql").write_text(f"-- cache size: 20\n{ROTATION}")
    return registry


def test_unbounded_equijoins_take_part_and_the_others_are_named(
    rotation: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        assert caches.choose(FORM) == ["rotation"]
    assert "left out: bounded: it is bounded and needs no cache" in caplog.text
    assert "left out: typo: line 1" in caplog.text
    assert "left out: windy: " in caplog.text and "finitely many values" in caplog.text
    assert caches.choose({**FORM, "streams": ["arrivals"]}) == ["rotation"]
    assert caches.choose({**FORM, "streams": ["weather"]}) == []


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ({"held_out": 6}, DataError, "6 of 6 days are to be held out"),
        ({"days": 1, "held_out": 3}, DataError, "3 of 1 days"),
        ({"runs": 0}, DataError, "runs is 0"),
        ({"sizes": []}, DataError, "sizes are"),
        ({"policies": ["best"]}, DataError, "'best' is unknown"),
        ({"streams": ["ships"]}, DataError, "stream ships is not in the catalog"),
        ({"to": "soon"}, DataError, "to is 'soon'"),
        ({"queries": ["nope"]}, QueryError, "no query is registered as nope"),
        ({"queries": ["bounded"]}, PlanError, "bounded and needs no cache"),
        ({"queries": ["typo"]}, QueryError, "orgin"),
        ({"queries": ["rotation"], "streams": ["weather"]}, PlanError, "it reads arrivals and departures"),
    ],
)
def test_impossible_combinations_are_refused_at_once(
    rotation: Path, given: dict[str, Any], kind: type[StreamboundError], told: str
) -> None:
    with pytest.raises(kind, match=told):
        caches.choose({**FORM, **given})


def test_the_arguments_say_what_the_form_says() -> None:
    folder = selection.run_folder("benchmark_caches", "r")
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text("of an earlier try")
    found = caches.spark_arguments("r", ["q", "w"], {**FORM, "to": "2013-01-31"})
    assert found[:6] == [
        "--queries=q,w",
        "--sizes=5,20",
        f"--policies={','.join(POLICIES)}",
        "--days=6",
        "--held-out=2",
        "--runs=1",
    ]
    assert "--to=2013-01-31" in found and not (folder / "summary.json").exists()


def judged(policy: str, kept: int, alpha: float | None = None) -> dict[str, Any]:
    return {"policy": policy, "alpha": alpha, "size": 5, "kept": kept, "mean": kept / 2, "half": 0.0}


def night(query: str, **changed: Any) -> dict[str, Any]:
    size = {
        "size": 5,
        "optimum": 8,
        "kept": 7,
        "chosen": {"policy": "heeb", "alpha": 4.0},
        "judged": [judged("lru", 5), judged("heeb", 6, 1.0), judged("heeb", 7, 4.0)],
        "choice": {"policy": "heeb", "alpha": 20.0, "why": "it won"},
        "why": "it won; no policy keeps more",
        "estimate": Accuracy(6, 9, 8.0, 0.5).to_json(),
    }
    body = {"query": query, "days": ["2013-01-01", "2013-01-02"], "possible": 10, "drifted": False}
    return {**body, "sizes": [{**size, **changed}], "drifts": [Fit("S", "trend", -3.0, -4.0).to_json()]}


def summarised(run_id: str, nights: list[dict[str, Any]], *failed: str) -> None:
    folder = selection.run_folder("benchmark_caches", run_id)
    folder.mkdir(parents=True)
    body = {"nights": nights, "failed": [{"query": name, "error": "corrupt"} for name in failed]}
    (folder / "summary.json").write_text(json.dumps(body))


def test_every_contender_is_recorded_and_which_is_chosen_and_why(
    store: Results, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    stood = {"policy": "heeb", "alpha": 5.0, "why": "it stands"}
    summarised("r", [night("q"), night("w", chosen=None, choice=stood, kept=6)], "bad")
    found = caches.record(store, "r", ["q", "w", "bad", "lost"])
    assert found["choices"] == {"q": {"5": "heeb"}, "w": {"5": "heeb"}}
    assert found["failures"] == {"bad": "corrupt", "lost": "the Spark application does not mention it"}
    records = {(one.query, one.contender): one for one in store.cache_benchmarks("r", "benchmark_caches")}
    assert {key for key, one in records.items() if one.chosen} == {
        ("q", "heeb, alpha 4 k"),
        ("w", "earlier heeb, alpha 1 k"),
    }
    chosen, other = records["q", "heeb, alpha 4 k"], records["q", "lru"]
    assert (chosen.kept, chosen.possible, chosen.optimum, chosen.share) == (7, 10, 8, 0.7)
    assert (chosen.why, other.why) == ("it won; no policy keeps more", None)
    assert chosen.night == "2013-01-02"
    assert [(one.query, one.size, one.policy) for one in store.cache_estimates("r", "benchmark_caches")] == [
        ("q", 5, "heeb"),
        ("w", 5, "heeb"),
    ]
    estimate = store.cache_estimates("r", "benchmark_caches")[0]
    assert (estimate.results, estimate.exact, estimate.estimated, estimate.standard_error) == (6, 9, 8.0, 0.5)
    assert (estimate.share, estimate.estimated_share, estimate.holds) == (6 / 9, 0.75, True)
    assert "q, k = 5: heeb keeps 70.0% (optimum 80.0%): it won; no policy keeps more" in caplog.text
    assert "q, k = 5: over the held-out days alone a pass found 6 of 9 results" in caplog.text
    assert "q: its streams have drifted, and models are learned anew: S: a tuple's mean log" in caplog.text
    assert caches.check(store, "r", {"sizes": [5], "policies": ["lru", "heeb"]}) == {}
    broken = caches.check(store, "r", {"sizes": [5], "policies": ["lru", "life"]})
    assert broken["q"] == "q, k = 5: 1 policies were not tried"
    told = "^failed: bad, lost; made, but broke a promise: q, w; the choices of the others are made"
    with pytest.raises(DataError, match=told):
        caches.conclude(store, "r", found, broken)
    assert store.runs()[0].state == "failed"
    with pytest.raises(DataError, match=r"^made, but broke a promise: q, w; the choices of the others"):
        caches.conclude(store, "r", {"failures": {}}, broken)
    with pytest.raises(DataError, match=r"^failed: bad, lost; the choices of the others are made"):
        caches.conclude(store, "r", found, {})


def test_a_run_that_benchmarked_nothing_or_ended_early_fails(store: Results) -> None:
    with pytest.raises(DataError, match="left no summary"):
        caches.record(store, "r", ["q"])
    summarised("r", [], "q")
    with pytest.raises(DataError, match="no query was benchmarked: corrupt"):
        caches.record(store, "r", ["q"])
    with pytest.raises(DataError, match="choices that were not replaced stand"):
        caches.conclude(store, "r", None, None)
    assert store.runs()[0].state == "failed"
    caches.conclude(store, "r", {"failures": {}}, {})
    assert store.runs()[0].state == "success"


def test_an_unbounded_query_with_a_memory_is_evaluated(store: Results, rotation: Path) -> None:
    for name in ("unbounded", "rotation"):
        sql = (rotation / "queries" / f"{name}.sql").read_text()
        store.record_verdicts("v", [{"query": name, "verdict": "unbounded", "sql": sql, "reasons": []}])
    assert selection.select(store, None) == {"rotation": ["arrivals", "departures"]}


def test_the_share_of_an_answer_is_recorded(store: Results, working_folder: Path, rotation: Path) -> None:
    memory = {
        "size": 20,
        "policy": "prob",
        "alpha": None,
        "why": "it won",
        "results": 30,
        "estimated_results": 40.0,
        "standard_error": 2.5,
        "estimated_missed": 10.0,
        "estimated_share": 0.75,
        "sampled": 9,
    }
    body = {"query": "rotation", "sql": ROTATION, "verdict": "unbounded", "units": 140, "peak_units": 140}
    body |= {"rows": 90, "rows_read": 90, "answer_rows": 3, "answer_count": "30", "digest": "ab"}
    body |= {"partitions": ["1"], "missing_partitions": [], "seconds": 1.0, "error": None, "memory": memory}
    folder = selection.run_folder("evaluate_history", "r")
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({"answers": [body]}))
    (working_folder / "answers" / "rotation").mkdir(parents=True)
    chosen = {"reads": {"rotation": ["arrivals", "departures"]}, "excluded": {}, "dropped": {}}
    assert recording.record(store, "r", chosen)["failures"] == {}
    (kept,) = store.latest_cache_answers()
    assert (kept.query, kept.size, kept.policy, kept.results) == ("rotation", 20, "prob", 30)
    assert (kept.estimated_share, kept.standard_error, kept.why) == (0.75, 2.5, "it won")


def test_the_page_says_which_policies_keep_more_than_the_chosen_one(rotation: Path) -> None:
    from streambound_airflow.pages import limited

    write(settings.caches_root(), made_night(*USUAL, query="rotation"))
    found = limited.choices("rotation").choices
    assert [one.why for one in found] == [one.why for one in USUAL]
    assert "more results than the 850 of the chosen one were kept by lru 900" in found[2].why


STREAMS = """streams:
  U: {timestamp: at, columns: {at: timestamp, A: int}, history: {path: U, partition_by: date}}
  W: {timestamp: at, columns: {at: timestamp, A: int}, history: {path: W, partition_by: date}}
"""
JOIN = "-- cache size: 5\nSELECT U.A FROM U, W WHERE U.A = W.A AND U.at < W.at"
FEW = "SELECT DISTINCT A FROM U WHERE A BETWEEN 1 AND 3"
DAYS = [f"2026-03-{day:02}" for day in range(1, 8)]


@pytest.fixture
def keys_that_come_again(working_folder: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A week of two streams in which a few of sixty keys are frequent, and two queries over them."""
    registry = working_folder / "registry"
    (registry / "queries").mkdir(parents=True)
    (registry / "streams.yml").write_text(STREAMS)
    (registry / "queries" / "again.sql").write_text(JOIN)
    (registry / "queries" / "few.sql").write_text(FEW)
    monkeypatch.setenv("STREAMBOUND_SHARDS", "2")
    chance = np.random.default_rng(0)
    for day in DAYS:
        for number, stream in enumerate("UW"):
            midnight = np.datetime64(day, "us")
            at = midnight + (2 * np.arange(150) + number) * np.timedelta64(60_000_000, "us")
            keys = np.minimum(chance.zipf(1.5, 150), 60)
            folder = working_folder / "streams" / stream / f"date={day}"
            folder.mkdir(parents=True)
            times = pa.array(at).cast(pa.timestamp("us", tz="UTC"))
            pq.write_table(pa.table({"at": times, "A": keys}), folder / "part-00000.parquet")
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(registry))
    # The night parses the DAGs over this registry into its database, which is not the other tests'.
    shutil.copy(migrated, working_folder / "airflow.db")
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", f"sqlite:///{working_folder}/airflow.db")
    spark = {"conn_type": "spark", "host": "local[2]", "extra": {"deploy-mode": "client"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(spark))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    verdicts = [
        {"query": "again", "verdict": "unbounded", "sql": JOIN, "reasons": []},
        {"query": "few", "verdict": "bounded", "sql": FEW, "reasons": []},
    ]
    Results(f"sqlite:///{working_folder}/connected.db").record_verdicts("v", verdicts)
    return working_folder


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-6_000:]
    return done.stdout


NIGHT = {"sizes": [5, 10], "policies": ["lru", "prob"], "days": 7, "held_out": 3}
EVERYTHING = {"sizes": [5, 10, 100, 500], "policies": list(POLICIES), "days": 28, "held_out": 3}


def night_of(form: dict[str, Any], *submit: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A night of both DAGs by themselves: how each ended."""
    nights = str(Path(__file__).with_name("nights.py"))
    printed = run(nights, *submit, "benchmark_caches", json.dumps(form), "evaluate_history", "{}")
    benchmarked, evaluated = json.loads(printed.splitlines()[-1])
    assert (benchmarked["state"], evaluated["state"]) == ("success", "success"), printed[-6_000:]
    assert set(benchmarked["tasks"].values()) == {"success"}
    return benchmarked, evaluated


@pytest.mark.spark
@pytest.mark.parametrize(
    ("form", "submit"), [(NIGHT, []), pytest.param(EVERYTHING, ["--submit"], marks=pytest.mark.heavy)]
)
def test_the_evaluation_uses_what_the_night_before_chose(
    keys_that_come_again: Path, form: dict[str, Any], submit: list[str]
) -> None:
    benchmarked, evaluated = night_of(form, *submit)
    assert [path.name for path in sorted((keys_that_come_again / "caches").iterdir())] == [
        "again.json",
    ]
    store = Results(f"sqlite:///{keys_that_come_again}/connected.db")
    cells = store.cache_benchmarks(benchmarked["run_id"], "benchmark_caches")
    assert {(one.size, one.policy) for one in cells} == set(product(form["sizes"], form["policies"]))
    # Keys are as frequent as they always were: what is known of them beats what was seen last.
    (chosen,) = [one for one in cells if one.chosen and one.size == 5]
    assert chosen.policy == "prob" and chosen.why is not None and "keeps the most" in chosen.why
    (quality,) = store.quality(benchmarked["run_id"], "benchmark_caches")
    assert quality.success and Path(str(quality.docs)).is_file()
    seen = store.cache_estimates(benchmarked["run_id"], "benchmark_caches")
    assert [(one.size, one.holds) for one in seen] == [(size, True) for size in form["sizes"]]
    assert all(0 < one.results <= one.exact == one.estimated for one in seen)
    applications = selection.summary_paths("evaluate_history", evaluated["run_id"])
    assert [path.parent.name for path in applications] == ["shard-1", "shard-2"]
    exact = {one.query: one.answer_rows for one in store.answers(evaluated["run_id"], "evaluate_history")}
    assert exact.keys() == {"again", "few"} and exact["few"] == 3
    (answer,) = store.cache_answers(evaluated["run_id"], "evaluate_history")
    assert (answer.query, answer.size, answer.policy) == ("again", 5, "prob")
    assert chosen.why == f"{answer.why}; no policy keeps more"
    assert answer.estimated_share is not None and 0 < answer.estimated_share < 1
    assert store.runs()[0].state == store.runs()[1].state == "success"
