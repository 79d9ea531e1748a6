"""FIFO: the tuple that arrived first leaves."""

from __future__ import annotations

from streambound.approximate.kernels.candidate import Candidate


def worth(candidate: Candidate) -> float:
    """When it arrived."""
    return candidate.arrived
