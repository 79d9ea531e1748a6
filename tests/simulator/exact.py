"""The optimal online algorithm (section 3.3) of tiny instances: every decision for all that may come.

The number of cases grows as the product of choices and outcomes of all steps: a few steps, tuples and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

import numpy as np

from streambound.approximate.models.model import Model

# A tuple: its stream and its value. A choice: from the candidates and the histories, what to keep.
Tuple = tuple[int, int]
Histories = tuple[tuple[int, ...], ...]
Choice = Callable[[tuple[Tuple, ...], Histories], tuple[Tuple, ...]]


def joining_value(
    models: Sequence[Model],
    size: int,
    steps: int,
    candidates: tuple[Tuple, ...] = (),
    histories: Histories | None = None,
    choose: Choice | None = None,
) -> float:
    """The expected number of results in the next ``steps`` steps.

    Args:
        models: of the streams, which are independent of each other; each joins with all others.
        candidates: the tuples that are cached or have just arrived.
        histories: of each stream, up to now.
        choose: which candidates an algorithm keeps; None: the best, by trying all.
    """
    seen = histories or ((),) * len(models)

    def value(candidates: tuple[Tuple, ...], seen: Histories, left: int) -> float:
        if not left:
            return 0.0
        key = (tuple(sorted(candidates)), seen, left)
        if key not in known:
            options = [choose(candidates, seen)] if choose else _subsets(candidates, size)
            outcomes = list(_outcomes(models, seen))
            known[key] = max(sum(p * after(kept, new, seen, left) for p, new in outcomes) for kept in options)
        return known[key]

    def after(kept: tuple[Tuple, ...], new: tuple[int, ...], seen: Histories, left: int) -> float:
        met = sum(new[other] == v for stream, v in kept for other in range(len(new)) if other != stream)
        grown = tuple((*past, v) for past, v in zip(seen, new, strict=True))
        return met + value((*kept, *enumerate(new)), grown, left - 1)

    known: dict[object, float] = {}
    return value(candidates, seen, steps)


def caching_value(
    model: Model,
    size: int,
    steps: int,
    *,
    bypass: bool = False,
    history: tuple[int, ...] = (),
    cached: tuple[int, ...] = (),
    choose: Callable[[tuple[int, ...], tuple[int, ...]], int] | None = None,
) -> float:
    """The expected number of hits in the next ``steps`` steps.

    Args:
        choose: of the candidates (the fetched one last) and the history, the one that an algorithm discards
            where one must go; None: the best, by trying all.
    """

    def value(cached: tuple[int, ...], seen: tuple[int, ...], left: int) -> float:
        if not left:
            return 0.0
        key = (cached, seen, left)
        if key not in known:
            known[key] = sum(
                p * after(cached, (*seen, new), new, left) for p, (new,) in _outcomes([model], (seen,))
            )
        return known[key]

    def after(cached: tuple[int, ...], seen: tuple[int, ...], new: int, left: int) -> float:
        if new in cached:
            return 1.0 + value(cached, seen, left - 1)
        if len(cached) < size:
            return value(tuple(sorted((*cached, new))), seen, left - 1)
        candidates = (*cached, new)
        if choose:
            gone = [choose(candidates if bypass else cached, seen)]
        else:
            gone = list(candidates if bypass or not size else cached)
        rest = (tuple(sorted(each for each in candidates if each != one)) for one in gone)
        return max(value(kept, seen, left - 1) for kept in rest)

    known: dict[object, float] = {}
    return value(tuple(sorted(cached)), history, steps)


def _subsets(candidates: tuple[Tuple, ...], size: int) -> list[tuple[Tuple, ...]]:
    # More never harms, so that only full caches are tried; equal tuples are tried once.
    return list(set(combinations(sorted(candidates), min(size, len(candidates)))))


def _outcomes(models: Sequence[Model], seen: Histories) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Each combination of next values, with its probability."""
    each = []
    for model, past in zip(models, seen, strict=True):
        now = next(model.ahead(np.array(past, np.int64)))
        chances = enumerate(now.probability.tolist(), now.low)
        each.append([(p, value) for value, p in chances if p > 0])
    for combination in product(*each):
        yield float(np.prod([p for p, _ in combination])), tuple(value for _, value in combination)
