"""Checkpoints that move on by themselves: published answers stay, and publishing reads nothing."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.history.test_nights import ALL, DAYS, World
from tests.spark.nights import digests, left, night

from streambound.checkpoint.lock import POLL_SECONDS, alone
from streambound.errors import DataError, StorageError
from streambound.history import evaluate, schedule
from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "quarantined"))
    return World(tmp_path)


def published(world: World) -> dict[str, dict[str, bytes]]:
    """What is said of each query's answers as a whole."""
    found = {}
    for query in ALL:
        folder = world.home / "answers" / query.name
        found[query.name] = {
            name: (folder / name).read_bytes()
            for name in ("_answer.json", "_total.parquet")
            if (folder / name).exists()
        }
    return found


def test_publishing_reads_nothing_and_leaves_what_one_evaluation_leaves(world: World) -> None:
    told: list[str] = []
    found = world.night(told=told, publish=False)
    assert [a.rows_read for a in found.values()] == [240, 240, 120]
    assert all(a.digest is None and not a.evaluated for a in found.values())
    assert published(world) == {query.name: {} for query in ALL}
    assert f"join: 6 markers up to {DAYS[5]}, 240 rows, 10 units" in told
    assert f"filter: 6 markers up to {DAYS[5]}, 120 rows, no state" in told
    assert told[-1] == (
        f"filter: checkpointed; 6 partitions read ({DAYS[0]} to {DAYS[5]}), evaluated from the beginning"
    )
    again = world.night()
    assert {a.rows_read for a in again.values()} == {0}
    assert {a.started_after for a in again.values()} == {DAYS[5]}
    world.equals_one_evaluation()


def test_published_answers_stay_as_they_are(world: World) -> None:
    world.night()
    before = published(world)
    assert all(before.values())
    world.arrive(DAYS[6])
    world.arrive(DAYS[1], seed=1)
    world.night(publish=False)
    assert published(world) == before
    assert DAYS[6] in digests(world.home, "join")
    assert {a.rows_read for a in world.night().values()} == {0}
    world.equals_one_evaluation()


def test_without_checkpoints_there_is_nothing_to_keep(world: World) -> None:
    with pytest.raises(DataError, match="no checkpoints are kept"):
        evaluate_history(LocalExecutor(1), ALL, world.catalog, output=world.home / "answers", publish=False)


def test_a_retry_goes_on_from_what_was_committed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small rounds are committed one by one; an outside cause in the third costs the third."""
    monkeypatch.setattr(evaluate, "SMALL_ROUND", 4)
    calls = iter(range(100))

    class Failing(LocalExecutor):
        def summaries(self, *given: Any, **options: Any) -> Any:
            if next(calls) == 2:
                raise StorageError("the executor lost the tasks")
            return super().summaries(*given, **options)

    with pytest.raises(StorageError):
        world.night(publish=False, executor=Failing(1))
    assert sorted(digests(world.home, "join")) == DAYS[:4]
    found = world.night(publish=False)
    assert found["join"].read_partitions == (DAYS[4], DAYS[5]) and found["join"].started_after == DAYS[3]
    world.night()
    world.equals_one_evaluation()
    assert schedule.SMALL_ROUND < schedule.ROUND


def test_two_runs_at_once_wait_for_each_other(world: World) -> None:
    """What a killed task left running is waited for; then nothing is left to be read."""
    told, waits = list[str](), threading.Event()

    def progress(message: str) -> None:
        told.append(message)
        waits.set()

    folder = world.home / "answers" / "join"
    with alone(folder, lambda: None):
        other = threading.Thread(target=lambda: night(ALL, world.catalog, world.home, progress=progress))
        other.start()
        assert waits.wait(60)
        # It asks again, and again is not let in.
        time.sleep(2.5 * POLL_SECONDS)
        assert told == ["join: another run is evaluating it; waiting for its end"]
        assert not left_anything(world)
    other.join(60)
    world.equals_one_evaluation()
    assert left(world.home, "join")


def test_what_the_first_run_commits_stays_when_the_second_has_waited(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second begins before a partition arrives; it must not go by what was there then."""
    world.night()
    answers, waits, told = world.home / "answers", threading.Event(), list[str]()

    def progress(message: str) -> None:
        told.append(message)
        if message.endswith("waiting for its end"):
            waits.set()

    second = threading.Thread(
        target=lambda: answered.update(night(ALL, world.catalog, world.home, progress=progress))
    )
    answered: dict[str, HistoryAnswer] = {}
    with ExitStack() as first:
        for query in ALL:
            first.enter_context(alone(answers / query.name, lambda: None))
        second.start()
        assert waits.wait(60)
        world.arrive(DAYS[6])
        with monkeypatch.context() as patch:
            # The test holds the locks for the first run, which is in this thread.
            patch.setattr(evaluate, "alone", lambda *_: nullcontext())
            world.night()
        committed = {query.name: left(world.home, query.name) for query in ALL}
    second.join(60)
    assert all(DAYS[6] in found["checkpoints"] for found in committed.values())
    assert {query.name: left(world.home, query.name) for query in ALL} == committed
    assert {a.read_partitions for a in answered.values()} == {()}
    assert {a.started_after for a in answered.values()} == {DAYS[6]}
    world.equals_one_evaluation()


def left_anything(world: World) -> bool:
    return any((world.home / "answers").rglob("*.parquet"))
