"""The policies once more, as their definitions say: slow, without kernels, and obviously right.

``referee`` replays decisions and refuses impossible ones, whatever policy they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st

from streambound.approximate.kernels.arrays import Integers
from streambound.simulator.decisions import CachingDecisions, JoiningDecisions
from streambound.simulator.problems import References, Streams, references, streams

# What a key is worth after the reference at a step: (trace, step of its last reference, admitted at, now).
Rank = Callable[[list[int], int, int, int], tuple[float, ...]]


def traces(keys: int = 6, size: int = 60) -> st.SearchStrategy[References]:
    """Short reference streams over few keys."""
    return st.lists(st.integers(0, keys - 1), max_size=size).map(
        lambda values: references(np.array(values, np.int64))
    )


@st.composite
def joined_streams(draw: st.DrawFn, count: int = 2, keys: int = 4, size: int = 25, weighted: bool = False):
    """Short streams over few keys, sometimes with a window and with weights."""
    length = draw(st.integers(0, size))
    rows = [draw(st.lists(st.integers(0, keys - 1), min_size=length, max_size=length)) for _ in range(count)]
    window = draw(st.sampled_from([None, None, 0, 1, 3, 7]))
    weights = None
    if weighted:
        weights = [draw(st.lists(st.integers(1, 4), min_size=length, max_size=length)) for _ in range(count)]
    return streams(*(np.array(row, np.int64) for row in rows), window=window, weights=weights)


def referee(given: References, size: int, bypass: bool, decisions: CachingDecisions) -> None:
    """Replay decisions on a reference stream; nothing may happen that a cache of this size cannot do."""
    cached: set[int] = set()
    for step, key in enumerate(given.requests.tolist()):
        gone = int(decisions.evicted[step])
        assert bool(decisions.hits[step]) == (key in cached), f"step {step}"
        if key in cached:
            assert gone == -1, f"step {step}: a hit evicts nothing"
            continue
        if gone == key:
            assert bypass or size == 0, f"step {step}: {key} was fetched and must be admitted"
            assert len(cached) == size, f"step {step}: there was room"
            continue
        if gone != -1:
            assert len(cached) == size, f"step {step}: there was room"
            cached.remove(gone)
        cached.add(key)
        assert len(cached) <= size


def joining_referee(given: Streams, size: int, decisions: JoiningDecisions) -> None:
    """Replay decisions on joined streams: no more tuples than fit, results as defined."""
    steps = np.arange(given.steps)
    kept = decisions.kept_until
    assert (kept >= steps).all() and (kept <= given.steps).all()
    for step in range(given.steps):
        held = (steps[None, :] <= step) & (kept > step)
        assert held.sum() <= size, f"step {step}"
        met = 0.0
        for stream, born in np.argwhere((steps[None, :] < step) & (kept >= step)):
            met += worth_of(given, int(stream), int(born), step)
        assert met == decisions.results[step], f"step {step}"


def worth_of(given: Streams, stream: int, born: int, step: int) -> float:
    """What the arrivals of a step produce with a tuple that is cached."""
    if given.window is not None and step - born > given.window:
        return 0.0
    return sum(
        given.worth[stream, born] * given.worth[other, step]
        for other in range(given.count)
        if given.partners[stream, other] and given.arrivals[other, step] == given.arrivals[stream, born]
    )


def by_rank(given: References, size: int, bypass: bool, rank: Rank) -> list[bool]:
    """The hits of keeping the highest ranks; of equal ranks the least recently used leaves."""
    trace = given.requests.tolist()
    cached: dict[int, int] = {}
    last: dict[int, int] = {}
    hits = []
    for now, key in enumerate(trace):
        hits.append(key in cached)
        last[key] = now
        if key not in cached:
            if len(cached) == size:
                choices = [*cached, key] if bypass else list(cached)
                entered = {**cached, key: now}
                worst = min(
                    choices, key=lambda each: (*rank(trace, last[each], entered[each], now), last[each])
                )
                if worst == key:
                    continue
                del cached[worst]
            cached[key] = now
    return hits


def lru(trace: list[int], last: int, admitted: int, now: int) -> tuple[float, ...]:
    """The last reference."""
    return (last,)


def fifo(trace: list[int], last: int, admitted: int, now: int) -> tuple[float, ...]:
    """The admission."""
    return (admitted,)


def lfu(trace: list[int], last: int, admitted: int, now: int) -> tuple[float, ...]:
    """References since the admission."""
    return (trace[admitted : now + 1].count(trace[last]),)


def lfu_perfect(trace: list[int], last: int, admitted: int, now: int) -> tuple[float, ...]:
    """References ever."""
    return (trace[: now + 1].count(trace[last]),)


def lfd(trace: list[int], last: int, admitted: int, now: int) -> tuple[float, ...]:
    """The next reference, the nearest best."""
    key = trace[last]
    return (-trace.index(key, now + 1) if key in trace[now + 1 :] else -len(trace),)


def lru_k(k: int) -> Rank:
    """The k-th last reference."""

    def rank(trace: list[int], last: int, admitted: int, now: int) -> tuple[float, ...]:
        times = [step for step in range(now + 1) if trace[step] == trace[last]]
        return (times[-k] if len(times) >= k else -1,)

    return rank


def by_score(
    given: Streams, size: int, score: Callable[[int, int, int, Sequence[tuple[int, int]]], float]
) -> tuple[list[float], Integers]:
    """Results and kept_until of keeping the highest scores; of equal scores the oldest leaves.

    Args:
        score: of a tuple (stream, step of arrival) now, given the steps at which it was met while cached.
    """
    cached: list[tuple[int, int]] = []
    met: dict[tuple[int, int], list[tuple[int, int]]] = {}
    kept = np.full(given.arrivals.shape, given.steps)
    results = []
    for now in range(given.steps):
        made = [worth_of(given, stream, born, now) for stream, born in cached]
        for each, worth in zip(cached, made, strict=True):
            if worth:
                met[each].append((now, int(worth)))
        results.append(sum(made))
        for stream in range(given.count):
            cached.append((stream, now))
            met[stream, now] = []
        scores = {each: score(*each, now, met[each]) for each in cached}
        for each in sorted(cached, key=lambda each: (scores[each], each[1], each[0]))[
            : max(len(cached) - size, 0)
        ]:
            cached.remove(each)
            kept[each] = now
    return results, kept
