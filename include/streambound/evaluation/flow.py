"""The evaluation of a tree of rows that change (``plan.flow``), and of statements by it.

What is new goes to the leaves; what that changes in their rows goes up through the operations. So the changes
of the root are the difference between the statement's answers before and after it. How the leaves find their
rows is handed in: from the tuples of a marker, or from what tasks made of a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from streambound.errors import PlanError
from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.evaluation.onepass import static_values
from streambound.evaluation.promises import require_units
from streambound.evaluation.statement import BatchLeaf
from streambound.operators.factory import operator_of
from streambound.operators.rows.expressions import complete
from streambound.operators.rows.operator import Changes, Operator, Row, added
from streambound.operators.settled import Once
from streambound.plan.flow import Applied, Leaf, Node, units_of
from streambound.plan.tables.statement import not_evaluated, require_bounded
from streambound.plan.trees.flow_planner import flow
from streambound.plan.trees.joined import changing
from streambound.query.statement import Statement
from streambound.state.engine import EngineState
from streambound.state.row_join import static_sources
from streambound.state.serial import canonical, canonical_list

Given = TypeVar("Given", contravariant=True)


class LeafRows(Protocol[Given]):
    """What finds the rows of a leaf."""

    @property
    def stored_units(self) -> int:
        """Values and counts stored now."""

    @property
    def initial(self) -> Changes:
        """The rows before anything came."""

    def take(self, given: Given, fed: Mapping[str, Changes]) -> Changes:
        """The changes of the rows that follow from what is given, and of relations' rows that are fed."""

    def dump(self) -> bytes:
        """What is kept, as canonical JSON."""

    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave, as JSON."""


class Tree(Generic[Given]):
    """A node with what it keeps, over those below it.

    Args:
        leaf_of: makes what finds the rows of a leaf.
    """

    def __init__(self, node: Node, leaf_of: Callable[[Leaf], LeafRows[Given]]) -> None:
        self.below: list[Tree[Given]] = [Tree(item, leaf_of) for item in node.inputs]
        self.leaf = leaf_of(node) if isinstance(node, Leaf) else None
        self.names = [name for name, _ in node.fed] if isinstance(node, Leaf) else []
        self.node = node
        self.operator: Operator | None = operator_of(node) if isinstance(node, Applied) else None
        self._nothing: Given | None = None
        # What was standing below, to be found again from what is kept there.
        self._standing: Changes | None = None

    @property
    def stored_units(self) -> int:
        """Values and counts stored now."""
        own = self.operator.stored_units if self.operator else self.leaf.stored_units if self.leaf else 0
        return own + sum(tree.stored_units for tree in self.below)

    def begin(self, nothing: Given) -> dict[Row, int]:
        """The rows before anything came; to be called once, of a tree that keeps nothing yet."""
        self._nothing = nothing
        below = [tree.begin(nothing) for tree in self.below]
        if isinstance(self.operator, Once):
            return self.operator.take([below[0], {}, self.below[0].standing(None)])
        if self.leaf is not None:
            named = dict(zip(self.names, below, strict=True))
            return added([self.leaf.initial, self.leaf.take(nothing, named) if any(below) else {}])
        if self.operator is None:
            return added(below)
        return added([self.operator.initial(), self.operator.take(below) if any(below) else {}])

    def take(self, given: Given) -> dict[Row, int]:
        """The changes of the rows that follow from what is given."""
        if isinstance(self.operator, Once):
            return self._settled(self.operator, given)
        below = [tree.take(given) for tree in self.below]
        if self.leaf is not None:
            return dict(self.leaf.take(given, dict(zip(self.names, below, strict=True))))
        if self.operator is None:
            return added(below)
        return self.operator.take(below) if any(below) else {}

    def _settled(self, once: Once, given: Given) -> dict[Row, int]:
        rows, *clocks = self.below
        before = rows.standing(once.now) if self._standing is None else self._standing
        changes = rows.take(given)
        once.see([clock.take(given) for clock in clocks])
        self._standing = rows.standing(once.now)
        return once.take([changes, before, self._standing])

    def standing(self, now: int | None) -> Changes:
        """The rows that may still be taken back, once all until a time (encoded) has come."""
        if not self.node.retracts:
            return {}
        below = [tree.standing(now) for tree in self.below]
        if self.operator is not None:
            return self.operator.standing(now, below)
        if self.leaf is None:
            return added(below)
        # It keeps nothing, so what it gives is no more than the rows of these.
        assert self._nothing is not None
        return self.leaf.take(self._nothing, dict(zip(self.names, below, strict=True)))

    def dump(self) -> bytes:
        """What is kept, as canonical JSON: ``[own, *below]`` of each node."""
        own = self.leaf.dump() if self.leaf else canonical(self.operator.dump() if self.operator else None)
        return canonical_list([own, *(tree.dump() for tree in self.below)])

    def load(self, document: Any) -> None:
        """Take up what ``dump`` gave, as JSON."""
        own, *below = document
        self._standing = None
        if isinstance(self.node, Applied):
            # What it keeps of what is known beforehand is in the document as well.
            self.operator = operator_of(self.node)
        if (keeps := self.operator or self.leaf) is not None:
            keeps.load(own)
        for tree, part in zip(self.below, below, strict=True):
            tree.load(part)


def completed(statement: Statement, tuples: Mapping[str, Sequence[Encoded]]) -> dict[str, list[Encoded]]:
    """Tuples of relations of a statement with the values of the derived columns that they lack.

    Raises:
        DataError: a value has no place in its type.
    """
    computed = {relation.name: relation for relation in statement.scanned if relation.computed}
    made = {name: list(rows) for name, rows in tuples.items()}
    for name in computed.keys() & made.keys():
        rows = [dict(row) for row in made[name]]
        complete(computed[name], rows)
        made[name] = rows
    return made


class StaticLeaf:
    """The rows of a leaf of static relations: all are there before anything came, and none is kept."""

    stored_units = 0

    def __init__(self, leaf: Leaf, static: Mapping[str, list[Encoded]]) -> None:
        self.leaf, self.static = leaf, static

    @property
    def initial(self) -> Changes:
        """All of its rows."""
        blocks: dict[int, list[dict[Row, int]]] = {}
        rings = {part.block: part.query.ring for part in self.leaf.parts}
        for part in self.leaf.parts:
            plan, rows = part.plan, dict[Row, int]()
            if not plan.empty:
                EngineState(plan).join.rows(plan.query, static_sources(plan.query, self.static), rows)
            blocks.setdefault(part.block, []).append(rows)
        made = {block: added(rows) for block, rows in blocks.items()}
        return added(dict.fromkeys(rows, 1) if rings[n].idempotent else rows for n, rows in made.items())

    def take(self, given: object, fed: Mapping[str, Changes]) -> Changes:
        """No changes: its rows are there from the start."""
        return {}

    def dump(self) -> bytes:
        """Nothing."""
        return b"{}"

    def load(self, document: Any) -> None:
        """Take up nothing."""


class FlowPass:
    """Evaluates a bounded statement on one machine.

    ``peak_units`` is the most that was ever stored, ``max_units`` the most that the plan allows (None if
    there is no number), ``initial`` the answer before anything came.
    """

    def __init__(self, statement: Statement, node: Node, static: Mapping[str, list[Encoded]]) -> None:
        self.statement, self.max_units = statement, units_of(node)
        self.tree: Tree[Batch] = Tree(
            node, lambda leaf: StaticLeaf(leaf, static) if leaf.static else BatchLeaf(leaf, static)
        )
        self.initial = self.tree.begin(Batch(None, {}))
        self.peak_units = self.tree.stored_units

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Answer]]:
        """The changes of the answer at each marker."""
        for batch in batches:
            yield answers(self.statement, batch.marker, self.process(batch))

    def process(self, batch: Batch) -> dict[Row, int]:
        """Take in one batch and return the changes of the answer: encoded rows with signed counts.

        Raises:
            UnitsExceeded: the state passed the units.
        """
        changes = self.tree.take(replace(batch, tuples=completed(self.statement, batch.tuples)))
        self.peak_units = max(self.peak_units, self.tree.stored_units)
        require_units(self.statement.name, self.max_units, self.peak_units)
        return changes


def statement_pass(statement: Statement, static: Mapping[str, list[Encoded]]) -> FlowPass:
    """The evaluation of a statement that has not been decided yet.

    Raises:
        PlanError: it is not bounded, or a part of it has no plan.
    """
    if statement.final or not statement.plain or changing(statement.occurrences):
        # Of any other the plan asks the same.
        require_bounded(statement)
    complete_static = completed(statement, static)
    try:
        node = flow(statement, partial(static_values, static=complete_static))
    except PlanError as error:
        require_bounded(statement)
        raise not_evaluated(statement.name, error.message, error) from None
    return FlowPass(statement, node, complete_static)
