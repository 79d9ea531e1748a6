"""Answers: duplicates under DISTINCT, counts, and state above its bound are named by query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streambound.quality import AnswerSet, QueryQuality, check_answer_sets
from streambound.results import Results


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    return tmp_path


def check(rows: Any, **changes: Any) -> QueryQuality:
    usual: dict[str, Any] = {"distinct": True, "units": 10, "peak_units": 10}
    return check_answer_sets([AnswerSet("q5", rows, **(usual | changes))], "r")[0]


def test_sound_answers_succeed() -> None:
    quality = check(pd.DataFrame({"a": [1, 2, None], "count": [1, 1, 1]}))
    assert quality.success and quality.rows == 3 and quality.evaluated == 4 and quality.docs.is_file()


def test_a_row_twice_under_distinct_fails_and_nulls_are_equal() -> None:
    rows = pd.DataFrame({"part": ["d1", "d2", "d3"], "a": [None, None, 3], "count": [1, 1, 1]})
    assert check(rows).success
    quality = check(rows, row_columns=["a"])
    assert quality.reasons == ("1 rows more than once",)
    assert check(rows, row_columns=["a"], distinct=False).success


@pytest.mark.parametrize(
    "counts", [[1, 0], [1, -3], [1, None], ["1", "0"], ["1", "-20000000000000000000000"]]
)
def test_a_count_that_is_not_positive_fails(counts: list[Any]) -> None:
    quality = check(pd.DataFrame({"a": [1, 2], "count": counts}).convert_dtypes(), distinct=False)
    assert quality.reasons == ("1 counts are not positive",)


def test_counts_beyond_64_bits_are_positive(home: Path) -> None:
    big = pa.table({"a": [1, 2], "count": ["1" + "0" * 60, "7"]})
    pq.write_table(big, home / "answers.parquet")
    assert check(home / "answers.parquet", distinct=False).success


@pytest.mark.parametrize(
    ("units", "peak", "success"), [(10, 11, False), (10, 10, True), (None, 11, True), (0, 0, True)]
)
def test_state_above_its_bound_fails(units: int | None, peak: int, success: bool) -> None:
    quality = check(pd.DataFrame({"a": [1], "count": [1]}), units=units, peak_units=peak)
    assert quality.success is success
    assert quality.reasons == (() if success else ("1 units above the bound",))


def test_a_folder_of_parquet_files_is_read_whole(home: Path) -> None:
    for day in (1, 2):
        folder = home / "answers" / "q5" / f"part={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"a": [7], "count": [1]}), folder / "part-0.parquet")
    quality = check(home / "answers" / "q5")
    assert quality.rows == 2 and quality.reasons == ("1 rows more than once",)


def test_no_answer_at_all_is_sound_and_a_missing_or_corrupt_file_is_not(home: Path) -> None:
    (home / "none").mkdir()
    assert check(home / "none").success and check(home / "none").rows == 0
    assert "does not exist" in check(home / "nowhere").reasons[0]
    (home / "bad.parquet").write_bytes(b"PAR1")
    assert "the answers cannot be read" in check(home / "bad.parquet").reasons[0]


def test_one_checkpoint_names_the_queries_that_fail(home: Path) -> None:
    good = pd.DataFrame({"a": [1], "count": [1]})
    twice = pd.DataFrame({"a": [1, 1], "count": [1, 1]})
    first, second = check_answer_sets([AnswerSet("good", good, True), AnswerSet("bad", twice, True)], "r")
    assert first.success and not second.success and first.docs == second.docs
    results = Results(f"sqlite:///{home}/results.db")
    second.record(results)
    (outcome,) = results.latest_quality()
    assert (outcome.kind, outcome.subject, outcome.success) == ("answers", "bad", False)
    assert outcome.failed == ({"reasons": ["1 rows more than once"]},) and outcome.failed_partitions == ()


def test_no_answers_to_check_is_no_work() -> None:
    assert check_answer_sets([], "r") == ()
