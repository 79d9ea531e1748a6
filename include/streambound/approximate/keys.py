"""What a stream's join attribute will be: learned from its past, kept as a file, used by ``online``.

A *key* is the text of the attribute values that have to be equal. Its stream is described by the share
that each key has of its tuples, or, where keys are whole numbers that a trend or a walk explains better on
held-out tuples, by the way in which they move around a centre.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Any

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.models.distribution import Distribution
from streambound.approximate.models.file import model_from
from streambound.approximate.models.fitting import KINDS, LEAST_STEPS, TRAINING_SHARE, fit
from streambound.approximate.models.independent import Trend
from streambound.approximate.models.lifetimes import exp
from streambound.approximate.models.markov import RandomWalk
from streambound.approximate.tables import table

# Shares are kept of so many keys: what a model takes must not grow with the stream.
MOST_KEYS = 10_000
# Numbers are looked at for a trend in the last tuples, if they lie so close together.
LATEST = 3_000
WIDEST = 100_000
# The share of tuples that a moving model allows beyond its noise when it is judged.
OUTLIERS = 0.05
MOVING = ("stationary", "uniform-trend", "normal-trend", "walk")


@dataclass(frozen=True)
class KeyModel:
    """The keys of one stream.

    Args:
        rate: the share of all steps that bring a tuple of this stream.
        tuples: how many were learned from.
        frequencies: of its tuples, by key.
        rest: the share of any one key that is not among them.
        moving: a trend or a walk as ``models.file`` writes it; None where frequencies explain the keys too.
        centre: where it was after the last tuple.
        held_out: the mean log probability of a held-out tuple; None if there were none.
    """

    rate: float
    tuples: int
    frequencies: Mapping[str, float] = field(metadata={"written": "shares"})
    rest: float
    moving: Mapping[str, Any] | None = None
    centre: float = 0.0
    held_out: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        body = {**vars(self), "frequencies": dict(self.frequencies)}
        return {"shares" if name == "frequencies" else name: value for name, value in body.items()}

    @classmethod
    def of_json(cls, body: Mapping[str, Any]) -> KeyModel:
        """The model in an object that ``to_json`` made."""
        return cls(**{"frequencies" if name == "shares" else name: value for name, value in body.items()})

    def likelihood(self, keys: Sequence[str], numbers: Integers | None = None) -> float | None:
        """The mean log probability of tuples that follow those learned from; None if there are none."""
        if not len(keys):
            return None
        if self.moving is None or numbers is None:
            return sum(log(self.frequencies.get(key, self.rest)) for key in keys) / len(keys)
        return float(np.mean(np.log(_probabilities(self.step(), self.centre, numbers))))

    def followed(self, numbers: Integers | None) -> KeyModel:
        """The model after these tuples: its centre has moved with them, and nothing is learned."""
        if self.moving is None or numbers is None:
            return self
        step, centre = self.step(), self.centre
        for number in numbers:
            centre += step.drift
            centre += step.gain * (float(number) - centre)
        return replace(self, centre=centre)

    def step(self) -> Drift:
        """How the centre moves."""
        assert self.moving is not None
        model = model_from(self.moving)
        if isinstance(model, RandomWalk):
            return Drift(float(model.drift), 1.0, model.noise)
        assert isinstance(model, Trend)
        # As fast as a mean over a hundred tuples: the centre follows a trend whose slope was misjudged.
        return Drift(model.slope, 0.01, model.noise)


@dataclass(frozen=True)
class Drift:
    """How a centre moves with each tuple: by ``drift``, then by ``gain`` of what it is off."""

    drift: float
    gain: float
    noise: Distribution


def learn(keys: Sequence[str], rate: float, numbers: Integers | None = None) -> KeyModel:
    """The model of a stream's past.

    Args:
        keys: of its tuples, oldest first.
        rate: the share of all steps that are its.
        numbers: the keys as whole numbers, where they are such.
    """
    cut = max(int(len(keys) * TRAINING_SHARE), 1)
    frequencies = _model_of_shares(keys[:cut], rate).likelihood(keys[cut:])
    key_model = _model_of_shares(keys, rate, frequencies)
    if numbers is None or len(numbers) < LEAST_STEPS or not _in_narrow_band(numbers[-LATEST:]):
        return key_model
    latest = numbers[-LATEST:]
    kind = fit(latest, MOVING).kind
    cut = max(int(len(latest) * TRAINING_SHARE), 2)
    early = _moving(key_model, kind, latest[:cut])
    if early is None or frequencies is None:
        return key_model
    held_out = early.likelihood(keys[-len(latest) :][cut:], latest[cut:])
    if held_out is None or held_out <= frequencies:
        return key_model
    return replace(_moving(key_model, kind, latest) or early, held_out=held_out)


def _moving(key_model: KeyModel, kind: str, numbers: Integers) -> KeyModel | None:
    """The model with a trend or a walk; None if the kind is none or does not fit."""
    model = KINDS[kind](numbers)
    if isinstance(model, RandomWalk):
        return replace(key_model, moving=_model_json(model), centre=float(numbers[-1]))
    if isinstance(model, Trend):
        centre = model.slope * (len(numbers) - 1) + model.intercept
        return replace(key_model, moving=_model_json(model), centre=centre)
    return None


def _model_of_shares(keys: Sequence[str], rate: float, held_out: float | None = None) -> KeyModel:
    """Shares with half an observation more for each key, and for one that has not been seen."""
    counts = Counter(keys)
    kept = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_KEYS]
    total = len(keys) + 0.5 * (len(counts) + 1)
    left = total - sum(count + 0.5 for _, count in kept)
    rest = left / (max(len(counts) - len(kept), 0) + 1)
    chances = {key: (count + 0.5) / total for key, count in kept}
    return KeyModel(rate, len(keys), chances, rest / total, held_out=held_out)


def _in_narrow_band(numbers: Integers) -> bool:
    """Whether the numbers lie in a band that tables can hold, once a line is taken off."""
    time = np.arange(len(numbers), dtype=np.float64)
    rest = numbers - np.polyval(np.polyfit(time, numbers.astype(np.float64), 1), time)
    return bool(np.ptp(rest) < WIDEST and np.abs(np.diff(numbers)).max(initial=0) < WIDEST)


def _model_json(model: Trend | RandomWalk) -> dict[str, Any]:
    """As ``models.file`` reads it; noise as probabilities."""
    noise = {"low": model.noise.low, "probability": [float(p) for p in model.noise.probability]}
    if isinstance(model, RandomWalk):
        return {"kind": "walk", "drift": model.drift, "noise": noise}
    return {"kind": "trend", "slope": model.slope, "noise": noise}


def _probabilities(step: Drift, centre: float, numbers: Integers) -> Floats:
    """The probability of each number, given those before it.

    A number beyond the noise must not make all others count for nothing: a part of the probability lies
    evenly in a band some times as wide.
    """
    probabilities = np.empty(len(numbers))
    beyond = OUTLIERS / (10 * len(step.noise.probability))
    for at, number in enumerate(numbers):
        centre += step.drift
        probabilities[at] = (1 - OUTLIERS) * step.noise.of(int(np.rint(number - centre))) + beyond
        centre += step.gain * (number - centre)
    return probabilities


def benefits(model: KeyModel, alpha: float) -> tuple[int, Floats]:
    """H with L^exp by distance from the centre: the distance of the first, and all (Corollary 5, Theorem 5).

    Args:
        alpha: in steps; the stream brings a tuple in ``rate`` of them.
    """
    assert model.moving is not None
    moving = model_from(model.moving)
    lifetime = exp(max(alpha * model.rate, 0.05))
    reach = 1
    if isinstance(moving, Trend):
        horizon = lifetime.horizon or 1
        reach = int(min(abs(moving.slope) * horizon, WIDEST)) + len(moving.noise.probability)
        moving = Trend(moving.slope, 0.0, moving.noise)
    made = table(moving, np.zeros(1, np.int64), lifetime, (-reach, reach), first=False)
    return int(made.shift[0]), made.cells[-1, made.row[0]]
