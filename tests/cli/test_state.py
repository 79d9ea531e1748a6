"""``streambound state``: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streambound import settings
from streambound.checkpoint import answer_files, fingerprint
from streambound.checkpoint.inspection import CHANGED_PLAN, DAMAGED
from streambound.cli import main
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.projects.registry import load_registry
from streambound.tasks import emit

CATALOG = """streams:
  S:
    columns: {A: int, B: int}
    history: {path: s, partition_by: date}
"""
DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "registry" / "queries").mkdir(parents=True)
    (tmp_path / "registry" / "streams.yml").write_text(CATALOG)
    (tmp_path / "registry" / "queries" / "few.sql").write_text(
        "SELECT DISTINCT A FROM S WHERE A BETWEEN 1 AND 3"
    )
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(tmp_path / "registry"))
    monkeypatch.delenv("STREAMBOUND_CHECKPOINTS", raising=False)
    monkeypatch.delenv("STREAMBOUND_STREAMS", raising=False)
    for number, day in enumerate(DAYS):
        arrive(tmp_path, day, [number + 1, 1])
    return tmp_path


def arrive(home: Path, day: str, values: list[int]) -> Path:
    file = home / "streams" / "s" / f"date={day}" / "part-00000.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(".draft")
    pq.write_table(pa.table({"A": values, "B": values}), draft)
    os.replace(draft, file)
    return file


def evaluate() -> list[str]:
    registry = load_registry(settings.registry())
    told: list[str] = []
    for answer in evaluate_history(
        LocalExecutor(1),
        registry.queries,
        registry.catalog,
        checkpoints=settings.checkpoints_of(None),
        progress=told.append,
    ):
        assert answer.error is None
    return told


def state(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["state", "few", *arguments])
    return code, capsys.readouterr().out


def lines(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]]]:
    code, out = state(capsys, "--format", "json")
    return code, [json.loads(line) for line in out.splitlines()]


def test_before_the_first_evaluation(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert state(capsys) == (0, "few: 0 checkpoints, 0 valid\n")


def test_boundaries_rows_units_and_digests(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate()
    code, found = lines(capsys)
    assert code == 0 and [one["partition"] for one in found] == list(DAYS)
    assert [one["rows"] for one in found] == [2, 4, 6]
    assert [one["units"] for one in found] == [1, 2, 3]
    assert [one["new_answers"] for one in found] == ["1", "1", "1"]
    assert [one["answer_count"] for one in found] == ["1", "2", "3"]
    assert all(one["valid"] and one["why"] is None and len(one["digest"]) == 64 for one in found)
    answer = json.loads((home / "answers" / "few" / "_answer.json").read_text())
    assert found[-1]["answer_digest"] == answer["digest"]
    code, text = state(capsys)
    assert code == 0
    assert text.splitlines()[0].split() == ["boundary", "rows", "units", "answers", "digest", "state"]
    assert text.splitlines()[-1] == "few: 3 checkpoints, 3 valid"


def test_what_is_not_valid_says_why(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate()
    arrive(home, DAYS[1], [3])
    code, found = lines(capsys)
    assert code == 1
    assert [one["why"] for one in found] == [
        None,
        "the files of S have changed",
        "an earlier partition has changed",
    ]
    evaluate()
    assert lines(capsys)[0] == 0
    query = home / "registry" / "queries" / "few.sql"
    query.write_text("SELECT DISTINCT A FROM S WHERE A BETWEEN 1 AND 2")
    code, found = lines(capsys)
    assert code == 1 and {one["why"] for one in found} == {CHANGED_PLAN}
    query.write_text("SELECT DISTINCT A -- as before\n  FROM S WHERE A BETWEEN 1 AND 3")
    assert lines(capsys)[0] == 0


def test_checkpoints_of_an_earlier_release_are_computed_again_in_so_many_words(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(fingerprint, "VERSION", fingerprint.VERSION - 1)
        evaluate()
    answer = (home / "answers" / "few" / "_answer.json").read_text()
    code, found = lines(capsys)
    assert code == 1 and {one["why"] for one in found} == {CHANGED_PLAN}
    told = f"few: {CHANGED_PLAN} since its checkpoints were made; all is computed again"
    assert evaluate()[0] == told
    assert lines(capsys)[0] == 0 and told not in evaluate()
    again = json.loads((home / "answers" / "few" / "_answer.json").read_text())
    assert again["digest"] == json.loads(answer)["digest"]


def test_answers_that_another_evaluation_has_written_do_not_count(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate()
    registry = load_registry(settings.registry())
    evaluate_history(LocalExecutor(1), registry.queries, registry.catalog)
    code, found = lines(capsys)
    assert code == 1 and {one["why"] for one in found} == {"its answers are not where they belong"}


def test_what_is_late_and_what_is_damaged_are_findings(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = home / "registry" / "streams.yml"
    catalog.write_text(CATALOG + "    allowed_lateness: 1 day\n")
    evaluate()
    arrive(home, DAYS[0], [2, 2, 2])
    evaluate()
    code, found = lines(capsys)
    (late,) = [one for one in found if one["kind"] == "late"]
    assert code == 1 and (late["stream"], late["partition"]) == ("S", DAYS[0])
    assert late["why"].startswith("changed 2 days late, more than the allowed 1 day: kept in ")
    assert all(one["valid"] for one in found if one["kind"] == "boundary")
    assert "late: S, partition 2026-01-01 changed 2 days late" in state(capsys)[1]
    next((home / "checkpoints" / "few" / "_delta_log").glob("*0.json")).write_text("{")
    code, found = lines(capsys)
    assert code == 1 and found[0]["kind"] == "damaged" and "log cannot be read" in found[0]["why"]


def test_a_damaged_answer_file_is_a_finding(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate()
    flip(home / "answers" / "few" / f"date={DAYS[1]}" / "part-00000.parquet")
    code, found = lines(capsys)
    assert code == 1 and [one["why"] for one in found] == [None, DAMAGED, "an earlier partition has changed"]
    assert f"few: the answer file of partition {DAYS[1]} is damaged" in "".join(evaluate())
    assert lines(capsys)[0] == 0


def test_verify_reads_also_what_nobody_seems_to_have_touched(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def untouched(path: Path | str) -> str:
        return "untouched" if os.path.exists(path) else ""

    monkeypatch.setattr(answer_files, "identity_of", untouched)
    monkeypatch.setattr(emit, "identity_of", untouched)
    evaluate()
    file = home / "answers" / "few" / f"date={DAYS[1]}" / "part-00000.parquet"
    written = file.read_bytes()
    assert state(capsys, "--verify")[0] == 0
    flip(file)
    assert state(capsys)[0] == 0, "a disk that lies is not asked every time"
    assert "nothing read" in evaluate()[-1] and file.read_bytes() != written
    code, out = state(capsys, "--verify")
    assert code == 1 and f"not valid: {DAMAGED}" in out
    evaluate()
    assert file.read_bytes() == written and state(capsys, "--verify")[0] == 0


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_an_unknown_query_is_invalid_input(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", "nope"]) == 2


def test_a_storage_that_refuses_is_an_outside_cause(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "STREAMBOUND_CHECKPOINTS": "s3://nobody/checkpoints",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_REGION": "eu-central-1",
        "AWS_MAX_RETRIES": "0",
    }.items():
        monkeypatch.setenv(name, value)
    assert main(["state", "few"]) == 3
    assert "s3://nobody/checkpoints/few: the checkpoints cannot be read" in capsys.readouterr().err
