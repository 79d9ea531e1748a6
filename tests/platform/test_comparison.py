"""What two runs recorded is compared: run ids and times are their own, all else must agree."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.comparison import compared
from streambound.results import Answer, CacheAnswer, QualityOutcome, Results

ANSWER = Answer("r", "few", 3, 60, 4, 10**20, ("S 2026-01-02",), ("S",), 7, 9, 1.5, "ab" * 32)
MEMORY = CacheAnswer("r", "few", 5, "lru", "why", 7, None, 9.5, 0.5, 0.75)
QUALITY = QualityOutcome("r", "S", False, 4, "stream", [{"partition": "2026-01-02", "reasons": ["late"]}])


def recorded(
    folder: Path,
    run: str = "r",
    answer: Answer = ANSWER,
    memory: CacheAnswer = MEMORY,
    quality: QualityOutcome = QUALITY,
    verdict: str = "bounded",
) -> Results:
    results = Results(f"sqlite:///{folder}/{run}.db")
    moment = dt.datetime.now(dt.UTC)
    results.record_verdicts(run, [{"query": "few", "verdict": verdict, "sql": "SELECT"}], moment)
    results.record_answer(replace(answer, run_id=run, seconds=float(len(run)), evaluated_at=moment))
    results.record_cache_answer(replace(memory, run_id=run, why=run))
    results.record_quality(replace(quality, run_id=run, docs=run))
    return results


def test_runs_that_differ_in_names_and_times_agree(tmp_path: Path) -> None:
    found = compared(recorded(tmp_path, "one"), recorded(tmp_path, "another"))
    assert found.differences == ()
    assert [line.split() for line in found.table.splitlines()[2:]] == [
        ["few", "bounded", "4", ANSWER.digest[:16] if ANSWER.digest else "", "yes"]
    ]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"answer": replace(ANSWER, digest="cd" * 32)}, "few, answer: digest 'abab"),
        ({"answer": replace(ANSWER, answer_count=10**20 + 1)}, "few, answer: answer_count 1000"),
        ({"answer": replace(ANSWER, missing_partitions=())}, "few, answer: missing_partitions"),
        ({"memory": replace(MEMORY, results=8)}, "few, memory: results 7 and 8"),
        ({"quality": replace(QUALITY, success=True)}, "stream S, quality: success False and True"),
        ({"verdict": "unbounded"}, "few, verdict: verdict 'bounded' and 'unbounded'"),
        ({"quality": replace(QUALITY, subject="T")}, "stream S, quality: only in the first"),
    ],
)
def test_what_differs_is_named(tmp_path: Path, changed: dict[str, object], told: str) -> None:
    found = compared(recorded(tmp_path, "one"), recorded(tmp_path, "another", **changed))  # type: ignore[arg-type]
    assert found.differences[0].startswith(told)
    marked = found.table.splitlines()[2].split()[-1]
    assert marked == ("yes" if told.startswith("stream") else "no")


def test_what_only_one_has_is_named(tmp_path: Path) -> None:
    empty = Results(f"sqlite:///{tmp_path}/empty.db")
    assert len(compared(recorded(tmp_path), empty).differences) == 4
    assert compared(empty, recorded(tmp_path)).differences[0].endswith("only in the second")
