"""Stream models: what they say of the future is exact, and is what they sample."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.approximate.models import any_model, chains, stationaries, trends

from streambound.approximate.models.distribution import Distribution, normal, uniform
from streambound.approximate.models.independent import Stationary, Trend
from streambound.approximate.models.markov import Autoregression, Chain, RandomWalk, ar1, chain_from
from streambound.approximate.models.model import Model
from streambound.errors import DataError
from streambound.simulator.configurations import CONFIGURATIONS


def history_of(model: Model, steps: int, seed: int) -> np.ndarray:
    """A course that the model may have taken."""
    values = getattr(model, "values", None)
    count = steps if values is None else min(steps, len(values))
    return model.sample(count, np.random.default_rng(seed))


@given(model=any_model, steps=st.integers(0, 5), seed=st.integers(0, 9))
def test_every_step_ahead_is_a_distribution(model: Model, steps: int, seed: int) -> None:
    history = history_of(model, steps, seed)
    for found in itertools.islice(model.ahead(history), 4):
        assert (found.probability >= 0).all()
        known_end = hasattr(model, "values") and found.probability.sum() == 0
        assert known_end or found.probability.sum() == pytest.approx(1, abs=1e-12)


@given(
    model=st.one_of(stationaries, trends, chains()),
    value=st.integers(-3, 5),
    steps=st.integers(0, 3),
    seed=st.integers(0, 9),
)
def test_gains_are_sums_over_all_courses(model: Model, value: int, steps: int, seed: int) -> None:
    history = history_of(model, steps, seed)
    met, first = np.zeros(3), np.zeros(3)
    # Every course of three steps, with its probability as the model gives it step by step.
    courses = [(1.0, history)]
    for step in range(3):
        longer = []
        for chance, course in courses:
            now = next(model.ahead(course))
            for other, p in zip(range(now.low, now.high + 1), now.probability, strict=True):
                if chance * p > 0:
                    longer.append((chance * p, np.append(course, other)))
        courses = longer
        met[step] = sum(chance for chance, course in courses if course[-1] == value)
        first[step] = sum(
            chance
            for chance, course in courses
            if course[-1] == value and value not in course[len(history) : -1]
        )
    assert model.gains(value, history, 3) == pytest.approx(met, abs=1e-12)
    assert model.first_gains(value, history, 3) == pytest.approx(first, abs=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        Trend(0.5, 3, uniform(3)),
        RandomWalk(1, normal(1.5)),
        ar1(2.0, 0.7, 2.0),
        Autoregression(0.5, 1.5, np.array([0.0, 5.0, 10.0, 5.0])),
        Stationary(Distribution(1, np.array([0.5, 0.25, 0.0, 0.0, 0.25]))),
        Chain(0, np.array([[0.1, 0.9], [0.6, 0.4]]), 0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_samples_are_as_the_model_says(model: Model) -> None:
    """Of 4,000 courses, the shares of the values at step 5 are within 4 standard deviations."""
    draws = np.random.default_rng(5)
    last = np.array([model.sample(6, draws)[-1] for _ in range(4000)])
    said = next(itertools.islice(model.ahead(np.array([], np.int64)), 5, None))
    for value in range(said.low, said.high + 1):
        chance = said.of(value)
        sigma = np.sqrt(max(chance * (1 - chance), 1e-9) / 4000)
        assert abs((last == value).mean() - chance) < 4 * sigma + 1e-3


@given(deviation=st.floats(0.3, 20), width=st.integers(1, 40))
def test_bounded_normal_is_symmetric_and_bounded(deviation: float, width: int) -> None:
    found = normal(deviation, width)
    assert (found.low, found.high) == (-width, width)
    assert found.probability == pytest.approx(found.probability[::-1], rel=1e-9)
    assert found.probability.sum() == pytest.approx(1)


@given(values=st.lists(st.integers(-2, 3), min_size=2, max_size=40))
def test_chain_from_counts_gives_its_data_a_chance(values: list[int]) -> None:
    found = chain_from(np.array(values))
    assert found.matrix.sum(axis=1) == pytest.approx(1)
    assert found.log_likelihood(np.array(values), 1) > -np.inf


@settings(max_examples=20)
@given(seed=st.integers(0, 99))
def test_the_true_model_is_likelier_than_another(seed: int) -> None:
    true, other = ar1(1.0, 0.8, 1.5), ar1(1.0, 0.1, 1.5)
    values = true.sample(300, np.random.default_rng(seed))
    assert true.log_likelihood(values) > other.log_likelihood(values)


def test_configurations_are_those_of_section_6() -> None:
    r, s = CONFIGURATIONS["tower"]()
    assert next(r.ahead(np.zeros(5, np.int64))).mean == pytest.approx(4)
    assert next(s.ahead(np.zeros(5, np.int64))).mean == pytest.approx(5)
    for name, bounds in [("roof", (10, 15)), ("floor", (10, 15))]:
        for model, bound in zip(CONFIGURATIONS[name](), bounds, strict=True):
            assert (model.noise.low, model.noise.high) == (-bound, bound)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ar1(0, 1.0, 1), "phi1 is 1.0"),
        (lambda: normal(0), "the standard deviation is 0"),
        (lambda: uniform(-1), "the width is -1"),
        (lambda: Autoregression(0.5, 0), "needs a deviation above 0"),
    ],
)
def test_a_model_that_is_none(make, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make()
