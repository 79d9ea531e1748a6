"""What befalls a run: stopped and continued, two at once, zones of time, edits, drift, many partitions.

Nothing is lost, repeated or half visible: the digest is that of a run that nothing befell.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.query.catalog import load_catalog
from streambound.query.registry import RegisteredQuery

ROOT = Path(__file__).parents[2]
CATALOG = """streams:
  S:
    columns: {at: timestamp, A: int}
    timestamp: at
    domains: {A: {min: 0, max: 9}}
    history: {path: S, partition_by: date}
"""
SQL = "SELECT A, COUNT(*) AS n, MIN(at) AS first FROM S GROUP BY A"
FOREVER = 60.0


def partition(folder: Path, day: dt.date, rows: dict[str, Any] | None = None, name: str = "part-0") -> Path:
    """A partition whose rows come every three hours, over days on which clocks are changed."""
    times = [dt.datetime.combine(day, dt.time(hour)) for hour in range(0, 24, 3)]
    file = folder / "S" / f"date={day}" / f"{name}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    columns = {
        "at": pa.array(times, pa.timestamp("us")),
        "A": pa.array([t.hour // 3 for t in times], pa.int32()),
    }
    pq.write_table(pa.table({**columns, **(rows or {})}), file)
    return file


def days(number: int, first: dt.date = dt.date(2026, 3, 7)) -> list[dt.date]:
    return [first + dt.timedelta(one) for one in range(number)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A name with blanks, quotes and signs of other scripts.
    made = tmp_path / "all of 'it' \u2603 \u00e9"
    made.mkdir()
    monkeypatch.setenv("STREAMBOUND_STREAMS", str(made))
    (made / "streams.yml").write_text(CATALOG)
    (made / "q.sql").write_text(SQL)
    for day in days(4):
        partition(made, day)
    return made


def command(folder: Path, **variables: str) -> subprocess.Popen[str]:
    code = "import sys; from streambound.cli import main; sys.exit(main())"
    options = ["--catalog", "streams.yml", "--input", ".", "--engine", "local"]
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", "q.sql", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "include"), "STREAMBOUND_HOME": str(folder), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def digest(process: subprocess.Popen[str]) -> str:
    """The digest of what a run has answered."""
    out, err = process.communicate(timeout=FOREVER)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert found["error"] is None and found["missing_partitions"] == []
    return str(found["digest"])


def evaluated(folder: Path, home: str = "", **more: Any) -> Any:
    """One evaluation in this process, which goes on from the checkpoints that lie there."""
    query = RegisteredQuery("q", (folder / "q.sql").read_text(), folder / "q.sql")
    path = folder / home
    places: dict[str, Any] = {"output": path / "answers", "checkpoints": str(path / "checkpoints")}
    catalog = load_catalog(folder / "streams.yml")
    (answer,) = evaluate_history(LocalExecutor(1), [query], catalog, **places, **more)
    return answer


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def until_it_evaluates(process: subprocess.Popen[str], folder: Path) -> None:
    """Wait until a run holds its answers: before, it only reads and decides."""
    end = time.monotonic() + FOREVER
    while not (folder / "answers" / "q" / "_running").exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.005)


@pytest.mark.parametrize("moment", [0, *(pytest.param(n, marks=pytest.mark.heavy) for n in range(1, 100))])
def test_a_run_that_is_killed_and_one_more_leave_what_one_leaves(folder: Path, moment: int) -> None:
    process = command(folder)
    until_it_evaluates(process, folder)
    time.sleep(random.Random(moment).uniform(0, 0.4))
    process.kill()
    process.communicate()
    found, whole = evaluated(folder), evaluated(folder, "whole")
    assert found.error is None and found.digest == whole.digest
    assert files(folder / "answers") == files(folder / "whole" / "answers")
    assert evaluated(folder).read_partitions == ()


def test_a_run_that_was_stopped_goes_on_and_another_waits_for_it(folder: Path) -> None:
    first = command(folder)
    until_it_evaluates(first, folder)
    first.send_signal(signal.SIGSTOP)
    second = command(folder)
    first.send_signal(signal.SIGCONT)
    assert {digest(first), digest(second)} == {evaluated(folder, "whole").digest}


def test_neither_the_machines_zone_nor_its_summer_time_changes_an_answer(folder: Path) -> None:
    # On 8 March 2026 an hour is missing in New York.
    assert digest(command(folder, TZ="America/New_York")) == evaluated(folder, "whole").digest


def test_a_registry_that_is_edited_during_a_run_counts_from_the_next(folder: Path) -> None:
    edited = []

    def edit(_: str) -> None:
        if not edited:
            (folder / "q.sql").write_text("SELECT A, COUNT(*) AS n FROM S WHERE A < 2 GROUP BY A")
            (folder / "streams.yml").write_text("streams: {")
            edited.append(True)

    first = evaluated(folder, progress=edit)
    assert edited and first.error is None and first.answer_rows == 8
    assert not [path for path in (folder / "answers" / "q").rglob(".*")]
    (folder / "streams.yml").write_text(CATALOG)
    second = evaluated(folder)
    assert second.error is None and second.read_partitions == first.read_partitions
    assert pq.read_table(folder / "answers" / "q" / "_total.parquet").num_rows == 2


def test_a_schema_that_drifts_is_read_where_it_can_be_and_else_named(folder: Path) -> None:
    before = evaluated(folder)
    more, wider, other, fewer = days(8)[4:]
    # A column more, in another order, and a wider type whose values fit.
    partition(folder, more, {"new": ["x"] * 8})
    partition(folder, wider, {"A": pa.array(range(8), pa.int64())})
    good = evaluated(folder)
    assert good.error is None and good.read_partitions == (str(more), str(wider))
    # A type that is none of the catalog's, and no column at all: told by name; what was before it is kept.
    for day, rows in ((other, {"A": ["x"] * 8}), (fewer, None)):
        broken = partition(folder, day, rows)
        if rows is None:
            pq.write_table(pq.read_table(broken, partitioning=None).drop_columns(["A"]), broken)
        told = evaluated(folder)
        assert told.error is not None and str(broken.parent.name) in str(told.error), told.error
        broken.unlink()
        broken.parent.rmdir()
        again = evaluated(folder)
        assert again.error is None and again.digest == good.digest != before.digest


@pytest.mark.parametrize("number", [200, pytest.param(2_000, marks=pytest.mark.heavy)])
def test_many_partitions_are_read_once_in_a_memory_that_does_not_grow(folder: Path, number: int) -> None:
    for day in days(number):
        partition(folder, day)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = evaluated(folder)
    assert found.error is None and len(found.read_partitions) == number and found.rows == 8 * number
    assert evaluated(folder).read_partitions == ()
    # In kilobytes.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
