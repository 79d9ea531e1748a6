"""History without Spark: processes of this machine give what this process gives, and end with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any

import pytest
from tests.history.kinds import COLUMNS, KINDS, MEMORY, SQL, STREAM, STREAMS, arrive, placed
from tests.spark import histories
from tests.spark.nights import left, night

from streambound.approximate.plan import MemoryPlan
from streambound.cli import main
from streambound.errors import StorageError
from streambound.history.executor import about_read
from streambound.history.local import LocalExecutor, local_executor
from streambound.history.prepare import draft, prepare
from streambound.plan.model import Plan
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.storage.partitions import PartitionRange
from streambound.tasks.cogroup import SegmentCoGroup, WindowCoGroup
from streambound.tasks.embedded_engine import MEMORY_MB
from streambound.tasks.summarise import StreamScan, Task

PARTS = 6


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalExecutor]:
    """Two, which are given everything."""
    executor = LocalExecutor(2, small=0)
    yield executor
    executor.close()


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    for part in range(PARTS):
        arrive(tmp_path, part)
    return placed(tmp_path)


def test_the_kinds_are_all_that_tasks_summarise_in_another_way(catalog: Catalog) -> None:
    drafts = [draft(query.name, query.sql, catalog, MEMORY.get(query.name)) for query in KINDS]
    jobs = [prepare(one, PartitionRange(), {}) for one in drafts]
    parts = [part.plan for job in jobs if job.plan is not None for part in job.plan.parts]
    assert {type(job.cogroup) for job in jobs} == {SegmentCoGroup, WindowCoGroup, NoneType}
    assert {type(one) for one in parts} == {Plan, MemoryPlan}
    assert {one.ending is None for one in parts} == {True, False}
    assert {one.timed for one in parts} == {True, False}


def test_workers_leave_the_same_bytes_as_this_process(
    workers: LocalExecutor, catalog: Catalog, tmp_path: Path
) -> None:
    for home, executor in (("here", LocalExecutor(1)), ("there", workers)):
        found = night(KINDS, catalog, tmp_path / home, executor, memory=MEMORY)
        assert {name: a.error for name, a in found.items()} == dict.fromkeys(SQL)
        assert all(answer.answer_count > 0 for answer in found.values())
    for name in SQL:
        assert left(tmp_path / "there", name) == left(tmp_path / "here", name), name
    assert workers._pool is not None and len(workers._pool.processes) == 2


def test_a_bad_file_is_told_as_in_this_process(
    workers: LocalExecutor, catalog: Catalog, tmp_path: Path
) -> None:
    s = catalog.relations[0]
    rows = [{"ts": 7, "A": 1, "B": 50}] * 3
    histories.write(s, rows, tmp_path, 3)
    errors = []
    for home, executor in (("here", LocalExecutor(1)), ("there", workers)):
        found = night(KINDS, catalog, tmp_path / home, executor, memory=MEMORY)
        errors.append({name: str(a.error) for name, a in found.items()})
        assert [type(a.error).__name__ for a in found.values()].count("DataError") >= 4
    assert errors[0] == errors[1] and "max_rows_per_timestamp" in errors[0]["window"]


def test_little_is_read_by_this_process_and_more_by_workers(catalog: Catalog, tmp_path: Path) -> None:
    executor = LocalExecutor(2, small=10**6)
    night(KINDS[:1], placed(tmp_path), tmp_path / "home", executor)
    assert executor._pool is None
    night(KINDS, catalog, tmp_path / "other", executor, memory=MEMORY)
    assert executor._pool is not None
    executor.close()


def test_a_worker_that_was_killed_is_told_in_a_sentence_and_the_next_run_has_others(
    catalog: Catalog, tmp_path: Path
) -> None:
    executor = LocalExecutor(2, small=0)
    night(KINDS[:1], catalog, tmp_path / "before", executor)
    assert executor._pool is not None
    for process in executor._pool.processes:
        os.kill(process.pid or 0, signal.SIGKILL)
    with pytest.raises(StorageError) as caught:
        night(KINDS, catalog, tmp_path / "home", executor, memory=MEMORY)
    said = "a worker process was ended by SIGKILL while partitions were summarised"
    assert caught.value.message == said and caught.value.exit_code == 3
    assert "memory" in str(caught.value.fix) and caught.value.__suppress_context__
    found = night(KINDS, catalog, tmp_path / "home", executor, memory=MEMORY)
    assert not any(answer.error for answer in found.values())
    executor.close()


def test_workers_do_not_hear_what_a_terminal_tells_all_its_processes(
    workers: LocalExecutor, catalog: Catalog, tmp_path: Path
) -> None:
    for number in range(2):
        found = night(KINDS[:1], catalog, tmp_path / str(number), workers)
        assert not any(answer.error for answer in found.values())
        assert workers._pool is not None
        for process in workers._pool.processes:
            os.kill(process.pid or 0, signal.SIGINT)
    assert all(process.is_alive() for process in workers._pool.processes)


class Hungry(StreamScan):
    """What no memory suffices for."""

    def by(self, task: Task) -> StreamScan:
        raise MemoryError


def test_a_process_without_memory_says_so() -> None:
    reading = Hungry(catalog_from_mapping({"S": STREAM}).relations[0], None, ())
    task = Task("S", "1", (), 0, frozenset())
    with pytest.raises(StorageError, match="memory ran out while partitions were summarised"):
        LocalExecutor(1).summaries(
            [task], {"S": reading}, lambda _: None, MEMORY_MB, in_rounds=False, ended=threading.Event()
        )


@pytest.mark.parametrize("count", [1, 2])
def test_when_nobody_waits_any_more_nothing_is_summarised(
    count: int, catalog: Catalog, tmp_path: Path
) -> None:
    executor, given = LocalExecutor(count, small=0), list[Any]()

    class Listening(LocalExecutor):
        def summaries(self, *args: Any, **options: Any) -> Any:
            given.append((args, options))
            return super().summaries(*args, **options)

    night(KINDS[:1], catalog, tmp_path / "home", Listening(1))
    ended = threading.Event()
    ended.set()
    ((args, options),) = given
    assert executor.summaries(*args, **{**options, "ended": ended}) == []
    assert executor._pool is None


PROGRAM = """
import os, signal, sys
from pathlib import Path

