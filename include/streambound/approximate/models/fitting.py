"""Fit stream models to what was observed: maximum likelihood, and the choice by held-out likelihood.

Every kind is fitted to the first part of the values, and judged by the log probability that it gives to the
rest, step by step. The best is fitted again to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.models.distribution import Distribution, normal, uniform
from streambound.approximate.models.independent import Stationary, Trend
from streambound.approximate.models.markov import Autoregression, RandomWalk, ar1, chain_from
from streambound.approximate.models.model import Model
from streambound.errors import DataError

LEAST_STEPS = 20
TRAINING_SHARE = 0.7
MOST_JUDGED = 500


@dataclass(frozen=True)
class Fitted:
    """The model that was chosen.

    Args:
        kind: its name in ``KINDS``.
        held_out: of every kind that could be fitted, the mean log probability of a held-out value.
    """

    model: Model
    kind: str
    held_out: dict[str, float]


def fit(values: Integers, kinds: Sequence[str] | None = None) -> Fitted:
    """The model of the largest held-out likelihood.

    Args:
        kinds: which to try; all by default.

    Raises:
        DataError: there are too few values, or a kind is unknown.
    """
    if len(values) < LEAST_STEPS:
        raise DataError(
            f"a model cannot be fitted to {len(values)} steps",
            accepted=f"{LEAST_STEPS} steps or more",
            fix="give a longer warm-up, or a model",
        )
    if unknown := set(kinds or ()) - set(KINDS):
        raise DataError(f"there is no kind of model {sorted(unknown)[0]!r}", accepted=", ".join(KINDS))
    cut = max(int(len(values) * TRAINING_SHARE), 2)
    end = min(len(values), cut + MOST_JUDGED)
    held_out: dict[str, float] = {}
    trained: dict[str, Model] = {}
    for kind in kinds or KINDS:
        model = KINDS[kind](values[:cut])
        if model is not None:
            trained[kind] = model
            held_out[kind] = model.log_likelihood(values[:end], cut) / (end - cut)
    if not held_out:
        raise DataError("no model can be fitted: the values span too wide a range", accepted=", ".join(KINDS))
    # Of equals the first: the kinds are listed from the simplest on.
    best = max(held_out, key=lambda kind: held_out[kind])
    # A kind that fitted the first part need not fit the whole, for instance where it has come to a stop.
    return Fitted(KINDS[best](values) or trained[best], best, held_out)


def _stationary(values: Integers) -> Model | None:
    span = int(values.max() - values.min())
    if span > 1_000_000:
        return None
    # Half an observation of each value, also of those somewhat beyond the ends.
    more = span // 10 + 1
    counts = np.bincount(values - values.min() + more, minlength=span + 1 + 2 * more) + 0.5
    return Stationary(Distribution(int(values.min()) - more, counts / counts.sum()))


def _uniform_trend(values: Integers) -> Model | None:
    """The narrowest band: the maximum likelihood of uniform noise is Chebyshev's line."""
    from scipy.optimize import linprog

    time = np.arange(len(values), dtype=np.float64)
    ones = np.ones(len(values))
    above = np.column_stack([time, ones, -ones])
    below = np.column_stack([-time, -ones, -ones])
    solution = linprog(
        [0, 0, 1],
        A_ub=np.r_[above, below],
        b_ub=np.r_[values, -values],
        bounds=[(None, None), (None, None), (0, None)],
    )
    if not solution.success:
        return None
    slope = _snapped(solution.x[0], len(values))
    rest = values - slope * time
    intercept = float((rest.max() + rest.min()) / 2)
    center = Trend(slope, intercept, uniform(0)).center(np.arange(len(values)))
    return Trend(slope, intercept, uniform(int(np.abs(values - center).max())))


def _normal_trend(values: Integers) -> Model | None:
    time = np.arange(len(values), dtype=np.float64)
    slope, intercept = (float(part) for part in np.polyfit(time, values, 1))
    error = float((values - slope * time - intercept).std() / (time.std() * np.sqrt(len(values))))
    slope = _snapped(slope, len(values), error)
    rest = values - slope * time
    intercept, deviation = float(rest.mean()), float(rest.std())
    if deviation == 0:
        return None
    center = Trend(slope, intercept, uniform(0)).center(np.arange(len(values)))
    # The largest noise that was seen, and a deviation more for what has not been seen yet.
    bound = int(np.ceil(np.abs(values - center).max() + deviation))
    return Trend(slope, intercept, normal(deviation, bound))


def _snapped(slope: float, steps: int, error: float = 0.0) -> float:
    """A slope that the data do not tell from a whole number is that number."""
    return float(round(slope)) if abs(slope - round(slope)) < 1.0 / steps + 2 * error else slope


def _fitted_random_walk(values: Integers) -> Model | None:
    moves = np.diff(values)
    drift = round(float(moves.mean()))
    if moves.std() == 0:
        return None
    return RandomWalk(drift, normal(float(moves.std()), mean=float(moves.mean()) - drift), int(values[0]))


def _ar1(values: Integers) -> Model | None:
    """Conditional maximum likelihood; statsmodels' estimate is least squares, as it is for normal noise."""
    from statsmodels.tsa.ar_model import AutoReg

    if values.std() == 0:
        return None
    fitted = AutoReg(values.astype(np.float64), 1).fit()
    phi0, phi1 = fitted.params
    deviation = float(np.sqrt(fitted.sigma2))
    return ar1(float(phi0), float(phi1), deviation) if abs(phi1) < 1 and deviation > 0 else None


def _seasonal(values: Integers) -> Model | None:
    """Two harmonics of the strongest period, and an AR(1) around them."""
    if len(values) < 40 or values.std() == 0:
        return None
    wave = np.abs(np.fft.rfft(values - values.mean()))
    # At least two whole periods must have been seen.
    peak = 2 + int(wave[2:].argmax())
    period = round(len(values) / peak)
    if period < 3:
        return None
    means = _harmonics(values, period)
    rest = values - means[np.arange(len(values)) % period]
    phi = float((rest[1:] @ rest[:-1]) / (rest[:-1] @ rest[:-1]))
    deviation = float((rest[1:] - phi * rest[:-1]).std())
    return Autoregression(phi, deviation, means) if abs(phi) < 1 and deviation > 0 else None


def _harmonics(values: Integers, period: int) -> Floats:
    def harmonics(time: Integers) -> Floats:
        angle = 2 * np.pi * np.outer(time, [1, 2]) / period
        return np.column_stack([np.ones(len(time)), np.sin(angle), np.cos(angle)])

    weights = np.linalg.lstsq(harmonics(np.arange(len(values))), values, rcond=None)[0]
    return np.asarray(harmonics(np.arange(period)) @ weights, np.float64)


def _chain(values: Integers) -> Model | None:
    return chain_from(values) if values.max() - values.min() < 500 else None


KINDS: dict[str, Callable[[Integers], Model | None]] = {
    "stationary": _stationary,
    "uniform-trend": _uniform_trend,
    "normal-trend": _normal_trend,
    "walk": _fitted_random_walk,
    "ar1": _ar1,
    "chain": _chain,
    "seasonal-ar": _seasonal,
}
