"""HEEB: H of joined tuples by tables, and as a policy on a reference stream (4.3, 4.4); A0 with a model.

A0 drops what is least likely to be asked for next: HEEB with L^fixed of one step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.approximate.models.independent import Trend
from streambound.approximate.models.lifetimes import Lifetime, alpha_for, exp
from streambound.approximate.models.model import Model
from streambound.approximate.tables import Table, table
from streambound.errors import DataError
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, filled
from streambound.simulator.joining import Setup
from streambound.simulator.problems import References, Streams


class Lookup(NamedTuple):
    """The tables of several streams end to end.

    Args:
        cells: all cells.
        shape: shape (streams, 4): where a stream's cells begin, its lives, rows and columns.
        row: shape (streams, steps).
        shift: shape (streams, steps).
        value: shape (streams, steps): the whole number that each tuple has.
    """

    cells: Floats
    shape: Integers
    row: Integers
    shift: Integers
    value: Integers


_NONE = np.zeros((0, 0), np.int64)
NO_BENEFITS = Lookup(np.zeros(0), _NONE, _NONE, _NONE, _NONE)


def lookup(tables: list[Table], value: Integers) -> Lookup:
    """Tables, one a stream, as arrays for a kernel; ``value`` has the shape (streams, steps)."""
    begins = np.cumsum([0, *(each.cells.size for each in tables)])[:-1]
    shape = np.array([(begin, *each.cells.shape) for begin, each in zip(begins, tables, strict=True)])
    return Lookup(
        np.concatenate([each.cells.ravel() for each in tables]),
        shape.astype(np.int64),
        np.stack([each.row for each in tables]),
        np.stack([each.shift for each in tables]),
        value,
    )


@kernel
def look(tables: Lookup, stream: int, step: int, value: int, left: int) -> float:
    """H after a step of a value that is to be met on a stream within ``left`` steps."""
    # Numbers one by one: a row as an array would cost more than all else here.
    column, columns = value - tables.shift[stream, step], tables.shape[stream, 3]
    if left <= 0 or column < 0 or column >= columns:
        return 0.0
    at = (min(left, tables.shape[stream, 1]) - 1) * tables.shape[stream, 2] + tables.row[stream, step]
    return float(tables.cells[tables.shape[stream, 0] + at * columns + column])


def benefits(streams: Streams, memory: Memory) -> Lookup:
    """H of the tuples of joined streams.

    Raises:
        DataError: there is no model a stream, or the values are no whole numbers.
    """
    models = models_of(memory, streams.count)
    value = whole(streams.values)[streams.arrivals]
    if not streams.steps:
        return NO_BENEFITS
    span = int(value.min()), int(value.max())
    lifetime = exp(memory.alpha if memory.alpha is not None else usual_alpha(models, memory.size))
    tables = [
        table(model, row, lifetime, span, first=False, window=streams.window)
        for model, row in zip(models, value, strict=True)
    ]
    return lookup(tables, value)


@kernel
def score_candidates(setup: Setup, tables: Lookup, begin: int, used: int, step: int) -> None:
    """H of each candidate by the tables from ``begin`` on, one a stream."""
    for at in range(used):
        stream, born = setup.slots[at, 0], setup.slots[at, 1]
        left = born + setup.window - step
        score = 0.0
        for partner in range(setup.arrivals.shape[0]):
            if setup.partners[stream, partner]:
                score += look(tables, begin + partner, step, tables.value[stream, born], left)
        setup.score[at] = score * setup.worth[stream, born]


def caching_heeb(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream.

    Raises:
        DataError: there is no model, or the values are no whole numbers.
    """
    (model,) = models_of(memory, 1)
    alpha = memory.alpha if memory.alpha is not None else usual_alpha((model,), memory.size)
    return _by_lifetime(references, memory, model, exp(alpha))


def a0_with_model(references: References, memory: Memory) -> CachingDecisions:
    """A0's decisions on a reference stream: the least Pr{X_{t+1} = v | history} leaves."""
    return _by_lifetime(references, memory, models_of(memory, 1)[0], Lifetime("fixed", 1))


def _by_lifetime(
    references: References, memory: Memory, model: Model, lifetime: Lifetime
) -> CachingDecisions:
    if not references.steps:
        return filled(references, 0, _caching_heeb)
    values = whole(references.values)
    span = int(values.min()), int(values.max())
    made = table(model, values[references.requests], lifetime, span, first=True)
    return by_table(references, memory, made)


def by_table(references: References, memory: Memory, made: Table) -> CachingDecisions:
    """The decisions of a table of H."""
    values = whole(references.values)
    return filled(references, memory.size, _caching_heeb, lookup([made], values[None, :]), memory.bypass)


@kernel
def _caching_heeb(
    requests: Integers,
    keys: int,
    size: int,
    tables: Lookup,
    bypass: bool,
    hits: NDArray[np.bool_],
    evicted: Integers,
) -> None:
    slots = np.empty(min(size, keys), np.int64)
    used_at = np.full(keys, -1, np.int64)
    cached = np.zeros(keys, np.bool_)
    used = 0
    for step in range(len(requests)):
        key = requests[step]
        used_at[key] = step
        if cached[key]:
            hits[step] = True
            continue
        if used < size:
            slots[used] = key
            used += 1
            cached[key] = True
            continue
        worst, least = -1, look(tables, 0, step, tables.value[0, key], 1) if bypass else np.inf
        for at in range(used):
            benefit = look(tables, 0, step, tables.value[0, slots[at]], 1)
            # Ties: the least recently used leaves, and so never the one just fetched.
            if benefit < least or (
                benefit == least and (worst < 0 or used_at[slots[at]] < used_at[slots[worst]])
            ):
                worst, least = at, benefit
        gone = key if worst < 0 else slots[worst]
        evicted[step] = gone
        if worst >= 0:
            cached[gone] = False
            slots[worst] = key
            cached[key] = True


def usual_alpha(models: tuple[Model, ...], size: int) -> float:
    """Section 5's choice.

    For trends the lifetime is what the trend takes to move by the mean noise bound (uniform noise, 5.3) or by
    twice the mean standard deviation (5.4); for all else alpha is the size of the cache (5.5).
    """
    if models and all(isinstance(model, Trend) and model.slope for model in models):
        spans = [_span(model) for model in models if isinstance(model, Trend)]
        return alpha_for(sum(spans) / len(spans))
    return float(max(size, 1))


def _span(model: Trend) -> float:
    noise = model.noise.probability
    if np.ptp(noise) < 1e-12:
        return (len(noise) - 1) / 2 / abs(model.slope)
    value = np.arange(model.noise.low, model.noise.high + 1)
    return float(2 * np.sqrt(noise @ (value - model.noise.mean) ** 2) / abs(model.slope))


def whole(values: NDArray[np.generic]) -> Integers:
    """Values as whole numbers.

    Raises:
        DataError: they are not.
    """
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    if values.dtype.kind == "f" and (values == np.floor(values)).all():
        return values.astype(np.int64)
    raise DataError(
        "a model is over whole numbers, and the values are names or fractions",
        fix="scale the column, for instance tenths of a degree for degrees",
    )


def models_of(memory: Memory, count: int) -> tuple[Model, ...]:
    if memory.models is None:
        raise DataError("heeb needs a model of the streams", fix="give a model, or a warm-up to fit one to")
    if len(memory.models) != count:
        raise DataError(f"there are {len(memory.models)} models for {count} streams")
    return memory.models
