"""``streambound run --corpus FILE --engine reference --mode``: signed changes, initial rows, and finals."""

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


def test_other_engines_do_not_tell_finals(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--corpus", str(corpus), "--engine", "onepass", "--mode", "final"]) == 2
    assert "--engine reference" in capsys.readouterr().err
