"""Distributions over whole numbers, as an array of probabilities from the least value on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streambound.approximate.kernels.arrays import Floats
from streambound.errors import DataError

# What is less probable than this is left out.
_PROBABLE = 1e-18


@dataclass(frozen=True)
class Distribution:
    """Pr{X = low + i} = probability[i]; it need not sum to 1."""

    low: int
    probability: Floats

    def of(self, value: int) -> float:
        """The probability of a value.

        >>> uniform(2).of(2), uniform(2).of(3)
        (0.2, 0.0)
        """
        at = value - self.low
        return float(self.probability[at]) if 0 <= at < len(self.probability) else 0.0

    @property
    def high(self) -> int:
        """The largest value."""
        return self.low + len(self.probability) - 1

    @property
    def mean(self) -> float:
        """The expected value."""
        return float(self.probability @ np.arange(self.low, self.high + 1))

    def moved(self, by: int) -> Distribution:
        """The distribution of X + by."""
        return Distribution(self.low + by, self.probability)

    def plus(self, distribution: Distribution) -> Distribution:
        """The distribution of the sum with an independent variable."""
        return Distribution(
            self.low + distribution.low, np.convolve(self.probability, distribution.probability)
        )

    def without(self, value: int) -> Distribution:
        """The distribution with the probability of one value removed."""
        left = self.probability.copy()
        if self.low <= value <= self.high:
            left[value - self.low] = 0.0
        return Distribution(self.low, left)

    def trimmed(self) -> Distribution:
        """The distribution without the improbable values at both ends."""
        likely = np.flatnonzero(self.probability > _PROBABLE)
        if not len(likely):
            return Distribution(self.low, self.probability[:1])
        first, last = likely[0], likely[-1]
        return Distribution(self.low + int(first), self.probability[first : last + 1])

    def draw(self, count: int, draws: np.random.Generator) -> np.ndarray:
        """Independent draws."""
        total = self.probability.sum()
        return self.low + draws.choice(len(self.probability), count, p=self.probability / total)


def point(value: int) -> Distribution:
    """All on one value."""
    return Distribution(value, np.ones(1))


def uniform(width: int) -> Distribution:
    """Uniform on -width .. width."""
    _refuse_width(width)
    return Distribution(-width, np.full(2 * width + 1, 1 / (2 * width + 1)))


def normal(deviation: float, width: int | None = None, mean: float = 0.0) -> Distribution:
    """A normal variable rounded to whole numbers; cut to -width .. width and rescaled if a width is given.

    Without a width it ends where both tails are below 1e-16.

    Raises:
        DataError: the deviation is not above 0, or the width is below 0.
    """
    from scipy.special import ndtr

    if not deviation > 0:
        raise DataError(f"the standard deviation is {deviation}", accepted="a number above 0")
    far = int(np.ceil(8.3 * deviation)) + 1
    low, high = round(mean) - far, round(mean) + far
    if width is not None:
        _refuse_width(width)
        low, high = -width, width
    edges = (np.arange(low, high + 2) - 0.5 - mean) / deviation
    # From the side of the nearer tail, where the difference keeps its digits.
    mass = np.where(edges[:-1] > 0, ndtr(-edges[:-1]) - ndtr(-edges[1:]), ndtr(edges[1:]) - ndtr(edges[:-1]))
    return Distribution(low, mass / mass.sum())


def _refuse_width(width: int) -> None:
    if width < 0:
        raise DataError(f"the width is {width}", accepted="a whole number, 0 or more")
