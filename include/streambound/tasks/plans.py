"""What is evaluated of a statement: the plans of its parts, and which streams each has a share of.

A conjunctive query has one part. The parts of a statement with OR or UNION are evaluated side by side; an
occurrence of a stream is then named with the label of its part before its alias.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from streambound.approximate.plan import MemoryPlan
from streambound.checkpoint.fingerprint import fingerprint, united
from streambound.evaluation.events import Encoded
from streambound.query.model import Kind, Query, Relation
from streambound.query.statement import Statement
from streambound.synopsis.planner import AnyPlan
from streambound.synopsis.statement import PlannedPart

Static = Mapping[str, list[Encoded]]


@dataclass(frozen=True)
class PartPlan:
    """A conjunction of a statement: the number of its block, its label, and its plan."""

    block: int
    label: str
    query: Query
    plan: AnyPlan | MemoryPlan

    @property
    def shares(self) -> dict[str, Relation]:
        """The stream of each share that it takes of a partition."""
        found = {s.alias: self.plan.query.occurrence(s.alias) for s in self.plan.streams}
        return {self.label + alias: occurrence.relation for alias, occurrence in found.items()}

    def own(self, given: Mapping[str, bytes]) -> dict[str, bytes]:
        """Of the shares of all parts those of this one, by alias."""
        return {key[len(self.label) :]: given[key] for key in self.shares if key in given}


@dataclass(frozen=True)
class StatementPlan:
    """A bounded statement with the plans of its parts; without parts its answer is always empty."""

    statement: Statement
    parts: tuple[PartPlan, ...]

    @property
    def units(self) -> int | None:
        """Stored values and counts in the worst case; None if there is no number."""
        sizes = [part.plan.units for part in self.parts]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    @property
    def stateless(self) -> bool:
        """Whether tasks write the answers, and nothing is kept."""
        return len(self.parts) == 1 and self.parts[0].plan.stateless and not self.checked

    @cached_property
    def checked(self) -> Mapping[str, Relation]:
        """The streams of which no answer needs a tuple, by the key of their shares.

        They are read all the same: that they need not be may rest on the catalog's promises about them.
        """
        read = {relation.name for part in self.parts for relation in part.shares.values()}
        found = {o.relation.name: o.relation for o in self.statement.arriving}
        return {f"checked {name}": relation for name, relation in found.items() if name not in read}

    @property
    def shares(self) -> dict[str, Relation]:
        """The stream of each share that is taken of a partition."""
        found = {key: relation for part in self.parts for key, relation in part.shares.items()}
        return {**found, **self.checked}

    def fingerprint(self, static: Static) -> str:
        """What the state and the answers depend on: see ``checkpoint.fingerprint``."""
        found = [(p.block, p.query.ring.idempotent, _fingerprint(p, static)) for p in self.parts]
        if len(found) == 1 and self.statement.outputs == self.parts[0].query.outputs and not self.checked:
            return found[0][2]
        checked = ((relation, self.statement.reads(relation)) for relation in self.checked.values())
        return united(found, [(name, kind.name) for name, kind in self.statement.outputs], checked)


def _fingerprint(part: PartPlan, static: Static) -> str:
    mine = {o.relation.name for o in part.query.statics}
    return fingerprint(part.query, part.plan, {n: rows for n, rows in static.items() if n in mine})


def statement_plan(statement: Statement, parts: Sequence[PlannedPart]) -> StatementPlan:
    """The plan of a bounded statement."""
    labels = [f"{number} " if len(parts) > 1 else "" for number in range(len(parts))]
    made = (PartPlan(p.block, label, p.query, p.plan) for label, p in zip(labels, parts, strict=True))
    return StatementPlan(statement, tuple(made))


def memory_statement_plan(plan: MemoryPlan, statement: Statement) -> StatementPlan:
    """An equijoin in k tuples of memory, as a statement of one part."""
    return StatementPlan(statement, (PartPlan(0, "", plan.query, plan),))


def timeless(plan: AnyPlan | MemoryPlan) -> Relation | None:
    """A stream without timestamps in a plan that puts tuples in order; None if there is none."""
    if not plan.timed:
        return None
    streams = (o.relation for o in plan.query.occurrences if o.relation.kind is not Kind.STATIC)
    return next((relation for relation in streams if relation.timestamp is None), None)
