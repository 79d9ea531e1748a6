"""kill -9 of the driver, its JVM, a worker, all of them, or the Airflow task above, then a plain retry.

What is left must equal what an undisturbed run leaves: rows, digests of answers, digests of checkpoints; and
who survives a kill says in one sentence what has ended, with the exit code of an outside cause. A moment is
its name, which seeds it. ``make crash`` tries all; the ordinary run of the tests takes some.
A task that is killed leaves the driver behind, which goes on; the retry begins at once, and waits for it. The
JVM is also killed at any age, and a live query in the midst of its micro-batches.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_apps import evaluate_history as application
from tests.crash.processes import descendants, wait_until_gone
from tests.spark.nights import left

from streambound.spark import daemon

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
# How many moments of each kind, with those of live queries a hundred; an age is one of the JVM's.
MOMENTS = {"driver": 14, "jvm": 10, "worker": 14, "task": 14, "family": 14, "age": 14}
SAMPLE = ("driver-0",)
LIVE = [f"{victim}-{number}" for victim in ("driver", "jvm", "worker", "family") for number in range(2)]
# The sample of live queries is that of ``test_live_sources``.
LIVE_SAMPLE: tuple[str, ...] = ()
STREAMS = """streams:
  S:
    columns: {A: int, B: int}
    history: {path: S, partition_by: date}
  T:
    columns: {A: int, B: int}
    history: {path: T, partition_by: date}
  U:
    timestamp: at
    columns: {at: timestamp, A: int}
    history: {path: U, partition_by: date}
  W:
    timestamp: at
    columns: {at: timestamp, A: int}
    history: {path: W, partition_by: date}
