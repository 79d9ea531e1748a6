"""``streambound run --live`` as a user meets it: options, progress, stop, one clear error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streambound.cli import main

CATALOG = """streams:
  S: {columns: {A: int, ts: int}, timestamp: ts, history: {path: S}}
  T: {columns: {A: int, ts: int}, timestamp: ts, history: {path: T}}
"""
SQL = "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A > 0 AND S.A < 5 AND S.ts < T.ts"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "streams.yml").write_text(CATALOG)
    (tmp_path / "q.sql").write_text(SQL)
    for stream, moments in (("S", [1, 3]), ("T", [2, 4])):
        (tmp_path / "streams" / stream).mkdir(parents=True)
        table = pa.table({"A": [3, 3], "ts": moments})
        pq.write_table(table, tmp_path / "streams" / stream / "0.parquet")
    return tmp_path


def arguments(folder: Path, *more: str) -> list[str]:
    query = [str(folder / "q.sql"), "--catalog", str(folder / "streams.yml")]
    places = ["--input", str(folder / "streams"), "--output", str(folder / "out")]
    return ["run", *query, *places, *more]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--available-now"], "--available-now cannot be given here: they need --live"),
        (["--live", "--engine", "onepass"], "--engine cannot be given here"),
        (["--live", "--from", "2013-01-01"], "--from cannot be given here"),
        (["--live", "--available-now", "--every", "3"], "--available-now with --every"),
        (["--live", "--end-of-input"], "--end-of-input cannot be given here: the query goes on"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    more: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(folder, *more)) == 2
    assert said in capsys.readouterr().err


def test_a_pace_that_is_none_is_refused(folder: Path) -> None:
    with pytest.raises(SystemExit):
        main(arguments(folder, "--live", "--every", "0"))


def started(folder: Path, **more: Any) -> subprocess.Popen[str]:
    """A live query as a process."""
    command = [sys.executable, "-c", "import sys; from streambound.cli import main; sys.exit(main())"]
    return subprocess.Popen(
        [*command, *arguments(folder, "--live", "--every", "0.1")],
        env={**os.environ, **environment(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def environment(folder: Path) -> dict[str, str]:
    return {"STREAMBOUND_HOME": str(folder / "home"), "STREAMBOUND_SPARK_MASTER": "local[2]"}


def until(running: subprocess.Popen[str], wanted: str) -> str:
    """What a process tells up to a text."""
    assert running.stderr is not None
    told = ""
    while wanted not in told and (line := running.stderr.readline()):
        told += line
    return told


@pytest.mark.spark
def test_it_goes_on_until_it_is_stopped(folder: Path) -> None:
    running = started(folder)
    told = until(running, "epoch 0")
    running.send_signal(signal.SIGTERM)
    out, rest = running.communicate(timeout=300)
    assert running.returncode == 0, told + rest
    assert "epoch 0: 2 files, 4 rows, 2 markers, 1 answer so far; state 1 unit of at most 4" in told
    answer = json.loads(out)
    # T has shown 4 and S 3: what is at 3 and after it may not be all there is.
    assert (answer["answer_count"], answer["waiting"], answer["live"]) == ("1", 2, True)


@pytest.mark.heavy
@pytest.mark.spark
def test_a_signal_to_all_its_processes_is_a_stop_as_well(folder: Path) -> None:
    # As by kill -- -GROUP, a terminal that closes and systemd: Spark's Java gets it too, and ends at once.
    running = started(folder, start_new_session=True)
    told = until(running, "epoch 0")
    os.killpg(running.pid, signal.SIGTERM)
    out, rest = running.communicate(timeout=300)
    assert running.returncode == 0, told + rest
    assert json.loads(out)["answer_count"] == "1"
    assert "Traceback" not in rest and "Errno" not in rest and "Py4J" not in rest
    assert "Spark was stopped as well" in rest


@pytest.mark.heavy
@pytest.mark.spark
def test_a_signal_before_it_has_begun_is_a_stop_as_well(folder: Path) -> None:
    running = started(folder, start_new_session=True)
    until(running, "starting Spark")
    os.killpg(running.pid, signal.SIGTERM)
    # Wherever it was by then, with Java or without.
    _, rest = running.communicate(timeout=300)
    assert running.returncode == 0, rest
    assert "Traceback" not in rest and "Errno" not in rest and "Py4J" not in rest
