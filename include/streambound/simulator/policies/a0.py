"""A0 (Aho, Denning, Ullman): the key that is least likely to be referenced next leaves (section 5.2)."""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Floats
from streambound.errors import DataError
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions
from streambound.simulator.policies.heeb import a0_with_model
from streambound.simulator.policies.ranked import ranked
from streambound.simulator.problems import References


def a0(references: References, memory: Memory) -> CachingDecisions:
    """Decisions on a reference stream by the keys' probabilities, a model, or their frequency in the warm-up.

    Raises:
        DataError: there are neither probabilities nor a warm-up.
    """
    if memory.models is not None and memory.probabilities is None:
        return a0_with_model(references, memory)
    probabilities = _probabilities(references, memory)
    # Ranks instead of probabilities: only their order counts, and equal ones must stay equal.
    _, order = np.unique(probabilities, return_inverse=True)
    return ranked(references, order[references.requests], memory.size, memory.bypass)


def _probabilities(references: References, memory: Memory) -> Floats:
    if memory.probabilities is not None:
        if len(memory.probabilities) != references.keys:
            raise DataError(
                f"{len(memory.probabilities)} probabilities are given for {references.keys} keys",
                accepted="one probability a key",
            )
        return memory.probabilities
    if memory.warmup == 0:
        raise DataError(
            "a0 knows the reference probabilities, and none are given",
            fix="give a warm-up to take them from, or a model",
        )
    seen = references.requests[: memory.warmup]
    return np.bincount(seen, minlength=references.keys).astype(np.float64)