from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.query.catalog import load_catalog
from streambound.query.registry import RegisteredQuery

if __name__ == "__main__":
    folder, executor = Path(sys.argv[1]), LocalExecutor(2, small=0)

    def progress(message):
        # Once, by the evaluation itself, and not by who reads.
        if message == "32 of 40 partitions read":
            {what}

    query = RegisteredQuery("q", "SELECT A FROM S WHERE B > 40", folder)
    try:
        evaluate_history(executor, [query], load_catalog(folder / "streams.yml"), output=folder / "out",
                         progress=progress)
    except KeyboardInterrupt:
        executor.close()
        print([process.is_alive() for process in pool.processes])
"""


@pytest.mark.parametrize(
    ("what", "said", "code"),
    [
        # As a terminal does at Ctrl-C.
        (
            "global pool; pool = executor._pool; os.killpg(0, signal.SIGINT)",
            "[False, False]\n",
            0,
        ),
        # What they hold open would keep this test waiting.
        ("os.kill(os.getpid(), signal.SIGKILL)", "", -signal.SIGKILL),
    ],
    ids=["interrupted", "killed"],
)
def test_workers_end_with_whoever_started_them_and_say_nothing(
    what: str, said: str, code: int, tmp_path: Path
) -> None:
    for part in range(40):
        arrive(tmp_path, part)
    histories_of_s = {"path": str(tmp_path / "S"), "partition_by": histories.KEY}
    body = {"streams": {"S": {"columns": COLUMNS, "timestamp": "ts", "history": histories_of_s}}}
    (tmp_path / "streams.yml").write_text(json.dumps(body))
    (tmp_path / "program.py").write_text(PROGRAM.format(what=what))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        start_new_session=True,
    )
    assert (done.stdout, done.returncode) == (said, code), done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry over the histories of the kinds; its queries are those without a memory."""
    for part in range(PARTS):
        arrive(tmp_path / "streams", part)
    queries = tmp_path / "registry" / "queries"
    queries.mkdir(parents=True)
    keys: dict[str, Any] = {"S": histories.KEY, "T": histories.KEY, "R": None}
    streams: dict[str, Any] = {
        name: {**body, "history": {"path": name, **({"partition_by": keys[name]} if keys[name] else {})}}
        for name, body in STREAMS.items()
    }
    for name, format in (("O", {"path": "O", "format": "orc"}), ("V", {"table": "v"})):
        streams[name] = {"columns": {"A": "int"}, "history": {**format, "partition_by": histories.KEY}}
    (tmp_path / "registry" / "streams.yml").write_text(json.dumps({"streams": streams}))
    for name, sql in {**SQL, "orc": "SELECT A FROM O", "table": "SELECT A FROM V"}.items():
        (queries / f"{name}.sql").write_text(sql)
    (tmp_path / "streams" / "O" / f"{histories.KEY}=0").mkdir(parents=True)
    (tmp_path / "streams" / "O" / f"{histories.KEY}=0" / "f.orc").touch()
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(tmp_path / "registry"))
    for name in ("STREAMBOUND_CHECKPOINTS", "STREAMBOUND_STREAMS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_run_needs_neither_java_nor_pyspark(registry: Path) -> None:
    program = (
        "import sys; from streambound.cli import main;"
        " codes = [main(['run', name, '--engine', 'local']) for name in sys.argv[1:]];"
        " assert not {'pyspark', 'py4j'} & set(sys.modules); sys.exit(max(codes))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "bag", "window", "filter"],
        capture_output=True,
        text=True,
        env={**os.environ, "JAVA_HOME": "/nonexistent", "PATH": "/nonexistent"},
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["query"] for answer in answers] == ["bag", "window", "filter"]
    assert all(int(answer["answer_count"]) > 0 for answer in answers)


def test_workers_load_neither_pyspark_nor_what_takes_longer_than_their_work() -> None:
    with local_executor() as executor:
        assert executor.cores() == os.cpu_count()
    executor = LocalExecutor(2, small=0)
    loaded = executor._started().executor.submit(eval, "[*__import__('sys').modules]").result()
    assert "streambound.history.local" in loaded and not {"pyspark", "py4j", "scipy.special"} & set(loaded)
    executor.close()


@pytest.mark.parametrize(
    ("query", "what"), [("orc", "files of the format orc"), ("table", "a table of Spark")]
)
def test_what_only_spark_reads_is_refused_by_name(
    query: str, what: str, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", query, "--engine", "local"]) == 2
    told = capsys.readouterr().err
    assert told.count("streambound: ") == 1 and f"is {what}, which only Spark reads" in told
    assert "fix: use streambound run --engine spark, or write the history as Parquet" in told


def test_progress_counts_the_partitions_of_all_streams_that_a_task_reads() -> None:
    streams = [tuple(Task(stream, day, (), 1, frozenset("q")) for stream in "ST") for day in "12"]
    shared = [
        Task("scan", day, (), 2, frozenset("q"), stream_partitions=mine)
        for day, mine in zip("12", streams, strict=True)
    ]
    assert about_read(1, 2, shared) == "about 2 of 4 partitions read"


def test_a_run_goes_on_from_its_checkpoints(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "bag", "--engine", "local"]
    for more, read in (([], PARTS), ([], 0), (["--recompute"], PARTS)):
        assert main([*arguments, *more]) == 0
        assert len(json.loads(capsys.readouterr().out)["read_partitions"]) == read
