"""HEEB: every optimisation equals the plain sum, Theorems 4 and 5, section 7's example, the policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.approximate.models import any_model, chains, knowns, stationaries, trends, walks
from tests.approximate.test_models import history_of
from tests.simulator.definitions import by_score
from tests.simulator.dominance import dominates, strongly_dominates
from tests.simulator.heeb import backward, forward, heeb

from streambound.approximate.models.distribution import Distribution, uniform
from streambound.approximate.models.independent import Deterministic, Stationary, Trend
from streambound.approximate.models.lifetimes import Lifetime, alpha_for, exp
from streambound.approximate.models.markov import Autoregression, ar1
from streambound.approximate.models.model import Independent, Model
from streambound.approximate.tables import control_points, interpolated, table
from streambound.approximate.tables.seasonal import season_of
from streambound.errors import DataError
from streambound.simulator.configurations import CONFIGURATIONS
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import JoiningDecisions
from streambound.simulator.policies import NAMED
from streambound.simulator.policies.heeb_adaptive import grid
from streambound.simulator.problems import references, streams

CLOSE = 1e-9
sequences = st.lists(st.integers(-3, 3), min_size=12, max_size=12).map(lambda v: Deterministic(np.array(v)))
alphas = st.floats(0.4, 6.0)
lifetimes = st.one_of(alphas.map(exp), st.integers(1, 12).map(lambda steps: Lifetime("fixed", steps)))


@pytest.mark.theorem
@settings(max_examples=settings.default.max_examples * 3 // 2)
@given(
    model=any_model,
    lifetime=lifetimes,
    first=st.booleans(),
    steps=st.integers(1, 6),
    value=st.integers(-6, 9),
    seed=st.integers(0, 9),
)
def test_theorem_5_tables_equal_the_definition(
    model: Model, lifetime: Lifetime, first: bool, steps: int, value: int, seed: int
) -> None:
    observed = history_of(model, steps, seed)
    made = table(model, observed, lifetime, (-6, 9), first=first)
    for step in range(len(observed)):
        said = heeb(model, value, observed[: step + 1], lifetime, first=first)
        assert made.at(step, value) == pytest.approx(said, abs=CLOSE)


@settings(max_examples=settings.default.max_examples * 3 // 2)
@given(
    model=st.one_of(any_model, knowns),
    lifetime=lifetimes,
    window=st.integers(1, 6),
    steps=st.integers(1, 5),
    value=st.integers(-6, 9),
    seed=st.integers(0, 9),
)
def test_windowed_tables_equal_the_definition(
    model: Model, lifetime: Lifetime, window: int, steps: int, value: int, seed: int
) -> None:
    observed = history_of(model, steps, seed)
    made = table(model, observed, lifetime, (-6, 9), first=False, window=window)
    for step in range(len(observed)):
        for left in range(window + 1):
            said = heeb(model, value, observed[: step + 1], lifetime, first=False, steps=left)
            assert made.at(step, value, left) == pytest.approx(said, abs=CLOSE)


@pytest.mark.theorem
@given(
    model=st.one_of(knowns, stationaries, trends),
    alpha=alphas,
    value=st.integers(-4, 6),
    step=st.integers(0, 5),
    first=st.booleans(),
)
def test_corollaries_3_and_4(model: Independent, alpha: float, value: int, step: int, first: bool) -> None:
    before = heeb(model, value, np.zeros(step + 1, np.int64), exp(alpha), first=first)
    after = heeb(model, value, np.zeros(step + 2, np.int64), exp(alpha), first=first)
    met = model.at(step + 1).of(value)
    assert backward(after, met, alpha, first=first) == pytest.approx(before, abs=CLOSE)
    if not first or met < 0.99:
        assert forward(before, met, alpha, first=first) == pytest.approx(after, abs=1e-7)


@pytest.mark.theorem
@given(
    slope=st.sampled_from([1, 2, -1]),
    noise=st.integers(0, 4).map(uniform),
    value=st.integers(-5, 5),
    step=st.integers(0, 4),
    later=st.integers(0, 5),
    first=st.booleans(),
)
def test_corollary_5(slope: int, noise: Distribution, value: int, step: int, later: int, first: bool) -> None:
    model = Trend(slope, 0, noise)
    terms = Trend.first_gains if first else Trend.gains
    now = terms(model, value, np.zeros(step + 1, np.int64), 12)
    # Its value at a later step, where it has the ECB that it has now.
    moved = value + slope * later
    assert (terms(model, moved, np.zeros(step + 1 + later, np.int64), 12) == now).all()


@given(noise=st.integers(0, 6).map(uniform), alpha=alphas, first=st.booleans())
def test_value_incremental_equals_the_definition(noise: Distribution, alpha: float, first: bool) -> None:
    model = Trend(1, 0, noise)
    # By Corollary 5 a tuple is a step later where the one below it is now; the lowest is met never again.
    h = 0.0
    for at, probability in enumerate((*noise.probability, 0.0)):
        said = heeb(model, noise.low + at, np.zeros(1, np.int64), exp(alpha), first=first)
        assert h == pytest.approx(said, abs=CLOSE)
        h = backward(h, probability, alpha, first=first)


def test_forward_rounding_grows_and_backward_does_not() -> None:
    """Against exact fractions. Probabilities change: with one alone, a sum may round to itself for ever."""
    alpha, probabilities = 1.7, [0.3, 0.2, 0.7, 0.1] * 30
    exact = [Fraction(1, 3)]
    for probability in reversed(probabilities):
        exact.append((exact[-1] + Fraction(probability)) / Fraction(math.exp(1 / alpha)))
    last, first = exact[0], exact[-1]
    there, back = float(first), float(last)
    for probability in probabilities:
        there = forward(there, probability, alpha, first=False)
    for probability in reversed(probabilities):
        back = backward(back, probability, alpha, first=False)
    assert abs(back - first) <= 1e-15
    assert abs(there - last) > 1e-9, "if this ever fails, the warning in forward() can go"


@given(above=st.booleans(), alpha=st.floats(0.4, 1.7), probability=st.floats(0.01, 0.5))
@example(above=True, alpha=1.7, probability=0.3)
@example(above=False, alpha=1.7, probability=0.3)
def test_forward_leaves_a_sum_of_one_probability_and_backward_returns_to_it(
    above: bool, alpha: float, probability: float
) -> None:
    """From a little beside it: how a machine rounds decides whether forward stays where it begins."""
    model = Stationary(Distribution(0, np.array([probability, 1 - probability])))
    said = heeb(model, 0, np.zeros(1, np.int64), exp(alpha), first=False)
    there = back = said * (1 + (1e-14 if above else -1e-14))
    for _ in range(120):
        there = forward(there, probability, alpha, first=False)
        back = backward(back, probability, alpha, first=False)
    assert back == pytest.approx(said, abs=1e-15)
    assert abs(there - said) > 1e-9


@pytest.mark.theorem
@given(model=stationaries, alpha=alphas, one=st.integers(-4, 4), other=st.integers(-4, 4))
def test_theorem_4_heeb_agrees_with_dominance(model: Model, alpha: float, one: int, other: int) -> None:
    _agrees(model, alpha, one, other)


@pytest.mark.theorem
@given(
    model=st.one_of(trends, walks, chains()),
    alpha=alphas,
    one=st.integers(-5, 7),
    other=st.integers(-5, 7),
)
def test_theorem_4_for_other_models(model: Model, alpha: float, one: int, other: int) -> None:
    _agrees(model, alpha, one, other)


def _agrees(model: Model, alpha: float, one: int, other: int) -> None:
    history, lifetime = np.zeros(1, np.int64), exp(alpha)
    for first in (False, True):
        terms = model.first_gains if first else model.gains
        ecbs = [np.cumsum(terms(value, history, lifetime.horizon or 1)) for value in (one, other)]
        h = [heeb(model, value, history, lifetime, first=first) for value in (one, other)]
        if dominates(*ecbs):
            assert h[0] >= h[1] - 1e-12
        if strongly_dominates(ecbs[0], ecbs[1] + 1e-9):
            assert h[0] > h[1]


@pytest.mark.parametrize("kind", ["inf", "inv"])
@given(model=st.one_of(stationaries, trends), value=st.integers(-3, 3))
def test_inf_and_inv_for_caching(kind: str, model: Independent, value: int) -> None:
    steps = 3_000
    lifetime = Lifetime(kind)
    made = table(model, np.zeros(1, np.int64), lifetime, (-3, 3), first=True)
    said = heeb(model, value, np.zeros(1, np.int64), lifetime, first=True, steps=steps)
    # The table sums on: what it adds is at most the chance that the value was not met till then, times L.
    unmet = math.prod(1 - model.at(step).of(value) for step in range(1, steps + 1))
    further = made.at(0, value) - said
    assert -CLOSE <= further <= unmet * (1 if kind == "inf" else 1 / (steps + 1)) + CLOSE


def test_inf_and_inv_do_not_converge_for_joining() -> None:
    with pytest.raises(DataError, match=r"L\^inf does not converge"):
        table(Stationary(uniform(1)), np.zeros(1, np.int64), Lifetime("inf"), (0, 1), first=False)


@pytest.mark.parametrize(("alpha", "order"), [(0.26, "213"), (10, "213"), (1250, "213"), (0.24, "123")])
def test_the_worked_example_of_section_7(alpha: float, order: str) -> None:
    """p = 0.50, 0.49, 0.01 with 1, 50, 51 steps left: x2, x1, x3 for alpha from about 0.26 to 1,250."""
    h = {}
    for name, p, left in (("1", 0.50, 1), ("2", 0.49, 50), ("3", 0.01, 51)):
        model = Stationary(Distribution(0, np.array([p, 1 - p])))
        h[name] = heeb(model, 0, np.zeros(1, np.int64), exp(alpha), first=False, steps=left)
    assert "".join(sorted(h, key=lambda name: -h[name])) == order


@given(lifetime=st.floats(1.1, 500))
def test_alpha_predicts_its_lifetime(lifetime: float) -> None:
    assert 1 / (1 - math.exp(-1 / alpha_for(lifetime))) == pytest.approx(lifetime)


@pytest.mark.parametrize("window", [None, 4])
@settings(max_examples=25)
@given(data=st.data(), size=st.integers(1, 4), alpha=alphas, seed=st.integers(0, 99))
def test_the_joining_policy_keeps_the_highest_h(
    window: int | None, data: st.DataObject, size: int, alpha: float, seed: int
) -> None:
    kinds = st.one_of(trends, walks, stationaries, chains(), sequences)
    models = [data.draw(kinds) for _ in range(2)]
    rows = [model.sample(12, np.random.default_rng([seed, at])) for at, model in enumerate(models)]
    given_ = streams(*rows, window=window)

    def score(stream: int, born: int, now: int, met: list[tuple[int, int]]) -> float:
        left = None if window is None else max(born + window - now, 0)
        seen = rows[1 - stream][: now + 1]
        value = int(rows[stream][born])
        # Rounded, so that values that are equal but for rounding tie here as they do in a table.
        return round(heeb(models[1 - stream], value, seen, exp(alpha), first=False, steps=left), 12)

    memory = Memory(size, models=tuple(models), alpha=alpha)
    found = NAMED["heeb"].joining(given_, memory)
    results, kept = by_score(given_, size, score)
    _same_but_for_ties(found, kept, results, lambda stream, born, now: score(stream, born, now, []))


def _same_but_for_ties(
    found: JoiningDecisions, kept: np.ndarray, results: list[float], score: Callable[[int, int, int], float]
) -> None:
    """Only a tie may be decided otherwise: then the first difference is between equals."""
    if (found.kept_until == kept).all():
        assert found.results.tolist() == results
        return
    first = np.minimum(kept, found.kept_until)
    now = int(first[found.kept_until != kept].min())
    here = [(s, born) for s in range(2) for born in range(now + 1) if kept[s, born] >= now]
    scores = sorted(score(*each, now) for each in here)
    assert any(b - a < 1e-9 for a, b in pairwise(scores))


@pytest.mark.parametrize("window", [None, 8])
@settings(max_examples=60)
@given(data=st.data(), size=st.integers(1, 4), alpha=alphas, seed=st.integers(0, 99))
def test_the_adaptive_policy_takes_alpha_from_the_lifetimes_it_has_seen(
    window: int | None, data: st.DataObject, size: int, alpha: float, seed: int
) -> None:
    kinds = st.one_of(trends, walks, stationaries, sequences)
    models = [data.draw(kinds) for _ in range(2)]
    rows = [model.sample(12, np.random.default_rng([seed, at])) for at, model in enumerate(models)]
    given_ = streams(*rows, window=window)
    lifetime, seen = [1 / (1 - math.exp(-1 / alpha))], float(size)
    departed: list[list[int]] = [[] for _ in range(given_.steps)]

    def alpha_at(now: int) -> float:
        # What has left after each step before this one, cached for a step at least.
        nonlocal seen
        while len(lifetime) <= now:
            ages = departed[len(lifetime) - 1]
            seen = min(seen + len(ages), 20.0 * size)
            before = lifetime[-1]
            lifetime.append(before + (sum(ages) - len(ages) * before) / seen if ages else before)
        return min(grid(size), key=lambda each: abs(math.log2(each) - math.log2(alpha_for(lifetime[now]))))

    def score(stream: int, born: int, now: int, met: list[tuple[int, int]]) -> float:
        left = None if window is None else max(born + window - now, 0)
        seen_by, value = rows[1 - stream][: now + 1], int(rows[stream][born])
        by = exp(alpha_at(now))
        return round(heeb(models[1 - stream], value, seen_by, by, first=False, steps=left), 12)

    found = NAMED["heeb-adaptive"].joining(given_, Memory(size, models=tuple(models), alpha=alpha))
    for stream, born in np.ndindex(*found.kept_until.shape):
        if born < found.kept_until[stream, born] < given_.steps:
            departed[found.kept_until[stream, born]].append(int(found.kept_until[stream, born]) - born)
    results, kept = by_score(given_, size, score)
    _same_but_for_ties(found, kept, results, lambda stream, born, now: score(stream, born, now, []))


def test_bicubic_is_exact_at_its_control_points_and_nearer_with_more_of_them() -> None:
    model = ar1(50.0, 0.72, 42.0)
    exact = table(model, np.arange(100, 280), exp(50), (70, 434), first=True)
    low = int(exact.shift[0])
    inside = slice(70 - low, 434 - low + 1)
    errors = []
    for points in (5, 9, 17, 65, 365):
        smooth = interpolated(exact, (70, 434), points)
        at = control_points((70, 434), points) - low
        assert smooth.cells[0][np.ix_(at, at)] == pytest.approx(exact.cells[0][np.ix_(at, at)], abs=1e-12)
        errors.append(np.abs((smooth.cells - exact.cells)[0][inside, inside]).max())
    assert errors == sorted(errors, reverse=True) and errors[0] > 0.01 and errors[-1] < 1e-12


@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
def test_heeb_runs_on_every_configuration(name: str) -> None:
    models = CONFIGURATIONS[name]()
    draws = np.random.default_rng(1)
    given_ = streams(*(model.sample(2000, draws) for model in models))
    produced = {
        p: NAMED[p].joining(given_, Memory(10, models=models)).results.sum() for p in ("heeb", "rand")
    }
    assert produced["heeb"] > produced["rand"]


def test_heeb_says_what_it_misses() -> None:
    with pytest.raises(DataError, match="heeb needs a model"):
        NAMED["heeb"].caching(references([1, 2]), Memory(1))
    with pytest.raises(DataError, match="a model is over whole numbers"):
        NAMED["heeb"].caching(references(["a"]), Memory(1, models=(Stationary(uniform(1)),)))
    with pytest.raises(DataError, match="there are 1 models for 2 streams"):
        NAMED["heeb"].joining(streams([1], [1]), Memory(1, models=(Stationary(uniform(1)),)))
    seasonal = Autoregression(0.5, 1.0, np.array([0.0, 1.0]))
    with pytest.raises(DataError, match=r"L\^inf has no end with a seasonal model"):
        table(seasonal, np.array([1]), Lifetime("inf"), (0, 1), first=True)


@pytest.mark.parametrize("first", [False, True])
def test_seasonal_tables_of_wide_ranges_equal_the_definition(first: bool) -> None:
    """Between Chebyshev points, of which there are fewer than values."""
    model = Autoregression(0.6, 12.0, np.array([40.0, 72.0, 56.0]))
    observed = np.array([60, 32])
    made = table(model, observed, exp(0.8), (24, 76), first=first)
    season = season_of(model, observed, (24, 76))
    assert season.between.shape[1] < season.between.shape[0] / 3
    for step, value in ((0, 60), (1, 24)):
        said = heeb(model, value, observed[: step + 1], exp(0.8), first=first)
        assert made.at(step, value) == pytest.approx(said, abs=CLOSE)
