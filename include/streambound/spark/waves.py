"""The partitions of many jobs in order, and in each what tasks have to read for whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from streambound.query.partitions import Partition
from streambound.spark.book import Book
from streambound.spark.needs import Need
from streambound.spark.summarise import Task

# Summaries of at most so many partitions are in the driver's memory at once.
WAVE = 2_000
# So many where what has been done is to be committed often.
SMALL_WAVE = 250


@dataclass(frozen=True)
class Step:
    """A partition by name, the queries that it is evaluated for, and what has to be read of it."""

    partition: str
    queries: tuple[str, ...]
    tasks: tuple[Task, ...]


def steps(books: Mapping[str, Book]) -> list[Step]:
    """All partitions of all jobs, in order of their keys and names."""
    queries: dict[tuple[str, str], list[str]] = {}
    for name, book in books.items():
        for partition in book.names:
            queries.setdefault((book.job.key or "", partition), []).append(name)
    reads = _reads(books)
    return [Step(at[1], tuple(queries[at]), tuple(reads.get(at, ()))) for at in sorted(queries)]


def _reads(books: Mapping[str, Book]) -> dict[tuple[str, str], list[Task]]:
    parts: dict[tuple[str, str, str], Partition] = {}
    needs: dict[tuple[str, str, str], dict[str, Need]] = {}
    for name, book in books.items():
        for stream in book.needs.relations:
            for part in book.job.partitions[stream]:
                need = book.needs[stream, part.name]
                if need in (Need.READ, Need.COMPARE):
                    at = (book.job.key or "", part.name, stream)
                    parts[at] = part
                    needs.setdefault(at, {})[name] = need
    found: dict[tuple[str, str], list[Task]] = {}
    for at, wanted in needs.items():
        found.setdefault(at[:2], []).append(_task(at[2], parts[at], wanted))
    return found


def _task(stream: str, part: Partition, wanted: Mapping[str, Need]) -> Task:
    size = sum(file.stat().st_size for file in part.files if file.exists())
    aside = frozenset(query for query, need in wanted.items() if need is Need.COMPARE)
    return Task(stream, part.name, tuple(map(str, part.files)), size, frozenset(wanted), aside)


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
