"""Expected cumulative benefit: Lemma 1, Corollary 1.

An ECB is the array B(1), B(2), ... up to some step, of length ``steps``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.models.model import Model


def joining_ecb(partners: Sequence[Model], value: int, histories: Sequence[Integers], steps: int) -> Floats:
    """Lemma 1; the benefits of several partner streams add up (Appendix C).

    Args:
        histories: of each partner, up to now.
    """
    each = [model.gains(value, history, steps) for model, history in zip(partners, histories, strict=True)]
    return np.cumsum(np.sum(each, axis=0))


def caching_ecb(reference: Model, value: int, history: Integers, steps: int) -> Floats:
    """Corollary 1: the probability that the value is referenced by then."""
    return np.cumsum(reference.first_gains(value, history, steps))
