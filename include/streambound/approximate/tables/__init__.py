"""HEEB precomputed: H of every value a policy may ask for, as a table that a kernel looks up.

H depends on the model's *row* (for a chain: the last value; Theorem 5's h2) and on the *offset* of the value
from the model's centre (a trend's f(t), a walk's position; Corollary 5 and Theorem 5's h1). With a sliding
window it depends on the steps that are left as well. Every table equals ``heeb`` within 1e-9.
"""

from __future__ import annotations

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.models.independent import Deterministic, Stationary, Trend
from streambound.approximate.models.lifetimes import Lifetime
from streambound.approximate.models.markov import Autoregression, Chain, RandomWalk
from streambound.approximate.models.model import Model
from streambound.approximate.tables.cells import Table
from streambound.approximate.tables.chain import as_chain, chain
from streambound.approximate.tables.independent import deterministic, trend
from streambound.approximate.tables.random_walk import random_walk
from streambound.approximate.tables.seasonal import seasonal
from streambound.approximate.tables.surface import control_points, interpolated
from streambound.errors import DataError

__all__ = ["Table", "control_points", "interpolated", "table"]


def table(
    model: Model,
    observed: Integers,
    lifetime: Lifetime,
    values: tuple[int, int],
    *,
    first: bool,
    window: int | None = None,
) -> Table:
    """The table of a model.

    Args:
        observed: the stream itself: after step t it is known up to t.
        values: the least and the largest value that will be asked for.
        first: whether only the first meeting counts (caching).
        window: section 7's; None if there is none.

    Raises:
        DataError: L does not converge, or the table would be too large.
    """
    match model:
        case Trend():
            return trend(model, len(observed), lifetime, values, first, window)
        case Stationary():
            still = Trend(0, 0, model.distribution)
            return trend(still, len(observed), lifetime, values, first, window)
        case RandomWalk():
            return random_walk(model, observed, lifetime, first, window)
        case Chain():
            return chain(model, observed, lifetime, first, window)
        case Autoregression() if len(model.means) == 1:
            return chain(as_chain(model, observed, values), observed, lifetime, first, window)
        case Autoregression():
            return seasonal(model, observed, lifetime, values, first, window)
        case Deterministic():
            return deterministic(model, len(observed), lifetime, values, first, window)
    raise DataError(
        f"HEEB has no table for {type(model).__name__}",
        accepted="known, stationary, trend, walk, AR(1), seasonal AR(1), chain",
    )
