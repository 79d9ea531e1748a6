"""Policies on a reference stream: a suite for all, then each against its definition, and who leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulator import definitions
from tests.simulator.definitions import Rank, by_rank, referee, traces

from streambound.approximate.models.distribution import uniform
from streambound.approximate.models.independent import Stationary
from streambound.errors import DataError
from streambound.simulator.contract import Memory
from streambound.simulator.policies import ALL, NAMED
from streambound.simulator.policies.ranked import ranked
from streambound.simulator.problems import References, next_references, references

CACHING = [policy for policy in ALL if policy.caching is not None]
sizes = st.integers(0, 8)


def memory(trace: References, size: int, bypass: bool = False, seed: int = 0) -> Memory:
    """A memory that knows what any policy may ask for."""
    counts = np.bincount(trace.requests, minlength=trace.keys).astype(float)
    models = (Stationary(uniform(9)),)
    return Memory(size, bypass, seed=seed, probabilities=counts, models=models)


@pytest.mark.parametrize("policy", CACHING, ids=lambda policy: policy.name)
class TestEveryPolicy:
    @given(trace=traces(), size=sizes, bypass=st.booleans(), seed=st.integers(0, 3))
    def test_does_only_what_a_cache_can_the_same_again_and_no_better_than_lfd(
        self, policy, trace, size, bypass, seed
    ) -> None:
        found, again = (policy.caching(trace, memory(trace, size, bypass, seed)) for _ in range(2))
        referee(trace, size, bypass, found)
        assert (found.evicted == again.evicted).all() and (found.hits == again.hits).all()
        assert found.hits.sum() <= NAMED["lfd"].caching(trace, Memory(size, bypass)).hits.sum()

    @given(trace=traces(), extra=st.integers(0, 3))
    def test_misses_each_key_once_if_all_fit(self, policy, trace, extra) -> None:
        found = policy.caching(trace, memory(trace, trace.keys + extra))
        assert found.hits.sum() == trace.steps - trace.keys

    @given(trace=traces(), size=sizes, cut=st.integers(0, 60))
    def test_looks_into_the_future_only_if_it_says_so(self, policy, trace, size, cut) -> None:
        if policy.name in ("lfd", "opt-offline"):
            return
        first = References(trace.requests[:cut], trace.values)
        known = memory(trace, size)
        whole, part = policy.caching(trace, known), policy.caching(first, known)
        assert (whole.evicted[:cut] == part.evicted).all()


DEFINED: dict[str, Rank] = {
    "lru": definitions.lru,
    "fifo": definitions.fifo,
    "lfu": definitions.lfu,
    "lfu-perfect": definitions.lfu_perfect,
    "prob": definitions.lfu_perfect,
    "lfd": definitions.lfd,
    "lru-k": definitions.lru_k(2),
}


@pytest.mark.parametrize("name", DEFINED)
@given(trace=traces(), size=st.integers(1, 6), bypass=st.booleans())
def test_hits_as_defined(name: str, trace: References, size: int, bypass: bool) -> None:
    found = NAMED[name].caching(trace, Memory(size, bypass)).hits.tolist()
    assert found == by_rank(trace, size, bypass, DEFINED[name])


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    keys=st.integers(20, 300),
    exponent=st.sampled_from([0.0, 0.7, 1.2]),
    size=st.integers(1, 120),
    bypass=st.booleans(),
)
def test_lfd_of_many_keys_as_defined(seed: int, keys: int, exponent: float, size: int, bypass: bool) -> None:
    """Larger than what it keeps in order; who leaves is compared as well."""
    weights = np.arange(1, keys + 1) ** -exponent
    trace = references(np.random.default_rng(seed).choice(keys, 1500, p=weights / weights.sum()))
    following = next_references(trace.requests, trace.keys)
    said = ranked(trace, trace.steps - following, size, bypass)
    found = NAMED["lfd"].caching(trace, Memory(size, bypass))
    assert found.hits.tolist() == said.hits.tolist()
    assert found.evicted.tolist() == said.evicted.tolist()


@given(trace=traces(), size=st.integers(1, 6), k=st.integers(1, 5))
def test_lru_k_as_defined_for_every_k(trace: References, size: int, k: int) -> None:
    found = NAMED["lru-k"].caching(trace, Memory(size, history=k)).hits.tolist()
    assert found == by_rank(trace, size, False, definitions.lru_k(k))


@given(trace=traces(), size=st.integers(1, 6), bypass=st.booleans(), seed=st.integers(0, 99))
def test_a0_as_defined(trace: References, size: int, bypass: bool, seed: int) -> None:
    known = np.random.default_rng(seed).integers(0, 3, trace.keys) / 10.0
    found = NAMED["a0"].caching(trace, Memory(size, bypass, probabilities=known)).hits.tolist()
    assert found == by_rank(
        trace, size, bypass, lambda seen, last, admitted, now: (float(known[seen[last]]),)
    )


GONE = [
    # trace, size, policy, step, the key that leaves at this step
    ([1, 2, 3, 2, 4], 3, "lru", 4, 1),
    ([1, 2, 3, 1, 4], 3, "lru", 4, 2),
    ([1, 2, 3, 1, 4], 3, "fifo", 4, 1),
    ([1, 1, 2, 3, 3, 4], 3, "lfu", 5, 2),
    ([1, 2, 3, 4], 3, "lfu", 3, 1),
    # 1 was used twice, left, and came back: in cache that counts once, for the perfect LFU three times.
    ([1, 1, 2, 2, 2, 3, 3, 3, 1, 3, 1, 4], 2, "lfu", 11, 1),
    ([1, 1, 1, 1, 2, 3, 3, 4], 2, "lfu-perfect", 7, 3),
    # 1 is the most recently used, but its last use but one is longer ago.
    ([1, 1, 2, 2, 1, 4], 2, "lru-k", 5, 1),
    ([1, 2, 3, 1, 2, 4], 3, "lru-k", 5, 3),
    ([1, 2, 3, 4, 1, 2, 3], 3, "lfd", 3, 3),
    ([1, 2, 1, 3], 2, "sieve", 3, 2),
    ([1, 2, 1, 3], 2, "arc", 3, 2),
]


@pytest.mark.parametrize(("trace", "size", "name", "step", "gone"), GONE)
def test_who_leaves(trace: list[int], size: int, name: str, step: int, gone: int) -> None:
    given = references(trace)
    evicted = NAMED[name].caching(given, Memory(size)).evicted
    assert given.values[evicted[step]] == gone


def test_bypass_discards_what_was_fetched() -> None:
    given = references([1, 2, 3, 1, 2])
    assert NAMED["lfd"].caching(given, Memory(2)).hits.sum() == 1
    found = NAMED["lfd"].caching(given, Memory(2, bypass=True))
    assert found.hits.sum() == 2 and given.values[found.evicted[2]] == 3


def test_rand_discards_each_alike() -> None:
    trace = references([0, 1, 2, 3] * 5000)
    evicted = NAMED["rand"].caching(trace, Memory(3, seed=7)).evicted
    counts = np.bincount(evicted[evicted >= 0], minlength=4)
    assert counts.min() > 0.9 * counts.mean()


def test_a0_without_knowledge_says_so() -> None:
    with pytest.raises(DataError, match="a0 knows the reference probabilities"):
        NAMED["a0"].caching(references([1, 2]), Memory(1))
    with pytest.raises(DataError, match="1 probabilities are given for 2 keys"):
        NAMED["a0"].caching(references([1, 2]), Memory(1, probabilities=np.ones(1)))


@pytest.mark.parametrize("wrong", [{"size": -1}, {"size": 1, "warmup": -1}, {"size": 1, "history": 0}])
def test_a_memory_that_cannot_be_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(DataError, match="accepted: a whole number"):
        Memory(**wrong)
