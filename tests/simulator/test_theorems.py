"""The paper's theorems and the optimal policies of section 5, against the exact optimal online algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulator.dominance import dominates
from tests.simulator.exact import caching_value, joining_value

from streambound.approximate.kernels.min_cost_flow import best_flow
from streambound.approximate.models.distribution import Distribution, point, uniform
from streambound.approximate.models.independent import Deterministic, Stationary, Trend
from streambound.approximate.models.markov import RandomWalk
from streambound.approximate.models.model import Independent, Model
from streambound.simulator.contract import Memory
from streambound.simulator.ecb import caching_ecb, joining_ecb
from streambound.simulator.policies import ALL, NAMED
from streambound.simulator.policies.flow_expect import chains_of
from streambound.simulator.policies.opt_offline import optima
from streambound.simulator.problems import references, streams

pytestmark = pytest.mark.theorem
CLOSE = 1e-12


@dataclass(frozen=True)
class Varying(Independent):
    """Independent variables, each with a distribution of its own; the last one repeats."""

    each: tuple[Distribution, ...]

    def at(self, step: int) -> Distribution:
        return self.each[min(step, len(self.each) - 1)]


def shares(counts: list[int], low: int = 0) -> Distribution:
    return Distribution(low, np.array(counts) / sum(counts))


distributions = st.lists(st.integers(0, 3), min_size=2, max_size=3).filter(any).map(shares)
varying = st.lists(distributions, min_size=4, max_size=4).map(lambda each: Varying(tuple(each)))
stationary = distributions.map(Stationary)


@settings(max_examples=40)
@given(models=st.tuples(varying, varying), gains_ahead=st.integers(1, 3), size=st.integers(1, 2))
def test_theorem_2_the_flow_is_the_best_predetermined_sequence(
    models: tuple[Model, Model], gains_ahead: int, size: int
) -> None:
    """A predetermined sequence names the arrivals that are kept at each step, whatever their values."""
    history = np.zeros(1, np.int64)
    ahead = [[next_ for next_, _ in zip(m.ahead(history), range(gains_ahead), strict=False)] for m in models]
    known = [(0, 0), (0, 1), (1, 0), (1, 1)][: size + 2]

    def chance(tuple_: object, step: int) -> float:
        stream, what, born = tuple_
        partner = ahead[1 - stream][step - 1]
        if born == 0:
            return partner.of(what)
        mine = ahead[stream][born - 1]
        return sum(mine.of(v) * partner.of(v) for v in range(mine.low, mine.high + 1))

    def best(candidates: tuple, step: int) -> float:
        if step == gains_ahead:
            return 0.0
        new = tuple((stream, None, step + 1) for stream in (0, 1))
        return max(
            sum(chance(each, step + 1) for each in kept) + best((*kept, *new), step + 1)
            for kept in combinations(candidates, size)
        )

    candidates = tuple((stream, value, 0) for stream, value in known)
    gains = np.array([[chance(each, s + 1) for s in range(gains_ahead)] for each in candidates])
    future = [
        np.array([chance((stream, None, born), s + 1) for s in range(born, gains_ahead)])
        for stream in (0, 1)
        for born in range(1, gains_ahead)
    ]
    totals = best_flow(chains_of(gains, future), gains_ahead + 1, size).totals
    assert totals[size] == pytest.approx(best(candidates, 0), abs=CLOSE)


@settings(max_examples=40)
@given(
    models=st.tuples(varying, varying),
    candidates=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=3, max_size=4),
    size=st.integers(1, 2),
)
def test_theorem_3_some_optimum_keeps_what_dominates(
    models: tuple[Model, Model], candidates: list[tuple[int, int]], size: int
) -> None:
    steps, past = 3, ((9,), (9,))
    best = joining_value(models, size, steps, tuple(candidates), past)
    ecbs = [joining_ecb([models[1 - stream]], value, [np.array([9])], steps) for stream, value in candidates]
    values = {
        kept: joining_value(models, size, steps, tuple(candidates[at] for at in kept), past)
        for kept in combinations(range(len(candidates)), size)
    }
    for x, y in product(range(len(candidates)), repeat=2):
        if x != y and dominates(ecbs[x], ecbs[y]):
            allowed = [value for kept, value in values.items() if x in kept or y not in kept]
            assert max(allowed) == pytest.approx(best, abs=CLOSE)


@settings(max_examples=40)
@given(models=st.tuples(stationary, stationary), size=st.integers(1, 2))
def test_prob_is_optimal_for_stationary_joins(models: tuple[Stationary, Stationary], size: int) -> None:
    """5.2, with the probabilities known: discard what is least likely to come on the other stream."""

    def choose(candidates: tuple, histories: tuple) -> tuple:
        return tuple(sorted(candidates, key=lambda c: -models[1 - c[0]].distribution.of(c[1]))[:size])

    found = joining_value(models, size, 3, choose=choose)
    assert found == pytest.approx(joining_value(models, size, 3), abs=CLOSE)


@settings(max_examples=40)
@given(model=stationary, size=st.integers(1, 2), bypass=st.booleans())
def test_a0_is_optimal_for_stationary_caching(model: Stationary, size: int, bypass: bool) -> None:
    """5.2."""
    found = caching_value(
        model,
        size,
        5,
        bypass=bypass,
        choose=lambda candidates, seen: min(candidates, key=model.distribution.of),
    )
    assert found == pytest.approx(caching_value(model, size, 5, bypass=bypass), abs=CLOSE)


@given(
    later=st.lists(st.integers(0, 4), max_size=40),
    size=st.integers(1, 4),
    bypass=st.booleans(),
    data=st.data(),
)
def test_lfu_is_a0_once_its_counts_are_in_the_order_of_the_probabilities(
    later: list[int], size: int, bypass: bool, data: st.DataObject
) -> None:
    """5.2: then the optimal choice is LFU's, and it stays so however the next references come."""
    likely = data.draw(st.permutations(range(5)))
    before = [key for key in range(5) for _ in range(50 * (1 + likely[key]))]
    evicted = NAMED["lfu-perfect"].caching(references([*before, *later]), Memory(size, bypass)).evicted
    cached = set[int]()
    for step, (key, gone) in enumerate(zip([*before, *later], evicted.tolist(), strict=True)):
        if step >= len(before) and gone >= 0:
            assert gone == min(cached | {key} if bypass else cached, key=lambda each: likely[each])
        cached = (cached | {key}) - {gone}


