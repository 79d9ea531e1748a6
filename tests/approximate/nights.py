"""Nights of benchmarks for tests, with what each policy kept given as shares of 1,000 results."""

from __future__ import annotations

from collections.abc import Mapping

from streambound.approximate.nightly.benchmark import Contender, Judged
from streambound.approximate.nightly.night import Night, OfSize
from streambound.approximate.selected_policy import SelectedPolicy

RESULTS = 1_000
WIDTH = 7


def of_size(size: int, optimum: int, kept: Mapping[str, int], chosen: str) -> OfSize:
    """A size at which each policy kept so many of 1,000 results on four held-out days."""
    judged = tuple(Judged(Contender(policy), size, n, n / 4, 1.5) for policy, n in kept.items())
    selected_policy = SelectedPolicy(chosen, why=f"{chosen} was chosen")
    return OfSize(size, WIDTH * size, optimum, judged, selected_policy, kept[chosen], Contender(chosen))


def night(*sizes: OfSize, query: str = "q", fingerprint: str = "", results: int = RESULTS) -> Night:
    """A night that tried these sizes."""
    days = tuple(f"2026-01-{day:02}" for day in range(1, 11))
    return Night(query, "", fingerprint, days, 4, 5_000, results, sizes, ())


USUAL = (
    of_size(500, 800, {"lru": 700, "fifo": 650}, "lru"),
    of_size(100, 400, {"lru": 200, "fifo": 100}, "lru"),
    of_size(2_000, 1_000, {"lru": 900, "fifo": 850}, "fifo"),
)
