"""Partitions in groups of about equal work: what a process is given at once, and summarises in one engine.

Small partitions of a stream are batched, and batches go into groups of about equal bytes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack

from streambound.errors import StorageError, StreamboundError
from streambound.tasks.cogroup import SharedScan, summarise_shared
from streambound.tasks.embedded_engine import EmbeddedEngine, opened
from streambound.tasks.summarise import StreamScan, Summary, Task, failed_reader, summarise

# More groups than cores even out what sizes in bytes do not tell.
GROUPS_PER_CORE = 4
# A batch costs the engine's fixed costs once, and is in its memory (or spilled) as a whole.
BATCH_BYTES = 64 << 20
BATCH_PARTITIONS = 128
# Opening a file costs about as much as reading a hundred kilobytes of it.
OPENING = 100_000

Group = list[list[Task]]
Scan = StreamScan | SharedScan


def grouped(tasks: Sequence[Task], wanted: int) -> list[Group]:
    """The tasks in at most ``wanted`` groups of batches; of no tasks there are none."""
    batches = batched(tasks, cost(tasks) // wanted)
    return balanced(batches, min(len(batches), wanted))


def cost(tasks: Iterable[Task]) -> int:
    """The bytes of the tasks' files, with what it costs to open them."""
    return sum(task.size + OPENING * len(task.files) for task in tasks)


def batched(tasks: Iterable[Task], target: int) -> list[list[Task]]:
    """Partitions of one scan, for the same queries, of at most about ``target`` bytes where small."""
    batches: dict[tuple[object, ...], list[list[Task]]] = {}
    for task in sorted(tasks, key=lambda t: (t.stream, t.partition)):
        mine = batches.setdefault(task.kind, [])
        limit = min(target, BATCH_BYTES)
        if mine and len(mine[-1]) < BATCH_PARTITIONS and cost([*mine[-1], task]) <= limit:
            mine[-1].append(task)
        else:
            mine.append([task])
    return [batch for mine in batches.values() for batch in mine]


def balanced(batches: Iterable[list[Task]], groups: int) -> list[Group]:
    """The batches in at most that many groups, the largest first to the group with the fewest bytes."""
    heap: list[tuple[int, int]] = [(0, i) for i in range(groups)]
    balanced_groups: list[Group] = [[] for _ in range(groups)]
    for batch in sorted(batches, key=lambda b: -cost(b)):
        size, index = heapq.heappop(heap)
        balanced_groups[index].append(batch)
        heapq.heappush(heap, (size + cost(batch), index))
    return [group for group in balanced_groups if group]


def summarise_group(
    group: Iterable[Sequence[Task]], scans: Mapping[str, Scan], memory_mb: int
) -> Iterator[Iterator[Summary]]:
    """For each batch of partitions its summaries, all by one engine."""
    with ExitStack() as exit_stack:
        try:
            engine = exit_stack.enter_context(opened(memory_mb))
        except StorageError as error:
            yield from (failed(scans[task.stream], task, error) for batch in group for task in batch)
            return
        for batch in group:
            yield _summaries(engine, scans[batch[0].stream], batch)


def failed(scan: Scan, task: Task, error: StreamboundError) -> Iterator[Summary]:
    """The summaries of a task that came to nothing."""
    if isinstance(scan, SharedScan):
        return scan.by(task).failed(task, error)
    return (failed_reader(reader, task, error) for reader in scan.by(task).readers)


def _summaries(engine: EmbeddedEngine, scan: Scan, batch: Sequence[Task]) -> Iterator[Summary]:
    if isinstance(scan, SharedScan):
        return summarise_shared(engine, scan.by(batch[0]), batch)
    return summarise(engine, scan.by(batch[0]), batch)
