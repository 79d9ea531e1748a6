"""A clock that jumps: that of the machine changes nothing, that of a stream is named and refused.

The other ways in which a night can go wrong, and where their outcomes are tested:

* a truncated Parquet file fails the queries that read it, and names it: ``test_bad_input``, ``test_nights``;
* a flipped byte in a checkpoint is found and computed again: ``test_nights``, ``checkpoint/test_table``;
* a full disk is an outside cause, and the next night goes on: ``test_nights``;
* a partition that arrives twice changes nothing, partitions in any order give one evaluation's answers:
  ``test_nights``, ``test_incremental``; copied under a later name, where time counts, it is refused: here.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.history.test_nights import DAYS, World
from tests.history.test_timed import WITHIN, row, two, write
from tests.spark import histories
from tests.spark.histories import Registered
from tests.spark.nights import from_scratch, left, night

from streambound.checkpoint.table import COMPACT_EVERY
from streambound.errors import DataError

PAST, FUTURE = 10**9, 4 * 10**9


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "quarantined"))
    return World(tmp_path)


@pytest.mark.parametrize("moment", [PAST, FUTURE], ids=["back", "ahead"])
def test_a_change_is_seen_whatever_the_clock_says_of_the_file(moment: int, world: World) -> None:
    world.night()
    os.utime(world.file(DAYS[2]), (moment, moment))
    assert world.night()["join"].rows_read == 20, "it is read once more"
    world.arrive(DAYS[2], seed=1)
    os.utime(world.file(DAYS[2]), (moment, moment))
    found = world.night()
    assert found["join"].rows_read == 40 and found["join"].started_after == DAYS[1]
    world.equals_one_evaluation()
    assert world.night()["join"].rows_read == 0


def test_new_content_of_the_same_size_and_time_is_seen(world: World) -> None:
    """As a clock that was set back between two writes would leave it."""
    file = world.file(DAYS[2])
    first = pq.ParquetFile(file).read()
    flat: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(first, file, **flat)
    before = file.stat()
    world.night()
    pq.write_table(first.set_column(1, "B", pa.array([99] * len(first))), file, **flat)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert world.night()["join"].rows_read == 20
    world.equals_one_evaluation()


@pytest.mark.parametrize(
    "moment", [PAST, pytest.param(FUTURE, marks=pytest.mark.heavy)], ids=["back", "ahead"]
)
def test_checkpoints_survive_while_files_are_put_together_and_removed(moment: int, world: World) -> None:
    """All times of the tables' files jump each night, over more nights than it takes to tidy twice."""
    query = Registered("distinct", "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.B AND S.A BETWEEN 1 AND 9")
    for number in range(2 * COMPACT_EVERY + 1):
        world.arrive(f"2026-04-{number + 1:02}" if number < 30 else f"2026-05-{number - 29:02}")
        found = world.night(query)["distinct"]
        assert number == 0 or (found.rows_read, len(found.read_partitions)) == (40, 1)
        for file in (world.home / "checkpoints").rglob("*"):
            os.utime(file, (moment, moment))
    assert (
        left(world.home, "distinct")
        == from_scratch([query], world.catalog, world.folder / "whole")["distinct"]
    )


def timed(folder: Path, *parts: list[dict[str, Any]]) -> tuple[Registered, Any]:
    """The query WITHIN over partitions 0, 1, ..., evaluated night by night."""
    case, query = two(WITHIN), Registered("q", WITHIN)
    catalog = histories.placed(case.catalog, folder)
    for number, rows in enumerate(parts):
        write(case, number, rows, folder)
        answer = night([query], catalog, folder / "nightly")["q"]
        assert answer.error is None, answer.error
    return query, catalog


def test_a_stream_whose_clock_jumps_ahead_and_back(tmp_path: Path) -> None:
    """The partition after the jump is refused, the answers before it stay; corrected, all is in its place."""
    query, catalog = timed(tmp_path, [row("S", 1)], [row("T", 2), row("S", 900)])
    kept = left(tmp_path / "nightly", "q")
    case = two(WITHIN)
    write(case, 2, [row("T", 5), row("S", 6)], tmp_path)
    refused = night([query], catalog, tmp_path / "nightly")["q"]
    assert isinstance(refused.error, DataError)
    assert "partition 2" in str(refused.error) and "the partitions before it reach 900" in str(refused.error)
    now = left(tmp_path / "nightly", "q")
    parts = [name for name in kept if name.startswith(f"{histories.KEY}=")]
    assert parts and {name: now[name] for name in parts} == {name: kept[name] for name in parts}
    write(case, 1, [row("T", 2), row("S", 4)], tmp_path)
    mended = night([query], catalog, tmp_path / "nightly")["q"]
    assert (mended.error, mended.started_after) == (None, "0")
    assert left(tmp_path / "nightly", "q") == from_scratch([query], catalog, tmp_path / "whole")["q"]


def test_a_partition_copied_under_a_later_name_is_refused(tmp_path: Path) -> None:
    query, catalog = timed(tmp_path, [row("S", 1)], [row("T", 2)])
    good = left(tmp_path / "nightly", "q")
    for stream in "ST":
        shutil.copytree(tmp_path / stream / f"{histories.KEY}=1", tmp_path / stream / f"{histories.KEY}=2")
    refused = night([query], catalog, tmp_path / "nightly")["q"]
    assert isinstance(refused.error, DataError) and "partition 2" in str(refused.error)
    for stream in "ST":
        shutil.rmtree(tmp_path / stream / f"{histories.KEY}=2")
    assert night([query], catalog, tmp_path / "nightly")["q"].error is None
    assert left(tmp_path / "nightly", "q") == good
