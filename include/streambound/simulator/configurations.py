"""The configurations of section 6.1: two models each, for R and for S."""

from __future__ import annotations

from streambound.approximate.models.distribution import normal, uniform
from streambound.approximate.models.independent import Trend
from streambound.approximate.models.markov import RandomWalk
from streambound.approximate.models.model import Model

R_BOUND, S_BOUND = 10, 15


def tower() -> tuple[Model, Model]:
    """Trend of speed 1, R one step behind S, narrow bounded normal noise."""
    return Trend(1, -1, normal(1.0, R_BOUND)), Trend(1, 0, normal(2.0, S_BOUND))


def roof() -> tuple[Model, Model]:
    """The same with wide noise."""
    return Trend(1, -1, normal(3.3, R_BOUND)), Trend(1, 0, normal(5.0, S_BOUND))


def floor() -> tuple[Model, Model]:
    """The same with uniform noise."""
    return Trend(1, -1, uniform(R_BOUND)), Trend(1, 0, uniform(S_BOUND))


def random_walks() -> tuple[Model, Model]:
    """Two random walks from 0 without drift, steps of variance 1."""
    return RandomWalk(0, normal(1.0)), RandomWalk(0, normal(1.0))


CONFIGURATIONS = {"tower": tower, "roof": roof, "floor": floor, "walk": random_walks}
