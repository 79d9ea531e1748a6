"""RAND: any tuple leaves, each as likely as the others."""

from __future__ import annotations

from streambound.approximate.kernels.candidate import Candidate


def worth(candidate: Candidate) -> float:
    """Its lot."""
    return candidate.lot
