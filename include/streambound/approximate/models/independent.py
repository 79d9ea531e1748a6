"""Models of independent variables: known, stationary, a linear trend with noise (5.1-5.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.models.distribution import Distribution, point
from streambound.approximate.models.model import Independent
from streambound.errors import DataError

NOTHING = Distribution(0, np.zeros(1))


@dataclass(frozen=True)
class Deterministic(Independent):
    """Section 5.1: a sequence that is known; nothing comes after it."""

    values: Integers

    def at(self, step: int) -> Distribution:
        """See ``Independent``."""
        return point(int(self.values[step])) if step < len(self.values) else NOTHING

    def sample(self, steps: int, draws: np.random.Generator) -> Integers:
        """The sequence itself.

        Raises:
            DataError: it is shorter.
        """
        if steps > len(self.values):
            raise DataError(f"a known sequence of {len(self.values)} steps has no {steps}")
        return self.values[:steps]


@dataclass(frozen=True)
class Stationary(Independent):
    """Section 5.2: every variable is distributed alike."""

    distribution: Distribution

    def at(self, step: int) -> Distribution:
        """See ``Independent``."""
        return self.distribution

    def sample(self, steps: int, draws: np.random.Generator) -> Integers:
        """See ``Model``."""
        return self.distribution.draw(steps, draws)


@dataclass(frozen=True)
class Trend(Independent):
    """Sections 5.3 and 5.4: X_t = f(t) + Y_t, where f(t) = slope * t + intercept, rounded half up."""

    slope: float
    intercept: float
    noise: Distribution

    def center(self, step: int | Integers) -> Integers:
        """f(step)."""
        return np.floor(self.slope * np.asarray(step) + self.intercept + 0.5).astype(np.int64)

    def at(self, step: int) -> Distribution:
        """See ``Independent``."""
        return self.noise.moved(int(self.center(step)))

    def sample(self, steps: int, draws: np.random.Generator) -> Integers:
        """See ``Model``."""
        return np.asarray(self.center(np.arange(steps)) + self.noise.draw(steps, draws), np.int64)
