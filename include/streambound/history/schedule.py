"""The partitions of many jobs in order, and in each what tasks have to read for whom."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from threading import Event
from typing import TypeVar

from streambound.history.actions import Action
from streambound.history.checkpoints import Checkpoints
from streambound.storage.partitions import Partition
from streambound.tasks.cogroup import scan_name
from streambound.tasks.summarise import Task

# Summaries of about three times as many partitions at most are in the driver's memory at once.
ROUND = 750
# So many where what has been done is to be committed often.
SMALL_ROUND = 250
# While the driver takes in one round, tasks compute the next: at least so many rounds, each worth it by
# the number of its tasks or their bytes.
ROUNDS, WORTH, WORTH_BYTES = 4, 32, 32 << 20
# Rounds that tasks compute at once: where one runs out of tasks the next keeps the cores busy.
AHEAD = 2
# So many summaries where many queries read the same: what counts is what they hold, not the tasks.
SUMMARIES = 6_000
# Streams that are read together have so many bytes a partition, unless a query needs more of them at once.
TOGETHER = 64 << 20

Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class PartitionWork:
    """A partition by name, the queries that it is evaluated for, and what has to be read of it."""

    partition: str
    queries: tuple[str, ...]
    tasks: tuple[Task, ...]


def scheduled(checkpoints_of: Mapping[str, Checkpoints]) -> list[PartitionWork]:
    """All partitions of all jobs, in order of their keys and names."""
    queries: dict[tuple[str, str], list[str]] = {}
    for name, kept in checkpoints_of.items():
        for partition in kept.names:
            queries.setdefault((kept.job.key or "", partition), []).append(name)
    reads = _reads(checkpoints_of)
    return [PartitionWork(at[1], tuple(queries[at]), tuple(reads.get(at, ()))) for at in sorted(queries)]


def until(waiting: Iterable[PartitionWork], ends: Mapping[str, str]) -> list[PartitionWork]:
    """The work, for some queries only until a partition, which is left out."""
    reached = []
    for work in waiting:
        gone = frozenset(name for name in work.queries if name in ends and work.partition >= ends[name])
        kept = (task.without(gone) for task in work.tasks)
        tasks = tuple(task for task in kept if task.queries)
        if queries := tuple(name for name in work.queries if name not in gone):
            reached.append(PartitionWork(work.partition, queries, tasks))
    return reached


# By stream its files, their size, and what queries need of them.
Reads = dict[str, tuple[tuple[str, ...], int, dict[str, Action]]]


def _reads(checkpoints_of: Mapping[str, Checkpoints]) -> dict[tuple[str, str], list[Task]]:
    wanted = _wanted(checkpoints_of)
    sizes: dict[str, float] = {}
    for own in wanted.values():
        for stream, (_, size, _) in own.items():
            sizes[stream] = max(size, sizes.get(stream, 0))
    together: dict[str, frozenset[str]] = {}
    for name, kept in checkpoints_of.items():
        if kept.job.cogroup is not None:
            together[name] = frozenset(kept.actions.relations)
            # What only Spark reads has no size, and is not read with more than it has to be.
            for stream, relation in kept.actions.relations.items():
                if relation.history is not None and not relation.history.direct:
                    sizes[stream] = inf
    scans = shared_scans(together, sizes)
    by_query = {name: scan_name(next(s for s in scans if own <= s)) for name, own in together.items()}
    by_stream = {stream: scan_name(scan) for scan in reversed(scans) for stream in scan}
    return {at: list(_tasks(at[1], own, by_query, by_stream)) for at, own in wanted.items()}


def _wanted(checkpoints_of: Mapping[str, Checkpoints]) -> dict[tuple[str, str], Reads]:
    wanted: dict[tuple[str, str], Reads] = {}

    def want(name: str, stream: str, part: Partition, action: Action) -> None:
        own = wanted.setdefault((checkpoints_of[name].job.key or "", part.name), {})
        if stream not in own:
            files = tuple(map(str, part.files))
            own[stream] = files, _size(files), {}
        own[stream][2][name] = action

    for name, kept in checkpoints_of.items():
        parts = {s: {part.name: part for part in kept.job.partitions[s]} for s in kept.actions.relations}
        if kept.job.cogroup is not None:
            for partition in kept.names:
                for stream in kept.actions.together(partition):
                    want(name, stream, parts[stream][partition], Action.READ)
            continue
        for stream, own in parts.items():
            for part in own.values():
                if (action := kept.actions[stream, part.name]) in (Action.READ, Action.COMPARE):
                    want(name, stream, part, action)
    return wanted


def shared_scans(queries: Mapping[str, frozenset[str]], sizes: Mapping[str, float]) -> list[frozenset[str]]:
    """The streams that are read together, so that each is read once for queries that need several at once.

    Streams of more than ``TOGETHER`` bytes a partition are put together only as far as a query needs it: then
    a stream may be read by several scans.

    Args:
        queries: by name, the streams that a query needs together.
        sizes: by name, the bytes of a stream's largest partition.

    >>> apart = {"p": frozenset("ST"), "q": frozenset("TU"), "r": frozenset("T"), "s": frozenset("VW")}
    >>> [sorted(streams) for streams in shared_scans(apart, dict.fromkeys("STUVW", 1))]
    [['S', 'T', 'U'], ['V', 'W']]
    >>> [sorted(streams) for streams in shared_scans(apart, dict.fromkeys("STUVW", TOGETHER))]
    [['S', 'T'], ['T', 'U'], ['V', 'W']]
    """
    apart: list[frozenset[str]] = []
    for name in sorted(queries, key=lambda name: (-len(queries[name]), name)):
        mine = queries[name]
        if any(mine <= own for own in apart):
            continue
        for own in [own for own in apart if own & mine]:
            if sum(sizes.get(stream, 0) for stream in own | mine) <= TOGETHER:
                apart.remove(own)
                mine |= own
        apart.append(mine)
    return apart


def _tasks(
    partition: str, reads: Reads, together: Mapping[str, str], streams: Mapping[str, str]
) -> Iterator[Task]:
    """The tasks of a partition: of streams alone, and of scans of several.

    Args:
        together: by the queries that need several streams at once, the name of their scan.
        streams: by stream, that of the scan in which those take part who read it alone.
    """
    stream_partitions: dict[str, list[Task]] = {}
    for stream, (files, size, wanted) in sorted(reads.items()):
        by_scan: dict[str, dict[str, Action]] = {}
        for name, action in wanted.items():
            by_scan.setdefault(together.get(name) or streams.get(stream, ""), {})[name] = action
        for scan, actions in by_scan.items():
            aside = frozenset(name for name, action in actions.items() if action is Action.COMPARE)
            stream_partition = Task(stream, partition, files, size, frozenset(actions), aside)
            stream_partitions.setdefault(scan, []).append(stream_partition)
    for scan, own in stream_partitions.items():
        queries = frozenset[str]().union(*(stream_partition.queries for stream_partition in own))
        if queries.isdisjoint(together):
            yield from own
        else:
            every = tuple(file for stream_partition in own for file in stream_partition.files)
            yield Task(
                scan, partition, every, sum(s.size for s in own), queries, stream_partitions=tuple(own)
            )


def _size(files: Iterable[str]) -> int:
    # Of a file that the disk does not give, whoever reads it will tell.
    return sum(map(_bytes, files))


def _bytes(file: str) -> int:
    with suppress(OSError):
        return os.stat(file).st_size
    return 0


def tasks_of(partitions: Iterable[PartitionWork]) -> list[Task]:
    """All that has to be read."""
    return [task for work in partitions for task in work.tasks]


def round_size(tasks: int, size: int, most: int, cores: int) -> int:
    """How many tasks a round should have.

    Args:
        tasks: how many there are in all.
        size: their bytes, with what it costs to open files (see ``task_groups.cost``).
        most: tasks of a round.
        cores: how many tasks run at once; 0 if a job more costs a scan more, so that rounds are to be few.
    """
    worth = min(WORTH, -(-tasks * WORTH_BYTES // max(size, 1)))
    if not cores or tasks <= worth:
        return max(cores, most)
    return max(cores, min(most, max(worth, -(-tasks // ROUNDS))))


def rounds(waiting: Iterable[PartitionWork], most: int, summaries: int) -> Iterator[list[PartitionWork]]:
    """The work, in groups of at most about so many tasks, and summaries."""
    partitions: list[PartitionWork] = []
    tasks = made = 0
    for work in waiting:
        own = sum(len(stream_partition.queries) for task in work.tasks for stream_partition in task.each)
        if partitions and (tasks + len(work.tasks) > most or made + own > summaries):
            yield partitions
            partitions, tasks, made = [], 0, 0
        partitions.append(work)
        tasks, made = tasks + len(work.tasks), made + own
    if partitions:
        yield partitions


def ahead(
    given: Iterable[Given], make: Callable[[Given, Event], Made]
) -> Generator[tuple[Given, Made], None, None]:
    """Each with what is made of it, in order; what follows is made in threads while one is consumed.

    To be closed: then nothing is being made any more. ``make`` is told by an event that nobody waits for it.
    """
    ended = Event()
    threads = ThreadPoolExecutor(AHEAD, "streambound-round")
    pending: deque[tuple[Given, Future[Made]]] = deque()
    try:
        for item in given:
            pending.append((item, threads.submit(make, item, ended)))
            if len(pending) > AHEAD:
                first, made = pending.popleft()
                yield first, made.result()
        while pending:
            first, made = pending.popleft()
            yield first, made.result()
    finally:
        ended.set()
        threads.shutdown(cancel_futures=True)
