"""What a night reads, where it goes on from, what is late, and how damage is mended."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.load import logged_reads
from tests.spark.histories import Registered
from tests.spark.nights import digests, from_scratch, left, night

from streambound.checkpoint.owner import read_owner, write_owner
from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.errors import DataError, StorageError
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.query.catalog import Catalog, catalog_from_mapping

JOIN = Registered("join", "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 5")
DISTINCT = Registered("distinct", "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.B AND S.A BETWEEN 1 AND 9")
FILTER = Registered("filter", "SELECT A, B FROM S WHERE B > 40")
ALL = [JOIN, DISTINCT, FILTER]
DAYS = [f"2026-03-{day:02}" for day in range(1, 11)]
ROWS = 20


class World:
    """Histories of S and T by day, and evaluations of them."""

    def __init__(self, folder: Path, allowed: str | None = None) -> None:
        self.folder, self.allowed = folder, allowed
        for day in DAYS[:6]:
            self.arrive(day)

    @property
    def catalog(self) -> Catalog:
        return catalog_from_mapping(
            {
                name: {
                    "columns": {"A": "int", "B": "int", "C": "int"},
                    "domains": {"C": {"min": 0, "max": 9}},
                    "allowed_lateness": self.allowed,
                    "history": {"path": str(self.folder / name), "partition_by": "date"},
                }
                for name in ("S", "T")
            }
        )

    def file(self, day: str, stream: str = "S") -> Path:
        return self.folder / stream / f"date={day}" / "part-00000.parquet"

    def arrive(self, day: str, seed: int = 0, streams: str = "ST", compression: str = "snappy") -> None:
        for stream in streams:
            chance = random.Random(f"{day} {seed} {stream}")
            columns = {
                "A": [chance.randrange(10) for _ in range(ROWS)],
                "B": [chance.randrange(100) for _ in range(ROWS)],
                "C": [0] * ROWS,
            }
            file = self.file(day, stream)
            file.parent.mkdir(parents=True, exist_ok=True)
            draft = file.with_name(".draft")
            pq.write_table(pa.table(columns), draft, compression=compression)
            os.replace(draft, file)

    def night(self, *queries: Registered, told: list[str] | None = None, **options: Any) -> dict[str, Any]:
        progress = (lambda _: None) if told is None else told.append
        found = night(queries or ALL, self.catalog, self.home, progress=progress, **options)
        assert [answer.error.one_line() for answer in found.values() if answer.error is not None] == []
        return found

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def equals_one_evaluation(self, **options: Any) -> None:
        expected = from_scratch(ALL, self.catalog, self.folder / "whole", **options)
        for query in ALL:
            assert left(self.home, query.name) == expected[query.name], query.name


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "quarantined"))
    return World(tmp_path)


def test_the_second_night_reads_the_new_partition_alone(world: World) -> None:
    first = world.night()
    assert [a.rows_read for a in first.values()] == [240, 240, 120]
    assert [a.rows for a in first.values()] == [240, 240, 120]
    assert first["join"].read_partitions == tuple(DAYS[:6]) and first["join"].started_after is None
    files = left(world.home, "join")
    world.arrive(DAYS[6])
    told: list[str] = []
    second = world.night(told=told)
    assert [a.rows_read for a in second.values()] == [40, 40, 20]
    assert [a.rows for a in second.values()] == [280, 280, 140]
    assert {a.read_partitions for a in second.values()} == {(DAYS[6],)}
    assert {a.started_after for a in second.values()} == {DAYS[5]}
    assert told[0] == "3 queries over 2 partitions of 2 streams"
    assert told[-1].endswith(
        f"rows from 7 partitions; 1 partition read ({DAYS[6]}), evaluated from the boundary after {DAYS[5]}"
    )
    again = left(world.home, "join")
    assert {n: again[n] for n in files if n.startswith("date=")} == {
        n: body for n, body in files.items() if n.startswith("date=")
    }
    world.equals_one_evaluation()
    told.clear()
    assert {a.rows_read for a in world.night(told=told).values()} == {0}
    assert told[-1].endswith(f"nothing read, evaluated from the boundary after {DAYS[6]}")
    world.equals_one_evaluation()


def test_a_partition_that_arrives_twice_changes_nothing(world: World) -> None:
    world.night()
    before = {query.name: left(world.home, query.name) for query in ALL}
    world.arrive(DAYS[2])
    world.arrive(DAYS[3], compression="zstd")
    again = world.night()
    assert again["join"].rows_read == 80, "it is read once more"
    assert again["join"].started_after == DAYS[5], "and nothing is evaluated again"
    assert {query.name: left(world.home, query.name) for query in ALL} == before
    assert world.night()["join"].rows_read == 0, "only once"


def test_a_changed_partition_is_put_in_its_place_and_no_other_read(world: World) -> None:
    world.night()
    world.arrive(DAYS[1], seed=1, streams="S")
    found = world.night()
    assert [a.rows_read for a in found.values()] == [20, 20, 20]
    assert found["join"].started_after == DAYS[0]
    world.equals_one_evaluation()


def test_partitions_in_any_order_and_one_that_goes(world: World) -> None:
    for day in (DAYS[9], DAYS[6], DAYS[8]):
        world.arrive(day)
        world.night()
    shutil.rmtree(world.file(DAYS[6]).parent)
    assert world.night()["join"].rows_read == 0
    world.equals_one_evaluation()
    shutil.rmtree(world.file(DAYS[6], "T").parent)
    assert world.night()["filter"].rows_read == 0
    world.equals_one_evaluation()
    assert DAYS[6] not in digests(world.home, "join")


def test_a_range_has_answers_of_its_own_and_the_next_night_reads_nothing_again(world: World) -> None:
    world.night()
    found = world.night(JOIN, DISTINCT, first=DAYS[3], last=DAYS[4])
    assert {a.rows_read for a in found.values()} == {0}
    assert found["join"].partitions == tuple(DAYS[3:5]) and found["join"].started_after is None
    expected = from_scratch([JOIN], world.catalog, world.folder / "range", first=DAYS[3], last=DAYS[4])[
        "join"
    ]
    mine = left(world.home, "join")
    assert {n: b for n, b in mine.items() if n != "checkpoints"} == {
        n: b for n, b in expected.items() if n != "checkpoints"
    }
    assert {a.rows_read for a in world.night().values()} == {0}
    world.equals_one_evaluation()


def test_a_partition_kept_out_is_not_read_again_when_it_is_let_in(world: World) -> None:
    world.night()
    out = {"S": {DAYS[2]: "odd"}}
    found = world.night(excluded=out)
    assert {a.rows_read for a in found.values()} == {0} and found["join"].rows == 220
    assert [(m.stream, m.partition) for m in found["join"].missing_partitions] == [("S", DAYS[2])]
    back = world.night()
    assert [back[q].rows_read for q in ("join", "distinct")] == [20, 20]
    world.equals_one_evaluation()


def test_recompute_reads_everything(world: World) -> None:
    world.night()
    found = world.night(recompute=True)
    assert [a.rows_read for a in found.values()] == [240, 240, 120]
    world.equals_one_evaluation()
    assert world.night()["join"].rows_read == 0


def test_a_changed_query_reads_everything_and_no_other_does(world: World) -> None:
    world.night()
    other = Registered("join", JOIN.sql.replace("5", "4"))
    found = world.night(other, DISTINCT)
    assert [found[q].rows_read for q in ("join", "distinct")] == [240, 0]
    commented = Registered("join", "-- the same\n" + other.sql.replace(" WHERE ", "\nWHERE "))
    assert world.night(commented)["join"].rows_read == 0


def test_answers_written_without_checkpoints_are_written_again(world: World) -> None:
    world.night()
    output = world.home / "answers"
    evaluate_history(LocalExecutor(1), ALL, world.catalog, first=DAYS[2], output=output)
    found = world.night()
    assert [a.rows_read for a in found.values()] == [0, 0, 120], "tasks write the answers of a filter"
    world.equals_one_evaluation()


def test_answers_that_are_gone_are_written_again(world: World) -> None:
    world.night()
    (gone,) = (world.home / "answers" / "join" / f"date={DAYS[2]}").iterdir()
    gone.unlink()
    (cut,) = (world.home / "answers" / "filter" / f"date={DAYS[3]}").iterdir()
    os.truncate(cut, 100)
    found = world.night()
    assert [a.rows_read for a in found.values()] == [0, 0, 20]
    world.equals_one_evaluation()
    shutil.rmtree(world.home / "answers")
    assert [a.rows_read for a in world.night().values()] == [0, 0, 120]
    world.equals_one_evaluation()


class TestLate:
    @pytest.fixture
    def world(self, world: World) -> World:
        world.allowed = "2 days"
        world.night()
        return world

    def test_within_what_is_allowed_it_is_put_in_its_place(self, world: World) -> None:
        world.arrive(DAYS[3], seed=1)
        found = world.night()
        assert found["join"].late == () and found["join"].started_after == DAYS[2]
        world.equals_one_evaluation()

    def test_later_its_earlier_version_stays_evaluated(self, world: World) -> None:
        before = {query.name: left(world.home, query.name) for query in ALL}
        kept = world.file(DAYS[2]).read_bytes()
        world.arrive(DAYS[2], seed=1, streams="S")
        found = world.night()
        for query in ALL:
            (late,) = found[query.name].late
            assert (late.stream, late.partition, late.lateness) == ("S", DAYS[2], "3 days")
            assert (Path(late.kept) / "part-00000.parquet").read_bytes() == world.file(DAYS[2]).read_bytes()
            (missing,) = found[query.name].missing_partitions
            assert missing.reason.startswith("changed 3 days late, more than the allowed 2 days: kept in ")
            now = left(world.home, query.name)
            assert {n: b for n, b in now.items() if n != "_answer.json"} == {
                n: b for n, b in before[query.name].items() if n != "_answer.json"
            }
        world.arrive(DAYS[6])
        again = world.night()
        assert again["join"].rows_read == 40 and len(again["join"].late) == 1, "it is told every night"
        world.file(DAYS[2]).write_bytes(kept)
        assert world.night()["join"].late == (), "the earlier version is there again"
        world.equals_one_evaluation()

    def test_written_again_with_the_same_rows_it_is_not_late(self, world: World) -> None:
        world.arrive(DAYS[0], compression="zstd")
        found = world.night()
        assert {a.late for a in found.values()} == {()}
        assert not (world.folder / "quarantined" / "quarantine").exists()
        world.equals_one_evaluation()
        assert world.night()["join"].rows_read == 0

    def test_what_never_was_there_is_no_part_of_the_answers(self, world: World) -> None:
        world.arrive("2026-02-20")
        found = world.night()
        assert "2026-02-20" not in found["join"].partitions and found["join"].rows == 240
        assert found["join"].rows_read == 0
        assert {(x.stream, x.earlier) for x in found["join"].late} == {("S", False), ("T", False)}
        reasons = [m.reason for m in found["join"].missing_partitions]
        assert all(reason.startswith("arrived 14 days late") for reason in reasons) and len(reasons) == 2
        assert len(world.night()["join"].late) == 2

    def test_recompute_takes_it_in(self, world: World) -> None:
        world.arrive("2026-02-20")
        world.night()
        found = world.night(recompute=True)
        assert found["join"].late == () and "2026-02-20" in found["join"].partitions
        world.equals_one_evaluation()
        assert world.night()["join"].late == ()

    def test_a_night_that_asks_from_another_day_on_has_no_boundary_to_be_late_for(self, world: World) -> None:
        world.arrive(DAYS[0], seed=1)
        found = world.night(JOIN, first=DAYS[0])
        assert found["join"].late == () and found["join"].rows_read == 40

    def test_later_boundaries_are_those_that_were_checkpointed(self, world: World) -> None:
        """A query that has not been evaluated yet is late for nothing."""
        world.arrive(DAYS[0], seed=1)
        other = Registered("other", JOIN.sql)
        found = world.night(other)
        assert found["other"].late == ()

    def test_a_late_partition_that_cannot_be_read_is_an_error(self, world: World) -> None:
        os.truncate(world.file(DAYS[0]), 100)
        found = night(ALL, world.catalog, world.home)
        assert all(isinstance(a.error, DataError) for a in found.values())
        assert "not a readable Parquet file" in str(found["join"].error)


def test_a_partition_that_cannot_be_read_keeps_what_was_before_it(world: World) -> None:
    world.night()
    sound = world.file(DAYS[4]).read_bytes()
    os.truncate(world.file(DAYS[4]), 200)
    told: list[str] = []
    found = night(ALL, world.catalog, world.home, progress=told.append)
    for query, answer in found.items():
        assert isinstance(answer.error, DataError) and answer.digest is None
        folder = world.home / "answers" / query
        there = {path.name for path in folder.glob("date=*")}
        assert there and there <= {f"date={day}" for day in DAYS[:4]}
        assert not (folder / "_total.parquet").exists()
    world.file(DAYS[4]).write_bytes(sound)
    mended = world.night()
    assert mended["join"].rows_read == 20
    world.equals_one_evaluation()


def table_files(world: World, query: str) -> list[Path]:
    """The files that the table's log names, in their order; a clock may give several the same time."""
    folder = world.home / "checkpoints" / query
    logs = sorted((folder / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    return [folder / action["add"]["path"] for action in actions if "add" in action]


class TestDamage:
    @pytest.fixture
    def world(self, world: World) -> World:
        """One file a night."""
        for day in DAYS[:6]:
            world.night(last=day)
        return world

    def mended(self, world: World, fault: str, rows: list[int]) -> None:
        world.arrive(DAYS[6])
        told: list[str] = []
        found = world.night(told=told)
        assert any(message.startswith(f"join: {fault}") for message in told), told
        assert found["join"].rows_read in rows, found["join"].rows_read
        world.equals_one_evaluation()
        assert world.night()["join"].rows_read == 0

    def test_the_newest_state(self, world: World) -> None:
        self.flip(world, DAYS[5], "state")
        self.mended(world, f"the state in the checkpoint of partition {DAYS[5]} is damaged", [120])

    def test_a_segment_that_is_needed(self, world: World) -> None:
        self.flip(world, DAYS[3], "segment")
        world.arrive(DAYS[1], seed=1)
        self.mended(world, f"the state in the checkpoint of partition {DAYS[3]} is damaged", [160])

    def flip(self, world: World, day: str, column: str) -> None:
        table = CheckpointTable(address_of(str(world.home / "checkpoints"), "join"), "join")
        (row,) = table.load([day]).values()
        data = bytearray(getattr(row, column))
        data[len(data) // 2] ^= 1
        changed = {column: bytes(data)}
        table.commit(row.fingerprint, [replace(row, **changed)], [])
        holder = read_owner(world.home / "answers" / "join")
        assert holder is not None
        write_owner(world.home / "answers" / "join", replace(holder, version=table.version))

    def test_a_flipped_byte_somewhere(self, world: World) -> None:
        for file in table_files(world, "join")[2:4]:
            content = bytearray(file.read_bytes())
            content[len(content) // 3] ^= 255
            file.write_bytes(content)
        world.arrive(DAYS[0], seed=1)
        world.night()
        world.equals_one_evaluation()

    def test_a_truncated_file(self, world: World) -> None:
        os.truncate(table_files(world, "join")[2], 500)
        self.mended(world, "a file of the table cannot be read", [80])

    def test_a_missing_file(self, world: World) -> None:
        table_files(world, "join")[5].unlink()
        self.mended(world, "a file of the table cannot be read", [80])

    def test_a_missing_entry_of_the_log(self, world: World) -> None:
        (world.home / "checkpoints" / "join" / "_delta_log" / f"{2:020}.json").unlink()
        self.mended(world, "the table's log cannot be read", [280])

    def test_the_newest_entry_of_the_log_missing(self, world: World) -> None:
        (world.home / "checkpoints" / "join" / "_delta_log" / f"{5:020}.json").unlink()
        self.mended(world, "the newest entries of the table's log are gone", [80])

    def test_no_table_any_more(self, world: World) -> None:
        shutil.rmtree(world.home / "checkpoints" / "join")
        self.mended(world, "the newest entries of the table's log are gone", [280])

    def test_what_is_lost_does_not_make_its_input_late(self, world: World) -> None:
        world.allowed = "1 day"
        os.truncate(table_files(world, "join")[1], 500)
        found = world.night()
        assert found["join"].late == () and found["join"].rows_read == 40
        world.equals_one_evaluation()


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes: what a full disk does, at any moment."""
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("limit", [0, 100, 400, 700, 1_000, 2_000, 4_000, 8_000])
def test_a_full_disk_is_an_outside_cause_and_the_next_night_goes_on(limit: int, world: World) -> None:
    world.night(last=DAYS[2])
    world.arrive(DAYS[1], seed=1)
    with full_disk(limit):
        try:
            found = list(night(ALL, world.catalog, world.home).values())
            errors = [answer.error for answer in found if answer.error is not None]
        except StorageError as error:
            errors = [error]
    assert all(error.exit_code == 3 for error in errors), errors
    assert errors or limit > 2_000
    world.night()
    world.equals_one_evaluation()


def test_two_folders_of_answers_do_not_mislead_each_other(world: World) -> None:
    """A table speaks of one folder at a time; the other's answers are written again, and nothing is read."""
    world.night(JOIN)
    other = world.folder / "other"
    tables = str(world.home / "checkpoints")
    options: dict[str, Any] = {"output": other / "answers", "checkpoints": tables}
    (there,) = evaluate_history(LocalExecutor(1), [JOIN], world.catalog, **options)
    assert there.rows_read == 0 and there.started_after is None
    world.arrive(DAYS[0], seed=1)
    evaluate_history(LocalExecutor(1), [JOIN], world.catalog, **options)
    assert world.night()["join"].rows_read == 0
    world.equals_one_evaluation()
    table = CheckpointTable(address_of(tables, "join"), "join")
    assert sorted(table.rows) == DAYS[:6]


GROUPS = Registered("groups", "SELECT A, COUNT(*) AS n FROM S WHERE A BETWEEN 1 AND 9 GROUP BY A")


def test_the_answers_of_earlier_nights_are_not_read_again(tmp_path: Path) -> None:
    world, home = World(tmp_path / "streams"), tmp_path / "home"
    night([GROUPS], world.catalog, home)
    for days, wanted in (((), set()), (DAYS[6:8], {"_total.parquet", *(f"date={d}" for d in DAYS[6:8])})):
        for day in days:
            world.arrive(day)
        with logged_reads() as repeated:
            night([GROUPS], world.catalog, home)
            files = [Path(path).relative_to(home) for path in repeated() if Path(path).is_relative_to(home)]
        assert {file.parts[2] for file in files if file.parts[0] == "answers"} == wanted
    assert left(home, "groups") == from_scratch([GROUPS], world.catalog, tmp_path / "new")["groups"]


@pytest.mark.parametrize("damage", ["lost", "damaged", "note", "earlier day", "another query"])
def test_a_total_that_is_not_of_these_nights_is_made_again(damage: str, tmp_path: Path) -> None:
    world, home, query = World(tmp_path / "streams"), tmp_path / "home", GROUPS
    night([query], world.catalog, home)
    answers = home / "answers" / "groups"
    if damage == "lost":
        (answers / "_total.parquet").unlink()
    elif damage == "damaged":
        (answers / "_total.parquet").write_bytes(b"no Parquet")
    elif damage == "note":
        note = json.loads((answers / "_checkpointed.json").read_text())
        note["total"]["rows"][1] = "7"
        (answers / "_checkpointed.json").write_text(json.dumps(note))
    elif damage == "earlier day":
        world.arrive(DAYS[2], seed=1)
    else:
        query = Registered("groups", "SELECT A, COUNT(*) + 1 AS n FROM S WHERE A BETWEEN 1 AND 9 GROUP BY A")
    night([query], world.catalog, home)
    assert left(home, "groups") == from_scratch([query], world.catalog, tmp_path / "new")["groups"]
