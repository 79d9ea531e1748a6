"""Memory allocation (section 6.6): the share of the cache that HEEB gives to R, as R lags or S varies more.

TOWER with identical streams (deviation 1, bound 15, no lag) to start with; then R 2 and 4 steps behind S, or
twice and four times the deviation of S. Both bounds are 15, so that the widest noise is hardly cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.models.distribution import normal
from streambound.approximate.models.independent import Trend
from streambound.approximate.models.model import Model
from streambound.simulator.configurations import S_BOUND
from streambound.simulator.contract import Memory
from streambound.simulator.experiments.cells import Counted
from streambound.simulator.experiments.joined import STEPS, drawn, row
from streambound.simulator.experiments.knowledge import value_windows
from streambound.simulator.policies import NAMED

# R's lag and S's deviation by the name in the report.
VARIED = {
    "identical": (0, 1.0),
    "R lags 2": (2, 1.0),
    "R lags 4": (4, 1.0),
    "S varies 2x": (0, 2.0),
    "S varies 4x": (0, 4.0),
}
SIZES = (2, 4, 6, 8, 10, 15, 20, 25, 30, 40)
POLICIES = ("opt-offline", "heeb", "life", "prob", "rand")
SHARE = "share of R"


def models_of(name: str) -> tuple[Model, Model]:
    """The models of R and S."""
    lag, deviation = VARIED[name]
    return Trend(1, -lag, normal(1.0, S_BOUND)), Trend(1, 0, normal(deviation, S_BOUND))


def counted_allocation(
    name: str, run: int, sizes: Sequence[int] = SIZES, steps: int = STEPS
) -> Iterator[Counted]:
    """HEEB's mean share of R after the warm-up, and what it and RAND produce, at each size of one run."""
    models = models_of(name)
    given = drawn(models, run, steps)
    warmup = 4 * max(sizes)
    expires = value_windows(given, models)
    memory = Memory(0, warmup=warmup, seed=run, models=models, expires=expires)
    decide = NAMED["heeb"].joining
    assert decide is not None
    for size in sizes:
        kept = decide(given, Memory(size, warmup=warmup, models=models)).kept_until
        yield Counted(name, SHARE, size, run, share_of_first(kept, warmup))
    for policy in POLICIES:
        for size, results in zip(sizes, row(given, policy, sizes, memory), strict=True):
            yield Counted(name, policy, size, run, results)


def share_of_first(kept_until: Integers, warmup: int) -> float:
    """The mean share of the first stream's tuples in the cache at steps from ``warmup`` on.

    Args:
        kept_until: see ``simulator.decisions.JoiningDecisions``.
    """
    steps = kept_until.shape[1]
    in_cache = np.zeros((len(kept_until), steps + 1), np.int64)
    for stream, until in enumerate(kept_until):
        # Cached after the steps born .. until - 1.
        in_cache[stream, :steps] += 1
        np.subtract.at(in_cache[stream], until, 1)
    cached = np.cumsum(in_cache, axis=1)[:, warmup:steps]
    return float(cached[0].sum() / max(cached.sum(), 1))
