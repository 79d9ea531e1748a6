"""The table of checkpoints: whole commits, and what is damaged is found and replaced."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.checkpoint.rows import checkpoint, late

from streambound.checkpoint.table import COMPACT_EVERY, RETENTION_HOURS, CheckpointTable, address_of
from streambound.errors import StorageError

DAYS = [f"2026-01-{day:02}" for day in range(1, 6)]


def opened(folder: Path) -> CheckpointTable:
    return CheckpointTable(str(folder / "q"), "q")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = opened(tmp_path)
    for day in DAYS:
        table.commit("f", [checkpoint(day)], [])
    return tmp_path


def test_what_is_committed_is_read(folder: Path) -> None:
    table = opened(folder)
    assert (table.faults, table.late, table.version) == ([], (), 4)
    assert {n: replace(r, segment=b"", state=b"") for n, r in table.rows.items()} == {
        day: replace(checkpoint(day), segment=b"", state=b"") for day in DAYS
    }
    assert table.load(DAYS[1:3]) == {day: checkpoint(day) for day in DAYS[1:3]}
    assert {row.partition: row.digest for row in table.rows.values()} == {
        day: checkpoint(day).digest for day in DAYS
    }


def test_before_the_first_commit_there_is_nothing(tmp_path: Path) -> None:
    table = opened(tmp_path)
    assert (table.rows, table.faults, table.version) == ({}, [], -1)
    table.commit("f", [], [])
    assert not (tmp_path / "q").exists()


def test_a_partition_has_one_checkpoint_and_what_is_late_is_replaced(folder: Path) -> None:
    table = opened(folder)
    changed = checkpoint(DAYS[2], b"changed")
    table.commit("f", [changed, checkpoint("it's new")], [late(DAYS[0])], gone=[DAYS[4], "never there"])
    again = opened(folder)
    assert sorted(again.rows) == [*DAYS[:4], "it's new"] and again.version == 5
    assert again.load([DAYS[2]])[DAYS[2]].state == b"changed"
    assert again.late == (late(DAYS[0]),)
    again.commit("f", [], [])
    assert opened(folder).late == () and len(opened(folder).rows) == 5


def test_nothing_new_is_no_commit(folder: Path) -> None:
    table = opened(folder)
    table.commit("f", [], [])
    assert opened(folder).version == 4


def test_another_fingerprint_drops_what_was_there(folder: Path) -> None:
    table = opened(folder)
    table.commit("g", [checkpoint(DAYS[0], fingerprint="g")], [])
    table.commit("g", [checkpoint(DAYS[1], fingerprint="g")], [])
    assert {n: r.fingerprint for n, r in opened(folder).rows.items()} == {DAYS[0]: "g", DAYS[1]: "g"}


def test_anew_drops_what_was_there(folder: Path) -> None:
    opened(folder).commit("f", [checkpoint("x")], [], anew=True)
    assert list(opened(folder).rows) == ["x"]


def test_files_of_single_nights_are_put_together(tmp_path: Path) -> None:
    table = opened(tmp_path)
    days = [f"{number:05}" for number in range(4 * COMPACT_EVERY)]
    for day in days:
        table.commit("f", [checkpoint(day)], [])
    again = opened(tmp_path)
    assert list(again.rows) == days or sorted(again.rows) == days
    assert again.faults == [] and len(DeltaTable(str(tmp_path / "q")).file_uris()) <= COMPACT_EVERY


def test_files_of_a_killed_commit_are_removed_in_the_end(tmp_path: Path) -> None:
    table = opened(tmp_path)
    table.commit("f", [checkpoint("00000")], [])
    orphan, fresh = (tmp_path / "q" / f"part-{name}.zstd.parquet" for name in ("old", "fresh"))
    for file in (orphan, fresh):
        file.write_bytes(b"half")
    long_ago = time.time() - 3_600 * (RETENTION_HOURS + 1)
    os.utime(orphan, (long_ago, long_ago))
    for number in range(1, COMPACT_EVERY):
        table.commit("f", [checkpoint(f"{number:05}")], [])
    assert fresh.exists() and not orphan.exists(), "another run may be writing the fresh one"
    assert len(opened(tmp_path).load(opened(tmp_path).rows)) == COMPACT_EVERY


def test_a_commit_of_another_run_in_between(folder: Path) -> None:
    one, other = opened(folder), opened(folder)
    other.commit("f", [checkpoint(DAYS[0], b"theirs")], [])
    with pytest.raises(StorageError, match="another run changed the checkpoints"):
        one.commit("f", [checkpoint(DAYS[0], b"mine")], [])
    assert opened(folder).load([DAYS[0]])[DAYS[0]].state == b"theirs"


def data_files(folder: Path) -> list[Path]:
    """The files of the commits, in their order; a clock may give several the same time."""
    logs = sorted((folder / "q" / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    return [folder / "q" / action["add"]["path"] for action in actions if "add" in action]


def log_file(folder: Path, version: int) -> Path:
    return folder / "q" / "_delta_log" / f"{version:020}.json"


def edit_log(folder: Path, kind: str, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Change the actions of one kind in the first entry of the log, or drop them."""
    path = log_file(folder, 0)
    actions = [json.loads(line) for line in path.read_text().splitlines()]
    changed = [{kind: change(action[kind])} if kind in action else action for action in actions]
    path.write_text("".join(json.dumps(action) + "\n" for action in changed if action != {kind: None}))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated data": lambda folder: os.truncate(data_files(folder)[2], 700),
    "emptied data": lambda folder: os.truncate(data_files(folder)[2], 0),
    "missing data": lambda folder: data_files(folder)[2].unlink(),
    "truncated log": lambda folder: os.truncate(log_file(folder, 3), 50),
    "emptied log": lambda folder: os.truncate(log_file(folder, 3), 0),
    "noise in the log": lambda folder: log_file(folder, 2).write_text("noise"),
    "first of the log missing": lambda folder: log_file(folder, 0).unlink(),
    "middle of the log missing": lambda folder: log_file(folder, 2).unlink(),
    "another column in the log": lambda folder: log_file(folder, 0).write_text(
        log_file(folder, 0).read_text().replace("peak_units", "0eak_units")
    ),
    "no metadata": lambda folder: edit_log(folder, "metaData", lambda body: None),
    "metadata with other partitioning": lambda folder: edit_log(
        folder, "metaData", lambda body: {**body, "partitionColumns": ["partition"]}
    ),
    "metadata with an unknown type": lambda folder: edit_log(
        folder,
        "metaData",
        lambda body: {**body, "schemaString": body["schemaString"].replace("long", "wide")},
    ),
    "a later reader is asked for": lambda folder: edit_log(
        folder, "protocol", lambda body: {**body, "minReaderVersion": 99}
    ),
    "log missing": lambda folder: [p.unlink() for p in (folder / "q" / "_delta_log").iterdir()],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_costs_what_it_hits_and_the_next_commit_mends_it(
    damage: Callable[[Path], object], folder: Path
) -> None:
    damage(folder)
    table = opened(folder)
    left = table.load(DAYS)
    assert len(left) < len(DAYS), "something was lost"
    assert all(row == checkpoint(day) for day, row in left.items())
    lost = [day for day in DAYS if day not in left]
    table.commit("f", [checkpoint(day) for day in lost], [])
    again = opened(folder)
    assert again.faults == [] and again.load(DAYS) == {day: checkpoint(day) for day in DAYS}


