"""How much memory keeps a share of a query's results, as its last benchmark has it.

Shares are of the results that a memory for everything keeps on the held-out days, so what is measured is
what a size would have kept lately. Between two sizes the share is taken to grow in a straight line. What an
optimum keeps grows ever more slowly with its size (it is a flow of least cost), so the line lies below it and
the size that is read from it is enough; of a policy it is an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from streambound.approximate.nightly.night import Night, OfSize
from streambound.errors import DataError, QueryError


@dataclass(frozen=True)
class Reaches:
    """From where on a share is reached.

    Args:
        size, units: the smallest size that was tried and reaches it: tuples, and stored values at most.
        estimated: the size, in tuples, at which the line from the size before (or from no memory) reaches it;
            None where ``size`` reaches it exactly.
    """

    size: int
    units: int
    estimated: int | None

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; units of an estimated size are in proportion."""
        width = self.units // self.size
        estimate = None
        if self.estimated is not None:
            estimate = {"size": self.estimated, "units": self.estimated * width}
        return {"size": self.size, "units": self.units, "estimate": estimate}


@dataclass(frozen=True)
class SharesAtSize:
    """What is kept at one size, as shares of all results; ``ahead`` are the policies that keep more."""

    of: OfSize
    kept: float
    optimum: float
    ahead: tuple[tuple[str, float], ...]

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        selected_policy = self.of.selected_policy
        return {
            "size": self.of.size,
            "units": self.of.units,
            "policy": selected_policy.policy,
            "alpha": selected_policy.alpha,
            "why": selected_policy.why,
            "kept": self.of.kept,
            "share": round(self.kept, 4),
            "optimum": self.of.optimum,
            "optimum_share": round(self.optimum, 4),
            "ahead": [{"policy": policy, "share": round(fraction, 4)} for policy, fraction in self.ahead],
            "estimate": None if self.of.estimate is None else self.of.estimate.to_json(),
        }


@dataclass(frozen=True)
class Advice:
    """How much memory keeps ``target`` of the results: under the chosen policies, and for an optimum.

    Args:
        kept_by_size: ascending.
        chosen, optimum: None where no size that was tried reaches the target.
    """

    night: Night
    target: float
    kept_by_size: tuple[SharesAtSize, ...]
    chosen: Reaches | None
    optimum: Reaches | None

    @property
    def reached(self) -> bool:
        """Whether a size that was tried keeps the target."""
        return self.chosen is not None

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        night = self.night
        return {
            "query": night.query,
            "target": self.target,
            "reached": self.reached,
            "memory": None if self.chosen is None else self.chosen.to_json(),
            "optimum": None if self.optimum is None else self.optimum.to_json(),
            "sizes": [at_size.to_json() for at_size in self.kept_by_size],
            "results": night.possible,
            "tuples": night.tuples,
            "days": list(night.days),
            "held_out": night.held_out,
            "drifted": night.drifted,
            "drifts": [fit.to_json() for fit in night.drifts],
        }


def advice(night: Night, target: float) -> Advice:
    """How much memory keeps a share of the results.

    Args:
        target: in (0, 1].

    Raises:
        QueryError: the target is no such share.
        DataError: there were no results on the held-out days.
    """
    if not 0 < target <= 1:
        raise QueryError(f"the target is {target:g}", accepted="a share above 0 and at most 1, such as 0.95")
    by_size = kept_by_size(night)
    chosen = _reaches([(at_size.of, at_size.of.kept) for at_size in by_size], target * night.possible)
    optimum = _reaches([(at_size.of, at_size.of.optimum) for at_size in by_size], target * night.possible)
    return Advice(night, target, by_size, chosen, optimum)


def kept_by_size(night: Night) -> tuple[SharesAtSize, ...]:
    """What is kept at each size, ascending.

    Raises:
        DataError: there were no results on the held-out days.
    """
    if not night.possible:
        raise DataError(
            f"there were no results on the last {night.held_out} of {len(night.days)} days",
            subject=night.query,
            fix="benchmark more days: benchmark_caches --days N",
        )
    return tuple(
        _share(of_size, night.possible) for of_size in sorted(night.sizes, key=lambda of_size: of_size.size)
    )


def _share(of_size: OfSize, possible: int) -> SharesAtSize:
    more = tuple((each.contender.policy, each.kept / possible) for each in of_size.ahead)
    return SharesAtSize(of_size, of_size.kept / possible, of_size.optimum / possible, more)


def _reaches(kept: Sequence[tuple[OfSize, int]], wanted: float) -> Reaches | None:
    """The first size that keeps so many results, and where the line from the one before crosses."""
    below = (0, 0)
    for of, results in kept:
        if results >= wanted:
            ahead = (wanted - below[1]) / (results - below[1])
            size = max(ceil(below[0] + ahead * (of.size - below[0])), 1)
            return Reaches(of.size, of.units, size if size < of.size else None)
        below = (of.size, results)
    return None
