"""The engine of a task: what it leaves to the next task of its process, and what it does not."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from streambound.errors import DataError
from streambound.tasks.embedded_engine import EmbeddedEngine, EngineQuery, opened, translated

TABLES = (
    "SELECT (SELECT count(*) FROM duckdb_tables()) + (SELECT count(*) FROM duckdb_views() WHERE NOT internal)"
)
USED = "SELECT sum(memory_usage_bytes) + sum(temporary_storage_bytes) FROM duckdb_memory()"


@pytest.fixture(autouse=True)
def spilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where folders to spill to are made."""
    folder = tmp_path / "it's"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def one(engine: EmbeddedEngine, sql: str) -> int:
    """The only value of the only row."""
    ((value,),) = engine.rows(EngineQuery(sql))
    return int(value)


def test_the_next_task_takes_the_connection_and_nothing_that_was_in_it(spilled: Path) -> None:
    with opened(64) as first:
        first.connection.execute("CREATE TABLE tuples AS FROM range(100_000)")
        first.connection.execute("CREATE VIEW seen AS FROM tuples")
        assert one(first, TABLES) == 2 and one(first, USED) > 100_000
    with opened(64) as second:
        assert second.connection is first.connection
        assert one(second, TABLES) == 0 and one(second, USED) == 0
        with opened(64) as beside:
            assert beside.connection is not second.connection
    with opened(65) as third:
        assert third.connection is not second.connection
        assert one(third, "SELECT count(*) FROM duckdb_settings() WHERE name = 'memory_limit'") == 1
    assert not list(spilled.iterdir())


def test_a_task_that_spills_or_fails_leaves_nothing(spilled: Path) -> None:
    with opened(64) as full:
        full.connection.execute("CREATE TABLE tuples AS SELECT hash(range) FROM range(20_000_000)")
        assert list(spilled.glob("*/*"))
    with pytest.raises(DataError), opened(64) as failed, translated(None):
        assert failed.connection is not full.connection
        failed.connection.execute("SELECT error('bad')")
    with opened(64) as after:
        assert after.connection is not failed.connection
        assert one(after, "SELECT count(*) FROM range(10)") == 10
    assert not list(spilled.iterdir())


FORKS = """
import os
from streambound.tasks.embedded_engine import EngineQuery, opened
def task():
    with opened(64) as engine:
        return list(engine.rows(EngineQuery("SELECT 7")))
print(task())
for exits in (True, False):
    child = os.fork()
    if not child:
        if exits:
            raise SystemExit(0)
        os._exit(0 if task() == [(7,)] else 1)
    assert os.waitpid(child, 0)[1] == 0
print(task())
"""


def test_a_forked_process_opens_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.splitlines() == ["[(7,)]"] * 2, done.stderr


def test_a_task_that_leaves_a_result_open_ends_all_the_same() -> None:
    with opened(64) as engine:
        batches = engine.batches(EngineQuery("FROM range(1_000_000)"))
        next(batches)
    with opened(64) as after:
        assert after.connection is not engine.connection and one(after, "SELECT 1") == 1


def test_a_file_that_is_written_again_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    for value in (1, 2):
        with opened(64) as engine:
            engine.connection.execute(f"COPY (SELECT {value} AS a) TO '{path}' (FORMAT parquet)")
        with opened(64) as engine:
            assert one(engine, f"SELECT a FROM read_parquet('{path}')") == value


def test_nothing_is_printed_of_how_far_a_task_is() -> None:
    """DuckDB takes a process without a main file, as workers are, for a person's own."""
    program = (
        "from streambound.tasks.embedded_engine import EngineQuery, opened\n"
        "shown = EngineQuery(\"SELECT current_setting('enable_progress_bar')\")\n"
        "with opened() as engine: print(*engine.rows(shown))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "(False,)\n", done.stderr
