"""H of a chain by last and asked value: Theorem 5's h2. An AR(1) is a chain on whole numbers."""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.models.lifetimes import Lifetime
from streambound.approximate.models.markov import Autoregression, Chain, rounded_normals
from streambound.approximate.tables.cells import Table, empty, steps_to_sum


def as_chain(model: Autoregression, observed: Integers, values: tuple[int, int]) -> Chain:
    """An AR(1) on the values that it can take but for a chance of 1e-16, and on those that it did take."""
    mean = model.mean(0)
    far = 8.3 * model.deviation / np.sqrt(1 - model.phi**2) + 1
    low = int(min(np.floor(mean - far), *values, observed.min(initial=values[0])))
    high = int(max(np.ceil(mean + far), *values, observed.max(initial=values[1])))
    means = model.expected(np.arange(low, high + 1), 1)
    return Chain(low, rounded_normals(means, model.deviation, low, high), model.origin)


def chain(model: Chain, observed: Integers, lifetime: Lifetime, first: bool, window: int | None) -> Table:
    """A row for each last value, a column for each value that is asked for.

    Args:
        observed: the values, shape (steps,).
        window: the layers, one for each number of steps left; None: one layer.
    """
    inside = np.clip(observed - model.low, 0, len(model.matrix) - 1)
    shift = np.full(len(observed), model.low, np.int64)
    size = len(model.matrix)
    if lifetime.kind == "exp" and window is None:
        gamma = np.exp(-1 / lifetime.parameter)
        total = np.linalg.solve(np.eye(size) - gamma * model.matrix, gamma * model.matrix)
        if first:
            # Renewal: met at all after d = first met, then met again from there.
            total /= 1 + np.diag(total)[None, :]
        return Table(total[None], inside, shift)
    limit = steps_to_sum(lifetime, window, first, None)
    cells = empty(limit if window is not None else 1, size, size)
    weights = lifetime.weights(limit)
    chance, total = model.matrix, np.zeros((size, size))
    for ahead in range(limit):
        total = total + weights[ahead] * chance
        cells[ahead if window is not None else 0] = total
        if first:
            # P(x, y) times Pr{first met v from y}, without the courses that stay at v.
            chance = model.matrix @ chance - model.matrix * np.diag(chance)[None, :]
        else:
            chance = model.matrix @ chance
        if chance.max() * max(limit - ahead, 1) < 1e-15:
            cells[ahead if window is not None else 0 :] = total
            break
    return Table(cells, inside, shift)
