"""Experts (Gramacy, Warmuth, Brandt and Ari, NIPS 2002): the votes of policies, by how they fare themselves.

Every expert runs a ghost cache of the same size, which holds keys or tuples only by name. After each step
the weight of an expert shrinks by how much less it had from it than the best of them, and a little of all
weight is shared evenly, so that who was bad may come back (Herbster and Warmuth's fixed share). What leaves
is what those keep that have the least weight together; a single expert is followed to the letter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.approximate.policies import POLICIES
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions, JoiningDecisions, filled
from streambound.simulator.joining import Setup, insert, keep_best, meet, played
from streambound.simulator.policies.by_worth import by_worth
from streambound.simulator.policies.heeb import caching_heeb
from streambound.simulator.policies.lfu import perfect_lfu
from streambound.simulator.policies.lru import lru
from streambound.simulator.problems import References, Streams

# How fast weights follow, and the share of all weight that is spread evenly in as many steps as the size.
RATE, SHARED = 0.1, 0.1


def experts(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream, by LRU, the perfect LFU and, if there is a model, three HEEBs.

    Raises:
        DataError: the values are no whole numbers, though there is a model.
    """
    advice = [lru(references, memory), perfect_lfu(references, memory)]
    if memory.models is not None:
        advice += [caching_heeb(references, replace(memory, alpha=alpha)) for alpha in alphas(memory)]
    return advised(references, memory, advice)


def joining_experts(streams: Streams, memory: Memory) -> JoiningDecisions:
    """Decisions on joined streams, by LRU, PROB and, if there are models, three HEEBs.

    Raises:
        DataError: there is no model a stream, though there are models, or the values are no whole numbers.
    """
    advice = [by_worth(POLICIES[name], streams, memory) for name in ("lru", "prob")]
    if memory.models is not None:
        memories = [replace(memory, alpha=alpha) for alpha in alphas(memory)]
        advice += [by_worth(POLICIES["heeb"], streams, each) for each in memories]
    results = np.stack([each.results for each in advice])
    kept_until = np.stack([each.kept_until for each in advice])
    return played(streams, memory, _joining, results, kept_until)


def alphas(memory: Memory) -> list[float]:
    """HEEB with a short, a medium and a long look-ahead: 1, the root of the size, and the size."""
    size = max(memory.size, 1)
    return sorted({1.0, math.sqrt(size), float(size)})


def advised(references: References, memory: Memory, advice: Sequence[CachingDecisions]) -> CachingDecisions:
    """Decisions on a reference stream by what experts decided with ghost caches of the same size."""
    hits = np.stack([each.hits for each in advice]).astype(np.float64)
    gone = np.stack([each.evicted for each in advice])
    return filled(references, memory.size, _caching, hits, gone, memory.bypass)


@kernel
def _weigh(weight: Floats, results: Floats, step: int, size: int) -> None:
    """Let the weights follow the results of a step; they sum to 1."""
    best = results[:, step].max()
    if best > 0:
        for expert in range(len(weight)):
            weight[expert] *= np.exp(-RATE * (best - results[expert, step]) / best)
    spread = SHARED / size
    total = weight.sum()
    for expert in range(len(weight)):
        weight[expert] = (1 - spread) * weight[expert] / total + spread / len(weight)


@kernel
def _caching(
    requests: Integers,
    keys: int,
    size: int,
    results: Floats,
    gone: Integers,
    bypass: bool,
    hits: NDArray[np.bool_],
    evicted: Integers,
) -> None:
    count = len(results)
    weight, in_cache = np.full(count, 1.0 / count), np.zeros((keys, count), np.bool_)
    slots, cached = np.empty(min(size, keys) + 1, np.int64), np.zeros(keys, np.bool_)
    used_at = np.full(keys, -1, np.int64)
    used = 0
    for step in range(len(requests)):
        key = requests[step]
        used_at[key] = step
        for expert in range(count):
            if results[expert, step] == 0:
                in_cache[key, expert] = True
                if gone[expert, step] >= 0:
                    in_cache[gone[expert, step], expert] = False
        _weigh(weight, results, step, size)
        if cached[key]:
            hits[step] = True
            continue
        cached[key] = True
        slots[used] = key
        if used < size:
            used += 1
            continue
        worst, least = -1, np.inf
        # The fetched key is the last: it is a choice only with bypass.
        for at in range(used + bypass):
            votes = 0.0
            for expert in range(count):
                if in_cache[slots[at], expert]:
                    votes += weight[expert]
            if votes < least or (votes == least and used_at[slots[at]] < used_at[slots[worst]]):
                worst, least = at, votes
        evicted[step] = slots[worst]
        cached[slots[worst]] = False
        slots[worst] = key


@kernel
def _joining(
    setup: Setup, advice: Floats, keeps_until: Integers, results: Floats, kept_until: Integers
) -> None:
    slots, score = setup.slots, setup.score
    weight = np.full(len(advice), 1.0 / len(advice))
    used = 0
    for step in range(setup.arrivals.shape[1]):
        results[step] = meet(setup, slots, used, step)
        _weigh(weight, advice, step, max(setup.size, 1))
        used = insert(setup, slots, used, step)
        for at in range(used):
            score[at] = 0.0
            for expert in range(len(weight)):
                if keeps_until[expert, slots[at, 0], slots[at, 1]] > step:
                    score[at] += weight[expert]
        used = keep_best(setup, slots, score, used, step, kept_until)
