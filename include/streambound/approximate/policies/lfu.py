"""LFU: the tuple that produced least leaves."""

from __future__ import annotations

from streambound.approximate.kernels.candidate import Candidate


def worth(candidate: Candidate) -> float:
    """What it produced."""
    return candidate.uses
