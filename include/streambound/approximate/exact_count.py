"""How many results an equijoin has in all: the truth that estimates are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from streambound.approximate.evaluation import MemoryPass, Tuple
from streambound.approximate.kernels.online import Arrivals
from streambound.approximate.plan import MemoryPlan
from streambound.approximate.selected_policy import SelectedPolicy


def exact_results(plan: MemoryPlan, rows: Sequence[Tuple]) -> int:
    """The pairs of tuples that join, of all in order of time; memory grows with them.

    Under DISTINCT pairs are counted as well, as ``MemoryPass.results`` does.
    """
    if not rows:
        return 0
    engine = MemoryPass(replace(plan, size=len(rows), selected_policy=SelectedPolicy("fifo")))
    if plan.join.rest:
        return len(engine.joined(list(rows)).left)
    return _counted(engine.arrivals(list(rows)))


def _counted(given: Arrivals) -> int:
    """Pairs of one key whose times are as far apart as they have to be; none is looked at by itself."""
    left, right = given.side == 0, given.side == 1
    times = np.unique(given.time[right])
    # Keys and ranks of times as one number: the partners of a tuple are a range of the sorted ones.
    span = len(times) + 1
    partners = np.sort(given.key[right] * span + np.searchsorted(times, given.time[right]))
    first = np.searchsorted(times, given.time[left] + given.low, "left")
    beyond = np.searchsorted(times, given.time[left] + given.high, "right")
    keys = given.key[left] * span
    counts = np.searchsorted(partners, keys + beyond) - np.searchsorted(partners, keys + first)
    # Where the lags contradict each other a range is empty, not less than empty.
    return int(np.maximum(counts, 0).sum())
