"""The experiments of section 6: runs of each configuration, each policy and size, with confidence intervals.

TOWER, ROOF, FLOOR and WALK are joined streams drawn from their models, one seed a run. Results count from a
warm-up of four times the largest cache on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from streambound.caching.contract import Memory
from streambound.caching.knowledge import knowing
from streambound.caching.models.configurations import CONFIGURATIONS
from streambound.caching.policies import NAMED
from streambound.caching.policies.opt_offline import optima
from streambound.caching.problems import Streams, streams

JOINING = ("opt-offline", "heeb", "life", "prob", "rand")
SIZES = tuple(range(1, 51))
STEPS, RUNS = 5000, 50
# 95% of a normal distribution: with 50 runs Student's quantile is 2.5% larger.
QUANTILE = 2.01


@dataclass(frozen=True)
class Cell:
    """One policy at one size over all runs: the mean of the results, and half of its 95% interval."""

    config: str
    policy: str
    size: int
    mean: float
    interval: float
    runs: int

    def to_json(self) -> dict[str, Any]:
        """As one object of the output."""
        return asdict(self)


def draw(config: str, run: int, steps: int = STEPS) -> Streams:
    """The streams of one run; R and S have seeds of their own."""
    models = CONFIGURATIONS[config]()
    return streams(
        *(model.sample(steps, np.random.default_rng([run, at])) for at, model in enumerate(models))
    )


def policies_of(config: str) -> tuple[str, ...]:
    """What section 6 compares: no LIFE for WALK, which has no window."""
    return tuple(name for name in JOINING if name != "life" or config != "walk")


def experiment(
    config: str,
    runs: int = RUNS,
    sizes: Sequence[int] = SIZES,
    steps: int = STEPS,
    progress: Callable[[int], None] = lambda run: None,
) -> Iterator[Cell]:
    """All policies of a configuration at all sizes.

    Args:
        progress: told the number of runs that are done.
    """
    warmup = 4 * max(sizes)
    names = policies_of(config)
    found = np.zeros((runs, len(names), len(sizes)))
    for run in range(runs):
        given = draw(config, run, steps)
        known = knowing(given, Memory(0, warmup=warmup, seed=run), config)
        for at, name in enumerate(names):
            found[run, at] = _row(given, name, sizes, known)
        progress(run + 1)
    mean = found.mean(axis=0)
    half = QUANTILE * found.std(axis=0, ddof=1) / np.sqrt(runs) if runs > 1 else np.full(mean.shape, np.nan)
    for at, name in enumerate(names):
        for column, size in enumerate(sizes):
            yield Cell(config, name, size, float(mean[at, column]), float(half[at, column]), runs)


def _row(given: Streams, name: str, sizes: Sequence[int], known: Memory) -> Any:
    """The counted results of a policy at each size; the optimum of all sizes is one run."""
    if name == "opt-offline":
        return optima(given, max(sizes), warmup=known.warmup)[list(sizes)]
    policy = NAMED[name].joining
    assert policy is not None
    return [policy(given, replace(known, size=size)).results[known.warmup :].sum() for size in sizes]
