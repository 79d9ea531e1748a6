"""Run policies at several cache sizes, and count what is counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streambound.simulator.contract import Memory
from streambound.simulator.experiments.knowledge import knowing
from streambound.simulator.policies import NAMED, policy
from streambound.simulator.problems import References, Streams, occurrences


@dataclass(frozen=True)
class Outcome:
    """What a policy made of a memory.

    Args:
        results: hits (caching) or join results from the cache (joining), at steps from ``warmup`` on.
        possible: the same with a memory for everything.
    """

    policy: str
    size: int
    results: float
    warmup: int
    steps: int
    possible: float

    def to_json(self) -> dict[str, Any]:
        """As one object of the command's output; whole numbers as such."""
        return {
            "policy": self.policy,
            "size": self.size,
            "results": _whole(self.results),
            "warmup": self.warmup,
            "steps": self.steps,
            "possible": _whole(self.possible),
        }


def outcomes(
    given: References | Streams,
    policies: Sequence[str],
    sizes: Sequence[int],
    memory: Memory,
    model: str | None = None,
) -> Iterator[Outcome]:
    """Each policy at each size, in this order; ``memory`` says all else.

    Args:
        model: what all policies know (see ``knowledge.knowing``); None: nothing, but those that cannot do
            without a model are given one that is fitted to the warm-up.

    Raises:
        DataError: a policy is unknown or has no meaning here, or needs to know what ``memory`` does not say.
    """
    # Before anything is simulated: that can take long, and half an answer helps nobody.
    problem = "caching" if isinstance(given, References) else "joining"
    for name in policies:
        policy(_with_history(name, memory)[0], problem)
    for size in sizes:
        replace(memory, size=size)
    possible = everything(given, memory.warmup)
    informed = None if model is None else knowing(given, memory, model)
    for name in policies:
        if informed is None and _lacks_model(given, name):
            informed = knowing(given, memory)
        used = memory if informed is None or (model is None and not _lacks_model(given, name)) else informed
        for size in sizes:
            counted = results(given, name, replace(used, size=size))
            yield Outcome(name, size, counted, memory.warmup, given.steps, possible)


def results(given: References | Streams, name: str, memory: Memory) -> float:
    """What one policy produces at the steps that count.

    Raises:
        DataError: as ``outcomes``.
    """
    name, memory = _with_history(name, memory)
    # More than there are tuples is as good as room for all, and need not be set aside.
    tuples = given.steps if isinstance(given, References) else given.steps * given.count
    memory = replace(memory, size=min(memory.size, tuples))
    if isinstance(given, References):
        caching = policy(name, "caching").caching
        assert caching is not None
        return float(np.count_nonzero(caching(given, memory).hits[memory.warmup :]))
    joining = policy(name, "joining").joining
    assert joining is not None
    return float(joining(given, memory).results[memory.warmup :].sum())


def _with_history(name: str, memory: Memory) -> tuple[str, Memory]:
    """``lru-3`` as LRU-k with three references."""
    match = re.fullmatch(r"lru-([1-9]\d*)", name)
    return ("lru-k", replace(memory, history=int(match[1]))) if match else (name, memory)


def _lacks_model(given: References | Streams, name: str) -> bool:
    if isinstance(given, Streams) and name == "life":
        return given.window is None
    return name in NAMED and NAMED[name].needs_model


def everything(given: References | Streams, warmup: int) -> float:
    """What a memory for everything would produce at the steps that count."""
    if isinstance(given, References):
        return float(np.count_nonzero(occurrences(given.requests)[warmup:]))
    size = given.steps * given.count
    keys, steps = len(given.values), np.arange(given.steps)
    results = 0.0
    for cached, arriving in np.argwhere(given.partners):
        # Worth that arrived so far, by key: what each arrival meets is a difference of two running sums.
        results += _met(given, int(cached), int(arriving), keys, steps, warmup) if size else 0.0
    return results


def _met(given: Streams, cached: int, arriving: int, keys: int, steps: Any, warmup: int) -> float:
    worth, window = given.worth, given.steps if given.window is None else given.window
    order = np.argsort(given.arrivals[cached], kind="stable")
    # One number a (key, step), ascending, so that one search finds both ends of the window.
    scale = given.steps + 1
    sort_keys = given.arrivals[cached][order] * scale + order
    sums = np.r_[0.0, np.cumsum(worth[cached][order])]
    asked = given.arrivals[arriving] * scale
    low = np.searchsorted(sort_keys, asked + np.maximum(steps - window, 0))
    high = np.searchsorted(sort_keys, asked + steps)
    return float(((sums[high] - sums[low]) * worth[arriving])[warmup:].sum())


def _whole(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number
