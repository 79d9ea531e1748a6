"""What a stream model is: Pr{X_t = v | history}, and from it what a tuple may gain at each later step.

``gains`` are the terms of Lemma 1 (joining): Pr{X_{t0+d} = v | history}. ``first_gains`` are those of
Corollary 1 (caching): the probability that v comes for the first time at t0 + d. Both are exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.models.distribution import Distribution, point


class Model(ABC):
    """A discrete-time stochastic process over whole numbers; the history is x_0 .. x_t0, and may be empty."""

    @abstractmethod
    def ahead(self, history: Integers, without: int | None = None) -> Iterator[Distribution]:
        """The distributions of X_{t0+1}, X_{t0+2}, ... given the history.

        Args:
            without: only of the courses that have not taken this value between t0 and the step.
        """

    @abstractmethod
    def sample(self, steps: int, draws: np.random.Generator) -> Integers:
        """A course of the process from step 0, of shape (steps,)."""

    def gains(self, value: int, history: Integers, steps: int) -> Floats:
        """Lemma 1's terms, of shape (steps,): Pr{X_{t0+d} = value | history} for d = 1 .. steps."""
        ahead = self.ahead(history)
        return np.array([next(ahead).of(value) for _ in range(steps)])

    def first_gains(self, value: int, history: Integers, steps: int) -> Floats:
        """Corollary 1's terms, of shape (steps,): Pr{value is first met at t0 + d | history}."""
        ahead = self.ahead(history, value)
        return np.array([next(ahead).of(value) for _ in range(steps)])

    def log_likelihood(self, values: Integers, start: int = 0) -> float:
        """The log probability of the values from step ``start`` on, each given those before it."""
        with np.errstate(divide="ignore"):
            return float(
                sum(
                    np.log(next(self.ahead(values[:t])).of(int(values[t]))) for t in range(start, len(values))
                )
            )


class Independent(Model):
    """A process whose variables are independent of each other."""

    @abstractmethod
    def at(self, step: int) -> Distribution:
        """The distribution of X_step."""

    def ahead(self, history: Integers, without: int | None = None) -> Iterator[Distribution]:
        """See ``Model``."""
        step, left = len(history), 1.0
        while True:
            now = self.at(step)
            yield now if without is None else Distribution(now.low, now.probability * left)
            if without is not None:
                left *= 1.0 - now.of(without)
            step += 1

    def sample(self, steps: int, draws: np.random.Generator) -> Integers:
        """See ``Model``."""
        return np.array([self.at(step).draw(1, draws)[0] for step in range(steps)], np.int64)


class Markov(Model):
    """A process whose next variable depends on the last one only."""

    @property
    @abstractmethod
    def origin(self) -> int:
        """The value before step 0."""

    @abstractmethod
    def after(self, now: Distribution, step: int) -> Distribution:
        """The distribution of X_step, X_{step-1} being distributed as ``now``."""

    def ahead(self, history: Integers, without: int | None = None) -> Iterator[Distribution]:
        """See ``Model``."""
        step = len(history)
        now = point(int(history[-1]) if step else self.origin)
        while True:
            now = self.after(now, step).trimmed()
            yield now
            if without is not None:
                now = now.without(without)
            step += 1

    def sample(self, steps: int, draws: np.random.Generator) -> Integers:
        """See ``Model``."""
        drawn = np.empty(steps, np.int64)
        last = self.origin
        for step in range(steps):
            last = int(self.after(point(last), step).draw(1, draws)[0])
            drawn[step] = last
        return drawn
