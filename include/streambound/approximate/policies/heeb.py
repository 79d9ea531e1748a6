"""HEEB (section 4.3): the tuple of the least H leaves."""

from __future__ import annotations

from streambound.approximate.kernels.candidate import Candidate


def worth(candidate: Candidate) -> float:
    """H."""
    return candidate.benefit
