"""What experiments count, run by run, and what is said of all runs: a mean and its 95% interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from streambound.approximate.kernels.arrays import Floats


class Counted(NamedTuple):
    """The results of one policy at one size in one run."""

    config: str
    policy: str
    size: int
    run: int
    results: float


@dataclass(frozen=True)
class Cell:
    """One policy at one size over all runs.

    Args:
        mean: of the results.
        interval: half of its 95% interval (Student's); None for a single run.
    """

    config: str
    policy: str
    size: int
    mean: float
    interval: float | None
    runs: int

    def to_json(self) -> dict[str, Any]:
        """As one object of the output."""
        return asdict(self)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - (self.interval or 0.0)

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + (self.interval or 0.0)


def half_interval(results: Floats) -> float | None:
    """Half of the 95% interval of the mean of independent runs.

    >>> round(half_interval(np.array([1.0, 2.0, 3.0])), 3)
    2.484
    """
    runs = len(results)
    if runs < 2:
        return None
    return float(stdtrit(runs - 1, 0.975) * results.std(ddof=1) / np.sqrt(runs))


def by_cell(counted: Iterable[Counted]) -> dict[tuple[str, str, int], Floats]:
    """The results of all runs, in order of the runs, by configuration, policy and size."""
    runs_by_cell: dict[tuple[str, str, int], list[tuple[int, float]]] = {}
    for each in counted:
        runs_by_cell.setdefault((each.config, each.policy, each.size), []).append((each.run, each.results))
    return {key: np.array([results for _, results in sorted(runs)]) for key, runs in runs_by_cell.items()}


def relative_results(counted: Iterable[Counted], whole: str) -> list[Counted]:
    """Each as a share of what the policy ``whole`` has in the same run at the same size, if that is not 0.

    >>> relative_results([Counted("a", "b", 1, 0, 3.0), Counted("a", "opt", 1, 0, 4.0)], "opt")[0].results
    0.75
    """
    every = list(counted)
    by_run = {(each.config, each.size, each.run): each.results for each in every if each.policy == whole}
    relative = []
    for each in every:
        if of := by_run.get((each.config, each.size, each.run)):
            relative.append(each._replace(results=each.results / of))
    return relative


def cells(counted: Iterable[Counted]) -> list[Cell]:
    """A cell for each configuration, policy and size, in the order in which they first come."""
    return [
        Cell(*key, float(results.mean()), half_interval(results), len(results))
        for key, results in by_cell(counted).items()
    ]
