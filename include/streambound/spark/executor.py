"""Spark as the executor of an evaluation of history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from streambound.history.executor import Progress
from streambound.spark.data_frames import listing, staging
from streambound.spark.dataframe_tasks import by_spark, run_dataframe_tasks
from streambound.spark.distribute import GROUPS_OF_ROUNDS, cores, run_tasks
from streambound.spark.session import session
from streambound.storage.partitions import Listing
from streambound.tasks.summarise import Summary, Task
from streambound.tasks.task_groups import GROUPS_PER_CORE, Scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkExecutor:
    """Partitions are summarised by the tasks of a session (see ``history.executor.Executor``)."""

    session: SparkSession

    def cores(self) -> int:
        """How many tasks run at once (see ``distribute.cores``)."""
        return cores(self.session)

    def listing(self, exit_stack: ExitStack, folder: Path) -> Listing:
        """What lists histories, whoever reads them (see ``data_frames.listing``)."""
        return listing(self.session, staging(exit_stack, folder))

    def scans(self, scan: Scan) -> bool:
        """Whether only Spark reads one of the streams: it does so anew in each job."""
        return by_spark(scan)

    def summaries(
        self,
        tasks: Sequence[Task],
        scans: Mapping[str, Scan],
        progress: Progress,
        memory_mb: int,
        *,
        in_rounds: bool,
        ended: Event,
    ) -> list[Summary]:
        """The summaries of all tasks, of files and of what only Spark reads.

        Spark itself gives up its jobs at Ctrl-C.
        """
        by_frame = {name for name, scan in scans.items() if by_spark(scan)}
        direct = [task for task in tasks if task.stream not in by_frame]
        by_rows = [task for task in tasks if task.stream in by_frame]
        groups = GROUPS_OF_ROUNDS if in_rounds else GROUPS_PER_CORE
        gathered = run_tasks(self.session, direct, scans, progress, memory_mb, groups) if direct else []
        return (
            gathered + run_dataframe_tasks(self.session, by_rows, scans, memory_mb) if by_rows else gathered
        )


@contextmanager
def spark_executor(app_name: str) -> Iterator[SparkExecutor]:
    """A session as the executor, which is stopped in the end (see ``session.session``)."""
    with session(app_name) as spark:
        yield SparkExecutor(spark)
