"""What a policy may know: the models of its streams, and from them how long each tuple can still join."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.models.file import read_models
from streambound.approximate.models.fitting import fit
from streambound.approximate.models.independent import Trend
from streambound.approximate.models.model import Model
from streambound.errors import DataError, meant
from streambound.simulator.configurations import CONFIGURATIONS
from streambound.simulator.contract import Memory
from streambound.simulator.policies.heeb import whole
from streambound.simulator.problems import References, Streams

FIT = "fit"


def knowing(given: References | Streams, memory: Memory, model: str = FIT) -> Memory:
    """The memory with models: ``fit`` (to the warm-up), a configuration of section 6.1, or a file.

    Raises:
        DataError: there is no such model, or the warm-up is too short to fit one.
    """
    count = 1 if isinstance(given, References) else given.count
    models = _fitted(given, memory.warmup) if model == FIT else _named(model, count)
    if isinstance(given, References):
        return replace(memory, models=models)
    return replace(memory, models=models, expires=value_windows(given, models))


def _fitted(given: References | Streams, warmup: int) -> tuple[Model, ...]:
    values = whole(given.values)
    rows = given.requests[None] if isinstance(given, References) else given.arrivals
    return tuple(fit(values[row[:warmup]]).model for row in rows)


def _named(model: str, count: int) -> tuple[Model, ...]:
    if model in CONFIGURATIONS:
        models = CONFIGURATIONS[model]()
        return models[:1] if count == 1 else models
    if not Path(model).exists() and not Path(model).suffix:
        raise DataError(
            f"the model {model!r} is unknown",
            accepted=f"fit, {', '.join(CONFIGURATIONS)}, a file",
            fix=meant(model, ("fit", *CONFIGURATIONS)),
        )
    return read_models(Path(model))


def value_windows(given: Streams, models: tuple[Model, ...]) -> Integers | None:
    """Shape (streams, steps): the last step at which the partners' noise still reaches each value.

    None where a partner has no bounded noise around a moving trend: then a tuple may always join again.
    """
    if len(models) != given.count or not all(isinstance(each, Trend) and each.slope for each in models):
        return None
    values = whole(given.values)[given.arrivals]
    windows = np.full(values.shape, -1, np.int64)
    for stream, partner in np.argwhere(given.partners):
        model = models[partner]
        assert isinstance(model, Trend)
        windows[stream] = np.maximum(windows[stream], _last_reached(model, values[stream]))
    return windows


def _last_reached(model: Trend, values: Integers) -> Integers:
    """The last step at which a trend's noise reaches each value."""
    edge = model.noise.low if model.slope > 0 else model.noise.high
    # Rounding of the trend moves the step by at most what the trend takes for one value.
    most = int(np.ceil(1 / abs(model.slope))) + 1
    step = np.floor((values - edge - model.intercept) / model.slope).astype(np.int64) + most
    for _ in range(2 * most):
        gap = values - (model.center(step) + edge)
        step = step - (gap * np.sign(model.slope) < 0).astype(np.int64)
    return np.asarray(step, np.int64)
