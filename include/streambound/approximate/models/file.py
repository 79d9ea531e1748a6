"""Models from a YAML file: a list with one model a stream.

``- {kind: trend, slope: 1, intercept: -1, noise: {normal: 1.0, bound: 10}}``; noise is ``{normal: SD}``, with
a bound or without, or ``{uniform: WIDTH}``, or ``{low: LEAST, probability: [p, ...]}``. The other kinds:
``walk`` (drift, noise, start), ``ar1`` (phi0, phi1, deviation), ``stationary`` (probabilities: {value: p}),
``known`` (values).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from streambound.approximate.models.distribution import Distribution, normal, uniform
from streambound.approximate.models.independent import Deterministic, Stationary, Trend
from streambound.approximate.models.markov import RandomWalk, ar1
from streambound.approximate.models.model import Model
from streambound.errors import DataError, meant
from streambound.query.catalog import yaml_document
from streambound.query.column_types import shown


def read_models(path: Path) -> tuple[Model, ...]:
    """The models in a file.

    Raises:
        DataError: naming the model, what was found and what is accepted.
    """
    try:
        document = yaml_document(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError("there is no such file", subject=str(path)) from None
    except RecursionError:
        raise DataError(
            "the file is nested too deeply", subject=str(path), accepted="a list of models"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"the file is no YAML: {str(error).splitlines()[0]}", subject=str(path)) from None
    if not isinstance(document, list) or not document:
        raise DataError("the file is no list", subject=str(path), accepted="a list with one model a stream")
    return tuple(_model(each, f"{path}, model {number}") for number, each in enumerate(document, 1))


def model_from(entry: Mapping[str, Any]) -> Model:
    """The model in one object of such a file.

    Raises:
        DataError: naming what was found and what is accepted.
    """
    return _model(entry, "a model")


def _model(entry: Any, subject: str) -> Model:
    if not isinstance(entry, Mapping) or entry.get("kind") not in KINDS:
        kind = entry.get("kind") if isinstance(entry, Mapping) else entry
        raise DataError(
            f"the kind is {shown(kind)}",
            subject=subject,
            accepted=", ".join(KINDS),
            fix=meant(str(kind), KINDS),
        )
    given = {key: value for key, value in entry.items() if key != "kind"}
    try:
        return KINDS[entry["kind"]](**given)
    except DataError as error:
        raise error.about(subject) from None
    except (TypeError, ValueError) as error:
        raise DataError(f"{entry['kind']}: {error}", subject=subject) from None


def _noise(entry: Mapping[str, Any]) -> Distribution:
    match dict(entry):
        case {"uniform": width, **rest} if not rest:
            return uniform(int(width))
        case {"normal": deviation, **rest} if not set(rest) - {"bound"}:
            return normal(float(deviation), int(rest["bound"]) if "bound" in rest else None)
        case {"low": low, "probability": list(chances), **rest} if not rest and chances:
            return Distribution(int(low), np.array([float(p) for p in chances]))
    raise DataError(
        f"the noise is {dict(entry)}",
        accepted="{uniform: WIDTH}, {normal: SD, bound: WIDTH}, {low: LEAST, probability: [p, ...]}",
    )


def _trend(slope: float, noise: Mapping[str, Any], intercept: float = 0.0) -> Model:
    return Trend(float(slope), float(intercept), _noise(noise))


def _random_walk_model(noise: Mapping[str, Any], drift: int = 0, start: int = 0) -> Model:
    return RandomWalk(int(drift), _noise(noise), int(start))


def _ar1(phi0: float, phi1: float, deviation: float) -> Model:
    return ar1(float(phi0), float(phi1), float(deviation))


def _stationary(probabilities: Mapping[int, float]) -> Model:
    low, high = min(probabilities), max(probabilities)
    chances = np.array([float(probabilities.get(value, 0.0)) for value in range(low, high + 1)])
    if (chances < 0).any() or not chances.sum() > 0:
        raise DataError("the probabilities are negative or all 0", accepted="numbers from 0 on")
    return Stationary(Distribution(low, chances / chances.sum()))


def _deterministic_model(values: list[int]) -> Model:
    return Deterministic(np.array(values, np.int64))


KINDS: dict[str, Callable[..., Model]] = {
    "trend": _trend,
    "walk": _random_walk_model,
    "ar1": _ar1,
    "stationary": _stationary,
    "known": _deterministic_model,
}
