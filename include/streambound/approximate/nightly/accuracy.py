"""How good the estimate of an answer's share is: one pass over the held-out days, and the truth of them.

The evaluation cannot know what it misses, so it estimates it (see ``sample``). On the held-out days all
results can be counted, and so it is seen every night whether estimates hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from streambound.approximate.evaluation import MemoryPass
from streambound.approximate.exact_count import exact_results
from streambound.approximate.nightly.benchmark import Case
from streambound.approximate.selected_policy import SelectedPolicy

# An estimate is stated to lie within so many standard errors of the truth, of which a normal one misses once
# in 16,000. No such odds hold where few keys have most of the results: the error is estimated from the same
# sample, and one that misses those keys makes both too small.
ERRORS = 4.0


@dataclass(frozen=True)
class Accuracy:
    """One pass in k tuples over the held-out days, from an empty cache, and the truth.

    Args:
        results: that the pass found, further conditions applied.
        exact: all that there are.
        estimated: how many the pass takes them to be; None if it could not tell.
        error: the standard error of that; 0: they were counted.
    """

    results: int
    exact: int
    estimated: float | None = None
    error: float = 0.0

    @property
    def fraction(self) -> float | None:
        """What share of all results was found; None if there are none."""
        return self.results / self.exact if self.exact else None

    @property
    def estimated_share(self) -> float | None:
        """The estimated share, as the pass states it."""
        return min(self.results / self.estimated, 1.0) if self.estimated else None

    @property
    def off(self) -> float | None:
        """How many standard errors the estimate is off; None if there is none."""
        if self.estimated is None:
            return None
        missed = abs(self.estimated - self.exact)
        if missed == 0:
            return 0.0
        return missed / self.error if self.error else inf

    @property
    def holds(self) -> bool:
        """Whether the truth lies within the stated interval."""
        return self.off is None or self.off <= ERRORS

    def sentence(self) -> str:
        """In a sentence without a subject."""
        if self.estimated is None:
            return f"found {self.results:,} of {self.exact:,} results and could not estimate them"
        fraction = f", {self.results / self.exact:.1%}" if self.exact else ""
        text = (
            f"found {self.results:,} of {self.exact:,} results{fraction}; it estimated {self.estimated:,.0f}"
        )
        if not self.error:
            return f"{text}, counted" + ("" if self.holds else ", which is wrong")
        off = f"off by {self.off:.1f} standard errors" + ("" if self.holds else f", more than {ERRORS:g}")
        stated = f" and so {self.estimated_share:.1%}" if self.estimated_share is not None else ""
        return f"{text} with a standard error of {self.error:,.0f}{stated}: {off}"

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; shares and whether it holds follow from the rest."""
        derived = {"share": self.fraction, "estimated_share": self.estimated_share, "holds": self.holds}
        return {**vars(self), **derived}

    @classmethod
    def of_json(cls, body: Mapping[str, Any]) -> Accuracy:
        """What ``to_json`` made an object of."""
        return cls(body["results"], body["exact"], body["estimated"], body["error"])


def accuracy_of(case: Case, selected_policy: SelectedPolicy, size: int) -> Accuracy:
    """Run a choice in ``size`` tuples over the held-out days, as an evaluation of just these would."""
    rows = case.rows[case.cut :]
    engine = MemoryPass(replace(case.plan, size=size, selected_policy=selected_policy))
    engine.advance(list(rows))
    exact, estimate = exact_results(case.plan, rows), engine.estimate
    if estimate is None:
        return Accuracy(engine.results, exact)
    return Accuracy(engine.results, exact, estimate.results, estimate.error)