def test_the_last_of_the_log_missing_is_an_older_table(folder: Path) -> None:
    log_file(folder, 4).unlink()
    table = opened(folder)
    assert table.version == 3 and sorted(table.rows) == DAYS[:4]


@pytest.mark.parametrize("seed", range(40))
def test_a_flipped_byte_never_changes_what_is_read(seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    file = chance.choice([*data_files(folder), *(folder / "q" / "_delta_log").glob("*.json")])
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)
    table = opened(folder)
    for day, row in table.load(DAYS).items():
        assert row.digest == checkpoint(day).digest
        assert (row.segment, row.state) == (checkpoint(day).segment, checkpoint(day).state)
    table.commit("f", [checkpoint(day) for day in DAYS if day not in table.rows], [])
    assert sorted(opened(folder).load(DAYS)) == DAYS


def test_two_checkpoints_of_a_partition_count_for_none(folder: Path) -> None:
    one, other = opened(folder), opened(folder)
    one.commit("f", [checkpoint("x", b"one")], [])
    other.commit("f", [checkpoint("x", b"other")], [])
    table = opened(folder)
    assert table.faults == ["there are two checkpoints of partition x"] and "x" not in table.rows
    table.commit("f", [checkpoint("x", b"third")], [])
    again = opened(folder)
    assert again.faults == [] and again.load(["x"])["x"].state == b"third"


def test_a_folder_that_is_a_file_is_an_outside_cause(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        CheckpointTable(str(tmp_path / "file" / "q"), "q").commit("f", [checkpoint("x")], [])


def test_an_address_as_file_url(tmp_path: Path) -> None:
    address = address_of(f"file://{tmp_path}/deep/", "q/../é x")
    table = CheckpointTable(address, "q")
    table.commit("f", [checkpoint(DAYS[0])], [])
    assert list(CheckpointTable(address, "q").rows) == [DAYS[0]]
    assert [path.name for path in (tmp_path / "deep").iterdir()] != []