@settings(max_examples=20)
@given(
    slope=st.sampled_from([0, 0.5, 1, 2]),
    width=st.integers(0, 1),
    size=st.integers(1, 2),
    bypass=st.booleans(),
)
def test_smallest_value_first_is_optimal_for_a_rising_trend(
    slope: float, width: int, size: int, bypass: bool
) -> None:
    """5.3, uniform noise."""
    model = Trend(slope, 0, uniform(width))
    found = caching_value(model, size, 5, bypass=bypass, choose=lambda candidates, seen: min(candidates))
    assert found == pytest.approx(caching_value(model, size, 5, bypass=bypass), abs=CLOSE)


@settings(max_examples=20)
@given(counts=st.tuples(st.integers(1, 5), st.integers(0, 5)), size=st.integers(1, 2), bypass=st.booleans())
def test_farthest_first_is_optimal_for_a_driftless_walk(
    counts: tuple[int, int], size: int, bypass: bool
) -> None:
    """5.5, symmetric unimodal steps."""
    most, less = max(counts), min(counts)
    model = RandomWalk(0, shares([less, most, less], -1))
    found = caching_value(
        model,
        size,
        5,
        bypass=bypass,
        choose=lambda candidates, seen: max(candidates, key=lambda value: abs(value - seen[-1])),
    )
    assert found == pytest.approx(caching_value(model, size, 5, bypass=bypass), abs=CLOSE)


@pytest.mark.parametrize("window", [None, 0, 1, 2, 3])
@settings(max_examples=40)
@given(known=st.tuples(*[st.lists(st.integers(0, 2), min_size=5, max_size=5)] * 2), size=st.integers(0, 2))
def test_flow_expect_of_known_streams_is_opt_offline(window: int | None, known: tuple, size: int) -> None:
    """5.1, looking ahead to the end; with section 7's window too."""
    given_ = streams(*known, window=window)
    models = tuple(Deterministic(np.array(row)) for row in known)
    found = NAMED["flow-expect"].joining(given_, Memory(size, models=models, look_ahead=5))
    assert found.results.sum() == optima(given_, size)[-1]
    if window is None:
        assert found.results.sum() == joining_value(models, size, 5)


