"""Policies on joined streams: one suite for all, then each against its definition and on explicit streams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulator.definitions import by_score, joined_streams, joining_referee

from streambound.approximate.models.distribution import uniform
from streambound.approximate.models.independent import Stationary
from streambound.errors import DataError
from streambound.simulator.contract import Memory
from streambound.simulator.experiments.simulation import everything
from streambound.simulator.policies import ALL, NAMED
from streambound.simulator.problems import Streams, streams

JOINING = [policy for policy in ALL if policy.joining is not None]
sizes = st.integers(0, 6)


def memory(given: Streams, size: int, seed: int = 0) -> Memory:
    """A memory that knows what any policy may ask for: here, that nothing is said of lifetimes."""
    models = (Stationary(uniform(9)),) * given.count
    expires = np.full(given.arrivals.shape, 2 * given.steps)
    return Memory(size, seed=seed, expires=expires, models=models)


@pytest.mark.parametrize("policy", JOINING, ids=lambda policy: policy.name)
class TestEveryPolicy:
    @given(given_=joined_streams(), size=sizes, seed=st.integers(0, 3))
    def test_does_only_what_a_cache_can_and_the_same_again(self, policy, given_, size, seed) -> None:
        found, again = (policy.joining(given_, memory(given_, size, seed)) for _ in range(2))
        joining_referee(given_, size, found)
        assert (found.kept_until == again.kept_until).all()

    @given(given_=joined_streams(count=3, weighted=True), size=sizes)
    def test_does_so_with_three_weighted_streams(self, policy, given_, size) -> None:
        joining_referee(given_, size, policy.joining(given_, memory(given_, size)))

    @given(given_=joined_streams(weighted=True))
    def test_produces_all_if_all_fit(self, policy, given_) -> None:
        found = policy.joining(given_, memory(given_, 2 * given_.steps))
        assert found.results.sum() == everything(given_, 0)


def expired(given: Streams, stream: int, born: int, now: int) -> bool:
    """Whether a tuple is out of its window after this step."""
    return given.window is not None and now >= born + given.window


def seen(given: Streams, stream: int, born: int, now: int) -> float:
    """How often a tuple's value arrived on its partners so far, by weight."""
    value = given.arrivals[stream, born]
    return given.worth[stream, born] * sum(
        given.worth[other, : now + 1][given.arrivals[other, : now + 1] == value].sum()
        for other in range(given.count)
        if given.partners[stream, other]
    )


@pytest.mark.parametrize("name", ["fifo", "lru", "lfu", "prob", "life"])
@given(data=st.data(), count=st.integers(2, 3), size=st.integers(1, 5))
def test_decisions_as_defined(name: str, data: st.DataObject, count: int, size: int) -> None:
    given_ = data.draw(joined_streams(count=count, weighted=True, size=15))
    if name == "life" and given_.window is None:
        return

    def score(stream: int, born: int, now: int, met: list[tuple[int, int]]) -> float:
        if expired(given_, stream, born, now):
            return -1.0
        return {
            "fifo": float(born),
            "lru": float(max([born, *(step for step, _ in met)])),
            "lfu": float(sum(worth for _, worth in met)),
            "prob": seen(given_, stream, born, now),
            "life": (born + (given_.window or 0) - now) * seen(given_, stream, born, now),
        }[name]

    results, kept = by_score(given_, size, score)
    found = NAMED[name].joining(given_, Memory(size))
    assert found.results.tolist() == results
    assert (found.kept_until == kept).all()


DROPS_EXPIRED_FIRST = ("rand", "fifo", "lru", "lfu", "prob", "life", "heeb", "heeb-adaptive", "experts")


@pytest.mark.parametrize("name", DROPS_EXPIRED_FIRST)
@given(given_=joined_streams(count=3), size=st.integers(1, 6), seed=st.integers(0, 3))
def test_no_tuple_in_its_window_leaves_before_one_that_is_out_of_it(
    name: str, given_: Streams, size: int, seed: int
) -> None:
    """Section 7: RAND's choice, which has no definition but this one, and all others'."""
    kept = NAMED[name].joining(given_, memory(given_, size, seed)).kept_until
    everyone = [(stream, born) for stream in range(3) for born in range(given_.steps)]
    for now in range(given_.steps):
        here = [(stream, born) for stream, born in everyone if born <= now <= kept[stream, born]]
        left = [not expired(given_, *each, now) for each in here if kept[each] == now]
        stay = [expired(given_, *each, now) for each in here if kept[each] > now]
        assert not (any(left) and any(stay)), f"step {now}"


@given(given_=joined_streams(count=3, weighted=True), warmup=st.integers(0, 9))
def test_everything_counts_pairs_of_different_steps(given_: Streams, warmup: int) -> None:
    found = 0.0
    for now in range(warmup, given_.steps):
        for born in range(now):
            if given_.window is None or now - born <= given_.window:
                same = given_.arrivals[:, [born]] == given_.arrivals[:, now]
                worth = given_.worth[:, [born]] * given_.worth[:, now]
                found += (worth * same * given_.partners).sum()
    assert everything(given_, warmup) == found


def test_prob_keeps_what_its_partner_repeats() -> None:
    given_ = streams([1, 5, 9, 9, 3], [4, 1, 1, 8, 8])
    # R's 1 was answered twice; the 8s of S were never asked for by R.
    assert NAMED["prob"].joining(given_, Memory(2)).kept_until[0].tolist() == [5, 1, 2, 3, 4]


def test_life_prefers_the_one_that_stays_longer() -> None:
    given_ = streams([7, 0, 7, 2], [5, 7, 6, 3], window=3)
    # At step 2 R's first 7 has one step left, its second three.
    kept = NAMED["life"].joining(given_, Memory(2)).kept_until
    assert kept[0, 0] == 2 and kept[0, 2] == 4


def test_a_tuple_meets_until_its_window_ends() -> None:
    late = [1, 0, 0, 0], [9, 8, 7, 1]
    assert NAMED["fifo"].joining(streams(*late, window=3), Memory(8)).results.sum() == 1
    assert NAMED["fifo"].joining(streams(*late, window=2), Memory(8)).results.sum() == 0


def test_arrivals_of_one_step_do_not_count() -> None:
    assert NAMED["rand"].joining(streams([1, 2], [1, 2]), Memory(4)).results.sum() == 0


def test_life_without_lifetimes_says_so() -> None:
    with pytest.raises(DataError, match="life needs the lifetime of a tuple"):
        NAMED["life"].joining(streams([1], [1]), Memory(1))


def test_impossible_streams_are_refused() -> None:
    with pytest.raises(DataError, match="the streams have 1, 2 steps"):
        streams([1], [1, 2])
    with pytest.raises(DataError, match="the window is -1"):
        streams([1], [1], window=-1)
    with pytest.raises(DataError, match="partners has shape"):
        Streams(np.zeros((2, 1), np.int64), np.zeros(1), np.ones((3, 3), np.bool_))
