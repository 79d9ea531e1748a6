"""L_x of section 4.3: an estimate of the probability that a tuple is still cached d steps from now."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streambound.approximate.kernels.arrays import Floats
from streambound.errors import DataError

# What an L below this adds can no longer be seen in a double.
NEGLIGIBLE = 1e-17
KINDS = ("fixed", "inf", "inv", "exp")


@dataclass(frozen=True)
class Lifetime:
    """One of the paper's four L functions, the same for all tuples (property 4 holds trivially).

    Args:
        kind: ``fixed`` (1 until ``parameter`` steps), ``inf`` (1), ``inv`` (1/d), ``exp`` (e^(-d/parameter)).
            ``inf`` and ``inv`` need not converge for joining.
        parameter: the steps of ``fixed``, the alpha of ``exp``.
    """

    kind: str
    parameter: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"L is {self.kind!r}", accepted=", ".join(KINDS))
        if not self.parameter > 0 or not math.isfinite(self.parameter):
            raise DataError(f"the parameter of L is {self.parameter}", accepted="a finite number above 0")

    def weights(self, steps: int) -> Floats:
        """L(1) .. L(steps)."""
        ahead = np.arange(1, steps + 1, dtype=np.float64)
        match self.kind:
            case "fixed":
                return np.where(ahead <= self.parameter, 1.0, 0.0)
            case "inf":
                return np.ones(steps)
            case "inv":
                return 1.0 / ahead
            case _:
                return np.exp(-ahead / self.parameter)

    @property
    def horizon(self) -> int | None:
        """The last step at which L still counts; None if it never ceases to."""
        match self.kind:
            case "fixed":
                return max(int(self.parameter), 1)
            case "exp":
                return max(math.ceil(-self.parameter * math.log(NEGLIGIBLE)), 1)
            case _:
                return None


def exp(alpha: float) -> Lifetime:
    """L^exp."""
    return Lifetime("exp", alpha)


def alpha_for(lifetime: float) -> float:
    """The alpha whose predicted average lifetime 1 / (1 - e^(-1/alpha)) is this one.

    A lifetime of one step or less has no alpha; it is taken for slightly more.

    >>> round(1 / (1 - math.exp(-1 / alpha_for(12.5))), 9)
    12.5
    """
    return -1.0 / math.log1p(-1.0 / max(lifetime, 1.0 + 1e-6))
