"""What a policy did, step by step: enough to count its results, and to replay and check it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.simulator.problems import References


@dataclass(frozen=True)
class CachingDecisions:
    """A policy's run over a reference stream.

    Args:
        hits: whether each step was a hit.
        evicted: the key that left at each step, -1 if none; the referenced key itself if it was not admitted.
    """

    hits: NDArray[np.bool_]
    evicted: Integers


@dataclass(frozen=True)
class JoiningDecisions:
    """A policy's run over joined streams.

    Args:
        results: what was produced from the cache at each step, in worth.
        kept_until: shape (streams, steps): the step after whose meeting each tuple was dropped; its own step
            if it was never cached, the number of steps if it was cached to the end.
    """

    results: Floats
    kept_until: Integers


def filled(references: References, size: int, kernel: Callable[..., None], *more: Any) -> CachingDecisions:
    """What a kernel decides on a reference stream.

    Args:
        kernel: called with requests, keys, size, ``more``, and the arrays to fill: hits and evicted (-1).
            It is not called for a memory of size 0, where nothing can be decided.
    """
    hits = np.zeros(references.steps, np.bool_)
    evicted = np.full(references.steps, -1, np.int64)
    if size > 0:
        kernel(references.requests, references.keys, size, *more, hits, evicted)
    else:
        evicted[:] = references.requests
    return CachingDecisions(hits, evicted)
