"""H of independent variables: a trend by offset from its centre (Corollary 5), a known sequence by step."""

from __future__ import annotations

import numpy as np

from streambound.caching.lifetimes import Lifetime
from streambound.caching.models.independent import Known, Trend
from streambound.caching.problems import Integers
from streambound.caching.tables.cells import Table, empty, steps_to_sum
from streambound.errors import DataError


def trend(
    model: Trend,
    steps: int,
    lifetime: Lifetime,
    values: tuple[int, int],
    first: bool,
    window: int | None,
) -> Table:
    time = np.arange(steps)
    center = model.center(time)
    # Once every value that can be asked for is out of the noise's reach for ever, nothing is gained.
    reach = values[1] - values[0] + len(model.noise.probability)
    passed = int(np.ceil((reach + 2) / abs(model.slope))) if model.slope else None
    limit = steps_to_sum(lifetime, window, first, passed)
    moves = _moves(model, center, limit)
    kinds, row = (moves[:1], np.zeros(steps, np.int64)) if len(moves) == 1 else _distinct(moves)
    noise = model.noise
    low = int(max(noise.low + min(moves.min(initial=0), 0), values[0] - center.max(initial=0)))
    high = int(min(noise.high + max(moves.max(initial=0), 0), values[1] - center.min(initial=0)))
    cells = empty(limit if window is not None else 1, len(kinds), max(high - low + 1, 1))
    weights = lifetime.weights(limit)
    for number, kind in enumerate(kinds):
        total, unmet = np.zeros(cells.shape[2]), np.ones(cells.shape[2])
        for ahead, begin in enumerate((kind + noise.low - low).tolist()):
            # The columns that the noise reaches then, and the part of the noise that lies in the table.
            first_column, end = max(begin, 0), min(begin + len(noise.probability), len(total))
            if first_column < end:
                chance = noise.probability[first_column - begin : end - begin]
                total[first_column:end] += weights[ahead] * chance * unmet[first_column:end]
                if first:
                    unmet[first_column:end] *= 1 - chance
            if window is not None:
                cells[ahead, number] = total
        cells[-1, number] = total
    return Table(cells, row, center + low)


def _moves(model: Trend, center: Integers, limit: int) -> Integers:
    """Shape (steps or 1, limit): how far the centre moves in 1 .. limit steps from each step."""
    ahead = np.arange(1, limit + 1)
    if float(model.slope).is_integer():
        return (int(model.slope) * ahead)[None, :]
    time = np.arange(len(center))
    return model.center(time[:, None] + ahead[None, :]) - center[:, None]


def _distinct(moves: Integers) -> tuple[Integers, Integers]:
    kinds, row = np.unique(moves, axis=0, return_inverse=True)
    return kinds, row.astype(np.int64)


def known(
    model: Known,
    steps: int,
    lifetime: Lifetime,
    values: tuple[int, int],
    first: bool,
    window: int | None,
) -> Table:
    """A row a step: each occurrence in the future, or the first one only."""
    if window is not None:
        raise DataError("HEEB has no table for a known sequence with a window", fix="opt-offline is optimal")
    cells = empty(1, steps, values[1] - values[0] + 1)
    weights = lifetime.weights(len(model.values))
    for value in range(values[0], values[1] + 1):
        times = np.flatnonzero(model.values == value)
        for step in range(steps):
            later = times[np.searchsorted(times, step, side="right") :] - step - 1
            cells[0, step, value - values[0]] = weights[later[:1] if first else later].sum()
    return Table(cells, np.arange(steps), np.full(steps, values[0], np.int64))
