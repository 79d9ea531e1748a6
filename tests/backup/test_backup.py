"""Back up, destroy, restore: the same digests, and a run that goes on from there."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.checkpoint.test_object_storage import ROOT as ADDRESS
from tests.checkpoint.test_object_storage import bucket, endpoint
from tests.results.conftest import database, new_database, numbers, postgres
from tests.results.databases import Database

from streambound import settings
from streambound.backup.manifest import NAME, Entry, read_manifest
from streambound.backup.restoring import restore
from streambound.backup.saving import save
from streambound.checkpoint.lock import NAME as LOCK
from streambound.checkpoint.lock import alone
from streambound.cli import main
from streambound.errors import DataError, StorageError
from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.projects.registry import load_registry
from streambound.results import Figure, Results, Run

__all__ = ["bucket", "database", "endpoint", "new_database", "numbers", "postgres"]

CATALOG = """streams:
  S:
    columns: {A: int, B: int}
    history: {path: s, partition_by: date}
"""
QUERIES = {
    "few": "SELECT DISTINCT A FROM S WHERE A BETWEEN 1 AND 3",
    "counts": "SELECT A, COUNT(*) FROM S WHERE A BETWEEN 1 AND 3 GROUP BY A",
}
DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")
WRITTEN = {"format": 1, "streambound": "1", "made": ""}
ENTRY = {"bytes": 1, "sha256": ""}
LOST = ("registry", "checkpoints", "answers", "results.db", "results.db-wal", "results.db-shm")


class World:
    """A home with two evaluated days; the backup is beside it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.backup = folder / "home", folder / "backup"
        (self.home / "registry" / "queries").mkdir(parents=True)
        (self.home / "registry" / "streams.yml").write_text(CATALOG)
        for name, sql in QUERIES.items():
            (self.home / "registry" / "queries" / f"{name}.sql").write_text(sql)
        for number, day in enumerate(DAYS[:2]):
            self.arrive(day, [number + 1, 1])

    def arrive(self, day: str, values: list[int]) -> None:
        file = self.home / "streams" / "s" / f"date={day}" / "part-00000.parquet"
        file.parent.mkdir(parents=True)
        pq.write_table(pa.table({"A": values, "B": values}), file)

    def night(self) -> dict[str, HistoryAnswer]:
        registry = load_registry(settings.registry())
        found = evaluate_history(
            LocalExecutor(1), registry.queries, registry.catalog, checkpoints=settings.checkpoints_of(None)
        )
        assert [answer.error for answer in found] == [None] * len(QUERIES)
        return {answer.query: answer for answer in found}

    def destroy(self) -> None:
        for name in LOST:
            path = self.home / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def files(self) -> dict[str, bytes]:
        """All that is in the home, but what says only that a run was there."""
        paths = sorted(self.home.rglob("*"))
        return {str(p): p.read_bytes() for p in paths if p.is_file() and p.name != LOCK}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for name in ("STREAMBOUND_CHECKPOINTS", "STREAMBOUND_STREAMS", "STREAMBOUND_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(tmp_path / "home" / "registry"))
    return World(tmp_path)


def recorded(store: Results) -> list[Any]:
    store.record_run(Run("r1", "evaluate_history", state="success", parameters={"b": [1, None], "a": "ü"}))
    store.record_figures([Figure("r1", "seconds", 0.1)])
    return [store.run("r1", "evaluate_history"), store.figures("r1")]


def read(store: Results) -> list[Any]:
    return [store.run("r1", "evaluate_history"), store.figures("r1")]


def test_what_was_destroyed_is_restored_with_the_same_digests_and_the_next_run_goes_on(world: World) -> None:
    world.night()
    records = recorded(Results())
    first = save(world.backup)
    assert {path.partition("/")[0] for path in first.files} == {
        *("registry", "results", "checkpoints", "answers")
    }
    world.destroy()
    assert restore(world.backup) == first
    again = save(world.backup.with_name("again"))
    assert again.files == first.files
    assert read(Results()) == records
    world.arrive(DAYS[2], [3, 3])
    answers = world.night()
    assert {a.started_after for a in answers.values()} == {DAYS[1]}
    assert {a.read_partitions for a in answers.values()} == {(DAYS[2],)}
    digests = {name: answer.digest for name, answer in answers.items()}
    world.destroy()
    restore(world.backup, ["registry"])
    assert {name: answer.digest for name, answer in world.night().items()} == digests


def test_results_are_restored_to_either_kind_of_server(
    world: World, new_database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = new_database(), new_database()
    monkeypatch.setenv("STREAMBOUND_DATABASE_URL", source.url)
    records = recorded(Results())
    first = save(world.backup, ["results"])
    monkeypatch.setenv("STREAMBOUND_DATABASE_URL", target.url)
    restore(world.backup)
    assert read(Results()) == records and target.content() == source.content()
    assert save(world.backup.with_name("again"), ["results"]).files == first.files
    with pytest.raises(DataError, match="there is a results database already"):
        restore(world.backup)
    assert target.content() == source.content()
    # The backup is as it was written, whatever opened it.
    assert read_manifest(world.backup) == first
    restored_elsewhere(world.backup, monkeypatch, records)


def restored_elsewhere(backup: Path, monkeypatch: pytest.MonkeyPatch, records: list[Any]) -> None:
    """From PostgreSQL to SQLite and within SQLite."""
    monkeypatch.delenv("STREAMBOUND_DATABASE_URL")
    restore(backup)
    assert read(Results()) == records


def test_a_copy_into_postgresql_is_whole_or_not_there(
    world: World, postgres: Any, numbers: Iterator[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(Results())
    save(world.backup, ["results"])
    name = f"results_{next(numbers)}"
    postgres.create_databases(name)
    target = Database(postgres.url(name))
    # The last of its tables is refused.
    target.execute("CREATE VIEW verdicts AS SELECT 1")
    monkeypatch.setenv("STREAMBOUND_DATABASE_URL", target.url)
    with pytest.raises(StorageError):
        restore(world.backup)
    assert target.tables() == set()


def test_checkpoints_in_object_storage(world: World, bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMBOUND_CHECKPOINTS", ADDRESS)
    world.night()
    first = save(world.backup)
    assert first.of("checkpoints")
    world.destroy()
    bucket.objects.delete()
    restore(world.backup)
    assert save(world.backup.with_name("again")).files == first.files
    # What was cut short is completed: nothing is written twice.
    lost = next(o for o in bucket.objects.all() if "/_delta_log/" in o.key)
    lost.delete()
    restore(world.backup)
    world.arrive(DAYS[2], [3, 3])
    assert {a.started_after for a in world.night().values()} == {DAYS[1]}
    with pytest.raises(DataError, match="other files than the backup"):
        restore(world.backup, ["checkpoints"])


def test_a_restore_overwrites_nothing_and_is_repeated(world: World) -> None:
    world.night()
    save(world.backup)
    before = world.files()
    # All is there.
    restore(world.backup)
    assert world.files() == before
    # Of what was cut short the rest is put there.
    shutil.rmtree(world.home / "answers")
    restore(world.backup)
    assert world.files() == before
    query = world.home / "registry" / "queries" / "few.sql"
    query.write_text("SELECT A FROM S")
    shutil.rmtree(world.home / "answers")
    with pytest.raises(DataError) as caught:
        restore(world.backup)
    assert caught.value.subject == str(world.home / "registry") and "queries/few.sql" in caught.value.message
    assert not (world.home / "answers").exists()
    restore(world.backup, ["answers"])
    assert (
        world.home / "answers" / "few" / "_answer.json"
    ).exists() and query.read_text() == "SELECT A FROM S"


def test_a_backup_overwrites_nothing_and_does_not_back_up_itself(world: World) -> None:
    save(world.backup)
    with pytest.raises(DataError, match="is there already"):
        save(world.backup)
    with pytest.raises(DataError, match="lies in the registry"):
        save(world.home / "registry" / "backup")
    assert world.backup.stat().st_mode & 0o077 == 0


def test_what_fails_half_way_leaves_nothing(world: World) -> None:
    world.night()
    # Read last but for the answers, and refused.
    (world.home / "results.db").write_text("not a database")
    with pytest.raises(StorageError, match="not a database"):
        save(world.backup)
    assert [path.name for path in world.backup.parent.iterdir()] == ["home"]


@pytest.mark.parametrize("how", ["flipped", "missing"])
def test_a_damaged_backup_restores_nothing(world: World, how: str) -> None:
    world.night()
    manifest = save(world.backup)
    path = world.backup / max(manifest.files)
    if how == "missing":
        path.unlink()
    else:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    world.destroy()
    before = world.files()
    with pytest.raises(DataError) as caught:
        restore(world.backup)
    assert caught.value.subject == str(path) and world.files() == before


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "cannot be read"),
        ({"format": 9, "streambound": "7.0.0"}, "of a later release"),
        ({**WRITTEN, "files": {"answers/x": {}}}, "cannot be read"),
        ({**WRITTEN, "files": {"answers/../../x": ENTRY}}, "names a file"),
        ({**WRITTEN, "files": {"/etc/passwd": ENTRY}}, "names a file"),
    ],
)
def test_a_manifest_that_is_none_is_one_error(world: World, body: dict[str, Any], said: str) -> None:
    world.backup.mkdir()
    (world.backup / NAME).write_text(json.dumps(body))
    with pytest.raises(DataError, match=said):
        restore(world.backup)


def test_no_backup_and_a_part_that_it_lacks(world: World) -> None:
    with pytest.raises(DataError, match="there is no backup"):
        restore(world.backup)
    save(world.backup, ["registry"])
    with pytest.raises(DataError, match="the backup has no answers"):
        restore(world.backup, ["answers"])


def test_a_run_is_waited_for_and_none_is_held_meanwhile(world: World) -> None:
    world.night()
    told, waiting = list[str](), threading.Event()

    def tell(line: str) -> None:
        told.append(line)
        waiting.set()

    backup = threading.Thread(target=save, args=(world.backup,), kwargs={"tell": tell})
    with alone(settings.answers_root() / "few", lambda: None):
        backup.start()
        assert waiting.wait(60)
        # A run over both queries would wait for ever if this were held.
        with alone(settings.answers_root() / "counts", lambda: None, wait=0.0):
            assert not world.backup.exists()
    backup.join(60)
    assert told == ["few: a run is evaluating it; waiting for its end"]
    assert read_manifest(world.backup).of("answers")


def test_the_command_says_what_is_in_it(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.night()
    assert main(["backup", str(world.backup), "--only", "registry", "answers"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split()[:3] == ["registry", "3", "files"] and out[1].split()[:3] == [
        "results",
        "0",
        "files",
    ]
    assert out[-1] == f"backup written to {world.backup}"
    assert main(["backup", str(world.backup)]) == 2
    assert "fix: name another" in capsys.readouterr().err
    world.destroy()
    assert main(["restore", str(world.backup)]) == 0
    made = json.loads((world.backup / NAME).read_text())["made"]
    assert capsys.readouterr().out.splitlines()[-1] == f"restored from the backup of {made}"
    assert isinstance(next(iter(read_manifest(world.backup).files.values())), Entry)
