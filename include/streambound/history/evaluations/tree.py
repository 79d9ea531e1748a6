"""The evaluation of a tree of rows that change between two partitions (see ``plan.flow``).

Each leaf is evaluated as a statement of its own; the changes of its rows go up through the operations, a
partition at once, or where answers are asked for by moment all leaves in step with time. An operation is a
fold over changes, so the changes of a partition do not depend on which of them came first in it.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import groupby
from typing import Any

from streambound.evaluation.events import Batch, Encoded
from streambound.evaluation.flow import LeafRows, StaticLeaf, Tree, fed_batch
from streambound.history.evaluations.evaluation import NOTHING_COMES, AnswersAt, Evaluation, moment_of
from streambound.plan.flow import Changes, Leaf
from streambound.state.row_join import Row
from streambound.state.serial import canonical
from streambound.tasks.plans import StatementPlan

# What makes the changes of a leaf's rows, by the number of the leaf.
Given = Mapping[int, Callable[[], Mapping[Row, int]]]


class LeafEvaluation(Evaluation):
    """The evaluation of a leaf."""

    @abstractmethod
    def feed(self, batch: Batch) -> None:
        """Take in rows of sub-queries, with the next share."""


@dataclass
class _Rows:
    """The rows of a leaf; of what it is fed with all there is comes with its own share, if it has one."""

    number: int
    leaf: Leaf
    evaluation: LeafEvaluation

    @property
    def stored_units(self) -> int:
        """Values and counts stored now."""
        return self.evaluation.stored_units

    def initial(self) -> Changes:
        """No rows."""
        return {}

    def take(self, given: Given, fed: Mapping[str, Changes]) -> Changes:
        """The changes of its rows."""
        made = given.get(self.number)
        if any(fed.values()):
            self.evaluation.feed(fed_batch(self.leaf, NOTHING_COMES, fed))
            made = made or partial(self.evaluation.advance, "", {})
        return {} if made is None else {row: count for row, count in made().items() if count}

    def dump(self) -> Any:
        """The state of the leaf."""
        return json.loads(self.evaluation.dump())

    def load(self, document: Any) -> None:
        """Take up a state."""
        self.evaluation.load(canonical(document), 0)


class TreeEvaluation(Evaluation):
    """A tree over the evaluations of its leaves (see ``evaluation.Evaluation``).

    Args:
        leaf_of: makes the evaluation of a leaf.
    """

    tree: Tree[Given]

    def __init__(
        self,
        plan: StatementPlan,
        static: Mapping[str, list[Encoded]],
        leaf_of: Callable[[StatementPlan, Mapping[str, list[Encoded]]], LeafEvaluation],
    ) -> None:
        assert plan.node is not None
        self.leaves = [leaf_of(leaf, static) for leaf in plan.leaves]
        # A tree asks for its leaves in the order in which the plan has them.
        waiting = enumerate(self.leaves)

        def rows(leaf: Leaf) -> LeafRows[Given]:
            if leaf.static:
                return StaticLeaf(leaf, static)
            number, evaluation = next(waiting)
            return _Rows(number, leaf, evaluation)

        self.tree = Tree(plan.node, rows)
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
        made = {n: partial(leaf.advance, partition, summaries) for n, leaf in enumerate(self.leaves)}
        return self._take(made)

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The steps of all leaves with the same moment as one, in order of time."""
        self._follow()
        named = [self._by_moment(number, partition, summaries) for number in range(len(self.leaves))]
        for _, tied in groupby(merge(*named, key=_moment), key=_moment):
            by_leaf = dict(tied)
            moment = next(iter(by_leaf.values())).moment
            yield AnswersAt(
                moment, partial(self._take, {number: step.take for number, step in by_leaf.items()})
            )

    def _by_moment(
        self, number: int, partition: str, summaries: Mapping[str, bytes]
    ) -> Iterator[tuple[int, AnswersAt]]:
        return ((number, step) for step in self.leaves[number].by_moment(partition, summaries))

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
        return canonical(self.tree.dump())

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up the states of all nodes."""
        self.tree.load(json.loads(data))
        self._peak = peak_units


def _moment(named: tuple[int, AnswersAt]) -> tuple[bool, int]:
    return moment_of(named[1])
