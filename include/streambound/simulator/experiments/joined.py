"""TOWER, ROOF, FLOOR and WALK (section 6.1): joined streams drawn from their models, one seed a run.

Results count from a warm-up of four times the largest cache on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from streambound.approximate.models.model import Model
from streambound.simulator.configurations import CONFIGURATIONS
from streambound.simulator.contract import Memory
from streambound.simulator.experiments.cells import Counted
from streambound.simulator.experiments.knowledge import knowing
from streambound.simulator.policies import NAMED
from streambound.simulator.policies.opt_offline import optima
from streambound.simulator.problems import Streams, streams

POLICIES = ("opt-offline", "heeb", "heeb-adaptive", "life", "prob", "rand", "lru", "lfu", "fifo")
SIZES = tuple(range(1, 51))
STEPS = 5000


def drawn(models: Sequence[Model], run: int, steps: int = STEPS) -> Streams:
    """The streams of one run; each has a seed of its own."""
    return streams(
        *(model.sample(steps, np.random.default_rng([run, at])) for at, model in enumerate(models))
    )


def draw(config: str, run: int, steps: int = STEPS) -> Streams:
    """One run of a configuration."""
    return drawn(CONFIGURATIONS[config](), run, steps)


def policies_of(config: str) -> tuple[str, ...]:
    """What is compared: no LIFE for WALK, which has no window."""
    return tuple(name for name in POLICIES if name != "life" or config != "walk")


def counted_run(
    config: str,
    run: int,
    sizes: Sequence[int] = SIZES,
    steps: int = STEPS,
) -> Iterator[Counted]:
    """What all policies of a configuration produce at all sizes in one run."""
    given = draw(config, run, steps)
    memory = knowing(given, Memory(0, warmup=4 * max(sizes), seed=run), config)
    for name in policies_of(config):
        for size, results in zip(sizes, row(given, name, sizes, memory), strict=True):
            yield Counted(config, name, size, run, results)


def row(given: Streams, name: str, sizes: Sequence[int], memory: Memory) -> list[float]:
    """The counted results of a policy at each size; the optimum of all sizes is one run."""
    if name == "opt-offline":
        every = optima(given, max(sizes), warmup=memory.warmup)
        return [float(every[size]) for size in sizes]
    policy = NAMED[name].joining
    assert policy is not None
    return [float(policy(given, replace(memory, size=size)).results[memory.warmup :].sum()) for size in sizes]
