"""Waves: what is read for the partitions in order, computed ahead of the driver."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.history.schedule import (
    AHEAD,
    ROUND,
    ROUNDS,
    WORTH,
    WORTH_BYTES,
    PartitionWork,
    ahead,
    round_size,
    rounds,
    tasks_of,
)
from streambound.tasks.summarise import Task


def step(number: int, tasks: int) -> PartitionWork:
    name = f"{number:04}"
    alone = tuple(Task(f"S{i}", name, (), 0, frozenset("qr")) for i in range(tasks))
    read = (Task("S", name, (), 0, frozenset("qr"), stream_partitions=alone),) if tasks > 3 else alone
    return PartitionWork(name, ("q", "r"), read)


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 8), st.integers(1, 16))
def test_waves_keep_the_order_and_their_size(sizes: list[int], most: int, summaries: int) -> None:
    given = [step(number, size) for number, size in enumerate(sizes)]
    found = list(rounds(given, most, summaries))
    assert [one for wave in found for one in wave] == given
    for wave in found:
        tasks = tasks_of(wave)
        made = sum(len(stream_partition.queries) for task in tasks for stream_partition in task.each)
        assert (len(tasks) <= most and made <= summaries) or len(wave) == 1


@given(
    st.integers(1, 100_000), st.integers(0, 2 * WORTH_BYTES), st.integers(WORTH, ROUND), st.integers(0, 2_000)
)
def test_a_long_history_is_cut_and_a_short_one_is_not(tasks: int, each: int, most: int, cores: int) -> None:
    size = round_size(tasks, tasks * each, most, cores)
    assert cores <= size <= max(most, cores)
    if cores == 0 or (tasks <= WORTH and tasks * each <= WORTH_BYTES):
        assert size >= min(tasks, most)
    elif tasks >= cores * ROUNDS and (tasks >= WORTH * ROUNDS or tasks * each >= WORTH_BYTES * ROUNDS):
        assert -(-tasks // size) >= min(ROUNDS, tasks)


def test_the_next_are_made_while_one_is_consumed() -> None:
    made = [threading.Event() for _ in range(6)]

    def make(number: int, ended: threading.Event) -> int:
        made[number].set()
        return number * number

    with closing(ahead(range(6), make)) as found:
        assert next(found) == (0, 0)
        for event in made[: AHEAD + 1]:
            assert event.wait(60)
        # What is farther on waits until it is needed.
        assert not made[AHEAD + 1].is_set()
        assert list(found) == [(number, number * number) for number in range(1, 6)]


def test_an_error_comes_in_its_place_and_nothing_is_made_afterwards() -> None:
    begun: list[int] = []
    held = threading.Event()
    told: list[bool] = []

    def make(number: int, ended: threading.Event) -> int:
        begun.append(number)
        if number == 1:
            raise ValueError("the second")
        if number == 2:
            held.set()
            told.append(ended.wait(60))
        return number

    found = ahead(range(100), make)
    assert next(found) == (0, 0)
    assert held.wait(60)
    with pytest.raises(ValueError, match="the second"):
        next(found)
    # Those that had begun were told, and have ended.
    assert told == [True] and max(begun) <= AHEAD + 1
