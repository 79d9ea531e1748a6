"""HEEB (section 4.3): the expected benefit of a tuple, weighted by the chance to be cached still.

``heeb`` is the definition, Corollaries 3 to 5 are below it; what policies use is in ``approximate.tables``.
"""

from __future__ import annotations

import math

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.models.lifetimes import Lifetime
from streambound.approximate.models.model import Model


def heeb(
    model: Model,
    value: int,
    history: Integers,
    lifetime: Lifetime,
    *,
    first: bool,
    steps: int | None = None,
) -> float:
    """H_x as defined: the sum of Lemma 1's (or Corollary 1's) terms times L.

    Args:
        model: of the stream that x is to be joined with, or of the reference stream.
        first: whether only the first meeting counts (caching).
        steps: where the sum ends: the rest of x's window (section 7), or far enough; None: where L ends.
    """
    end = lifetime.horizon if steps is None else steps
    if end is None:
        raise ValueError(f"L^{lifetime.kind} never ends: say how many steps to sum")
    gains = model.first_gains if first else model.gains
    return float(gains(value, history, end) @ lifetime.weights(end))


def forward(before: float, probability: float, alpha: float, *, first: bool) -> float:
    """Corollaries 3 and 4: H^exp now from H^exp a step ago, and the probability that x was met now.

    Rounding grows by e^(1/alpha) a step: where it is repeated, prefer ``backward``. Floored at 0. Where x was
    met for certain there is nothing left to know of a time without meeting it (first): nan.
    """
    benefit = math.exp(1 / alpha) * before - probability
    if first:
        benefit = benefit / (1 - probability) if probability < 1 else math.nan
    return max(benefit, 0.0) if not math.isnan(benefit) else benefit


def backward(after: float, probability: float, alpha: float, *, first: bool) -> float:
    """The same identities solved for H^exp a step earlier: rounding shrinks.

    Args:
        after: H^exp at the later step.
        probability: of x being met at the later step.
    """
    left = 1 - probability if first else 1.0
    return math.exp(-1 / alpha) * (probability + left * after)
