"""What is kept and then damaged: no file is served whose content is not what was written."""

from __future__ import annotations

import os
import random
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.history.test_nights import ALL, DAYS, World
from tests.spark.nights import left

from streambound.checkpoint.answer_files import as_written, digest_of_file, identity_of
from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.errors import StorageError
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.live.answers import NOTE, epoch_path, note_epoch, require_written
from streambound.tasks import emit


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "quarantined"))
    made = World(tmp_path)
    made.night()
    return made


def answer_file(world: World, query: str, day: str) -> Path:
    return world.home / "answers" / query / f"date={day}" / "part-00000.parquet"


def flip(file: Path, at: int, bit: int = 0) -> None:
    """Change a bit where it lies: size and inode stay."""
    with file.open("r+b") as opened:
        opened.seek(at)
        (found,) = opened.read(1)
        opened.seek(at)
        opened.write(bytes([found ^ 1 << bit]))


def everything(world: World) -> dict[str, Any]:
    return {query.name: left(world.home, query.name) for query in ALL}


@pytest.mark.parametrize("query", [query.name for query in ALL])
def test_a_flipped_byte_in_an_answer_file_is_named_and_mended(world: World, query: str) -> None:
    before, file = everything(world), answer_file(world, query, DAYS[0])
    flip(file, file.stat().st_size // 3)
    told: list[str] = []
    world.night(told=told)
    damaged = f"{query}: the answer file of partition {DAYS[0]} is damaged"
    assert f"{damaged}; what it held is computed again from the last sound boundary" in told
    assert everything(world) == before
    told.clear()
    assert {answer.rows_read for answer in world.night(told=told).values()} == {0}
    assert not any("damaged" in line for line in told), "it is mended once"


def test_a_file_that_was_only_touched_is_read_once_and_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, file, read = everything(world), answer_file(world, "join", DAYS[1]), list[str]()

    def digested(path: Path | str) -> str | None:
        read.append(str(path))
        return digest_of_file(path)

    monkeypatch.setattr("streambound.checkpoint.answer_files.digest_of_file", digested)
    world.night()
    assert read == [], "what nobody touched is not read"
    shutil.copy2(file, file.with_name("copy"))
    os.replace(file.with_name("copy"), file)
    told: list[str] = []
    assert world.night(told=told)["join"].started_after == DAYS[5]
    assert read == [str(file)] and not any("damaged" in line for line in told)
    world.night()
    assert read == [str(file)], "it is known from then on"
    assert everything(world) == before


def test_a_file_where_there_was_none_is_no_answer(world: World) -> None:
    file = answer_file(world, "filter", DAYS[2])
    world.arrive(DAYS[6])
    table = CheckpointTable(address_of(str(world.home / "checkpoints"), "filter"), "filter")
    assert as_written(file, table.rows[DAYS[2]].file) == table.rows[DAYS[2]].file
    assert as_written(file.with_name("none"), table.rows[DAYS[2]].file) is None
    assert identity_of(file.with_name("none")) == "" and digest_of_file(file.with_name("none")) is None


# What a disk, a person or a program may do to a file.
def damage(file: Path, others: list[Path], chance: random.Random) -> str:
    kind = chance.choice(["flip", "truncate", "empty", "zeros", "swap", "remove", "noise", "append"])
    size = file.stat().st_size
    match kind:
        case "flip" if size:
            for _ in range(chance.choice([1, 1, 3])):
                flip(file, chance.randrange(size), chance.randrange(8))
        case "truncate":
            os.truncate(file, chance.randrange(size + 1))
        case "empty":
            os.truncate(file, 0)
        case "zeros":
            file.write_bytes(bytes(size))
        case "swap":
            other = chance.choice(others)
            mine, theirs = file.read_bytes(), other.read_bytes()
            file.write_bytes(theirs)
            other.write_bytes(mine)
        case "remove":
            file.unlink()
        case "noise":
            file.write_bytes(chance.randbytes(size))
        case "append":
            with file.open("ab") as opened:
                opened.write(b"more")
    return f"{kind} {file.name}"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


@settings(
    max_examples=max(12, settings.default.max_examples // 6),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32))
def test_whatever_is_damaged_the_next_run_leaves_what_an_undisturbed_one_leaves(
    seed: int, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMBOUND_HOME", str(kept / "quarantined"))
    world, saved = World.__new__(World), kept / "saved"
    world.folder, world.allowed = kept, None
    if not saved.exists():
        World(kept).night()
        shutil.copytree(world.home, saved)
        world.arrive(DAYS[6])
        world.night()
        shutil.copytree(world.home, kept / "undisturbed")
    expected = {query.name: left(kept / "undisturbed", query.name) for query in ALL}
    # With a new day to be read or without; a copy of the answers is as good as they were.
    chance = random.Random(seed)
    shutil.rmtree(world.home)
    shutil.copytree(chance.choice([saved, kept / "undisturbed"]), world.home, copy_function=shutil.copy2)
    files = sorted(path for path in world.home.rglob("*") if path.is_file() and path.name != "_running")
    done = []
    for _ in range(chance.choice([1, 1, 2, 4])):
        there = [file for file in files if file.exists()]
        done.append(damage(chance.choice(there), there, chance))
    world.night()
    for query in ALL:
        assert left(world.home, query.name) == expected[query.name], (query.name, done)
    again: list[str] = []
    assert {answer.rows_read for answer in world.night(told=again).values()} == {0}, done
    assert not any("damaged" in line for line in again), (done, again)


def test_a_disk_that_refuses_one_query_costs_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    replace, listdir, scandir = os.replace, os.listdir, os.scandir
    theirs = str(world.home / "answers" / "join")

    def refuse(path: Any) -> None:
        if str(path).startswith(theirs):
            raise OSError(28, "No space left on device", str(path))

    def replacing(draft: Any, path: Any) -> None:
        refuse(path)
        replace(draft, path)

    def listing(path: Any) -> list[str]:
        refuse(path)
        return listdir(path)

    def night() -> dict[str, Any]:
        places = {"output": world.home / "answers", "checkpoints": str(world.home / "checkpoints")}
        return {a.query: a.error for a in evaluate_history(LocalExecutor(1), ALL, world.catalog, **places)}  # type: ignore[arg-type]

    world.arrive(DAYS[6])
    for name, broken in (("replace", replacing), ("listdir", listing)):
        with monkeypatch.context() as disk:
            disk.setattr(os, name, broken)
            errors = night()
        assert isinstance(errors["join"], StorageError) and "No space left" in errors["join"].message, name
        assert errors["distinct"] is errors["filter"] is None, name

    def scanning(path: Any = ".") -> Any:
        if str(path).endswith("/T"):
            raise OSError(5, "Input/output error", str(path))
        return scandir(path)

    with monkeypatch.context() as disk:
        disk.setattr(os, "scandir", scanning)
        errors = night()
    assert isinstance(errors["join"], StorageError) and isinstance(errors["distinct"], StorageError)
    assert errors["filter"] is None
    assert not any(night().values())
    world.equals_one_evaluation()


def test_live_answers_that_are_not_what_was_written_are_named(tmp_path: Path) -> None:
    schema = pa.schema([("A", pa.int64()), ("count", pa.decimal128(38, 0))])
    batch = pa.RecordBatch.from_pylist([{"A": 1, "count": Decimal(2)}], schema=schema)
    for epoch, batches in enumerate(([batch], [], [batch])):
        note_epoch(tmp_path, epoch, emit.write_answers(epoch_path(tmp_path, epoch), schema, batches)[1])
    require_written(tmp_path, 3)
    # One that Spark runs again, and whose file was written before its note.
    emit.write_answers(epoch_path(tmp_path, 2), schema, [batch])
    require_written(tmp_path, 3)
    path = epoch_path(tmp_path, 0)
    for file in (path, path.with_name(NOTE)):
        content = file.read_bytes()
        for damaged in (content[:9] + bytes([content[9] ^ 1]) + content[10:], content[:-2], b""):
            file.write_bytes(damaged)
            with pytest.raises(StorageError, match="epoch=00000000"):
                require_written(tmp_path, 3)
        file.unlink()
        with pytest.raises(StorageError, match="epoch=00000000"):
            require_written(tmp_path, 3)
        file.write_bytes(content)
    require_written(tmp_path, 3)
