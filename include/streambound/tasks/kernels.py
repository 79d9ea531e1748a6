"""The compiled loops over the tuples of a segment (numba): counting, and digests of content.

``take`` runs an automaton (``state.automaton``; docs/theory.md, Segments) over a segment in one pass.
There is one function of each, over arrays, so that numba's cache on disk sees every change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.compiled import kernel

Numbers = NDArray[np.int64]


@kernel
def take(
    times: Numbers,
    symbols: Numbers,
    outputs: Numbers,
    bounds: Numbers,
    starts: Numbers,
    targets: Numbers,
    factors: NDArray[Any],
    counts: Numbers,
    completions: NDArray[Any],
    last: int,
    low: int,
    modulus: int,
) -> None:
    """Add a segment to ``counts`` and ``completions``.

    Args:
        times, symbols, outputs: the tuples stream by stream, each stream in order of time.
        bounds: where each stream's tuples begin, and the end of all.
        starts: for each position of a symbol where its products begin.
        targets, factors: of each product; factors are positions, filled up with that of 1.
        counts: a number for each position.
        completions: counts of the last stream's products, by output from ``low`` on, and target.
        last: the last stream, -1 if there is none.
        low: the output that is the first of ``completions``; others are passed over.
        modulus: counts are kept modulo this; 0 for not.
    """
    streams = bounds.size - 1
    heads = bounds[:-1].copy()
    tails = bounds[:-1].copy()
    width = factors.shape[1]
    high = low + completions.shape[0]
    changed = np.empty(1024, np.int64)
    added = np.empty(1024, np.int64)
    while True:
        now = np.int64(0)
        reached = False
        for s in range(streams):
            if heads[s] < bounds[s + 1] and (not reached or times[heads[s]] < now):
                now = times[heads[s]]
                reached = True
        if not reached:
            return
        for s in range(streams):
            i = heads[s]
            while i < bounds[s + 1] and times[i] == now:
                counts[symbols[i]] += 1
                i += 1
            tails[s] = i
        size = 0
        for s in range(streams):
            for i in range(heads[s], tails[s]):
                code = symbols[i]
                if s == last and (outputs[i] < low or outputs[i] >= high):
                    continue
                for e in range(starts[code], starts[code + 1]):
                    product = np.int64(1)
                    for f in range(width):
                        product *= counts[factors[e, f]]
                        if modulus:
                            product %= modulus
                    if product == 0:
                        continue
                    if s == last:
                        completions[outputs[i] - low, targets[e]] += product
                        if modulus:
                            completions[outputs[i] - low, targets[e]] %= modulus
                        continue
                    if size == changed.size:
                        more = np.empty(2 * size, np.int64)
                        more[:size] = changed
                        changed = more
                        sums = np.empty(2 * size, np.int64)
                        sums[:size] = added
                        added = sums
                    changed[size] = targets[e]
                    added[size] = product
                    size += 1
        for s in range(streams):
            for i in range(heads[s], tails[s]):
                counts[symbols[i]] = 0
            heads[s] = tails[s]
        for j in range(size):
            counts[changed[j]] += added[j]
            if modulus:
                counts[changed[j]] %= modulus


@kernel
def absorb(state: NDArray[np.uint64], column: Numbers) -> None:
    """Mix a column into the hashes of rows (splitmix64)."""
    for i in range(state.size):
        x = state[i] * np.uint64(0x9E3779B97F4A7C15) + np.uint64(column[i]) + np.uint64(0x632BE59BD9B4E019)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state[i] = x ^ (x >> np.uint64(31))


@kernel
def total(state: NDArray[np.uint64], seed: Any) -> Any:
    """The sum of the hashes of all rows, mixed once more by a seed."""
    summed = np.uint64(0)
    for i in range(state.size):
        x = (state[i] ^ (seed * np.uint64(0xD1B54A32D192ED03))) * np.uint64(0xBF58476D1CE4E5B9)
        summed += x ^ (x >> np.uint64(29))
    return summed
