"""Sweeps of cache experiments on Spark: tasks of ``sweep``, one Spark task a group.

What a task counts depends on the task alone: the numbers are those of a local run, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streambound.simulator.experiments.cells import Counted
from streambound.simulator.experiments.sweep import Progress, Task, counted
from streambound.spark.distribute import collected, cores, watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Tasks of one configuration take about as long as each other: a few groups a core even out the rest.
GROUPS_PER_CORE = 8
FIELDS = pa.schema(
    [
        ("task", pa.int64()),
        ("config", pa.string()),
        ("policy", pa.string()),
        ("size", pa.int64()),
        ("run", pa.int64()),
        ("results", pa.float64()),
    ]
)
SCHEMA = "task bigint, config string, policy string, size bigint, run bigint, results double"


def swept_on_spark(
    session: SparkSession, tasks: Sequence[Task], progress: Progress = lambda done, of: None
) -> list[Counted]:
    """What all tasks count, in their order.

    Args:
        progress: told about how many tasks are done, and of how many.

    Raises:
        StorageError: Spark lost the job.
    """
    if not tasks:
        return []
    count = min(len(tasks), cores(session) * GROUPS_PER_CORE)
    # Dealt out in turn, so that each group has its share of the long ones.
    groups = [list(enumerate(tasks))[at::count] for at in range(count)]
    frame = session.range(0, count, 1, count).mapInArrow(mapper(groups), SCHEMA)
    with watched(session, count, lambda done: progress(done * len(tasks) // count, len(tasks))):
        rows = collected(frame)
    progress(len(tasks), len(tasks))
    # Stable: a task's rows come in its own order.
    rows.sort(key=lambda each: int(each["task"]))
    return [
        Counted(each["config"], each["policy"], each["size"], each["run"], each["results"]) for each in rows
    ]


def mapper(groups: Sequence[Sequence[tuple[int, Task]]]) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    """A function for ``mapInArrow``: numbers of groups in, counted results out."""

    def mapped(batches: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column(0).to_pylist():
                for number, task in groups[group]:
                    rows = [{"task": number, **each._asdict()} for each in counted(task)]
                    yield pa.RecordBatch.from_pylist(rows, schema=FIELDS)

    return mapped
