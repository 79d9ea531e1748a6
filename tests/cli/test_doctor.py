"""``streambound doctor``: what run would refuse is found without Spark, and what it would read is counted."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.histories import Registered

from streambound.cli import main
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.query.catalog import load_catalog

CATALOG = """streams:
  S: &stream
    timestamp: ts
    granularity: second
    columns: {ts: timestamp, A: int, B: string}
    domains: {A: {min: 0, max: 9}}
    not_null: [A]
    max_rows_per_timestamp: 2
    history: {path: S, partition_by: date}
  T: {<<: *stream, history: {path: T, partition_by: date}}
  U: {<<: *stream, history: {path: U, partition_by: hour}}
"""
SQL = "SELECT S.A FROM S, T WHERE S.A = T.A AND S.ts < T.ts"
BY_HOUR = "SELECT DISTINCT S.A FROM S, U WHERE S.A = U.A AND S.ts < U.ts"
DAYS = ["2013-01-01", "2013-01-02", "2013-01-03"]


def rows(day: str, zone: str | None = "UTC", **columns: pa.Array) -> pa.Table:
    noon = dt.datetime.fromisoformat(f"{day} 12:00:00")
    stamps = pa.array([noon, noon + dt.timedelta(seconds=1)], pa.timestamp("us")).cast(
        pa.timestamp("us", zone)
    )
    found = {"ts": stamps, "A": pa.array([1, 2]), "B": pa.array(["x", "y"]), **columns}
    return pa.table({name: column for name, column in found.items() if column is not None})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two streams by day with two rows a day."""
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "home"))
    (tmp_path / "streams.yml").write_text(CATALOG)
    (tmp_path / "q.sql").write_text(SQL)
    for stream in "STU":
        for day in DAYS:
            key = "hour" if stream == "U" else "date"
            file = tmp_path / "streams" / stream / f"{key}={day}" / "part-00000.parquet"
            file.parent.mkdir(parents=True)
            pq.write_table(rows(day), file)
    return tmp_path


def doctor(folder: Path, *more: str) -> int:
    places = ["--catalog", str(folder / "streams.yml"), "--input", str(folder / "streams")]
    return main(["doctor", str(folder / "q.sql"), *places, *more])


def refused(folder: Path) -> bool:
    """Whether a run refuses the query."""
    os.environ["STREAMBOUND_STREAMS"] = str(folder / "streams")
    catalog, sql = load_catalog(folder / "streams.yml"), (folder / "q.sql").read_text()
    (answer,) = evaluate_history(LocalExecutor(1), [Registered("q", sql)], catalog, output=folder / "out")  # type: ignore[arg-type]
    return answer.error is not None or not answer.evaluated


def test_a_sound_query_has_no_findings_and_its_cost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor(folder) == 0
    said = capsys.readouterr().out
    assert said.startswith("S: 3 partitions, 3 files, ") and "(2013-01-01 to 2013-01-03)" in said
    assert "    A: 1 to 2; declared: 0 to 9\n" in said
    assert "    rows at one timestamp: at most 1; declared: 2\n    time zone: UTC\n" in said
    assert "q: bounded, at most " in said and said.endswith("; of that the next run: all\nnothing found\n")
    assert doctor(folder, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    (query,) = found["queries"]
    sizes = [f.stat().st_size for stream in "ST" for f in (folder / "streams" / stream).rglob("*.parquet")]
    assert query["cost"] == {"partitions": 6, "files": 6, "bytes": sum(sizes), "rows": 12} == query["anew"]
    assert [stream["stream"] for stream in found["streams"]] == ["S", "T"]
    assert found["streams"][0]["ranges"]["A"] == {"min": "1", "max": "2", "domain": "0 to 9"}


def newest(folder: Path, table: pa.Table) -> None:
    pq.write_table(table, folder / "streams" / "S" / f"date={DAYS[-1]}" / "part-00000.parquet")


def same(folder: Path) -> pa.Array:
    return pa.array([dt.datetime(2013, 1, 3, 12)] * 3, pa.timestamp("us", "UTC"))


BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing folder": (
        lambda f: (f / "streams" / "S").rename(f / "streams" / "gone"),
        "history",
    ),
    "no day": (lambda f: (f / "streams" / "S" / "date=junk").mkdir(), "partition"),
    "empty": (lambda f: (f / "streams" / "S" / "date=2013-01-04").mkdir(), ""),
    "csv": (
        lambda f: next((f / "streams" / "S" / "date=2013-01-02").iterdir()).rename(
            f / "streams" / "S" / "date=2013-01-02" / "rows.csv"
        ),
        "partition",
    ),
    "type": (lambda f: newest(f, rows(DAYS[-1], A=pa.array(["1", "2"]))), "schema"),
    "older type": (
        lambda f: pq.write_table(
            rows(DAYS[0], A=pa.array([0.5, 1.5])),
            f / "streams" / "S" / f"date={DAYS[0]}" / "part-00000.parquet",
        ),
        "schema",
    ),
    "no column": (lambda f: newest(f, rows(DAYS[-1], A=None)), "schema"),  # type: ignore[arg-type]
    "unread column": (lambda f: newest(f, rows(DAYS[-1], B=None)), ""),  # type: ignore[arg-type]
    "domain": (lambda f: newest(f, rows(DAYS[-1], A=pa.array([1, 10]))), "promise"),
    "not null": (lambda f: newest(f, rows(DAYS[-1], A=pa.array([1, None]))), "promise"),
    "granularity": (
        lambda f: newest(f, rows(DAYS[-1], ts=pa.array([1, 2], pa.timestamp("ms", "UTC")))),
        "promise",
    ),
    "rate": (
        lambda f: newest(f, pa.table({"ts": same(f), "A": [1, 2, 3], "B": ["x"] * 3})),
        "promise",
    ),
    "not Parquet": (
        lambda f: next((f / "streams" / "S" / "date=2013-01-02").iterdir()).write_text("ts,A\n"),
        "partition",
    ),
    "unbounded": (lambda f: (f / "q.sql").write_text("SELECT S.A FROM S, T WHERE S.B = T.B"), "verdict"),
    "other keys": (lambda f: (f / "q.sql").write_text(BY_HOUR), "query"),
}


