"""``streambound run QUERY --memory K``: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.approximate.nights import USUAL, night

from streambound import settings
from streambound.approximate.nightly.night import write
from streambound.checkpoint.fingerprint import fingerprint
from streambound.cli import main
from streambound.history.inspection.recent_past import plan_for
from streambound.projects.registry import load_registry

CATALOG = """streams:
  S:
    columns: {A: int, ts: int}
    timestamp: ts
    max_rows_per_timestamp: 9
    history: {path: S, partition_by: date}
  T: {columns: {A: int, ts: int}, timestamp: ts, history: {path: T, partition_by: date}}
  U: {columns: {A: int}, history: {path: U, partition_by: date}}
"""
QUERIES = {
    "q": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.ts < T.ts",
    "bounded": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 3 AND S.ts < T.ts",
    "product": "SELECT S.A, T.A AS B FROM S, T WHERE S.ts < T.ts",
    "window": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.ts < T.ts AND T.ts <= S.ts + 5",
    "timeless": "SELECT S.A FROM S, U WHERE S.A = U.A",
}
# Of each day the values of S, then those of T, a moment each: all that T brings came first on S.
DAYS = {"2026-01-01": ([1, 2], [1, 2]), "2026-01-02": ([3, 4], [3, 1])}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    queries = tmp_path / "registry" / "queries"
    queries.mkdir(parents=True)
    (tmp_path / "registry" / "streams.yml").write_text(CATALOG)
    for name, sql in QUERIES.items():
        (queries / f"{name}.sql").write_text(sql)
    for number, (day, values) in enumerate(DAYS.items()):
        for stream, (name, mine) in enumerate(zip("ST", values, strict=True)):
            folder = tmp_path / "streams" / name / f"date={day}"
            folder.mkdir(parents=True)
            moments = [4 * number + 2 * stream + at for at in range(len(mine))]
            pq.write_table(pa.table({"A": mine, "ts": moments}), folder / "part-00000.parquet")
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(tmp_path / "registry"))
    monkeypatch.delenv("STREAMBOUND_CHECKPOINTS", raising=False)
    monkeypatch.delenv("STREAMBOUND_STREAMS", raising=False)
    return tmp_path


def answers(home: Path, query: str = "q") -> list[int]:
    parts = sorted((home / "answers" / query).glob("date=*/*.parquet"))
    rows = [row for part in parts for row in pq.ParquetFile(part).read().to_pylist()]
    return sorted(row["A"] for row in rows for _ in range(int(row["count"])))


def found(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_a_memory_for_everything_gives_the_exact_answer(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--engine", "local", "q", "--memory", "8"]) == 0
    answer = found(capsys)
    assert answers(home) == [1, 1, 2, 3] and answer["answer_count"] == "4"
    assert answer["verdict"] == "unbounded" and answer["units"] == 8 * 6
    memory = answer["memory"]
    assert (memory["size"], memory["policy"], memory["results"]) == (8, "lru", 4)
    assert memory["estimated_results"] == 4 and memory["estimated_share"] == 1
    assert memory["why"] == "no benchmark has chosen a policy yet"


def test_it_says_where_the_answers_are(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    assert main(["run", "--engine", "local", "bounded"]) == 0
    assert capsys.readouterr().err.endswith("bounded: the answers are in answers/bounded\n")
    (home / "grouped.sql").write_text("SELECT A, COUNT(*) FROM S WHERE A BETWEEN 1 AND 3 GROUP BY A")
    assert main(["run", "--engine", "local", "grouped.sql", "--output", "out"]) == 0
    assert capsys.readouterr().err.endswith(
        "grouped: the answers are in out/grouped, as a whole in _total.parquet\n"
    )


def test_what_is_wrong_with_the_data_is_said_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / "streams" / "T" / "date=2026-01-02" / "part-00000.parquet"
    pq.write_table(pa.table({"A": [1], "ts": [1]}), file)
    assert main(["run", "--engine", "local", "window", "--memory", "1"]) == 2
    assert (
        capsys.readouterr().err.count("but the partitions before it reach 3, with a row of T in partition")
        == 1
    )


def test_a_small_one_gives_a_part_and_says_how_large(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--engine", "local", "q", "--memory", "2", "--policy", "fifo"]) == 0
    memory = found(capsys)["memory"]
    # T is never cached, since nothing that comes later joins it; 3 and 4 push out 1 and 2.
    assert answers(home) == [1, 2, 3]
    assert (memory["policy"], memory["why"]) == ("fifo", "chosen by --policy")
    assert (memory["results"], memory["estimated_missed"], memory["estimated_share"]) == (3, 1, 0.75)


def test_the_policy_is_that_of_the_last_benchmark(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_for("q", QUERIES["q"], load_registry(settings.registry()).catalog, 1)
    mark = fingerprint(plan.query, plan.streams, {})
    write(settings.caches_root(), night(*USUAL, fingerprint=mark))
    assert main(["run", "--engine", "local", "q", "--memory", "1500"]) == 0
    assert found(capsys)["memory"]["why"] == "fifo was chosen"
    write(settings.caches_root(), night(*USUAL, fingerprint="of another query"))
    assert main(["run", "--engine", "local", "q", "--memory", "1500"]) == 0
    assert found(capsys)["memory"]["policy"] == "lru"


def test_a_bounded_query_is_evaluated_exactly(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--engine", "local", "bounded", "--memory", "1"]) == 0
    printed = capsys.readouterr()
    assert "bounded: it is bounded and needs no cache: it is evaluated exactly, and --memory" in printed.err
    answer = json.loads(printed.out)
    assert answer["verdict"] == "bounded" and answer["memory"] is None
    assert answers(home, "bounded") == [1, 1, 2, 3]


def test_a_window_that_is_too_large_is_kept_in_part(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--engine", "local", "window", "--memory", "1", "--policy", "fifo"]) == 0
    answer = found(capsys)
    # 2 pushes out 1, and 4 pushes out 3.
    assert answers(home, "window") == [2]
    assert (answer["verdict"], answer["units"]) == ("bounded", 6)
    assert (answer["memory"]["estimated_results"], answer["memory"]["estimated_share"]) == (3, 0.3333)


@pytest.mark.parametrize(("size", "exact"), [(14, False), (15, True)])
def test_a_window_that_fits_is_evaluated_exactly(
    home: Path, size: int, exact: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    # 9 tuples at each of 5 timestamps, of 2 values: 90 units; a cached tuple takes 6.
    assert main(["run", "--engine", "local", "window", "--memory", str(size)]) == 0
    printed = capsys.readouterr()
    assert answers(home, "window") == [1, 2, 3]
    assert (json.loads(printed.out)["memory"] is None) is exact
    assert ("it fits: its plan keeps at most 90 units, and 15 tuples take 90" in printed.err) is exact


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["q", "--memory", "0"], "--memory is 0"),
        (["q", "--memory", "-3"], "a number of tuples, 1 or more"),
        (["q", "--memory", "2", "--policy", "best"], "accepted: fifo, lru, lfu, rand, prob, life, heeb"),
        (["q", "--memory", "2", "--policy", "heeb"], "heeb needs to know the streams"),
        (["q", "--policy", "lru"], "give --memory K as well"),
        (["q", "--memory", "2", "--live"], "--memory is not for --live"),
        (["q", "--memory", "2", "--relations", "."], "--memory is not for --relations"),
        (["q", "--memory", "2", "--engine", "onepass"], "--memory is not for --engine onepass"),
        (["timeless", "--memory", "2"], "stream U declares no application timestamp"),
        (["product", "--memory", "2"], "no equality links columns of its two streams"),
    ],
)
def test_what_is_refused(
    arguments: list[str], said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (home / "answers").exists()


@pytest.mark.parametrize(
    ("query", "code", "told"),
    [("q", 1, True), ("product", 1, False), ("timeless", 1, False), ("bounded", 0, False)],
)
def test_explain_tells_of_it(
    query: str, code: int, told: bool, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", query]) == code
    assert (f"streambound run {query} --memory K\n" in capsys.readouterr().out) is told
