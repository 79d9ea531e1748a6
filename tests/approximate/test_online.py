"""A join in k tuples, one arriving tuple a step: against a slow definition, and a ceiling by brute force."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.approximate.kernels.ceiling import ceiling
from streambound.approximate.kernels.online import FOR_EVER, Arrivals, Expected, play
from streambound.approximate.policies import POLICIES

Tuple = tuple[int, int, int]
EVER = 1 << 61


@st.composite
def arriving(draw: st.DrawFn, most: int = 14) -> list[Tuple]:
    """(stream, key, moment), in order of time."""
    gaps = draw(st.lists(st.sampled_from([0, 0, 1, 1, 3]), max_size=most))
    moments = np.cumsum(gaps).tolist()
    return [(draw(st.integers(0, 1)), draw(st.integers(0, 2)), moment) for moment in moments]


lags = st.sampled_from([(-EVER, EVER), (1, EVER), (0, EVER), (-2, 3), (1, 3), (2, EVER), (-EVER, -1)])


def given_of(tuples: list[Tuple], low: int, high: int) -> Arrivals:
    side, key, time = (np.array([t[i] for t in tuples], np.int64) for i in range(3))
    most = np.where(side == 0, high, -low)
    until = np.where(most >= EVER, FOR_EVER, time + most)
    blank = np.zeros(len(tuples), np.int64)
    return Arrivals(side, key, time, until, blank, blank.copy(), blank.copy(), 0, low, high)


def knowing(chances: list[list[float]], alpha: float = 4.0, seed: int = 3) -> Expected:
    nothing = np.zeros(2)
    numbers = np.zeros(2, np.int64)
    return Expected(
        np.array(chances),
        np.zeros(3, np.int64),
        np.zeros(2, np.bool_),
        nothing,
        nothing.copy(),
        nothing.copy(),
        np.zeros(0),
        numbers,
        numbers.copy(),
        1.0,
        alpha,
        1 / np.expm1(1 / alpha),
        seed,
    )


CHANCES = [[0.5, 0.3, 0.1], [0.1, 0.2, 0.6]]


def joins(one: Tuple, other: Tuple, low: int, high: int) -> bool:
    left, right = (one, other) if one[0] == 0 else (other, one)
    return one[0] != other[0] and one[1] == other[1] and low <= right[2] - left[2] <= high


def last_partner(one: Tuple, low: int, high: int) -> float:
    most = high if one[0] == 0 else -low
    return float("inf") if most >= EVER else one[2] + most


def defined(tuples: list[Tuple], policy: str, size: int, low: int, high: int) -> tuple[set[int], set[Tuple]]:
    """What is cached at the end, and (row, row, 1 if from the cache) of each pair."""
    cached: list[int] = []
    used = dict.fromkeys(range(len(tuples)), 0)
    uses = dict.fromkeys(range(len(tuples)), 0)
    pairs: set[Tuple] = set()
    groups: dict[int, list[int]] = {}
    for row, (_, _, moment) in enumerate(tuples):
        groups.setdefault(moment, []).append(row)
    for moment, group in groups.items():
        for row in group:
            used[row] = row
            for other in [*cached, *(r for r in group if r < row)]:
                if joins(tuples[other], tuples[row], low, high):
                    pairs.add((other, row, int(other in cached)))
                    if other in cached:
                        used[other] = row
                        uses[other] += 1
        cached += [row for row in group if last_partner(tuples[row], low, high) > moment]
        if len(cached) > size:
            cached = [row for row in cached if last_partner(tuples[row], low, high) > moment]
        while len(cached) > size:
            worth = {row: worth_of(tuples[row], row, policy, moment, used, uses, low, high) for row in cached}
            cached.remove(min(cached, key=lambda row: (worth[row], row)))
    return set(cached), pairs


def worth_of(
    one: Tuple,
    row: int,
    policy: str,
    moment: int,
    used: dict[int, int],
    uses: dict[int, int],
    low: int,
    high: int,
) -> float:
    chance = CHANCES[1 - one[0]][one[1]]
    left = last_partner(one, low, high) - moment
    if policy == "heeb":
        steps = 4_000 if left == float("inf") else int(left)
        return float(chance * np.exp(-np.arange(1, steps + 1) / 4.0).sum())
    known = {"fifo": row, "lru": used[row], "lfu": uses[row], "prob": chance}
    return float(known.get(policy, chance if left == float("inf") else chance * left))


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - {"rand", "heeb"}))
@given(tuples=arriving(), size=st.integers(0, 4), lag=lags)
def test_a_policy_keeps_what_its_definition_keeps(
    policy: str, tuples: list[Tuple], size: int, lag: tuple[int, int]
) -> None:
    played = play(given_of(tuples, *lag), POLICIES[policy].worth, size, knowing(CHANCES))
    cached, pairs = defined(tuples, policy, size, *lag)
    assert set(played.cached.tolist()) == cached
    rows = zip(played.earlier.tolist(), played.later.tolist(), played.met.astype(int).tolist(), strict=True)
    found = list(rows)
    assert set(found) == pairs and len(found) == len(pairs)
    assert played.peak <= size


@given(tuples=arriving(), size=st.integers(0, 4))
def test_heeb_keeps_what_its_definition_keeps(tuples: list[Tuple], size: int) -> None:
    # Without a window: with one, sums of nearly equal worth differ in the last digit.
    played = play(given_of(tuples, 0, EVER), POLICIES["heeb"].worth, size, knowing(CHANCES))
    assert set(played.cached.tolist()) == defined(tuples, "heeb", size, 0, EVER)[0]


@given(tuples=arriving(), policy=st.sampled_from(sorted(POLICIES)), lag=lags)
def test_with_room_for_all_every_pair_is_found(
    tuples: list[Tuple], policy: str, lag: tuple[int, int]
) -> None:
    played = play(given_of(tuples, *lag), POLICIES[policy].worth, 20, knowing(CHANCES))
    every = {(a, b) for a, b in combinations(range(len(tuples)), 2) if joins(tuples[a], tuples[b], *lag)}
    assert set(zip(played.earlier.tolist(), played.later.tolist(), strict=True)) == every


def most(tuples: list[Tuple], size: int, low: int, high: int) -> int:
    """The most pairs with a cached tuple: every decision is tried."""
    groups: dict[int, list[int]] = {}
    for row, (_, _, moment) in enumerate(tuples):
        groups.setdefault(moment, []).append(row)
    ordered = list(groups.values())

    @cache
    def best(at: int, cached: frozenset[int]) -> int:
        if at == len(ordered):
            return 0
        group = ordered[at]
        now = sum(joins(tuples[a], tuples[b], low, high) for a in cached for b in group)
        candidates = sorted({*cached, *group})
        keep = min(size, len(candidates))
        return now + max(best(at + 1, frozenset(kept)) for kept in combinations(candidates, keep))

    return best(0, frozenset())


@given(tuples=arriving(8), size=st.integers(0, 3), lag=lags)
def test_the_ceiling_is_the_best_of_all_decisions(
    tuples: list[Tuple], size: int, lag: tuple[int, int]
) -> None:
    assert ceiling(given_of(tuples, *lag), size)[-1] == most(tuples, size, *lag)


@given(tuples=arriving(40), size=st.integers(0, 6), policy=st.sampled_from(sorted(POLICIES)), lag=lags)
def test_no_policy_is_above_the_ceiling(
    tuples: list[Tuple], size: int, policy: str, lag: tuple[int, int]
) -> None:
    played = play(given_of(tuples, *lag), POLICIES[policy].worth, size, knowing(CHANCES))
    assert np.count_nonzero(played.met) <= ceiling(given_of(tuples, *lag), size)[-1]


def test_rand_drops_each_cached_tuple_about_as_often_as_the_others() -> None:
    counts = np.zeros(6)
    for seed in range(600):
        tuples = [(0, 0, moment) for moment in range(6)]
        played = play(given_of(tuples, 1, EVER), POLICIES["rand"].worth, 5, knowing(CHANCES, seed=seed))
        counts += [row not in played.cached for row in range(6)]
    assert counts.sum() == 600
    assert (np.abs(counts - 100) < 45).all()
