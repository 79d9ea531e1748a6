"""The application as spark-submit runs it: arguments, the summary it leaves, and its exit codes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_apps import evaluate_history as application

from streambound.approximate.nightly.night import Night, OfSize, write
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.checkpoint.fingerprint import fingerprint
from streambound.demo.abstract import Shape, generate
from streambound.history.inspection.recent_past import plan_for
from streambound.history.local import LocalExecutor
from streambound.query.catalog import load_catalog

CATALOG = """
streams:
  U: {timestamp: at, columns: {at: int, A: int}, history: {path: U, partition_by: part}}
  W: {timestamp: at, columns: {at: int, A: int}, history: {path: W, partition_by: part}}
  S: {columns: {A: int, B: int, C: int}, history: {path: abstract_s, partition_by: part}}
  T: {columns: {D: int, E: int}, history: {path: abstract_t, partition_by: part}}
"""
QUERIES = {
    "q3": "SELECT S.A FROM S, T WHERE S.A = T.D AND S.A > 10 AND T.D < 20",
    "q2": "SELECT S.A FROM S, T WHERE S.A = T.D",
    "typo": "SELECT S.X FROM S",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry and histories of their own; no Spark."""
    registry = tmp_path / "registry"
    (registry / "queries").mkdir(parents=True)
    (registry / "streams.yml").write_text(CATALOG)
    for name, sql in QUERIES.items():
        (registry / "queries" / f"{name}.sql").write_text(sql)
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(registry))
    monkeypatch.setattr(
        "streambound.spark.applications.application.spark_executor",
        lambda name: nullcontext(LocalExecutor(1)),
    )
    generate(tmp_path / "streams", Shape(rows=400, partitions=2))
    return tmp_path


def summary(home: Path) -> dict[str, Any]:
    body = json.loads((home / "summary.json").read_text())
    return {"run_id": body["run_id"]} | {answer["query"]: answer for answer in body["answers"]}


def run(home: Path, *arguments: str) -> int:
    return application.main(["--summary", str(home / "summary.json"), "--run-id", "r1", *arguments])


