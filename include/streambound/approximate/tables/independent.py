"""H of independent variables: a trend by offset from its centre (Corollary 5), a known sequence by step."""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.approximate.models.independent import Deterministic, Trend
from streambound.approximate.models.lifetimes import Lifetime
from streambound.approximate.tables.cells import Table, empty, steps_to_sum


def trend(
    model: Trend,
    steps: int,
    lifetime: Lifetime,
    values: tuple[int, int],
    first: bool,
    window: int | None,
) -> Table:
    """A row for each way in which the centre goes on; columns are offsets from the centre.

    Args:
        values: the least and the greatest value that is asked for.
        window: the layers, one for each number of steps left; None: one layer.
    """
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
        _sum(kind + noise.low - low, noise.probability, weights, first, cells[:, number])
    return Table(cells, row, center + low)


@kernel
def _sum(begins: Integers, chances: Floats, weights: Floats, first: bool, cells: Floats) -> None:
    """Sum the terms of a trend; with as many lives as terms, each life's is the sum up to its own.

    Args:
        begins: the column at which the noise begins, of each step ahead.
        cells: shape (lives, columns), filled.
    """
    lives, columns = cells.shape
    total, unmet = np.zeros(columns), np.ones(columns)
    for ahead in range(len(begins)):
        begin = begins[ahead]
        for column in range(max(begin, 0), min(begin + len(chances), columns)):
            chance = chances[column - begin]
            total[column] += weights[ahead] * chance * unmet[column]
            if first:
                unmet[column] *= 1 - chance
        if lives == len(begins):
            cells[ahead] = total
    cells[-1] = total


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


def deterministic(
    model: Deterministic,
    steps: int,
    lifetime: Lifetime,
    values: tuple[int, int],
    first: bool,
    window: int | None,
) -> Table:
    """A row a step: each occurrence in the future, or the first one only.

    Columns begin at the least value that is still to come within L and the window: of a sequence that moves,
    few values are.
    """
    ends = (len(model.values), lifetime.horizon, None if window is None else max(window, 1))
    limit = max(min(end for end in ends if end is not None), 1)
    low, high = np.full(steps, values[1], np.int64), np.full(steps, values[0], np.int64)
    _still_to_come(model.values, limit, low, high)
    low = np.clip(low, *values)
    columns = int((np.clip(high, *values) - low).max(initial=0)) + 1
    cells = empty(limit if window is not None else 1, steps, columns)
    _occurrences(model.values, lifetime.weights(limit), first, low, cells)
    return Table(cells, np.arange(steps), low)


@kernel
def _still_to_come(sequence: Integers, limit: int, low: Integers, high: Integers) -> None:
    """The least and the greatest of the next ``limit`` values after each step, where there are any."""
    for step in range(len(low)):
        for later in range(step + 1, min(step + limit + 1, len(sequence))):
            low[step] = min(low[step], sequence[later])
            high[step] = max(high[step], sequence[later])


@kernel
def _occurrences(sequence: Integers, weights: Floats, first: bool, shift: Integers, cells: Floats) -> None:
    lives, steps, columns = cells.shape
    for step in range(steps):
        met = np.zeros(columns, np.bool_)
        for ahead in range(len(weights)):
            life = min(ahead, lives - 1)
            if life:
                cells[life, step] = cells[life - 1, step]
            if step + 1 + ahead >= len(sequence):
                continue
            column = sequence[step + 1 + ahead] - shift[step]
            if 0 <= column < columns and not (first and met[column]):
                met[column] = True
                cells[life, step, column] += weights[ahead]
