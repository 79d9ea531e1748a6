"""PROB (Das, Gehrke, Riedewald): the tuple leaves whose partners are the least likely to arrive."""

from __future__ import annotations

from streambound.approximate.kernels.candidate import Candidate


def worth(candidate: Candidate) -> float:
    """How likely partners are."""
    return candidate.chance
