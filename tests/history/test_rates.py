"""Rates of the catalog over a history: counted in each partition, or evaluation is refused by name."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from streambound.cli import main
from streambound.compiler.report import check
from streambound.errors import UnsupportedError
from streambound.history.prepare import draft, prepare
from streambound.live.start import begun
from streambound.query.catalog import load_catalog
from streambound.storage.partitions import PartitionRange

SQL = "SELECT S.A FROM S, T WHERE S.A = T.A AND T.at BETWEEN S.at AND S.at + INTERVAL 1 HOUR\n"
START = dt.datetime(1969, 12, 31, tzinfo=dt.UTC)


def _catalog(folder: Path, rate: Any, **history: Any) -> None:
    body = {"columns": {"A": "int", "at": "timestamp"}, "timestamp": "at"}
    streams = {
        name: {**body, "history": {"path": str(folder / name), "partition_by": "date", **history}}
        for name in "ST"
    }
    streams["S"]["rate"] = rate
    (folder / "streams.yml").write_text(yaml.safe_dump({"streams": streams}))


def _write(folder: Path, minutes: dict[str, list[int]]) -> None:
    for name, found in minutes.items():
        days: dict[Any, list[dt.datetime]] = {}
        for minute in found:
            moment = START + dt.timedelta(minutes=minute)
            days.setdefault(moment.date(), []).append(moment)
        for day, moments in days.items():
            part = folder / name / f"date={day}"
            part.mkdir(parents=True, exist_ok=True)
            stamps = pa.array(moments, pa.timestamp("us", "UTC"))
            pq.write_table(pa.table({"A": pa.array([1] * len(moments)), "at": stamps}), part / "a.parquet")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "q.sql").write_text(SQL)
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(engine: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["run", "q.sql", "--catalog", "streams.yml", "--engine", engine, "--output", "out"])
    return code, *capsys.readouterr()


ENGINES = pytest.mark.parametrize("engine", ["local", "onepass", "reference"])


@ENGINES
def test_a_rate_that_is_kept_changes_no_answer_and_one_that_is_broken_is_told(
    folder: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # Before and after 1970, three in an hour, none in the next.
    _write(folder, {"S": [1, 2, 59, 1439, 1441, 1500], "T": [30, 1445]})
    _catalog(folder, {"rows": 3, "per": "hour"})
    code, out, err = _run(engine, capsys)
    assert code == 0, err
    _catalog(folder, {"rows": 2, "per": "hour"})
    code, out, err = _run(engine, capsys)
    said = err + out
    assert code in (1, 2), said
    assert "S.at = TIMESTAMP '1969-12-31 00:59:00' lies in an interval of more rows" in said
    assert "date=1969-12-31/a.parquet, row 2" in said


@ENGINES
def test_rows_in_the_partition_of_another_day_cannot_be_counted(
    folder: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(folder, {"S": [1, 2], "T": [30]})
    (folder / "S" / "date=1969-12-31").rename(folder / "S" / "date=1969-12-30")
    (folder / "T" / "date=1969-12-31").rename(folder / "T" / "date=1969-12-30")
    _catalog(folder, {"rows": 3, "per": "hour"})
    code, out, err = _run(engine, capsys)
    assert code in (1, 2) and "lies in the partition of 1969-12-30" in err + out
    # Nothing but the rate needs the days to be those of UTC.
    _catalog(folder, None)
    assert _run(engine, capsys)[0] == 0


@ENGINES
@pytest.mark.parametrize(
    ("rate", "history", "said"),
    [
        ({"rows": 3, "per": "7 hours"}, {}, "may go across its partitions by date"),
        ({"rows": 3, "per": "2 days"}, {}, "may go across its partitions by date"),
        ({"rows": 3, "per": "hour"}, {"partition_by": "part"}, "may go across its partitions by part"),
        ({"rows": 3, "per": "hour"}, {"format": "orc"}, "counted in Parquet files only"),
    ],
)
def test_a_rate_that_nobody_would_count_is_refused(
    folder: Path, engine: str, rate: Any, history: Any, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(folder, {"S": [1, 2], "T": [30]})
    _catalog(folder, rate, **history)
    code, _, err = _run(engine, capsys)
    assert code == 2 and said in err
    # The verdict stands, and says that it is refused.
    report = check(SQL, load_catalog(folder / "streams.yml"), suggest=False)
    assert report.verdict == "bounded" and said in str(report.refused)


def test_files_without_partitions_are_counted_together(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(folder, {"S": [1, 2], "T": [30]})
    for name in "ST":
        (folder / name / "date=1969-12-31" / "a.parquet").rename(folder / name / "a.parquet")
        (folder / name / "date=1969-12-31").rmdir()
    _catalog(folder, {"rows": 1, "per": "7 hours"}, partition_by=None)
    code, out, err = _run("local", capsys)
    assert code != 0 and "lies in an interval of more rows than the catalog's rate" in out + err


@ENGINES
def test_promises_that_no_history_is_held_to_are_refused(
    folder: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(folder, {"S": [1, 2], "T": [30]})
    _catalog(folder, None)
    body = yaml.safe_load((folder / "streams.yml").read_text())
    body["streams"]["S"]["cardinality"] = {"A": 5}
    (folder / "streams.yml").write_text(yaml.safe_dump(body))
    code, _, err = _run(engine, capsys)
    assert code == 2 and "what cardinality says of S.A is not checked where rows are stored" in err
    assert check(SQL, load_catalog(folder / "streams.yml"), suggest=False).refused is not None
    # What the query does not read, it does not rely on.
    (folder / "q.sql").write_text("SELECT T.A FROM S, T WHERE T.at BETWEEN S.at AND S.at + INTERVAL 1 HOUR\n")
    assert _run(engine, capsys)[0] == 0


def test_live_refuses_a_rate(folder: Path) -> None:
    _write(folder, {"S": [1, 2], "T": [30]})
    _catalog(folder, {"rows": 3, "per": "hour"})
    job = prepare(draft("q", SQL, load_catalog(folder / "streams.yml")), PartitionRange(), {})
    with pytest.raises(UnsupportedError, match="the rate of S is not counted over files that arrive"):
        begun(folder / "live", job, None, anew=False)


def test_in_a_corpus_events_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts", "rate": {"rows": 2, "per": 10}}
    sql = "SELECT S.A FROM S, T WHERE S.A = T.A AND T.ts BETWEEN S.ts AND S.ts + 5"
    events = [{"stream": "S", "A": 1, "ts": ts} for ts in (-3, -1, 0, 9, 10)]
    line = {"id": "q", "streams": {"S": body, "T": {**body, "rate": None}}, "sql": sql}
    (folder / "c.jsonl").write_text(json.dumps({**line, "events": events}) + "\n")
    assert main(["run", "--corpus", "c.jsonl", "--engine", "onepass"]) == 0
    capsys.readouterr()
    (folder / "c.jsonl").write_text(json.dumps({**line, "events": [*events, events[-1], events[-1]]}) + "\n")
    assert main(["run", "--corpus", "c.jsonl", "--engine", "onepass"]) != 0
    assert "at most 2 rows per 10" in "".join(capsys.readouterr())
