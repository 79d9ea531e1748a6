"""``streambound run --mode``: signed changes and initial rows, or each row once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streambound.cli import main

STREAM = {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"}
EVENTS = [{"stream": "S", "ts": ts, "A": a} for ts, a in ((1, 5), (2, 6), (4, 7))]
COUNT = "SELECT COUNT(*) FROM S"
WINDOWS = "SELECT window(ts, 3).end, COUNT(*) FROM S GROUP BY (window(ts, 3))"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    lines = [
        {"id": name, "streams": {"S": STREAM}, "sql": sql, "events": EVENTS}
        for name, sql in (("count", COUNT), ("windows", WINDOWS))
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_changes_are_signed_and_begin_with_the_initial_rows(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--corpus", str(corpus), "--engine", "reference"]) == 0
    count, windows = told(capsys)
    assert count["initial"] == [{"row": [0], "count": 1}]
    assert [(a["ts"], a["row"][0], a["count"]) for a in count["answers"][:4]] == [
        *((1, 0, -1), (1, 1, 1)),
        *((2, 1, -1), (2, 2, 1)),
    ]
    assert "initial" not in windows


def test_finals_are_told_once(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--corpus", str(corpus), "--engine", "reference", "--mode", "final"]) == 0
    count, windows = told(capsys)
    assert count["answers"] == [] and "initial" not in count
    # At 2 all tuples before 3 are there; the window that ends at 6 is still open.
    assert windows["answers"] == [{"ts": 2, "row": [3, 2], "count": 1}]


@pytest.mark.parametrize("engine", ["onepass", "local"])
def test_engines_tell_the_same_rows_and_refuse_what_is_never_final(
    engine: str, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--corpus", str(corpus), "--engine", engine, "--mode", "final"]) == 2
    count, windows = told(capsys)
    assert "never final" in count["error"] and "--mode changes" in count["error"]
    assert windows["answers"] == [{"ts": 2, "row": [3, 2], "count": 1}]
    # Of a window its times, a count and the time that was seen.
    assert windows["peak_units"] <= 4


def test_a_text_says_its_mode_and_an_option_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "corpus.jsonl"
    line = {"id": "q", "streams": {"S": STREAM}, "sql": f"-- mode: final\n{WINDOWS}", "events": EVENTS}
    path.write_text(json.dumps(line))
    for options, number in (([], 1), (["--mode", "final"], 1), (["--mode", "changes"], 4)):
        assert main(["run", "--corpus", str(path), "--engine", "onepass", *options]) == 0
        assert len(told(capsys)[0]["answers"]) == number
    path.write_text(json.dumps({**line, "sql": f"-- mode: once\n{COUNT}"}))
    assert main(["run", "--corpus", str(path), "--engine", "onepass"]) == 2
    assert "accepted: changes, final" in told(capsys)[0]["error"]