NONE = -100


def example_3_4() -> tuple[Varying, Varying]:
    """R and S of section 3.4 from t0 = 0 on; what joins nothing is another number each time."""

    def maybe(value: int, chance: float, step: int, stream: int) -> Distribution:
        nothing = NONE - 2 * step - stream
        found = np.zeros(value - nothing + 1)
        found[0], found[-1] = 1 - chance, chance
        return Distribution(nothing, found)

    r = (point(NONE), point(2), point(3), maybe(2, 0.5, 3, 0))
    s = (point(2), maybe(3, 0.5, 1, 1), maybe(1, 0.8, 2, 1), maybe(1, 0.8, 3, 1))
    return Varying(r), Varying(s)


def test_section_3_4_flow_expect_is_not_optimal() -> None:
    models = example_3_4()
    r, s = models
    history = np.array([0])
    keep_1 = s.gains(1, history, 3)
    keep_2 = r.gains(2, history, 3)
    assert keep_1.sum() == pytest.approx(1.6) and keep_2.sum() == pytest.approx(1.5)
    # Keep 2 for a step, then the tuple that S brings: 3 with probability 0.5.
    assert keep_2[0] + 0.5 * r.at(2).of(3) == pytest.approx(1.5)
    candidates = ((0, 1), (0, NONE), (1, 2))
    gains = np.array([keep_1, np.zeros(3), keep_2])
    future = [np.zeros(2), np.zeros(1), np.array([0.5, 0.0]), np.array([0.0])]
    assert best_flow(chains_of(gains, future), 4, 1).totals[1] == pytest.approx(1.6)
    assert joining_value(models, 1, 3, candidates, ((NONE,), (2,))) == pytest.approx(1.75)


@settings(max_examples=8)
@given(models=st.tuples(varying, varying), size=st.integers(1, 2))
def test_no_online_policy_joins_more_than_the_exact_optimum(
    models: tuple[Varying, Varying], size: int
) -> None:
    steps = 3
    best = joining_value(models, size, steps)
    for policy in ALL:
        if policy.joining is None or policy.name == "opt-offline":
            continue
        mean = 0.0
        for chance, rows in _courses(models, steps):
            expires = np.full((2, steps), 2 * steps)
            known = Memory(size, models=models, expires=expires, look_ahead=2, alpha=2.0)
            if policy.name in ("heeb", "heeb-adaptive", "experts"):
                known = Memory(size, models=tuple(Stationary(m.at(1)) for m in models), alpha=2.0)
            mean += chance * policy.joining(streams(*rows), known).results.sum()
        assert mean <= best + CLOSE, policy.name


@settings(max_examples=8)
@given(model=stationary, size=st.integers(1, 2), bypass=st.booleans())
def test_no_online_policy_hits_more_than_the_exact_optimum(
    model: Stationary, size: int, bypass: bool
) -> None:
    steps = 5
    best = caching_value(model, size, steps, bypass=bypass)
    for policy in ALL:
        if policy.caching is None or policy.name in ("opt-offline", "lfd"):
            continue
        mean = 0.0
        for chance, (row,) in _courses((model,), steps):
            known = Memory(size, bypass, models=(model,), alpha=2.0)
            mean += chance * policy.caching(references(row), known).hits.sum()
        assert mean <= best + CLOSE, policy.name


def _courses(models: tuple[Model, ...], steps: int) -> list[tuple[float, list[np.ndarray]]]:
    """Everything that the streams may bring, with its probability."""
    each = []
    for model in models:
        courses = [(1.0, np.array([], np.int64))]
        for _ in range(steps):
            courses = [
                (chance * p, np.append(course, value))
                for chance, course in courses
                for now in [next(model.ahead(course))]
                for value, p in enumerate(now.probability, now.low)
                if p > 0
            ]
        each.append(courses)
    return [
        (float(np.prod([chance for chance, _ in combination])), [course for _, course in combination])
        for combination in product(*each)
    ]


def test_corollary_1_is_not_lemma_1_for_caching() -> None:
    """A value that comes twice is one hit more for joining, and none for caching."""
    model, history = Stationary(shares([1, 1])), np.array([0])
    assert joining_ecb([model], 0, [history], 2)[-1] == 1.0
    assert caching_ecb(model, 0, history, 2)[-1] == 0.75
