"""Equijoins in k tuples of memory over history: the cache is checkpointed like any state.

Partitions are read in parallel; the driver takes their tuples in, in order. The answer is a part of the exact
one; how large a part is estimated on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streambound.approximate.evaluation import MemoryPass, Tuple, by_time
from streambound.approximate.nightly.night import Night, selected_policy
from streambound.approximate.plan import MemoryPlan
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.approximate.serial import dump, load
from streambound.checkpoint.fingerprint import fingerprint
from streambound.evaluation.order import ArrivalOrder
from streambound.history.evaluations.evaluation import AnswersAt, PartEvaluation
from streambound.state.row_join import Row
from streambound.tasks.relations import tuples_of


@dataclass(frozen=True)
class Memory:
    """How much memory a query may use.

    Args:
        size: k.
        night: the benchmark that the policy is taken from; None if there has been none.
        selected_policy: a policy that somebody insists on.
    """

    size: int
    night: Night | None = None
    selected_policy: SelectedPolicy | None = None

    def policy_for(self, plan: MemoryPlan) -> SelectedPolicy:
        """The policy for a query: the one insisted on, the one of its last benchmark, or the default."""
        if self.selected_policy is not None:
            return self.selected_policy
        return selected_policy(self.night, fingerprint(plan.query, plan.streams, {}), self.size)


class MemoryEvaluation(PartEvaluation):
    """The evaluation of an equijoin between two partitions."""

    approximate = True

    def __init__(self, plan: MemoryPlan, order: ArrivalOrder) -> None:
        self.plan, self.order = plan, order
        self.engine = MemoryPass(plan)

    @property
    def stored_units(self) -> int:
        """Stored values of the cache now."""
        return self.engine.stored_units

    @property
    def peak_units(self) -> int:
        """Stored values of the cache when it was fullest, at most."""
        return self.engine.peak_units

    def holds(self, row: Row) -> bool:
        """Never asked: the answers of such a query are not united with others."""
        raise AssertionError(f"{self.plan.query.name} is evaluated alone")

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The one step of a partition."""
        yield AnswersAt(None, lambda: self._taken(partition, summaries))

    def _taken(self, partition: str, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        sides = {synopsis.alias: side for side, synopsis in enumerate(self.plan.streams)}
        rows = by_time(row for alias, data in summaries.items() for row in tuples_of(sides[alias], data))
        if rows:
            self._follow(rows[0], partition)
            self._follow(rows[-1], partition)
        return self.engine.advance(rows)

    def _follow(self, row: Tuple, partition: str) -> None:
        alias = self.plan.streams[row.side].alias
        self.order.follow(self.plan.query.occurrence(alias).relation, row.moment, partition)

    def dump(self) -> bytes:
        """The cache and the estimate's sample."""
        return dump(self.engine)

    def load(self, document: Any, peak_units: int = 0) -> None:
        """Take up a cache."""
        self.engine = load(self.plan, document)
        self.order.resume(self.plan.query, self.engine.now)

    def report(self) -> Mapping[str, Any]:
        """How complete the answer is, as JSON."""
        policy, estimate = self.plan.selected_policy, self.engine.estimate
        fraction = None if estimate is None else estimate.fraction(self.engine.results)
        return {
            "size": self.plan.size,
            "policy": policy.policy,
            "alpha": policy.alpha,
            "why": policy.why,
            "results": self.engine.results,
            "estimated_results": None if estimate is None else round(estimate.results, 1),
            "standard_error": None if estimate is None else round(estimate.error, 1),
            "estimated_missed": None
            if estimate is None
            else round(max(estimate.results - self.engine.results, 0.0), 1),
            "estimated_share": None if fraction is None else round(fraction, 4),
            "sampled": self.engine.sample.size,
        }
