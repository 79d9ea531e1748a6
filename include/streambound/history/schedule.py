"""The partitions of many jobs in order, and in each what tasks have to read for whom."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Event
from typing import TypeVar

from streambound.history.actions import Action
from streambound.history.checkpoints import Checkpoints
from streambound.storage.partitions import Partition
from streambound.tasks.cogroup import cogroup_name
from streambound.tasks.summarise import Task

# Summaries of about three times as many partitions at most are in the driver's memory at once.
WAVE = 750
# So many where what has been done is to be committed often.
SMALL_WAVE = 250
# While the driver takes in one wave, tasks compute the next: so many waves at least, if each is worth a job.
WAVES, WORTH = 4, 32
# Waves that tasks compute at once: where one runs out of tasks the next keeps the cores busy.
AHEAD = 2

Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Step:
    """A partition by name, the queries that it is evaluated for, and what has to be read of it."""

    partition: str
    queries: tuple[str, ...]
    tasks: tuple[Task, ...]


def scheduled(books: Mapping[str, Checkpoints]) -> list[Step]:
    """All partitions of all jobs, in order of their keys and names."""
    queries: dict[tuple[str, str], list[str]] = {}
    for name, book in books.items():
        for partition in book.names:
            queries.setdefault((book.job.key or "", partition), []).append(name)
    reads = _reads(books)
    return [Step(at[1], tuple(queries[at]), tuple(reads.get(at, ()))) for at in sorted(queries)]


def until(waiting: Iterable[Step], ends: Mapping[str, str]) -> list[Step]:
    """The steps, for some queries only until a partition, which is left out."""
    found = []
    for step in waiting:
        gone = {name for name in step.queries if name in ends and step.partition >= ends[name]}
        kept = (replace(task, queries=task.queries - gone) for task in step.tasks)
        tasks = tuple(task for task in kept if task.queries)
        if queries := tuple(name for name in step.queries if name not in gone):
            found.append(Step(step.partition, queries, tasks))
    return found


def _reads(books: Mapping[str, Checkpoints]) -> dict[tuple[str, str], list[Task]]:
    parts: dict[tuple[str, str, str], Partition] = {}
    needs: dict[tuple[str, str, str], dict[str, Action]] = {}
    apart = {name: book for name, book in books.items() if book.job.cogroup is None}
    for name, book in apart.items():
        for stream in book.actions.relations:
            for part in book.job.partitions[stream]:
                need = book.actions[stream, part.name]
                if need in (Action.READ, Action.COMPARE):
                    at = (book.job.key or "", part.name, stream)
                    parts[at] = part
                    needs.setdefault(at, {})[name] = need
    found: dict[tuple[str, str], list[Task]] = {}
    for at, wanted in needs.items():
        found.setdefault(at[:2], []).append(_task(at[2], parts[at], wanted))
    for name, book in books.items():
        if book.job.cogroup is not None:
            for partition in book.names:
                if task := _joint_task(name, book, partition):
                    found.setdefault((book.job.key or "", partition), []).append(task)
    return found


def _joint_task(name: str, book: Checkpoints, partition: str) -> Task | None:
    """A partition of all streams of a query, if any has to be read."""
    streams = book.actions.together(partition)
    if not streams:
        return None
    by_stream = tuple((s, _files(p)) for s in streams for p in book.job.partitions[s] if p.name == partition)
    files = tuple(file for _, mine in by_stream for file in mine)
    return Task(
        cogroup_name(name), partition, files, _size(files), frozenset((name,)), files_by_stream=by_stream
    )


def _task(stream: str, part: Partition, wanted: Mapping[str, Action]) -> Task:
    files = _files(part)
    aside = frozenset(query for query, need in wanted.items() if need is Action.COMPARE)
    return Task(stream, part.name, files, _size(files), frozenset(wanted), aside)


def _files(part: Partition) -> tuple[str, ...]:
    return tuple(map(str, part.files))


def _size(files: Iterable[str]) -> int:
    # Of a file that the disk does not give, whoever reads it will tell.
    return sum(map(_bytes, files))


def _bytes(file: str) -> int:
    with suppress(OSError):
        return os.stat(file).st_size
    return 0


def tasks_of(wave: Iterable[Step]) -> list[Task]:
    """All that has to be read."""
    return [task for step in wave for task in step.tasks]


def wave_size(tasks: int, most: int, cores: int) -> int:
    """How many tasks a wave should have, of so many in all.

    Args:
        cores: how many tasks run at once; 0 if a job more costs a scan more, so that waves are to be few.
    """
    return max(cores, min(most, max(WORTH, -(-tasks // WAVES)) if cores else most))


def waves(waiting: Iterable[Step], most: int = WAVE) -> Iterator[list[Step]]:
    """The steps, in groups of at most about so many tasks."""
    wave: list[Step] = []
    tasks = 0
    for step in waiting:
        if wave and tasks + len(step.tasks) > most:
            yield wave
            wave, tasks = [], 0
        wave.append(step)
        tasks += len(step.tasks)
    if wave:
        yield wave


def ahead(
    given: Iterable[Given], make: Callable[[Given, Event], Made]
) -> Generator[tuple[Given, Made], None, None]:
    """Each with what is made of it, in order; what follows is made in threads while one is consumed.

    To be closed: then nothing is being made any more. ``make`` is told by an event that nobody waits for it.
    """
    ended = Event()
    threads = ThreadPoolExecutor(AHEAD, "streambound-wave")
    pending: deque[tuple[Given, Future[Made]]] = deque()
    try:
        for one in given:
            pending.append((one, threads.submit(make, one, ended)))
            if len(pending) > AHEAD:
                first, made = pending.popleft()
                yield first, made.result()
        while pending:
            first, made = pending.popleft()
            yield first, made.result()
    finally:
        ended.set()
        threads.shutdown(cancel_futures=True)
