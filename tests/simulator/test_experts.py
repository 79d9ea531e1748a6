"""Experts: a single one is followed to the letter, several as defined, and none need be known to be best."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulator.definitions import by_score, joined_streams, traces

from streambound.approximate.models.distribution import uniform
from streambound.approximate.models.independent import Stationary
from streambound.simulator.contract import Memory
from streambound.simulator.experiments import real
from streambound.simulator.policies import NAMED
from streambound.simulator.policies.experts import RATE, SHARED, advised
from streambound.simulator.problems import References, Streams, references

ONLINE = ("rand", "fifo", "lru", "lru-k", "lfu", "lfu-perfect", "arc", "s3-fifo", "sieve")


@pytest.mark.parametrize("name", ONLINE)
@given(trace=traces(), size=st.integers(0, 6), bypass=st.booleans())
def test_a_single_expert_is_followed_to_the_letter(
    name: str, trace: References, size: int, bypass: bool
) -> None:
    memory = Memory(size, bypass)
    advice = NAMED[name].caching(trace, memory)
    found = advised(trace, memory, [advice])
    assert found.hits.tolist() == advice.hits.tolist()
    assert found.evicted.tolist() == advice.evicted.tolist()


def weights_after(results: list[list[float]], size: int) -> list[list[float]]:
    """Of each expert, after each step."""
    now = [1 / len(results)] * len(results)
    found = []
    for step in zip(*results, strict=True):
        best = max(step)
        if best > 0:
            now = [w * math.exp(-RATE * (best - mine) / best) for w, mine in zip(now, step, strict=True)]
        spread, total = SHARED / size, sum(now)
        now = [(1 - spread) * w / total + spread / len(now) for w in now]
        found.append(now)
    return found


@given(trace=traces(), size=st.integers(1, 6), bypass=st.booleans())
def test_who_leaves_is_held_by_experts_of_the_least_weight(
    trace: References, size: int, bypass: bool
) -> None:
    memory = Memory(size, bypass)
    advice = [NAMED[name].caching(trace, memory) for name in ("lru", "lfu-perfect", "fifo")]
    weights = weights_after([each.hits.astype(float).tolist() for each in advice], size)
    found = advised(trace, memory, advice)
    ghosts: list[set[int]] = [set() for _ in advice]
    cached, last = set[int](), dict[int, int]()
    for step, key in enumerate(trace.requests.tolist()):
        last[key] = step
        for ghost, each in zip(ghosts, advice, strict=True):
            if not each.hits[step]:
                ghost.add(key)
                ghost.discard(int(each.evicted[step]))
        assert found.hits[step] == (key in cached)
        if key not in cached and len(cached) == size:
            votes = {
                each: sum(w for w, ghost in zip(weights[step], ghosts, strict=True) if each in ghost)
                for each in (cached | {key} if bypass else cached)
            }
            gone = min(votes, key=lambda each: (round(votes[each], 12), last[each]))
            assert found.evicted[step] == gone
            cached.discard(gone)
            if gone == key:
                continue
        cached.add(key)


@pytest.mark.parametrize("known", [False, True])
@given(given_=joined_streams(weighted=True), size=st.integers(1, 6))
def test_joining_as_defined(known: bool, given_: Streams, size: int) -> None:
    models = (Stationary(uniform(2)),) * 2 if known else None
    alphas = sorted({1.0, math.sqrt(size), float(size)}) if known else []
    advice = [NAMED[name].joining(given_, Memory(size)) for name in ("lru", "prob")]
    advice += [NAMED["heeb"].joining(given_, Memory(size, models=models, alpha=alpha)) for alpha in alphas]
    weights = weights_after([each.results.tolist() for each in advice], size)

    def score(stream: int, born: int, now: int, met: list[tuple[int, int]]) -> float:
        votes = zip(weights[now], advice, strict=True)
        return round(sum(w for w, each in votes if each.kept_until[stream, born] > now), 12)

    results, kept = by_score(given_, size, score)
    found = NAMED["experts"].joining(given_, Memory(size, models=models))
    assert (found.kept_until == kept).all()
    assert found.results.tolist() == results


def test_experts_are_near_the_best_of_them_whichever_that_is() -> None:
    """LFU where frequencies stand, LRU where they move; together they have more than either over both."""
    draw = np.random.default_rng(1)
    still = np.minimum(draw.zipf(1.3, 6000), 500)
    moving = np.arange(6000) // 20 + draw.integers(1000, 1030, 6000)
    hits = {}
    for name, values in (("still", still), ("moving", moving), ("both", np.r_[still, moving])):
        trace = references(values)
        for policy in ("lru", "lfu-perfect", "experts"):
            hits[name, policy] = int(NAMED[policy].caching(trace, Memory(20)).hits.sum())
    assert hits["still", "lfu-perfect"] > 1.1 * hits["still", "lru"]
    assert hits["moving", "lru"] > 1.1 * hits["moving", "lfu-perfect"]
    for name in ("still", "moving"):
        assert hits[name, "experts"] > 0.97 * max(hits[name, "lru"], hits[name, "lfu-perfect"])
    assert hits["both", "experts"] > 1.02 * max(hits["both", "lru"], hits["both", "lfu-perfect"])


def test_real_experts_beat_lru_and_lfu_at_every_size() -> None:
    """Section 6.5 with the paper's AR(1), whose HEEB with alpha = k loses where the cache is small."""
    for size in (10, 50, 100, 200, 300):
        hits = {
            name: int(real.decided("real", name, size).hits.sum())
            for name in ("experts", "lru", "lfu", "lfu-perfect")
        }
        assert max(hits, key=lambda name: hits[name]) == "experts"
