"""The evaluation of a statement between two partitions: a tree of rows that change over leaves, each with its
parts side by side.

As on one machine (``evaluation.statement``) the blocks of a leaf add up, and a row of a distinct block is new
if some part has it for the first time and no other part has had it. Parts that compare timestamps step to
each moment together, since they forget rows that cannot come again; a part that does not takes a partition as
a whole.

The changes of a leaf's rows go up through the operations of the tree (see ``plan.flow``), a partition at
once, or where answers are asked for by moment all leaves in step with time. An operation is a fold over
changes, so the changes of a partition do not depend on which of them came first in it. A leaf alone needs no
tree, and a part alone no leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from streambound.evaluation.flow import StaticLeaf, Tree
from streambound.evaluation.order import ArrivalOrder
from streambound.evaluation.statement import fed_batch, union_of
from streambound.history.evaluations import states
from streambound.history.evaluations.counts import CountEvaluation
from streambound.history.evaluations.ending import EndingEvaluation
from streambound.history.evaluations.evaluation import (
    NOTHING_COMES,
    AnswersAt,
    Evaluation,
    PartEvaluation,
    PlanEvaluation,
    Take,
    in_step,
)
from streambound.history.evaluations.k_memory import MemoryEvaluation
from streambound.history.evaluations.segments import SegmentEvaluation
from streambound.history.evaluations.windows import WindowEvaluation
from streambound.plan.flow import Changes
from streambound.state.row_join import Row
from streambound.tasks.cogroup import SegmentCoGroup, WindowCoGroup, cogroup_of
from streambound.tasks.counts import counts_only
from streambound.tasks.plans import PartPlan, StatementPlan, Static

# By how the partitions of all streams are summarised together.
_COGROUPED: Mapping[type, Callable[[Any], Evaluation]] = {
    SegmentCoGroup: lambda cogroup: SegmentEvaluation(cogroup.segments),
    WindowCoGroup: lambda cogroup: WindowEvaluation(cogroup.windows),
}


def statement_evaluation(
    plan: StatementPlan, static: Static, cogroup: SegmentCoGroup | WindowCoGroup | None = None
) -> Evaluation:
    """The evaluation of a statement, at the beginning; ``cogroup`` is how partitions are read, where that is
    not stream by stream.
    """
    if plan.node is not None:
        return TreeEvaluation(plan, static)
    if cogroup is not None:
        return _COGROUPED[type(cogroup)](cogroup)
    if len(plan.parts) == 1:
        return _evaluation(plan.parts[0], static, ArrivalOrder())
    return LeafEvaluation(plan, static)


def live_evaluation(plan: StatementPlan, static: Static) -> Evaluation:
    """The evaluation of a statement of which answers are asked for at each moment, at the beginning."""
    if plan.in_time:
        return TreeEvaluation(plan, static, moments=True)
    cogroup = cogroup_of(plan)
    return statement_evaluation(plan, static, cogroup if cogroup and cogroup.tells_moments else None)


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


class LeafEvaluation(Evaluation):
    """The parts of a statement, which may be a leaf of a tree.

    Args:
        moments: all tuples come by their timestamps.
    """

    def __init__(self, plan: StatementPlan, static: Static, moments: bool = False) -> None:
        self.statement, self.order = plan.statement, ArrivalOrder()
        self.parts = {part.label: part for part in plan.parts}
        made = (_evaluation(part, static, self.order, moments) for part in plan.parts)
        self.evaluations = dict(zip(self.parts, made, strict=True))

    @property
    def stored_units(self) -> int:
        """What is stored now."""
        return sum(evaluation.stored_units for evaluation in self.evaluations.values())

    def take(self, given: Given, fed: Mapping[str, Changes]) -> Changes:
        """The changes of its rows; all rows of sub-queries come with its own share, if it has one."""
        made = given.get(self)
        if any(fed.values()):
            batch = fed_batch(self.statement, NOTHING_COMES, fed)
            for label, part in self.parts.items():
                if part.fed:
                    self.evaluations[label].fed = batch
            made = made or partial(self.advance, "", {})
        return {} if made is None else {row: count for row, count in made().items() if count}

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The steps of all parts with the same moment as one, in order of time."""
        each = {
            label: self.evaluations[label].by_moment(partition, part.own(summaries))
            for label, part in self.parts.items()
        }
        return in_step(each, self._take)

    def _take(self, given: Mapping[str, Take]) -> Mapping[Row, int]:
        new = {label: take() for label, take in given.items()}
        # Rows of sub-queries may come at a moment of which their part has no tuple.
        new |= {
            label: evaluation.advance("", {})
            for label, evaluation in self.evaluations.items()
            if label not in given and evaluation.fed is not NOTHING_COMES
        }
        delta = union_of(
            (part.block, part.query.ring, self.evaluations[label], new.get(label, {}))
            for label, part in self.parts.items()
        )
        self._peak = max(self._peak, self.stored_units)
        return delta

    def dump(self) -> bytes:
        """The states of the parts, by label."""
        return states.tables_bytes({label: e.dump() for label, e in self.evaluations.items()})

    def load(self, document: Any, peak_units: int = 0) -> None:
        """Take up the states of the parts."""
        for label, evaluation in self.evaluations.items():
            evaluation.load(document[label])
        self._peak = peak_units


# What makes the changes of each leaf's rows.
Given: TypeAlias = Mapping[LeafEvaluation, Take]


class TreeEvaluation(Evaluation):
    """A tree over the evaluations of its leaves (see ``evaluation.Evaluation``).

    Args:
        moments: as for ``LeafEvaluation``.
    """

    tree: Tree[Given]

    def __init__(self, plan: StatementPlan, static: Static, moments: bool = False) -> None:
        assert plan.node is not None
        self.leaves = [LeafEvaluation(leaf, static, moments) for leaf in plan.leaves]
        # A tree asks for its leaves in the order in which the plan has them.
        waiting = iter(self.leaves)
        self.tree = Tree(plan.node, lambda leaf: StaticLeaf(leaf, static) if leaf.static else next(waiting))
        self.initial = self.tree.begin({})
        self._peak = self.stored_units

    @property
    def stored_units(self) -> int:
        """What is stored now."""
        return self.tree.stored_units

    @property
    def latest(self) -> int | None:
        """The last moment of which a tuple counted."""
        return max((leaf.latest for leaf in self.leaves if leaf.latest is not None), default=None)

    def advance(self, partition: str, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The changes of the answer by a partition, from what was made of each occurrence's share.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        self._follow()
        return self._take({leaf: partial(leaf.advance, partition, summaries) for leaf in self.leaves})

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The steps of all leaves with the same moment as one, in order of time."""
        self._follow()
        return in_step({leaf: leaf.by_moment(partition, summaries) for leaf in self.leaves}, self._take)

    def _follow(self) -> None:
        """All leaves are as far as the one that is furthest: what comes now is later."""
        reached = [leaf.order for leaf in self.leaves if leaf.order.latest is not None]
        if reached:
            furthest = max(reached, key=lambda order: order.latest or 0)
            for leaf in self.leaves:
                leaf.order.join(furthest)

    def _take(self, given: Given) -> Mapping[Row, int]:
        changes = self.tree.take(given)
        self._peak = max(self._peak, self.stored_units)
        return changes

    def dump(self) -> bytes:
        """The states of all nodes."""
        return self.tree.dump()

    def load(self, document: Any, peak_units: int = 0) -> None:
        """Take up the states of all nodes."""
        self.tree.load(document)
        self._peak = peak_units
