"""What summarises partitions, as an evaluation of history sees it: it is handed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Protocol

from streambound.storage.partitions import Listing
from streambound.tasks.emit import counted
from streambound.tasks.summarise import Summary, Task
from streambound.tasks.task_groups import Scan

# Is told, in a sentence, what has been done.
Progress = Callable[[str], None]


class ReadSoFar(str):
    """A sentence of progress: how many partitions have been read, of how many."""

    read: int
    partitions: int

    def __new__(cls, read: int, partitions: int) -> ReadSoFar:
        """The sentence, which knows its numbers."""
        made = super().__new__(cls, f"{read:,} of {counted(partitions, 'partition')} read")
        made.read, made.partitions = read, partitions
        return made


def about_read(done: int, groups: int, tasks: Sequence[Task]) -> str:
    """A sentence of progress where so many groups of some tasks are done, which are about equally large."""
    partitions = sum(len(task.streams) for task in tasks)
    return f"about {done * partitions // groups:,} of {counted(partitions, 'partition')} read"


def silent(message: str) -> None:
    """Progress that nobody follows."""


class Executor(Protocol):
    """Where the partitions of a history are listed and summarised."""

    def cores(self) -> int:
        """How many tasks run at once.

        Raises:
            StorageError: the executor has ended.
        """

    def listing(self, exit_stack: ExitStack, folder: Path) -> Listing:
        """What lists histories, each partition with its identity.

        Args:
            exit_stack: as long as it is, static relations that have to be copied are kept.
            folder: where they are copied to.
        """

    def scans(self, scan: Scan) -> bool:
        """Whether each round of tasks costs a scan more, so that rounds are to be few."""

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
        """The summaries of all tasks, in no particular order.

        Args:
            scans: by name of the tasks' streams.
            progress: told what has been read.
            memory_mb: what each task's engine may use before it spills.
            in_rounds: other tasks are waiting for the same cores.
            ended: set when nobody waits for them any more; then they may come to nothing.

        Raises:
            StorageError: the executor has lost the tasks.
        """
