"""Partitions that are summarised over all streams together: nights, late shares."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.spark import histories
from tests.spark.histories import Registered
from tests.spark.nights import from_scratch, left, night
from tests.strategies import Case

from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.history.prepare import draft, prepare
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from streambound.storage.partitions import PartitionRange
from streambound.tasks.cogroup import SegmentCoGroup

SQL = (
    "SELECT S.A, T.A AS B FROM S, T, U "
    "WHERE S.ts > T.ts AND T.ts >= U.ts AND S.A > T.A AND T.A BETWEEN 1 AND 4"
)
QUERY = Registered("chain", SQL)
DAYS = [f"2026-03-{day:02}" for day in range(1, 8)]
MICROSECONDS = 86_400_000_000


class World:
    """Histories of S, T and U by day, and evaluations of the chain."""

    def __init__(self, folder: Path, allowed: dict[str, str]) -> None:
        self.folder = folder
        bodies: dict[str, Any] = {
            name: {
                "columns": {"A": "int", "ts": "timestamp"},
                "timestamp": "ts",
                "allowed_lateness": allowed.get(name),
                "history": {"path": str(folder / name), "partition_by": "date"},
            }
            for name in "STU"
        }
        self.catalog = catalog_from_mapping(bodies)
        for day in range(5):
            self.arrive(day)

    def arrive(self, day: int, streams: str = "STU", seed: int = 0, compression: str = "snappy") -> None:
        for stream in streams:
            chance = random.Random(f"{day} {stream} {seed}")
            start = (20_513 + day) * MICROSECONDS
            rows = [
                {"A": chance.randrange(7), "ts": start + chance.randrange(20) * 1_000_000} for _ in range(30)
            ]
            relation = next(r for r in self.catalog.relations if r.name == stream)
            file = self.folder / stream / f"date={DAYS[day]}" / "part-00000.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            histories.write_file(relation, rows, file, compression)

    def night(self, **options: Any) -> Any:
        return night([QUERY], self.catalog, self.folder / "home", **options)["chain"]

    def equals_one_evaluation(self) -> None:
        whole = from_scratch([QUERY], self.catalog, self.folder / "whole")["chain"]
        assert left(self.folder / "home", "chain") == whole


@pytest.fixture
def worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "quarantined"))

    def made(**allowed: str) -> World:
        world = World(tmp_path, allowed)
        first = world.night()
        assert first.error is None and first.rows_read == 450 and first.answer_count > 0
        return world

    return made


def test_the_chain_is_summarised_as_a_whole(worlds: Any) -> None:
    world: World = worlds()
    assert isinstance(prepare(draft("q", SQL, world.catalog), PartitionRange(), {}).cogroup, SegmentCoGroup)


def test_a_new_partition_is_read_alone(worlds: Any) -> None:
    world: World = worlds()
    world.arrive(5)
    found = world.night()
    assert (found.rows_read, found.started_after, found.read_partitions) == (90, DAYS[4], (DAYS[5],))
    world.equals_one_evaluation()
    assert world.night().rows_read == 0


def test_a_changed_share_is_read_with_the_others_of_its_partition(worlds: Any) -> None:
    world: World = worlds()
    world.arrive(2, "T", seed=1)
    found = world.night()
    assert (found.rows_read, found.started_after, found.read_partitions) == (90, DAYS[1], (DAYS[2],))
    world.equals_one_evaluation()


def test_the_same_rows_change_nothing(worlds: Any) -> None:
    world: World = worlds()
    world.arrive(2, "T", compression="gzip")
    found = world.night()
    assert (found.rows_read, found.started_after) == (90, DAYS[4])
    world.equals_one_evaluation()


def test_a_share_that_goes_away_or_comes_later_is_taken_account_of(worlds: Any) -> None:
    world: World = worlds()
    file = world.folder / "U" / f"date={DAYS[1]}" / "part-00000.parquet"
    file.unlink()
    file.parent.rmdir()
    assert world.night().started_after == DAYS[0]
    world.equals_one_evaluation()
    world.arrive(1, "U")
    assert world.night().started_after == DAYS[0]
    world.equals_one_evaluation()


def test_too_late_a_share_is_kept_out_and_the_checkpoint_counts(worlds: Any) -> None:
    world: World = worlds(T="1 day")
    before = left(world.folder / "home", "chain")["checkpoints"]
    world.arrive(2, "T", seed=1)
    found = world.night()
    assert [(late.stream, late.partition) for late in found.late] == [("T", DAYS[2])]
    assert found.error is None and left(world.folder / "home", "chain")["checkpoints"] == before
    world.arrive(5)
    again = world.night()
    assert again.error is None and again.rows_read == 90 and len(again.late) == 1
    world.night(recompute=True)
    world.equals_one_evaluation()


def test_written_again_too_late_with_the_same_rows_it_counts(worlds: Any) -> None:
    world: World = worlds(T="1 day")
    world.arrive(2, "T", compression="gzip")
    world.arrive(2, "S", seed=1)
    found = world.night()
    assert found.error is None and found.late == () and found.started_after == DAYS[1]
    world.equals_one_evaluation()


def test_a_late_share_that_needs_one_that_is_gone_is_refused(worlds: Any) -> None:
    """T's rows that counted are in no file any more; S's, which may come late, cannot be joined with them."""
    world: World = worlds(T="1 day")
    world.arrive(2, "T", seed=1)
    assert world.night().error is None
    world.arrive(2, "S", seed=1)
    said = str(world.night().error)
    assert f"partition {DAYS[2]} of T was written again too late to count" in said
    world.arrive(2, "T")
    assert world.night().error is None
    world.equals_one_evaluation()


def test_a_damaged_file_names_its_stream_and_partition(worlds: Any) -> None:
    world: World = worlds()
    (world.folder / "U" / f"date={DAYS[1]}" / "part-00000.parquet").write_bytes(b"PAR1 no more")
    assert f"date={DAYS[1]}" in str(world.night().error)
    world.arrive(1, "U")
    world.night()
    world.equals_one_evaluation()


def test_a_stream_under_two_names(tmp_path: Path) -> None:
    body = {"S": {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"}}
    sql = "SELECT y.A FROM S x, S y WHERE x.ts < y.ts AND x.A = 1"
    catalog = catalog_from_mapping(body)
    case = Case(body, sql, catalog, parse(sql, catalog))
    (relation,) = catalog.relations
    histories.write(relation, [{"A": 1, "ts": 1}, {"A": 1, "ts": 2}], tmp_path, 0)
    histories.write(relation, [{"A": 7, "ts": 3}], tmp_path, 1)
    (answer,) = evaluate_history(
        LocalExecutor(1),
        [Registered("q", sql)],
        histories.placed(catalog, tmp_path),
        output=tmp_path / "out",
    )
    assert answer.error is None and answer.rows_read == 3
    found = histories.read_answers(tmp_path / "out" / "q", case.query)
    assert found == {"0": {(1,): 1}, "1": {(7,): 2}}
