"""Fitting: the true kind is found, and the parameters are near."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulator.test_known_values import melbourne

from streambound.approximate.models.distribution import Distribution, normal, uniform
from streambound.approximate.models.fitting import KINDS, fit
from streambound.approximate.models.independent import Stationary, Trend
from streambound.approximate.models.markov import Autoregression, RandomWalk, ar1
from streambound.errors import DataError

SEASON = 20 * np.sin(2 * np.pi * np.arange(25) / 25)
TRUE = {
    "stationary": Stationary(Distribution(0, np.array([0.5, 0.2, 0.2, 0.1]))),
    "uniform-trend": Trend(1, -1, uniform(10)),
    "normal-trend": Trend(0.5, 3, normal(3.3, 10)),
    "walk": RandomWalk(1, normal(1.0)),
    "ar1": ar1(6.0, 0.8, 4.0),
    "seasonal-ar": Autoregression(0.4, 2.0, SEASON),
}


@pytest.mark.parametrize("kind", TRUE)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_true_kind_is_chosen(kind: str, seed: int) -> None:
    found = fit(TRUE[kind].sample(600, np.random.default_rng(seed)))
    # A model that contains the true one may do as well: what counts is what it is worth.
    assert found.held_out[kind] >= found.held_out[found.kind] - 0.02
    assert np.isfinite(found.held_out[kind])


def test_parameters_are_near() -> None:
    draws = np.random.default_rng(4)
    trend = KINDS["normal-trend"](TRUE["normal-trend"].sample(800, draws))
    assert isinstance(trend, Trend)
    assert trend.slope == pytest.approx(0.5, abs=0.01) and trend.intercept == pytest.approx(3, abs=1)
    level = KINDS["uniform-trend"](TRUE["uniform-trend"].sample(800, draws))
    assert isinstance(level, Trend)
    assert (level.slope, level.intercept, level.noise.low, level.noise.high) == (1, -1, -10, 10)
    walk = KINDS["walk"](TRUE["walk"].sample(800, draws))
    assert isinstance(walk, RandomWalk) and walk.drift == 1


def test_the_papers_model_of_melbourne() -> None:
    """Section 6.5: X_t = 0.72 X_{t-1} + 5.59 + Y_t, standard deviation 4.22 (here in tenths of a degree)."""
    values = melbourne().values[melbourne().requests]
    found = KINDS["ar1"](values)
    assert isinstance(found, Autoregression)
    assert round(found.phi, 2) == 0.72
    assert round(found.mean(0) * (1 - found.phi) / 10, 2) == 5.59
    assert round(found.deviation / 10, 2) in (4.22, 4.23)


@settings(max_examples=40)
@given(values=st.lists(st.integers(-5, 5), min_size=20, max_size=60))
def test_anything_can_be_fitted(values: list[int]) -> None:
    found = fit(np.array(values))
    assert found.held_out[found.kind] == max(found.held_out.values())


@pytest.mark.parametrize("values", [[7] * 30, list(range(30)), [0, 1] * 20])
def test_degenerate_sequences_have_a_model(values: list[int]) -> None:
    found = fit(np.array(values))
    assert next(found.model.ahead(np.array(values))).probability.sum() == pytest.approx(1)


def test_too_little_to_fit_is_said() -> None:
    with pytest.raises(DataError, match="a model cannot be fitted to 3 steps"):
        fit(np.arange(3))
    with pytest.raises(DataError, match="there is no kind of model 'fourier'"):
        fit(np.arange(30), ["fourier"])
