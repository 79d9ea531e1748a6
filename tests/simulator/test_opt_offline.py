"""OPT-offline: the optimum by the paper's graph, by brute force, and never below any policy."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulator import test_caching_policies, test_joining_policies
from tests.simulator.definitions import joined_streams, joining_referee, referee, traces, worth_of
from tests.simulator.paper_graph import paper_optimum
from tests.simulator.reduction import reduced_to_joining

from streambound.simulator.contract import Memory
from streambound.simulator.policies import ALL, NAMED
from streambound.simulator.policies.opt_offline import optima
from streambound.simulator.problems import References, Streams, streams

warmups = st.sampled_from([0, 0, 1, 4, 9])


def brute_force(given_: Streams, size: int, warmup: int) -> float:
    """The most that any sequence of decisions produces: every one is tried."""

    @cache
    def best(step: int, cached: frozenset[tuple[int, int]]) -> float:
        if step == given_.steps:
            return 0.0
        now = sum(worth_of(given_, *each, step) for each in cached) if step >= warmup else 0.0
        candidates = [*cached, *((stream, step) for stream in range(given_.count))]
        keep = min(size, len(candidates))
        return now + max(best(step + 1, frozenset(kept)) for kept in combinations(candidates, keep))

    return best(0, frozenset())


@given(given_=joined_streams(keys=3, size=6, weighted=True), size=st.integers(0, 3), warmup=warmups)
def test_joining_optimum_by_brute_force(given_: Streams, size: int, warmup: int) -> None:
    assert optima(given_, size, warmup=warmup)[-1] == brute_force(given_, size, warmup)


@given(given_=joined_streams(count=3, keys=2, size=4, weighted=True), size=st.integers(0, 3), warmup=warmups)
def test_optimum_of_three_streams_by_brute_force(given_: Streams, size: int, warmup: int) -> None:
    assert optima(given_, size, warmup=warmup)[-1] == brute_force(given_, size, warmup)


@pytest.mark.theorem
@given(data=st.data(), count=st.integers(2, 3), weighted=st.booleans(), warmup=warmups)
def test_every_size_is_the_optimum_of_the_papers_graph(
    data: st.DataObject, count: int, weighted: bool, warmup: int
) -> None:
    given_ = data.draw(joined_streams(count=count, keys=4, size=16, weighted=weighted))
    if given_.steps:
        found = optima(given_, 5, warmup=warmup)
        assert found.tolist() == [paper_optimum(given_, size, warmup) for size in range(6)]


@given(data=st.data(), count=st.integers(2, 3), size=st.integers(0, 5), warmup=warmups)
def test_the_schedule_produces_the_optimum(data: st.DataObject, count: int, size: int, warmup: int) -> None:
    given_ = data.draw(joined_streams(count=count, weighted=True))
    found = NAMED["opt-offline"].joining(given_, Memory(size, warmup=warmup))
    joining_referee(given_, size, found)
    assert found.results[warmup:].sum() == optima(given_, size, warmup=warmup)[-1]


@given(trace=traces(size=40), size=st.integers(0, 6), bypass=st.booleans(), warmup=warmups)
def test_caching_schedule_produces_the_optimum(
    trace: References, size: int, bypass: bool, warmup: int
) -> None:
    found = NAMED["opt-offline"].caching(trace, Memory(size, bypass, warmup=warmup))
    referee(trace, size, bypass, found)
    assert found.hits[warmup:].sum() == optima(trace, size, bypass, warmup)[-1]


def caching_brute_force(trace: References, size: int, bypass: bool, warmup: int) -> int:
    """The most hits of any sequence of decisions."""
    requests = trace.requests.tolist()

    @cache
    def best(step: int, cached: frozenset[int]) -> int:
        if step == len(requests):
            return 0
        key = requests[step]
        if key in cached:
            return (step >= warmup) + best(step + 1, cached)
        if size == 0:
            return best(step + 1, cached)
        options = [cached | {key}] if len(cached) < size else [cached - {each} | {key} for each in cached]
        if bypass:
            options.append(cached)
        return max(best(step + 1, frozenset(option)) for option in options)

    return best(0, frozenset())


@given(trace=traces(keys=5, size=12), size=st.integers(0, 4), bypass=st.booleans(), warmup=warmups)
def test_caching_optimum_by_brute_force(trace: References, size: int, bypass: bool, warmup: int) -> None:
    assert optima(trace, size, bypass, warmup)[-1] == caching_brute_force(trace, size, bypass, warmup)


@pytest.mark.theorem
@given(trace=traces(), most=st.integers(0, 7), bypass=st.booleans())
def test_lfd_is_optimal_offline(trace: References, most: int, bypass: bool) -> None:
    lfd = NAMED["lfd"].caching
    assert optima(trace, most, bypass).tolist() == [
        lfd(trace, Memory(size, bypass)).hits.sum() for size in range(most + 1)
    ]


@pytest.mark.theorem
@given(trace=traces(), most=st.integers(0, 7))
def test_theorem_1_lfd_with_bypass_is_the_optimum_of_the_transformed_streams(
    trace: References, most: int
) -> None:
    joined = optima(reduced_to_joining(trace), most)
    lfd = NAMED["lfd"].caching
    hits = [lfd(trace, Memory(size, bypass=True)).hits.sum() for size in range(most + 1)]
    assert joined.tolist() == hits


@pytest.mark.parametrize("policy", [p for p in ALL if p.joining], ids=lambda policy: policy.name)
@given(data=st.data(), count=st.integers(2, 3), size=st.integers(0, 5), warmup=warmups)
def test_no_policy_beats_it_at_joining(
    policy, data: st.DataObject, count: int, size: int, warmup: int
) -> None:
    given_ = data.draw(joined_streams(count=count, weighted=True))
    known = replace(test_joining_policies.memory(given_, size), warmup=warmup)
    found = policy.joining(given_, known).results[warmup:].sum()
    assert found <= optima(given_, size, warmup=warmup)[-1]


@pytest.mark.parametrize("policy", [p for p in ALL if p.caching], ids=lambda policy: policy.name)
@given(trace=traces(), size=st.integers(0, 5), bypass=st.booleans(), warmup=warmups)
def test_no_policy_beats_it_at_caching(
    policy, trace: References, size: int, bypass: bool, warmup: int
) -> None:
    known = replace(test_caching_policies.memory(trace, size, bypass), warmup=warmup)
    assert policy.caching(trace, known).hits[warmup:].sum() <= optima(trace, size, bypass, warmup)[-1]


def test_a_longer_stream_by_the_papers_graph() -> None:
    draw = np.random.default_rng(3)
    rows = [np.arange(120) + draw.integers(-w, w + 1, 120) for w in (4, 6)]
    given_ = streams(*rows, window=8)
    found = optima(given_, 12)
    for size in (1, 2, 5, 12):
        assert found[size] == paper_optimum(given_, size)


def test_warm_up_changes_what_is_kept() -> None:
    # Only the last step counts: the 1 is worth keeping, though the 2s pay sooner.
    given_ = streams([1, 2, 8, 8, 8], [7, 7, 2, 2, 1])
    assert optima(given_, 1).tolist() == [0, 2]
    assert NAMED["opt-offline"].joining(given_, Memory(1, warmup=4)).results[4:].sum() == 1
