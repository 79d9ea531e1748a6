"""H of a random walk by distance from its position: Theorem 5's h1."""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.models.distribution import Distribution
from streambound.approximate.models.lifetimes import Lifetime
from streambound.approximate.models.markov import RandomWalk
from streambound.approximate.tables.cells import Table, empty, steps_to_sum


def random_walk(
    model: RandomWalk, observed: Integers, lifetime: Lifetime, first: bool, window: int | None
) -> Table:
    """One row: columns are distances from the walk's position.

    Args:
        observed: the positions, shape (steps,).
        window: the layers, one for each number of steps left; None: one layer.
    """
    limit = steps_to_sum(lifetime, window, first, None)
    if first and window is None and lifetime.kind != "exp":
        limit = min(limit, 2_000)
    if lifetime.kind == "exp" and window is None:
        curve = _random_walk_exp(model, lifetime.parameter, first)
        return Table(
            curve.probability[None, None, :], np.zeros(len(observed), np.int64), observed + curve.low
        )
    ahead = RandomWalk(model.drift, model.noise).ahead(np.array([], np.int64))
    powers = [next(ahead) for _ in range(limit)]
    low, high = min(p.low for p in powers), max(p.high for p in powers)
    cells = empty(limit if window is not None else 1, 1, high - low + 1)
    chances = np.zeros((limit, high - low + 1))
    for at, power in enumerate(powers):
        chances[at, power.low - low : power.high - low + 1] = power.probability
    if first:
        chances = _first_passage(chances, chances[:, -low] if low <= 0 <= high else np.zeros(limit))
    sums = np.cumsum(chances * lifetime.weights(limit)[:, None], axis=0)
    cells[:, 0, :] = sums if window is not None else sums[-1:]
    return Table(cells, np.zeros(len(observed), np.int64), observed + low)


def _first_passage(chances: Floats, returns: Floats) -> Floats:
    """Pr{first met at d} from Pr{met at d} and the chance to be back where one is after d steps."""
    passages = np.zeros_like(chances)
    for at in range(len(chances)):
        passages[at] = chances[at] - returns[:at][::-1] @ passages[:at]
    return np.maximum(passages, 0.0)


def _random_walk_exp(model: RandomWalk, alpha: float, first: bool) -> Distribution:
    """Sum of (gamma step)^d, by Fourier transform: a geometric series at each frequency.

    With ``first``, by renewal: U(o) = F(o) (1 + U(0)).
    """
    gamma = np.exp(-1 / alpha)
    step = model.noise.moved(model.drift)
    spread = max(abs(step.low), abs(step.high))
    steps = int(np.ceil(40 * alpha))
    deviation = np.sqrt(step.probability @ (np.arange(step.low, step.high + 1) - step.mean) ** 2)
    reach = int(np.ceil(abs(step.mean) * steps + 12 * deviation * np.sqrt(steps))) + 2 * spread + 1
    ring = 1 << (2 * reach + 1).bit_length()
    circle = np.zeros(ring)
    np.add.at(circle, np.arange(step.low, step.high + 1) % ring, step.probability)
    wave = gamma * np.fft.rfft(circle)
    sums = np.fft.irfft(wave / (1 - wave), ring)
    benefits = np.maximum(np.r_[sums[-reach:], sums[: reach + 1]], 0.0)
    if first:
        benefits /= 1 + benefits[reach]
    return Distribution(-reach, benefits)
