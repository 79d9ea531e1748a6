"""Models of a stream's keys: shares, trends and walks, what they expect, and that a drift is seen."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.simulator.heeb import heeb

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.keys import MOST_KEYS, KeyModel, benefits, learn
from streambound.approximate.models.file import model_from
from streambound.approximate.models.independent import Trend
from streambound.approximate.models.lifetimes import exp


def texts(numbers: Integers) -> list[str]:
    return [f"[{n}]" for n in numbers.tolist()]


def trend(steps: int, slope: float, seed: int = 1) -> Integers:
    draws = np.random.default_rng(seed)
    return np.floor(slope * np.arange(steps) + 0.5).astype(np.int64) + draws.integers(-8, 9, steps)


def test_shares_are_those_of_the_past_and_sum_to_one() -> None:
    model = learn(["[1]"] * 6 + ["[2]"] * 3, 0.5)
    assert (
        model.moving is None
        and model.frequencies["[1]"] == 6.5 / 10.5
        and model.frequencies["[2]"] == 3.5 / 10.5
    )
    assert sum(model.frequencies.values()) + model.rest == pytest.approx(1)


def test_a_model_does_not_grow_with_the_number_of_keys() -> None:
    model = learn([f"[{n}]" for n in range(3 * MOST_KEYS)], 0.5)
    assert len(model.frequencies) == MOST_KEYS


def test_few_keys_drawn_alike_are_told_by_their_shares() -> None:
    numbers = np.random.default_rng(0).integers(0, 5, 2_000)
    assert learn(texts(numbers), 0.5, numbers).moving is None


@pytest.mark.parametrize("slope", [1.0, 0.4])
def test_a_trend_is_seen_and_followed(slope: float) -> None:
    numbers = trend(4_000, slope)
    model = learn(texts(numbers[:3_000]), 0.5, numbers[:3_000])
    assert model.moving is not None and model.moving["kind"] == "trend"
    assert model.moving["slope"] == pytest.approx(slope, abs=0.01)
    assert model.centre == pytest.approx(slope * 2_999, abs=2)
    later = model.likelihood(texts(numbers[3_000:]), numbers[3_000:])
    assert later is not None and model.held_out is not None and abs(later - model.held_out) < 0.5


def test_a_walk_is_seen() -> None:
    numbers = np.cumsum(np.rint(np.random.default_rng(2).normal(0, 3, 3_000))).astype(np.int64)
    model = learn(texts(numbers), 0.5, numbers)
    assert model.moving is not None and model.moving["kind"] == "walk" and model.centre == numbers[-1]


def test_a_changed_trend_lowers_the_likelihood() -> None:
    before = trend(3_000, 1.0)
    model = learn(texts(before), 0.5, before)
    on, changed = trend(500, 1.0, 5) + 3_000, trend(500, -2.0, 5) + 3_000
    same, other = (model.likelihood(texts(values), values) for values in (on, changed))
    assert same is not None and other is not None and model.held_out is not None
    assert abs(same - model.held_out) < 0.5
    assert other < model.held_out - 2


def test_numbers_far_apart_are_taken_for_names() -> None:
    numbers = np.random.default_rng(3).integers(0, 1 << 60, 500)
    assert learn(texts(numbers), 0.5, numbers).moving is None


@pytest.mark.parametrize("slope", [1.0, 0.4])
def test_benefits_are_heeb_of_the_streams_own_steps(slope: float) -> None:
    numbers = trend(3_000, slope)
    model = learn(texts(numbers), 0.5, numbers)
    low, cells = benefits(model, 20.0)
    assert model.moving is not None
    found = model_from(model.moving)
    assert isinstance(found, Trend)
    still = Trend(found.slope, 0.0, found.noise)
    for distance in range(low, low + len(cells)):
        defined = heeb(still, distance, np.zeros(1, np.int64), exp(20.0 * 0.5), first=False)
        assert cells[distance - low] == pytest.approx(defined, abs=1e-9)


def test_a_model_is_read_back_as_it_was() -> None:
    numbers = trend(1_000, 1.0)
    for model in (learn(texts(numbers), 0.5, numbers), learn(["[1]"], 0.1), learn([], 0.0)):
        assert KeyModel.of_json(json.loads(json.dumps(model.to_json()))) == model