"""
QUERIES = {
    "cached": "-- cache size: 100\nSELECT U.A FROM U, W WHERE U.A = W.A AND U.at < W.at",
    "counts": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 2000",
    "distinct": "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.B AND S.A BETWEEN 1 AND 500",
    "filter": "SELECT A, B FROM S WHERE B > 99000",
    "unequal": "SELECT DISTINCT S.A FROM S, T WHERE S.A BETWEEN 1 AND 50 AND S.B <> T.B",
}
FIRST = [f"2026-03-{day:02}" for day in range(1, 7)]
# What the disturbed night finds: new partitions, and earlier ones that have changed.
NEW = [f"2026-03-{day:02}" for day in range(7, 10)]
CHANGED = ["2026-03-02", "2026-03-05"]
ROWS = 20_000
# The driver takes in each of these.
TIMED_ROWS = 500


@dataclass(frozen=True)
class Scene:
    """A home as the first night left it, what the second finds, and what it leaves undisturbed.

    ``starts`` is how long it takes until a session is there, and ``seconds`` how long a night works then.
    """

    home: Path
    saved: Path
    seconds: float
    starts: float
    expected: dict[str, dict[str, Any]]

    def reset(self) -> None:
        """The home as the first night left it, in its old place."""
        shutil.rmtree(self.home)
        shutil.copytree(self.saved, self.home)


def arrive(streams: Path, day: str, seed: int) -> None:
    for number, stream in enumerate("STUW"):
        chance = np.random.default_rng([int(day[-2:]), seed, number])
        file = streams / stream / f"date={day}" / "part-00000.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(".draft")
        columns = timed(day, chance) if stream in "UW" else untimed(chance)
        pq.write_table(pa.table(columns), draft)
        os.replace(draft, file)


def untimed(chance: np.random.Generator) -> dict[str, Any]:
    return {"A": chance.integers(0, 5_000, ROWS), "B": chance.integers(0, 100_000, ROWS)}


def timed(day: str, chance: np.random.Generator) -> dict[str, Any]:
    seconds = np.sort(chance.integers(0, 86_400, TIMED_ROWS)) * np.timedelta64(1_000_000, "us")
    at = pa.array(np.datetime64(day, "us") + seconds).cast(pa.timestamp("us", tz="UTC"))
    return {"at": at, "A": chance.zipf(1.3, TIMED_ROWS) % 1_000}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("crash")
    home, streams, registry = folder / "home", folder / "streams", folder / "registry"
    (registry / "queries").mkdir(parents=True)
    (registry / "streams.yml").write_text(STREAMS)
    for name, sql in QUERIES.items():
        (registry / "queries" / f"{name}.sql").write_text(sql)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMBOUND_HOME", str(home))
        patch.setenv("STREAMBOUND_STREAMS", str(streams))
        patch.setenv("STREAMBOUND_REGISTRY", str(registry))
        patch.setenv("STREAMBOUND_SPARK_MASTER", "local[2]")
        patch.delenv("STREAMBOUND_CHECKPOINTS", raising=False)
        as_airflow_does(patch, folder)
        for day in FIRST:
            arrive(streams, day, 0)
        assert application.main([]) == 0
        for day in NEW:
            arrive(streams, day, 0)
        for day in CHANGED:
            arrive(streams, day, 1)
        shutil.copytree(home, folder / "saved")
        before = time.monotonic()
        undisturbed = Night()
        undisturbed.at_work.wait(120)
        began, seen = time.monotonic(), set[str]()
        while undisturbed.process.poll() is None:
            seen |= {kind for kind in ("jvm", "worker") if undisturbed.victim(kind) is not None}
            time.sleep(0.01)
        assert undisturbed.wait() == 0
        assert seen == {"jvm", "worker"}
        expected = {query: left(home, query) for query in QUERIES}
        yield Scene(home, folder / "saved", time.monotonic() - began, began - before, expected)


def as_airflow_does(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """What the local Airflow gives its tasks: its home, the connection to Spark, and spark-submit."""
    patch.setenv("AIRFLOW_HOME", str(folder / "airflow"))
    patch.setenv("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
    connection = {"conn_type": "spark", "host": "local[2]", "extra": {"deploy-mode": "client"}}
    patch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    paths = [str(ROOT), str(ROOT / "plugins"), os.environ.get("PYTHONPATH", "")]
    patch.setenv("PYTHONPATH", ":".join(filter(None, paths)))


class Night:
    """The Spark application in a process of its own, or below one that is as an Airflow task's.

    ``at_work`` is set once its session is there.
    """

    def __init__(self, kind: str = "driver") -> None:
        application = ROOT / "spark_apps" / "evaluate_history.py"
        command = [sys.executable, *(["-m", "tests.crash.task"] if kind == "task" else [str(application)])]
        self._start(command)

    def _start(self, command: list[str]) -> None:
        # A group of its own, to be killed as one.
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
        )
        self.at_work = threading.Event()
        self.told: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.told.append(line)
            if " over " in line and "partition" in line:
                self.at_work.set()
        self.at_work.set()

    def wait(self) -> int:
        code = self.process.wait(600)
        self._reader.join(30)
        return code

    def victim(self, kind: str) -> int | None:
        """The process of a kind that runs now."""
        if kind in ("driver", "task", "family"):
            return self.process.pid
        jvm = kind in ("jvm", "age")
        mark = "SparkSubmit" if jvm else daemon.__name__
        found = [pid for pid, line in descendants(self.process.pid).items() if mark in line]
        # The JVM is the process that the driver started, a shell at first, whose own children only help it to
        # begin. Workers are forked by the daemon, so they are the younger ones.
        return next(iter(found), None) if jvm else max(found, default=None)


class Live(Night):
    """A live query over what is there, three files of a stream at a time."""

    def __init__(self, streams: Path, output: Path, epochs: int = 0) -> None:
        command = ["run", "counts", "--live", "--available-now", "--files", "3"]
        places = ["--input", str(streams), "--output", str(output)]
        self.epochs, self.output = epochs, output
        self._start([sys.executable, "-c", CLI, *command, *places])

    def reach(self) -> None:
        """Wait until answers of so many micro-batches are written."""
        while self.process.poll() is None:
            if len(list(self.output.glob("counts/epoch=*/*.parquet"))) >= self.epochs:
                return
            time.sleep(0.05)


CLI = "import sys; from streambound.cli import main; sys.exit(main())"


def kill(night: Night, kind: str, after: float) -> set[int]:
    """kill -9 a process after some seconds of work; returns all that ran then, none if it was done."""
    time.sleep(after)
    while night.process.poll() is None:
        family, victim = set(descendants(night.process.pid)), night.victim(kind)
        if victim is not None:
            try:
                (os.killpg if kind == "family" else os.kill)(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
            return family
        time.sleep(0.01)
    return set()


def retry(kind: str) -> int:
    """The exit code of a plain retry; only of one below a task it matters that the process is another."""
    if kind != "task":
        return application.main([])
    again = Night(kind)
    code = again.wait()
    print("".join(again.told))
    return code


def some(moments: Iterable[str], sample: Iterable[str]) -> list[Any]:
    return [pytest.param(m, marks=() if m in sample else pytest.mark.heavy) for m in moments]


def tells(night: Night, kind: str, killed: bool, code: int, done: bool) -> None:
    """What is left of a killed application says so, and what is not says nothing."""
    told = "".join(night.told)
    assert "Traceback (most recent call last)" not in told, told
    if kind in ("driver", "family", "task"):
        assert code in ((-signal.SIGKILL,) if killed else (0,))
        return
    said = [line for line in night.told if "Spark has ended " in line or "Spark failed while " in line]
    # Spark may have had no more use for a worker, nor the night, whose answers are all there, for Spark.
    assert (code, len(said)) == (3, 1) or (code == 0 and done and not said), (code, told)


EVERY = [f"{kind}-{number}" for kind, count in MOMENTS.items() for number in range(count)]


@pytest.mark.parametrize("moment", some(EVERY, SAMPLE))
def test_a_killed_night_and_a_retry_leave_what_an_undisturbed_one_leaves(moment: str, scene: Scene) -> None:
    kind = moment.split("-")[0]
    scene.reset()
    night, chance = Night(kind), random.Random(moment)
    if kind == "age":
        # From the first tenth of a second of the JVM on, half of them before it is at work.
        while night.process.poll() is None and night.victim(kind) is None:
            time.sleep(0.01)
        after = (
            0.0
            if moment == "age-0"
            else chance.uniform(0.1, chance.choice([1.0, scene.starts, scene.seconds]))
        )
    else:
        night.at_work.wait(120)
        after = chance.uniform(0, scene.seconds)
    family = kill(night, kind, after)
    code = night.wait()
    if kind != "task":
        wait_until_gone(family)
        done = code == 0 and all(left(scene.home, q) == scene.expected[q] for q in QUERIES)
        tells(night, kind, bool(family), code, done)
    print(f"{moment}: {'killed' if family else 'done before'}, exit code {code}; {''.join(night.told[-3:])}")
    assert retry(kind) == 0
    wait_until_gone(family)
    for query in QUERIES:
        assert left(scene.home, query) == scene.expected[query], (moment, query)


def answered(output: Path) -> dict[Any, int]:
    """The answers of all micro-batches, each with its multiplicity."""
    found: Counter[Any] = Counter()
    for file in sorted(output.glob("counts/epoch=*/*.parquet")):
        found.update({row["A"]: int(row["count"]) for row in pq.ParquetFile(file).read().to_pylist()})
    return dict(found)


@pytest.fixture(scope="module")
def live(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> dict[Any, int]:
    """What a live query answers that nothing disturbs."""
    output = tmp_path_factory.mktemp("undisturbed")
    undisturbed = Live(scene.home.parent / "streams", output)
    assert undisturbed.wait() == 0, undisturbed.told
    return answered(output)


@pytest.mark.parametrize("moment", some(LIVE, LIVE_SAMPLE))
def test_a_live_query_that_is_killed_goes_on_and_answers_once(
    moment: str, scene: Scene, live: dict[Any, int], tmp_path: Path
) -> None:
    kind, chance = moment.split("-")[0], random.Random(moment)
    streams = scene.home.parent / "streams"
    # Nine files are three micro-batches.
    query = Live(streams, tmp_path, chance.randint(1, 2))
    query.reach()
    family = kill(query, kind, chance.uniform(0, 1.5))
    code = query.wait()
    wait_until_gone(family)
    told, how = "".join(query.told), "killed" if family else "done before"
    print(f"live {moment}: {how}, exit code {code}; {''.join(query.told[-3:])}")
    assert "Traceback (most recent call last)" not in told, told
    assert code in ((-signal.SIGKILL,) if kind in ("driver", "family") and family else (0, 3)), told
    again = Live(streams, tmp_path)
    assert again.wait() == 0, again.told
    assert answered(tmp_path) == live
