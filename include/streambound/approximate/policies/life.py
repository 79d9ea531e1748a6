"""LIFE (Das, Gehrke, Riedewald): PROB's probability times the steps for which the tuple can still join."""

from __future__ import annotations

from math import inf

from streambound.approximate.kernels.candidate import Candidate


def worth(candidate: Candidate) -> float:
    """How likely partners are while there are any; of a tuple without an end, in a step."""
    return candidate.chance * candidate.left if candidate.left < inf else candidate.chance
