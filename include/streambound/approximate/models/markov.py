"""Models whose next value depends on the last: walk, AR(1), seasonal AR(1), a chain (5.5, 6.5).

The autoregressive ones are chains on whole numbers: X_t is the rounded value of what the equation gives for
the observed X_{t-1}, so that every probability further ahead follows exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.models.distribution import Distribution
from streambound.approximate.models.model import Markov
from streambound.errors import DataError


@dataclass(frozen=True)
class RandomWalk(Markov):
    """Section 5.5: X_t = X_{t-1} + drift + Y_t, the drift a whole number."""

    drift: int
    noise: Distribution
    start: int = 0

    @property
    def origin(self) -> int:
        """See ``Markov``."""
        return self.start

    def after(self, now: Distribution, step: int) -> Distribution:
        """See ``Markov``."""
        return now.plus(self.noise).moved(self.drift)

    def sample(self, steps: int, draws: np.random.Generator) -> Integers:
        """See ``Model``."""
        return self.start + np.cumsum(self.drift + self.noise.draw(steps, draws))


@dataclass(frozen=True)
class Autoregression(Markov):
    """X_t = mean(t) + phi (X_{t-1} - mean(t-1)) + Y_t, Y_t normal; rounded to whole numbers.

    Args:
        phi: of the value before.
        deviation: of Y_t.
        means: mean(t) is ``means[t % period]``: one number for AR(1), a season's worth for the seasonal AR.
    """

    phi: float
    deviation: float
    means: Floats = field(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        if not self.deviation > 0 or not len(self.means):
            raise DataError("an autoregression needs a deviation above 0 and at least one mean")

    def mean(self, step: int) -> float:
        """mean(step)."""
        return float(self.means[step % len(self.means)])

    @property
    def origin(self) -> int:
        """See ``Markov``."""
        return round(self.mean(-1))

    def after(self, now: Distribution, step: int) -> Distribution:
        """See ``Markov``."""
        return Distribution(self._low(now, step), now.probability @ self.transitions(now, step))

    def _low(self, now: Distribution, step: int) -> int:
        ends = self.expected(np.array([now.low, now.high]), step)
        return int(np.floor(ends.min() - 8.3 * self.deviation)) - 1

    def expected(self, values: Integers | Floats, step: int) -> Floats:
        """The mean of X_step for values of X_{step-1}."""
        return np.asarray(self.mean(step) + self.phi * (values - self.mean(step - 1)), np.float64)

    def transitions(self, now: Distribution, step: int) -> Floats:
        """Row by row, for each value of ``now``, the probabilities of X_step from ``_low`` on."""
        means = self.expected(np.arange(now.low, now.high + 1), step)
        high = int(np.ceil(means.max() + 8.3 * self.deviation)) + 1
        return rounded_normals(means, self.deviation, self._low(now, step), high)


def ar1(phi0: float, phi1: float, deviation: float) -> Autoregression:
    """The paper's X_t = phi0 + phi1 X_{t-1} + Y_t.

    Raises:
        DataError: phi1 is not between -1 and 1: it has no mean then; a random walk is ``RandomWalk``.
    """
    if not -1 < phi1 < 1:
        raise DataError(f"phi1 is {phi1}", accepted="a number between -1 and 1")
    return Autoregression(phi1, deviation, np.array([phi0 / (1 - phi1)]))


def rounded_normals(means: Floats, deviation: float, low: int, high: int) -> Floats:
    """Shape (means, high - low + 1): the probabilities of low .. high for each mean; rows sum to 1."""
    from scipy.special import ndtr

    edges = (np.arange(low, high + 2)[None, :] - 0.5 - means[:, None]) / deviation
    # From the side of the nearer tail, where the difference keeps its digits.
    below, above = np.diff(ndtr(edges)), -np.diff(ndtr(-edges))
    masses = np.where(edges[:, :-1] > 0, above, below)
    return np.asarray(masses / masses.sum(axis=1, keepdims=True), np.float64)


@dataclass(frozen=True)
class Chain(Markov):
    """A chain on low, low + 1, ... given by its transition matrix.

    Args:
        matrix: square; row i are the probabilities after low + i.
        start: the value before step 0.
    """

    low: int
    matrix: Floats
    start: int

    @property
    def origin(self) -> int:
        """See ``Markov``."""
        return self.start

    def after(self, now: Distribution, step: int) -> Distribution:
        """See ``Markov``. A value that the chain does not know goes on as the chain's average does."""
        inside = np.zeros(len(self.matrix))
        first, last = max(now.low, self.low), min(now.high, self.low + len(self.matrix) - 1)
        if first <= last:
            inside[first - self.low : last - self.low + 1] = now.probability[
                first - now.low : last - now.low + 1
            ]
        outside = max(now.probability.sum() - inside.sum(), 0.0)
        return Distribution(self.low, inside @ self.matrix + outside * self._average)

    @cached_property
    def _average(self) -> Floats:
        return np.asarray(self.matrix.mean(axis=0))


def chain_from(values: Integers) -> Chain:
    """The chain whose transitions are as often as in a sequence.

    Each row is given half a transition besides, shared as the values are.

    Raises:
        DataError: the values span more than 4096 states.
    """
    low, states = int(values.min()), int(values.max() - values.min()) + 1
    if states > 4096:
        raise DataError(f"a chain over {states} values is too large", accepted="at most 4096")
    counts = np.zeros((states, states))
    np.add.at(counts, (values[:-1] - low, values[1:] - low), 1.0)
    stationary = np.bincount(values - low, minlength=states) + 1.0 / states
    counts += 0.5 * stationary / stationary.sum()
    return Chain(low, counts / counts.sum(axis=1, keepdims=True), int(values[0]))
