"""What is evaluated of a statement: the plans of its parts, and which streams each has a share of.

A conjunctive query has one part. The parts of a statement with OR or UNION are evaluated side by side; an
occurrence of a stream is then named with the label of its part before its alias.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streambound.approximate.plan import MemoryPlan
from streambound.checkpoint.fingerprint import fingerprint, united
from streambound.evaluation.events import Encoded
from streambound.query.model import Attribute, Kind, Occurrence, Query, Relation
from streambound.query.statement import Statement
from streambound.synopsis.ending import EndingPlan
from streambound.synopsis.plan import Plan, StreamSynopsis
from streambound.synopsis.statement import PlannedPart
from streambound.synopsis.timed import TimedPlan
from streambound.synopsis.timed_planner import AnyPlan

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
        found = {s.alias: self.plan.query.occurrence(s.alias) for s in synopses_of(self.plan)}
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
        return len(self.parts) == 1 and keeps_nothing(self.parts[0].plan)

    @property
    def shares(self) -> dict[str, Relation]:
        """The stream of each share that is taken of a partition; an always empty answer takes none."""
        return {key: relation for part in self.parts for key, relation in part.shares.items()}

    def fingerprint(self, static: Static) -> str:
        """What the state and the answers depend on: see ``checkpoint.fingerprint``."""
        found = [(p.block, p.query.ring.idempotent, _fingerprint(p, static)) for p in self.parts]
        if len(found) == 1 and self.statement.outputs == self.parts[0].query.outputs:
            return found[0][2]
        return united(found, [(name, kind.name) for name, kind in self.statement.outputs])


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


def keeps_nothing(plan: AnyPlan | MemoryPlan) -> bool:
    """Whether each tuple is answered at once."""
    return isinstance(plan, Plan) and plan.stateless


def synopses_of(plan: AnyPlan | MemoryPlan) -> tuple[StreamSynopsis, ...]:
    """What counts of each occurrence of a stream in a plan; of a stream of a plan that ends, once."""
    if isinstance(plan, EndingPlan):
        first = {o.relation.name: o for o in reversed(plan.query.arriving)}
        return tuple(_held(plan.query, occurrence) for occurrence in first.values())
    return plan.streams if isinstance(plan, (TimedPlan, MemoryPlan)) else plan.synopses


def _held(query: Query, first: Occurrence) -> StreamSynopsis:
    """All tuples that may matter of a stream, under whichever alias."""
    relation = first.relation
    aliases = {o.alias for o in query.arriving if o.relation.name == relation.name}
    mentioned = {a.column for a in query.mentioned if a.occurrence in aliases}
    own = (a for a in query.where if {x.occurrence for x in a.attributes} == aliases)
    return StreamSynopsis(
        alias=first.alias,
        filters=tuple(own) if len(aliases) == 1 else (),
        required=(),
        derived=(),
        members=(),
        carried=tuple(Attribute(first.alias, column) for column in sorted({*mentioned, _stamp(relation)})),
        cells=(),
    )


def _stamp(relation: Relation) -> str:
    assert relation.timestamp is not None
    return relation.timestamp


def timeless(plan: AnyPlan | MemoryPlan) -> Relation | None:
    """A stream without timestamps in a plan that puts tuples in order; None if there is none."""
    if isinstance(plan, Plan):
        return None
    streams = (o.relation for o in plan.query.occurrences if o.relation.kind is not Kind.STATIC)
    return next((relation for relation in streams if relation.timestamp is None), None)
