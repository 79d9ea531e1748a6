"""The ECBs that sections 5.1 to 5.5 and Appendix O write down, as they must read.

Every one is tested against Lemma 1 or Corollary 1; docs/caching.md lists the misprints.
Steps ahead are d = 1 .. steps; f(t) = t in 5.3.
"""

from __future__ import annotations

import numpy as np

from streambound.approximate.kernels.arrays import Floats, Integers


def known_joining(value: int, future: Integers) -> Floats:
    """5.1: a step of 1 wherever the value comes; ``future`` is x_{t0+1}, x_{t0+2}, ..."""
    return np.cumsum(future == value).astype(np.float64)


def known_caching(value: int, future: Integers) -> Floats:
    """5.1: one step, where the value comes first."""
    return np.minimum(known_joining(value, future), 1.0)


def stationary_joining(probability: float, steps: int) -> Floats:
    """5.2: p d."""
    return probability * np.arange(1.0, steps + 1)


def stationary_caching(probability: float, steps: int) -> Floats:
    """5.2: 1 - (1 - p)^d."""
    return np.asarray(1.0 - (1.0 - probability) ** np.arange(1.0, steps + 1), np.float64)


def uniform_caching(value: int, now: int, width: int, steps: int) -> Floats:
    """5.3: categories 1 and 2 of a database tuple; no tuple is right of now + width (none is prefetched)."""
    ahead = np.arange(1, steps + 1)
    if value < now - width:
        return np.zeros(steps)
    # t_x: when the window has moved beyond the value.
    gone = value + width + 1
    return 1.0 - (1.0 - 1.0 / (2 * width + 1)) ** np.minimum(ahead, gone - now - 1)


def uniform_joining_r(value: int, now: int, wide: int, steps: int) -> Floats:
    """Appendix O, R1 and R2: a tuple of R that joins S, whose noise is up to ``wide``."""
    left = max(value - (now - wide), 0)
    return np.minimum(np.arange(1, steps + 1), left) / (2 * wide + 1)


def uniform_joining_s(value: int, now: int, narrow: int, steps: int) -> Floats:
    """Appendix O, S1, S2 and S3: a tuple of S that joins R, whose noise is up to ``narrow``.

    S3's zero branch ends at value - (now + narrow) - 1, not one later as printed.
    """
    ahead = np.arange(1, steps + 1)
    before = max(value - (now + narrow) - 1, 0)
    last = max(value - (now - narrow), 0)
    return np.clip(ahead - before, 0, max(last - before, 0)) / (2 * narrow + 1)


def s2_dominates_r2(of_s: int, of_r: int, now: int, narrow: int, wide: int) -> bool:
    """5.3: whether a tuple of category S2 dominates one of R2. It is printed the other way round.

    R2 never dominates S2 unless equal: at first S2 gains more a step, the noise of R being narrower.
    """
    return (of_s - now + narrow) / (2 * narrow + 1) >= (of_r - now + wide) / (2 * wide + 1)


def walk_order(values: Integers, now: int) -> Integers:
    """5.5, no drift, symmetric unimodal steps: positions from the best to keep to the worst, nearest first.

    Equal distances tie (Appendix Q prints a strict inequality); of them the first stays first.
    """
    return np.argsort(np.abs(values - now), kind="stable")
