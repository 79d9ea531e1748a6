"""Small random models of every kind."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from streambound.approximate.models.distribution import Distribution, normal, uniform
from streambound.approximate.models.independent import Deterministic, Stationary, Trend
from streambound.approximate.models.markov import Autoregression, Chain, RandomWalk, ar1
from streambound.approximate.models.model import Model

noises = st.one_of(
    st.integers(0, 4).map(uniform),
    st.tuples(st.floats(0.4, 3.0), st.integers(1, 6)).map(lambda pair: normal(*pair)),
    st.lists(st.integers(0, 4), min_size=1, max_size=6).map(
        lambda counts: Distribution(-2, (np.array(counts) + 0.01) / (np.array(counts) + 0.01).sum())
    ),
)
knowns = st.lists(st.integers(-3, 3), min_size=1, max_size=30).map(lambda v: Deterministic(np.array(v)))
stationaries = noises.map(Stationary)
trends = st.builds(
    Trend, st.sampled_from([1, 1, 2, -1, 0, 0.5, 0.3, -1.7]), st.sampled_from([0, -1, 2.5]), noises
)
walks = st.builds(RandomWalk, st.integers(-2, 2), noises, st.integers(-2, 2))


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """A chain over a few values; some transitions are impossible."""
    size = draw(st.integers(1, 5))
    rows = draw(
        st.lists(st.lists(st.integers(0, 3), min_size=size, max_size=size), min_size=size, max_size=size)
    )
    matrix = np.array(rows, float)
    matrix[matrix.sum(axis=1) == 0] = 1
    return Chain(draw(st.integers(-3, 1)), matrix / matrix.sum(axis=1, keepdims=True), 0)


autoregressions = st.builds(ar1, st.floats(-2, 2), st.floats(-0.8, 0.9), st.floats(0.5, 2.0))
seasonals = st.builds(
    Autoregression,
    st.floats(-0.8, 0.9),
    st.floats(0.5, 2.0),
    st.lists(st.floats(-3, 3), min_size=2, max_size=5).map(np.array),
)
any_model: st.SearchStrategy[Model] = st.one_of(
    knowns, stationaries, trends, walks, chains(), autoregressions, seasonals
)
