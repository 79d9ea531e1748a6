"""Sweeps: configurations x runs x policies x sizes as tasks that need nothing from each other.

What a task counts depends on the task alone, so that threads, processes or Spark give the same numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from streambound.simulator.experiments import allocation, joined, look_ahead, real
from streambound.simulator.experiments.cells import Counted

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Task:
    """A run of an experiment.

    Args:
        kind: ``joined`` (all policies of a configuration), ``real`` (one policy), ``allocation``,
            ``flow-expect`` (one configuration), ``look-ahead``.
        config: of the experiment.
        policy: of ``real``.
    """

    kind: str
    config: str
    run: int
    policy: str | None = None
    sizes: tuple[int, ...] = joined.SIZES
    steps: int = joined.STEPS


def tasks(configs: Sequence[str], runs: int, sizes: tuple[int, ...] = joined.SIZES) -> list[Task]:
    """The tasks of a sweep, the longest first: all policies but FlowExpect."""
    listed = []
    if "real" in configs:
        listed += [Task("real", "real", 0, name, real.SIZES) for name in real.POLICIES if name != "rand"]
        listed += [Task("real", "real", run, "rand", real.SIZES) for run in range(runs)]
        drawn = [config for config in real.COURSES if config != "real"]
        listed += [Task("real", config, 0, name, real.SIZES) for config in drawn for name in real.EXPLAINING]
    return listed + [
        Task("joined", config, run, None, sizes)
        for config in configs
        if config != "real"
        for run in range(runs)
    ]


def allocation_tasks(runs: int) -> list[Task]:
    """The tasks of section 6.6."""
    return [
        Task("allocation", name, run, None, allocation.SIZES)
        for name in allocation.VARIED
        for run in range(runs)
    ]


def flow_expect_tasks(configs: Sequence[str], runs: int) -> list[Task]:
    """FlowExpect on joined streams, and its look-ahead."""
    return [
        Task("flow-expect", config, run) for config in configs if config != "real" for run in range(runs)
    ] + [Task("look-ahead", look_ahead.CONFIG, run, None, (), look_ahead.STEPS) for run in range(runs)]


def counted(task: Task) -> list[Counted]:
    """What a task counts."""
    match task:
        case Task(kind="real", policy=str(policy)):
            return list(real.counted_policy(task.config, policy, task.run, task.sizes))
        case Task(kind="allocation"):
            return list(allocation.counted_allocation(task.config, task.run, task.sizes, task.steps))
        case Task(kind="flow-expect"):
            return list(look_ahead.compared(task.config, task.run, task.sizes, task.steps))
        case Task(kind="look-ahead"):
            return list(look_ahead.looking_ahead(task.run, task.steps))
        case _:
            return list(joined.counted_run(task.config, task.run, task.sizes, task.steps))


def swept(tasks: Sequence[Task], progress: Progress = lambda done, of: None) -> list[Counted]:
    """What all tasks count, in their order, computed by a thread a core.

    Args:
        progress: told how many tasks are done, and of how many.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = [pool.submit(counted, task) for task in tasks]
        for done, _ in enumerate(as_completed(waiting), 1):
            progress(done, len(tasks))
        return [each for future in waiting for each in future.result()]