def test_a_file_that_cannot_be_read_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    BROKEN["not Parquet"][0](folder)
    assert doctor(folder) == 1
    assert capsys.readouterr().out.startswith("S: 3 partitions, 3 files, ")


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_run_refuses_is_found(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil, check = BROKEN[name]
    spoil(folder)
    assert doctor(folder, "--format", "json") == (1 if check else 0)
    (query,) = json.loads(capsys.readouterr().out)["queries"]
    assert [finding["check"] for finding in query["findings"]][:1] == ([check] if check else [])
    assert doctor(folder) == (1 if check else 0)
    assert ("  ! " in capsys.readouterr().out) is bool(check)
    assert refused(folder) is bool(check)


def test_times_that_are_probably_local_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newest(folder, rows("2013-01-04"))
    assert doctor(folder) == 1
    assert "  ! range: partition 2013-01-03 has timestamps from " in capsys.readouterr().out
    newest(folder, rows(DAYS[-1], zone=None))
    assert doctor(folder) == 1
    said = capsys.readouterr().out
    assert "time zone: none, read as UTC" in said and "S with none, T with UTC" in said


@pytest.mark.parametrize(
    ("sql", "told"),
    [("SELECT A FROM", "invalid"), ("SELECT nothing FROM S", "invalid")],
    ids=["text", "name"],
)
def test_an_invalid_query_is_2(sql: str, told: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "q.sql").write_text(sql)
    assert doctor(folder) == 2
    assert f"q: {told}" in capsys.readouterr().out


def test_what_is_checkpointed_need_not_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.environ["STREAMBOUND_STREAMS"] = str(folder / "streams")
    catalog, checkpoints = load_catalog(folder / "streams.yml"), str(folder / "home" / "checkpoints")
    evaluate_history(
        LocalExecutor(1), [Registered("q", SQL)], catalog, output=folder / "out", checkpoints=checkpoints
    )  # type: ignore[arg-type]
    newest(folder, rows(DAYS[-1], A=pa.array([3, 4])))
    assert doctor(folder, "--format", "json") == 0
    (query,) = json.loads(capsys.readouterr().out)["queries"]
    assert query["cost"]["rows"] == 12 and (query["anew"]["partitions"], query["anew"]["rows"]) == (1, 2)


def test_it_needs_neither_java_nor_pyspark(folder: Path) -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None; from streambound.cli import main;"
        f"sys.exit(main(['doctor', {str(folder / 'q.sql')!r}, '--catalog', {str(folder / 'streams.yml')!r},"
        f" '--input', {str(folder / 'streams')!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "JAVA_HOME": "/nonexistent"},
    )
    assert done.returncode == 0 and done.stdout.endswith("nothing found\n"), done.stdout + done.stderr


@pytest.mark.parametrize("live", [[], ["--live", "--available-now"]], ids=["history", "live"])
def test_streams_with_different_keys_are_told_by_check_and_before_spark_starts(
    live: list[str], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*arguments: Any, **settings: Any) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("streambound.spark.session.session", started)
    (folder / "q.sql").write_text(BY_HOUR)
    told = "its streams are partitioned differently: S by date, U by hour"
    query = [str(folder / "q.sql"), "--catalog", str(folder / "streams.yml")]
    assert main(["check", *query[1:], query[0]]) == 0
    assert f"  run refuses its histories: {told}; write " in capsys.readouterr().out
    assert main(["explain", *query]) == 0
    assert told in capsys.readouterr().out
    assert main(["check", "--format", "json", *query[1:], query[0]]) == 0
    assert told in json.loads(capsys.readouterr().out)["refused"]
    assert main(["run", *query, "--input", str(folder / "streams"), *live]) == 2
    assert told in capsys.readouterr().err
