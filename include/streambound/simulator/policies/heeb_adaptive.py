"""HEEB whose alpha follows the lifetimes that are observed (section 5.3 leaves this to future work).

Alpha is the one of a grid of powers of 2 whose predicted average lifetime is nearest to the mean lifetime of
what left the cache lately. There is a table of H for each alpha of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.approximate.models.lifetimes import exp
from streambound.approximate.tables import Table, table
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, JoiningDecisions, filled
from streambound.simulator.joining import Setup, insert, keep_best, meet, played
from streambound.simulator.policies.heeb import (
    Lookup,
    look,
    lookup,
    models_of,
    score_candidates,
    usual_alpha,
    whole,
)
from streambound.simulator.problems import References, Streams

LEAST, OVER_SIZE = -1, 16
# So many times the size of the cache is the number of departures that are remembered.
REMEMBERED = 20


def grid(size: int) -> list[float]:
    """The alphas: powers of 2 up to a multiple of the size, which no lifetime outlasts by much."""
    return [2.0**power for power in range(LEAST, math.ceil(math.log2(OVER_SIZE * max(size, 1))) + 1)]


def adaptive_heeb(streams: Streams, memory: Memory) -> JoiningDecisions:
    """Decisions on joined streams; the first alpha is ``memory.alpha`` or section 5's.

    Raises:
        DataError: there is no model a stream, or the values are no whole numbers.
    """
    models = models_of(memory, streams.count)
    value = whole(streams.values)[streams.arrivals]
    if not streams.steps:
        return JoiningDecisions(np.zeros(0), value)
    span = int(value.min()), int(value.max())
    alphas = grid(memory.size)
    tables = [
        table(model, row, exp(alpha), span, first=False, window=streams.window)
        for alpha in alphas
        for model, row in zip(models, value, strict=True)
    ]
    begin = memory.alpha if memory.alpha is not None else usual_alpha(models, memory.size)
    return played(streams, memory, _joining, lookup(tables, value), len(alphas), lifetime_of(begin))


def lifetime_of(alpha: float) -> float:
    """The average lifetime that an alpha predicts.

    >>> round(lifetime_of(10.0), 3)
    10.508
    """
    return -1.0 / math.expm1(-1.0 / alpha)


@kernel
def nearest(lifetime: float, count: int) -> int:
    """The position in the grid of the alpha whose predicted lifetime is nearest to one."""
    alpha = -1.0 / np.log1p(-1.0 / max(lifetime, 1.0 + 1e-6))
    return int(min(max(round(np.log2(alpha)) - LEAST, 0), count - 1))


@kernel
def _joining(
    setup: Setup, tables: Lookup, alphas: int, lifetime: float, results: Floats, kept_until: Integers
) -> None:
    slots, score = setup.slots, setup.score
    used, seen = 0, float(setup.size)
    for step in range(setup.arrivals.shape[1]):
        results[step] = meet(setup, slots, used, step)
        cached_count, ages = used, 0.0
        for at in range(used):
            ages += step - slots[at, 1]
        used = insert(setup, slots, used, step)
        score_candidates(setup, tables, nearest(lifetime, alphas) * setup.arrivals.shape[0], used, step)
        used = keep_best(setup, slots, score, used, step, kept_until)
        for at in range(used):
            ages -= step - slots[at, 1]
            cached_count -= slots[at, 1] < step
        if cached_count > 0:
            # Of those that were cached a step at least: what never was has no lifetime in the cache.
            seen = min(seen + cached_count, float(REMEMBERED * setup.size))
            lifetime += (ages - cached_count * lifetime) / seen


def adaptive_caching_heeb(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream; the first alpha is ``memory.alpha`` or the size.

    Raises:
        DataError: there is no model, or the values are no whole numbers.
    """
    (model,) = models_of(memory, 1)
    if not references.steps:
        return filled(references, 0, _caching)
    values = whole(references.values)
    span = int(values.min()), int(values.max())
    observed = values[references.requests]
    tables = [table(model, observed, exp(alpha), span, first=True) for alpha in grid(memory.size)]
    begin = memory.alpha if memory.alpha is not None else usual_alpha((model,), memory.size)
    return by_tables(references, memory, tables, begin)


def by_tables(
    references: References, memory: Memory, tables: Sequence[Table], begin: float
) -> CachingDecisions:
    """The decisions of tables of H.

    Args:
        tables: one for each alpha of the size's grid.
        begin: the first alpha.
    """
    values_lookup = lookup(list(tables), whole(references.values)[None, :])
    return filled(
        references, memory.size, _caching, values_lookup, len(tables), lifetime_of(begin), memory.bypass
    )


@kernel
def _caching(
    requests: Integers,
    keys: int,
    size: int,
    tables: Lookup,
    alphas: int,
    lifetime: float,
    bypass: bool,
    hits: NDArray[np.bool_],
    evicted: Integers,
) -> None:
    slots = np.empty(min(size, keys), np.int64)
    used_at, admitted = np.full(keys, -1, np.int64), np.zeros(keys, np.int64)
    cached = np.zeros(keys, np.bool_)
    used, seen = 0, float(size)
    for step in range(len(requests)):
        key = requests[step]
        used_at[key] = step
        if cached[key]:
            hits[step] = True
            continue
        if used < size:
            slots[used] = key
            used += 1
        else:
            worst = _worst(tables, nearest(lifetime, alphas), slots, used_at, step, key if bypass else -1)
            if worst < 0:
                evicted[step] = key
                continue
            gone = slots[worst]
            evicted[step] = gone
            cached[gone] = False
            seen = min(seen + 1, float(REMEMBERED * size))
            lifetime += (step - admitted[gone] - lifetime) / seen
            slots[worst] = key
        cached[key] = True
        admitted[key] = step


@kernel
def _worst(tables: Lookup, which: int, slots: Integers, used_at: Integers, step: int, fetched: int) -> int:
    """The slot of the least H, of equals the least recently used; -1 if the fetched key has less."""
    worst, least = -1, look(tables, which, step, tables.value[0, fetched], 1) if fetched >= 0 else np.inf
    for at in range(len(slots)):
        worth = look(tables, which, step, tables.value[0, slots[at]], 1)
        if worth < least or (worth == least and (worst < 0 or used_at[slots[at]] < used_at[slots[worst]])):
            worst, least = at, worth
    return worst
