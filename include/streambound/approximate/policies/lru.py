"""LRU: the tuple leaves that arrived or was joined longest ago."""

from __future__ import annotations

from streambound.approximate.kernels.candidate import Candidate


def worth(candidate: Candidate) -> float:
    """When it last joined, or arrived."""
    return candidate.used
