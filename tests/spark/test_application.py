"""The application as spark-submit runs it: arguments, the summary it leaves, and its exit codes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from spark_apps import evaluate_history as application

from streambound.sources.abstract import Shape, generate

CATALOG = """
streams:
  S: {columns: {A: int, B: int, C: int}, history: {path: abstract_s, partition_by: part}}
  T: {columns: {D: int, E: int}, history: {path: abstract_t, partition_by: part}}
"""
QUERIES = {
    "q3": "SELECT S.A FROM S, T WHERE S.A = T.D AND S.A > 10 AND T.D < 20",
    "q2": "SELECT S.A FROM S, T WHERE S.A = T.D",
    "typo": "SELECT S.X FROM S",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_process: None) -> Path:
    """A registry and histories of their own; no Spark."""
    registry = tmp_path / "registry"
    (registry / "queries").mkdir(parents=True)
    (registry / "streams.yml").write_text(CATALOG)
    for name, sql in QUERIES.items():
        (registry / "queries" / f"{name}.sql").write_text(sql)
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(registry))
    monkeypatch.setattr("streambound.spark.application.session", lambda name: nullcontext())
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
