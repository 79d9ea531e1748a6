"""What is evaluated of a statement: the plans of its parts, and which streams each has a share of.

A conjunctive query has one part. The parts of a statement with OR or UNION are evaluated side by side; an
occurrence of a stream is then named with the label of its part before its alias. Where something is done to
rows (groups, ranks, frames, guards) the parts are those of all leaves of the tree of what is evaluated,
and no two have the same label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

from streambound.approximate.plan import MemoryPlan
from streambound.checkpoint.fingerprint import described, fingerprint, statement_fingerprint
from streambound.evaluation.events import Encoded
from streambound.plan.flow import Applied, First, Leaf, Node, Partial, leaves, nodes, units_of
from streambound.plan.model import Plan
from streambound.plan.parts import PlannedPart
from streambound.query.model import Query, Relation, RelationKind
from streambound.query.statement import Statement

Static = Mapping[str, list[Encoded]]


@dataclass(frozen=True)
class PartPlan:
    """A conjunction of a statement: the number of its block, its label, and its plan."""

    block: int
    label: str
    query: Query
    plan: Plan | MemoryPlan
    # See ``flow.Leaf``.
    best: tuple[int, bool] | None = None
    first: First | None = None
    partial: Partial | None = None

    @property
    def inputs(self) -> dict[str, Relation]:
        """The stream of each share that it takes of a partition."""
        relations = {s.alias: self.plan.query.occurrence(s.alias).relation for s in self.plan.streams}
        return {self.label + alias: relation for alias, relation in relations.items() if relation.fed is None}

    @property
    def fed(self) -> bool:
        """Whether some of its streams are the rows of sub-queries, which are known where it is evaluated."""
        return len(self.inputs) < len(self.plan.streams)

    def own(self, summaries: Mapping[str, bytes]) -> dict[str, bytes]:
        """The shares of this part, by alias, out of those of all parts."""
        return {key[len(self.label) :]: summaries[key] for key in self.inputs if key in summaries}


@dataclass(frozen=True)
class StatementPlan:
    """A bounded statement with the plans of its parts; without parts its answer is always empty.

    ``node`` is what is done to the rows of the parts, None where they are the answer; ``leaves`` are its
    leaves but those of static relations, each as a statement of its own, in the order of ``flow.nodes``.
    """

    statement: Statement
    parts: tuple[PartPlan, ...]
    node: Node | None = None
    leaves: tuple[StatementPlan, ...] = ()

    @property
    def max_units(self) -> int | None:
        """Stored values and counts in the worst case; None if there is no number."""
        if self.node is not None:
            return units_of(self.node)
        sizes = [part.plan.max_units for part in self.parts]
        numbers = [size for size in sizes if size is not None]
        return sum(numbers) if len(numbers) == len(sizes) else None

    @cached_property
    def in_time(self) -> bool:
        """Whether what is done to rows depends on how far time is, so that all streams have to be in step."""
        return any(item.times for item in ([] if self.node is None else nodes(self.node)))

    @cached_property
    def waiting(self) -> frozenset[str]:
        """The shares whose tuples are taken in by their timestamps where answers are asked for at each."""
        timed_parts = ((part, self.in_time or part.plan.timed) for part in self.parts)
        inputs = ((key, r) for part, timed in timed_parts if timed for key, r in part.inputs.items())
        return frozenset(key for key, relation in inputs if relation.timestamp is not None)

    @property
    def stateless(self) -> bool:
        """Whether tasks write the answers, and nothing is kept."""
        alone = len(self.parts) == 1 and self.node is None
        return alone and self.parts[0].plan.stateless and not self.checked

    @property
    def totalled(self) -> bool:
        """Whether the answer as it is now is written beside those of the partitions: of rows that change, and
        of a plan whose state is tables of single streams, which has no more different rows than these allow.
        """
        plan = self.parts[0].plan if len(self.parts) == 1 else None
        return self.node is not None or not (plan is None or plan.timed or plan.stateless)

    @cached_property
    def checked(self) -> Mapping[str, Relation]:
        """The streams of which no answer needs a tuple, by the key of their shares.

        They are read all the same: that they need not be may rest on the catalog's promises about them.
        """
        read = {relation.name for part in self.parts for relation in part.inputs.values()}
        relations = {r.name: r for r in self.statement.scanned if r.kind is not RelationKind.STATIC}
        return {f"checked {name}": relation for name, relation in relations.items() if name not in read}

    @property
    def inputs(self) -> dict[str, Relation]:
        """The stream of each share that is taken of a partition."""
        relations = {key: relation for part in self.parts for key, relation in part.inputs.items()}
        return {**relations, **self.checked}

    def fingerprint(self, static: Static) -> str:
        """What the state and the answers depend on: see ``checkpoint.fingerprint``."""
        body = [(p.block, p.query.ring.idempotent, _fingerprint(p, static)) for p in self.parts]
        plain = len(body) == 1 and self.node is None
        if plain and self.statement.outputs == self.parts[0].query.outputs and not self.checked:
            return body[0][2]
        checked = ((relation, self.statement.reads(relation)) for relation in self.checked.values())
        outputs = [(name, kind.name) for name, kind in self.statement.outputs]
        return statement_fingerprint(body, outputs, checked, None if self.node is None else _tree(self.node))


def _fingerprint(part: PartPlan, static: Static) -> str:
    mine = {o.relation.name for o in part.query.statics}
    rows = {name: rows for name, rows in static.items() if name in mine}
    return fingerprint(part.query, part.plan.ending or part.plan, rows)


def _tree(node: Node) -> Any:
    """What a tree does to the rows of its leaves, whose parts have fingerprints of their own."""
    if isinstance(node, Leaf):
        return [
            "Leaf",
            len(node.parts),
            node.best,
            described(node.first),
            described(node.partial),
            [[name, _tree(item)] for name, item in node.fed],
        ]
    below = [_tree(child) for child in node.inputs]
    own = [described(node.operation), described(node.times)] if isinstance(node, Applied) else []
    return [type(node).__name__, *own, below]


def statement_plan(
    statement: Statement, parts: Sequence[PlannedPart], node: Node | None = None
) -> StatementPlan:
    """The plan of a bounded statement: of its ``parts``, or of the ``node`` that is evaluated of it."""
    if isinstance(node, Leaf) and not node.fed:
        # What is asked comes down to a join.
        parts, node = node.parts, None
    if node is not None:
        return _tree_plan(statement, node)
    labels = [f"{number} " if len(parts) > 1 else "" for number in range(len(parts))]
    made = (PartPlan(p.block, label, p.query, p.plan) for label, p in zip(labels, parts, strict=True))
    return StatementPlan(statement, tuple(made))


def _tree_plan(statement: Statement, node: Node) -> StatementPlan:
    numbers, planned = count(), list[StatementPlan]()
    for leaf in (leaf for leaf in leaves(node) if not leaf.static):
        parts = (
            PartPlan(p.block, f"{next(numbers)} ", p.query, p.plan, leaf.best, leaf.first, leaf.partial)
            for p in leaf.parts
        )
        planned.append(StatementPlan(leaf.statement, tuple(parts)))
    return StatementPlan(statement, tuple(p for leaf in planned for p in leaf.parts), node, tuple(planned))


def memory_statement_plan(plan: MemoryPlan, statement: Statement) -> StatementPlan:
    """An equijoin in k tuples of memory, as a statement of one part."""
    return StatementPlan(statement, (PartPlan(0, "", plan.query, plan),))


def timeless(plan: Plan | MemoryPlan) -> Relation | None:
    """A stream without timestamps in a plan that puts tuples in order; None if there is none."""
    if not plan.timed:
        return None
    streams = (o.relation for o in plan.query.arriving)
    return next((relation for relation in streams if relation.timestamp is None), None)
