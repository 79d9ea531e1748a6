"""The evaluation of a statement between two partitions: its parts side by side, in step with time.

As on one machine (``evaluation.statement``) blocks add up, and a row of a distinct block is new if some part
has it for the first time and no other part has had it. Parts that compare timestamps step to each moment
together, since they forget rows that cannot come again; a part that does not takes a partition as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from heapq import merge
from itertools import groupby
from typing import Any

from streambound.evaluation.events import Batch
from streambound.evaluation.order import ArrivalOrder
from streambound.evaluation.statement import new_to_all, summed
from streambound.history.evaluations import states
from streambound.history.evaluations.counts import CountEvaluation
from streambound.history.evaluations.ending import EndingEvaluation
from streambound.history.evaluations.evaluation import (
    NOTHING_COMES,
    AnswersAt,
    Evaluation,
    PartEvaluation,
    PlanEvaluation,
    moment_of,
)
from streambound.history.evaluations.k_memory import MemoryEvaluation
from streambound.history.evaluations.segments import SegmentEvaluation
from streambound.history.evaluations.tree import LeafEvaluation, TreeEvaluation
from streambound.history.evaluations.windows import WindowEvaluation
from streambound.state.row_join import Row
from streambound.tasks.cogroup import SegmentCoGroup, WindowCoGroup, cogroup_of
from streambound.tasks.counts import counts_only
from streambound.tasks.plans import PartPlan, StatementPlan, Static

# By how the partitions of all streams are summarised together.
_COGROUPED: Mapping[type, Callable[[Any], Evaluation]] = {
    SegmentCoGroup: lambda cogroup: SegmentEvaluation(cogroup.segments),
    WindowCoGroup: lambda cogroup: WindowEvaluation(cogroup.windows),
}


def history_evaluation(
    plan: StatementPlan, static: Static, cogroup: SegmentCoGroup | WindowCoGroup | None
) -> Evaluation:
    """The evaluation of a statement over partitions, at the beginning; ``cogroup`` is how these are read."""
    if plan.node is not None:
        return tree_evaluation(plan, static)
    if cogroup is None:
        return statement_evaluation(plan, static)
    return _COGROUPED[type(cogroup)](cogroup)


def live_evaluation(plan: StatementPlan, static: Static) -> Evaluation:
    """The evaluation of a statement of which answers are asked for at each moment, at the beginning."""
    if plan.node is not None:
        return tree_evaluation(plan, static, plan.in_time)
    cogroup = cogroup_of(plan)
    return history_evaluation(plan, static, cogroup if cogroup and cogroup.tells_moments else None)


def tree_evaluation(plan: StatementPlan, static: Static, moments: bool = False) -> TreeEvaluation:
    """The evaluation of a tree, at the beginning; ``moments`` as for ``StatementEvaluation``."""
    return TreeEvaluation(plan, static, partial(StatementEvaluation, moments=moments))


def statement_evaluation(plan: StatementPlan, static: Static) -> Evaluation:
    """The evaluation of a statement, at the beginning."""
    if len(plan.parts) == 1:
        (part,) = plan.parts
        return _evaluation(part, static, ArrivalOrder())
    return StatementEvaluation(plan, static)


def _evaluation(part: PartPlan, static: Static, order: ArrivalOrder, moments: bool = False) -> PartEvaluation:
    plan = part.plan
    if plan.approximate:
        return MemoryEvaluation(plan, order)
    if plan.ending is not None:
        return EndingEvaluation(plan, static, order)
    # Without the timestamps of all of its streams a part takes a partition as a whole.
    timed = moments and all(relation.timestamp is not None for relation in part.inputs.values())
    if counts_only(plan) and not timed:
        return CountEvaluation(plan, static, order)
    return PlanEvaluation(plan, static, order, timed, part.partial)


class StatementEvaluation(LeafEvaluation):
    """The parts of a statement.

    Args:
        moments: all tuples come by their timestamps.
    """

    def __init__(self, plan: StatementPlan, static: Static, moments: bool = False) -> None:
        self.order = order = ArrivalOrder()
        self.parts = {part.label: part for part in plan.parts}
        made = (_evaluation(p, static, order, moments) for p in plan.parts)
        self.evaluations = dict(zip(self.parts, made, strict=True))

    @property
    def stored_units(self) -> int:
        """What is stored now."""
        return sum(evaluation.stored_units for evaluation in self.evaluations.values())

    def feed(self, batch: Batch) -> None:
        """Take in rows of sub-queries, with the next share."""
        for label, part in self.parts.items():
            if part.fed:
                self.evaluations[label].fed = batch

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The steps of all parts with the same moment as one, in order of time."""
        named = [self._by_moment(label, partition, summaries) for label in self.parts]
        for _, tied in groupby(merge(*named, key=_moment), key=_moment):
            by_part = dict(tied)
            moment = next(iter(by_part.values())).moment
            yield AnswersAt(moment, partial(self._take, by_part))

    def _take(self, answers: Mapping[str, AnswersAt]) -> Mapping[Row, int]:
        new = {label: step.take() for label, step in answers.items()}
        # Rows of sub-queries may come at a moment of which their part has no tuple.
        new |= {
            label: part_evaluation.advance("", {})
            for label, part_evaluation in self.evaluations.items()
            if label not in answers and part_evaluation.fed is not NOTHING_COMES
        }
        blocks = dict.fromkeys(part.block for part in self.parts.values())
        delta = summed(self._block(block, new) for block in blocks)
        self._peak = max(self._peak, self.stored_units)
        return delta

    def _by_moment(
        self, label: str, partition: str, summaries: Mapping[str, bytes]
    ) -> Iterator[tuple[str, AnswersAt]]:
        own = self.parts[label].own(summaries)
        return ((label, step) for step in self.evaluations[label].by_moment(partition, own))

    def _block(self, block: int, new: Mapping[str, Mapping[Row, int]]) -> Mapping[Row, int]:
        labels = [label for label, part in self.parts.items() if part.block == block]
        rows = [new.get(label, {}) for label in labels]
        if not self.parts[labels[0]].query.ring.idempotent:
            return summed(rows)
        return new_to_all([self.evaluations[label] for label in labels], rows)

    def dump(self) -> bytes:
        """The states of the parts, by label."""
        return states.tables_bytes(
            {label: part_evaluation.dump() for label, part_evaluation in self.evaluations.items()}
        )

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up the states of the parts."""
        tables = states.tables_of(data)
        for label, evaluation in self.evaluations.items():
            evaluation.load(tables[label], 0)
        self._peak = peak_units


def _moment(named: tuple[str, AnswersAt]) -> tuple[bool, int]:
    return moment_of(named[1])
