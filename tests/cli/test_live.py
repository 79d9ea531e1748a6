"""``streambound run --live`` as a user meets it: options, progress, stop, one clear error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.spark
def test_it_goes_on_until_it_is_stopped_and_names_a_bad_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-c", "import sys; from streambound.cli import main; sys.exit(main())"]
    environment = {
        **os.environ,
        "STREAMBOUND_HOME": str(folder / "home"),
        "STREAMBOUND_SPARK_MASTER": "local[2]",
    }
    running = subprocess.Popen(
        [*command, *arguments(folder, "--live", "--every", "0.1")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    told = ""
    while "epoch 0" not in told and (line := running.stderr.readline()):
        told += line
    running.send_signal(signal.SIGTERM)
    out, rest = running.communicate(timeout=300)
    assert running.returncode == 0, told + rest
    assert "epoch 0: 2 files, 4 rows, 2 markers, 1 answer so far; state 1 unit of at most 4" in told
    answer = json.loads(out)
    # T has shown 4 and S 3: what is at 3 and after it may not be all there is.
    assert (answer["answer_count"], answer["waiting"], answer["live"]) == ("1", 2, True)
    (folder / "streams" / "T" / "1.parquet").write_bytes(b"PAR1 and no more")
    for name in ("STREAMBOUND_HOME", "STREAMBOUND_SPARK_MASTER"):
        monkeypatch.setenv(name, environment[name])
    assert main(arguments(folder, "--live", "--available-now")) == 2
    said = capsys.readouterr().err
    assert "1.parquet: not a readable Parquet file" in said and "Traceback" not in said
