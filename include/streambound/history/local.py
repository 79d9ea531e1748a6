"""This machine as the executor of an evaluation of history: worker processes, without Spark and Java.

Workers are spawned, so that none inherits a lock or a connection that another thread holds, and they end with
the process that started them, however it ends.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any

from streambound.checkpoint.inputs import identified
from streambound.errors import StorageError
from streambound.history.executor import Progress, about_read
from streambound.query.model import Relation
from streambound.storage.partitions import Listing, Partition, find_partitions
from streambound.tasks.summarise import Summary, Task
from streambound.tasks.task_groups import GROUPS_PER_CORE, Group, Scan, cost, grouped, summarise_group

# While workers start, this process would have read about as much.
SMALL_BYTES = 64 << 20
# How often is looked whether anybody still waits, and how often is told what has been read.
POLL_SECONDS, TELL_SECONDS = 0.2, 2.0
MEMORY = "give the machine more memory, or write smaller partitions, and run it again"

Scans = Mapping[str, Scan]


@dataclass
class LocalExecutor:
    """Partitions are summarised by processes of this machine (see ``history.executor.Executor``).

    Args:
        workers: how many there are; with one it is this process.
        small: this process reads so many bytes, and what it costs to open files, before it starts any.
    """

    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    small: int = SMALL_BYTES
    _here_bytes: int = field(default=0, init=False)
    _pool: _Pool | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    # Rounds are made by several threads; in this process one works at a time.
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False)

    def cores(self) -> int:
        """How many tasks run at once."""
        return self.workers

    def listing(self, exit_stack: ExitStack, folder: Path) -> Listing:
        """What lists histories; those that only Spark reads are refused by name."""
        return _listed

    def scans(self, scan: Scan) -> bool:
        """Never: each task reads its own files."""
        return False

    def summaries(
        self,
        tasks: Sequence[Task],
        scans: Scans,
        progress: Progress,
        memory_mb: int,
        *,
        in_rounds: bool,
        ended: threading.Event,
    ) -> list[Summary]:
        """The summaries of all tasks."""
        groups = grouped(tasks, self.workers * GROUPS_PER_CORE)
        report = _ProgressReport(progress, tasks)
        try:
            if self._is_small(tasks):
                return self._here(groups, scans, report, memory_mb, ended)
            return self._by_workers(groups, scans, report, memory_mb, ended)
        except MemoryError:
            raise StorageError("memory ran out while partitions were summarised", fix=MEMORY) from None

    def _is_small(self, tasks: Sequence[Task]) -> bool:
        """Whether this process summarises them."""
        if self.workers == 1:
            return True
        with self._lock:
            size = self._here_bytes + cost(tasks)
            if size <= self.small:
                self._here_bytes = size
            return size <= self.small

    def _here(
        self,
        groups: Sequence[Group],
        scans: Scans,
        report: _ProgressReport,
        memory_mb: int,
        ended: threading.Event,
    ) -> list[Summary]:
        gathered: list[Summary] = []
        for done, group in enumerate(groups):
            with self._turn:
                if ended.is_set():
                    break
                report.about(done, len(groups))
                for summaries in summarise_group(group, scans, memory_mb):
                    gathered += summaries
        return gathered

    def _by_workers(
        self,
        groups: Sequence[Group],
        scans: Scans,
        report: _ProgressReport,
        memory_mb: int,
        ended: threading.Event,
    ) -> list[Summary]:
        pool = None
        try:
            with self._lock:
                pool = self._started()
                with _without_interrupts():
                    made = [pool.submit(group, scans, memory_mb) for group in groups]
            waiting = set(made)
            while waiting:
                done, waiting = wait(waiting, POLL_SECONDS)
                for future in done:
                    future.result()
                report.about(len(groups) - len(waiting), len(groups))
                if ended.is_set():
                    self.close()
                    return []
            return [summary for future in made for summary in future.result()]
        except BrokenProcessPool:
            assert pool is not None
            how = pool.end()
            self._forget(pool)
            raise StorageError(
                f"a worker process {how} while partitions were summarised", fix=MEMORY
            ) from None

    def _started(self) -> _Pool:
        self._pool = self._pool or _Pool(self.workers)
        return self._pool

    def close(self) -> None:
        """End the workers, whatever they are at."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _forget(self, pool: _Pool) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None


@contextmanager
def local_executor() -> Iterator[LocalExecutor]:
    """An executor with a worker for each core, which end with the block."""
    executor = LocalExecutor()
    try:
        yield executor
    finally:
        executor.close()


def _listed(relation: Relation) -> tuple[Partition, ...]:
    return identified(find_partitions(relation))


class _ProgressReport:
    """Tells now and then how many partitions are read, of those of some tasks."""

    def __init__(self, progress: Progress, tasks: Sequence[Task]) -> None:
        self.progress, self.tasks = progress, tasks
        self.last, self.shown = time.monotonic(), 0

    def about(self, done: int, groups: int) -> None:
        """Reports progress, except when all groups are done."""
        now = time.monotonic()
        if self.shown < done < groups and now >= self.last + TELL_SECONDS:
            self.last, self.shown = now, done
            self.progress(about_read(done, groups, self.tasks))


class _Pool:
    """Worker processes, of which is known how they ended."""

    def __init__(self, workers: int) -> None:
        self.processes: list[SpawnProcess] = []
        context: Any = SpawnContext()
        context.Process = self._process
        # This starts what keeps count of semaphores, and hears interrupts again by then.
        self.executor = ProcessPoolExecutor(workers, context, _begin)

    def _process(self, *args: Any, **options: Any) -> SpawnProcess:
        self.processes.append(SpawnProcess(*args, **options))
        return self.processes[-1]

    def submit(self, group: Group, scans: Scans, memory_mb: int) -> Future[list[Summary]]:
        """Have a group summarised."""
        mine = {name: scans[name] for name in {task.stream for batch in group for task in batch}}
        return self.executor.submit(_summarised, group, mine, memory_mb)

    def end(self) -> str:
        """How a worker ended of itself, in words; the others are ended because of it."""
        self.executor.shutdown()
        exit_codes = [process.exitcode for process in self.processes]
        code = next((code for code in exit_codes if code not in (None, 0, -signal.SIGTERM)), -signal.SIGTERM)
        assert code is not None
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"

    def close(self) -> None:
        """End them."""
        for process in self.processes:
            # One that has not started yet has nothing to end.
            with suppress(AttributeError):
                process.kill()
        self.executor.shutdown(cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Whatever process starts meanwhile does not see Ctrl-C, which goes to all processes of a terminal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _summarised(group: Group, scans: Scans, memory_mb: int) -> list[Summary]:
    return [summary for batch in summarise_group(group, scans, memory_mb) for summary in batch]