def test_chosen_queries(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(home, "--queries", "q2,q3") == 0
    found = summary(home)
    assert set(found) == {"run_id", "q2", "q3"} and found["run_id"] == "r1"
    assert found["q2"]["verdict"] == "unbounded" and found["q2"]["digest"] is None
    assert found["q3"]["rows_read"] == 800 and len(found["q3"]["partitions"]) == 2
    assert "4 of 4 partitions read" in capsys.readouterr().out


def test_two_drivers_evaluate_all_queries_between_them(home: Path) -> None:
    run(home)
    whole, parts = summary(home), dict[str, Any]()
    for shard in ("1/2", "2/2"):
        run(home, "--shard", shard)
        mine = summary(home)
        assert len(mine) in (2, 3) and not mine.keys() & parts.keys() - {"run_id"}
        parts |= mine
    assert parts.keys() == whole.keys() and parts["q3"]["digest"] == whole["q3"]["digest"]


def test_an_invalid_query_fails_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(home) == 2
    assert summary(home)["typo"]["error"] and summary(home)["q3"]["digest"]
    told = capsys.readouterr().err
    assert told.startswith("evaluate_history: typo: line 1, column 8") and "Traceback" not in told


def test_partitions_are_kept_out_and_named(home: Path) -> None:
    (home / "exclude.json").write_text('{"S": {"00001": "late"}}')
    assert run(home, "--queries", "q3", "--exclude", str(home / "exclude.json")) == 0
    missing = [{"stream": "S", "partition": "00001", "reason": "late"}]
    assert summary(home)["q3"]["missing_partitions"] == missing


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--queries", "nothing"], "no query is registered as nothing"),
        (["--from", "2", "--to", "1"], "the range ends at 1 but starts at 2"),
        (["--exclude", "absent.json"], "absent.json: cannot be read"),
        (["--shard", "3/2"], "'3/2' is no shard"),
    ],
)
def test_bad_arguments(
    home: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(home, *arguments) == 2
    assert told in capsys.readouterr().err


def test_an_exclusion_of_another_shape(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "exclude.json").write_text('{"S": ["00001"]}')
    assert run(home, "--exclude", str(home / "exclude.json")) == 2
    assert "not a mapping of streams to partitions" in capsys.readouterr().err


JOIN = "SELECT U.A FROM U, W WHERE U.A = W.A AND U.at < W.at"


@pytest.fixture
def moments(home: Path) -> Path:
    """Two streams with ten values that come again and again."""
    for number, stream in enumerate("UW"):
        for part in range(2):
            at = [40 * part + 2 * step + number for step in range(20)]
            folder = home / "streams" / stream / f"part={part}"
            folder.mkdir(parents=True)
            table = pa.table({"at": at, "A": [moment // 2 * 3 % 10 for moment in at]})
            pq.write_table(table, folder / "part-00000.parquet")
    return home


def register(home: Path, name: str, sql: str) -> None:
    (home / "registry" / "queries" / f"{name}.sql").write_text(sql)


def test_an_unbounded_equijoin_runs_in_the_memory_that_its_file_asks_for(moments: Path) -> None:
    register(moments, "cached", f"-- owner: tests\n-- Cache size: 4\n{JOIN}")
    register(moments, "plain", JOIN)
    register(moments, "filtered", "-- cache size: 4\nSELECT A FROM U")
    assert run(moments, "--queries", "cached,plain,filtered") == 0
    found = summary(moments)
    assert found["plain"]["digest"] is None and found["plain"]["memory"] is None
    memory = found["cached"]["memory"]
    assert (memory["size"], memory["policy"]) == (4, "lru") and 0 < memory["estimated_share"] < 1
    assert found["cached"]["digest"] and "no benchmark" in memory["why"]
    # A bounded query needs none: it is evaluated exactly.
    assert found["filtered"]["verdict"] == "bounded" and found["filtered"]["memory"] is None


def test_checkpoints_of_a_memory_move_on_without_publishing(moments: Path) -> None:
    register(moments, "cached", f"-- cache size: 4\n{JOIN}")
    assert run(moments, "--queries", "cached", "--checkpoints-only") == 0
    assert summary(moments)["cached"]["read_partitions"] == ["0", "1"]
    assert run(moments, "--queries", "cached") == 0
    found = summary(moments)["cached"]
    assert found["read_partitions"] == [] and found["memory"]["results"] > 0
    assert run(moments, "--queries", "cached", "--recompute") == 0
    again = summary(moments)["cached"]
    assert len(again["read_partitions"]) == 2
    assert (again["memory"], again["digest"]) == (found["memory"], found["digest"])


def test_the_choice_of_the_last_benchmark_is_used(moments: Path) -> None:
    register(moments, "cached", f"-- cache size: 4\n{JOIN}")
    catalog = load_catalog(moments / "registry" / "streams.yml")
    plan = plan_for("cached", JOIN, catalog, 4)
    chosen = OfSize(4, 28, 9, (), SelectedPolicy("fifo", why="it won"), 9)
    key = fingerprint(plan.query, plan.streams, {})
    write(moments / "caches", Night("cached", JOIN, key, ("0", "1"), 1, 40, 9, (chosen,), ()))
    assert run(moments, "--queries", "cached") == 0
    memory = summary(moments)["cached"]["memory"]
    assert (memory["policy"], memory["why"]) == ("fifo", "it won")
    (moments / "caches" / "cached.json").write_text("{")
    assert run(moments, "--queries", "cached,q3") == 2
    assert "no benchmark of caches can be read" in summary(moments)["cached"]["error"]
    assert summary(moments)["q3"]["digest"]


@pytest.mark.parametrize("size", ["many", "0", "-5", "1.5", "5 tuples", "\u0664"])
def test_a_memory_that_is_no_number_of_tuples_fails_that_query_alone(moments: Path, size: str) -> None:
    register(moments, "cached", f"-- cache size: {size}\n{JOIN}")
    assert run(moments, "--queries", "cached,q3") == 2
    error = summary(moments)["cached"]["error"]
    assert f"cache size is {size!r}" in error and "-- cache size: 500" in error
    assert summary(moments)["q3"]["digest"]


def test_a_memory_that_is_given_twice_is_refused(moments: Path) -> None:
    register(moments, "cached", f"-- cache size: 5\n-- cache size: 6\n{JOIN}")
    assert run(moments, "--queries", "cached") == 2
    assert "given 2 times: 5, 6" in summary(moments)["cached"]["error"]


def test_a_memory_does_not_help_what_is_no_equijoin(moments: Path) -> None:
    register(moments, "cached", "-- cache size: 5\nSELECT U.A FROM U, W WHERE U.A < W.A")
    assert run(moments, "--queries", "cached") == 2
    assert "no equality links columns" in summary(moments)["cached"]["error"]
