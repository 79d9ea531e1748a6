"""What is known of a query after each stage: it is parsed, decided, planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streambound.boundedness.criterion.verdict import Verdict
from streambound.boundedness.statements import Decision
from streambound.plan.flow import Node, units_of
from streambound.plan.model import Plan
from streambound.plan.parts import PlannedPart
from streambound.query.catalog import Catalog
from streambound.query.model import Query
from streambound.query.statement import Statement


@dataclass(frozen=True)
class Parsed:
    """A query whose text was read."""

    sql: str
    catalog: Catalog
    name: str
    statement: Statement
    dialect: str
    # The sign by which the dialect was guessed.
    guessed: str | None
    # Which query of a text of several, and the characters of its statement.
    asked: str | None
    span: tuple[int, int]

    @property
    def query(self) -> Query | None:
        """The conjunctive query that the statement is; None for OR and UNION."""
        return self.statement.raw.simple


@dataclass(frozen=True)
class Decided(Parsed):
    """A query with its verdict by a criterion, and what the papers' criteria as printed say, if asked."""

    criterion: str
    decision: Decision
    verdict: Verdict
    published: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[Query, ...]:
        """The conjunctions whose answers make the statement's."""
        return tuple(part.query for part in self.decision.parts)


@dataclass(frozen=True)
class Planned(Decided):
    """A query with the plans of its parts, if it is bounded.

    There are none where static values decide their size (``units_formula`` says so), and where a query that
    is decided cannot be evaluated yet (``unplanned`` says why).
    """

    planned_parts: tuple[PlannedPart, ...] = ()
    units_formula: str | None = None
    unplanned: str | None = None
    # What is evaluated of groups, ranks, frames and guards; of others the parts are all there is.
    node: Node | None = None

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of the parts."""
        return tuple(part.plan for part in self.planned_parts)

    @property
    def units(self) -> int | None:
        """Stored values and counts in the worst case; None if there is no number."""
        if not self.verdict.bounded or self.unplanned is not None or self.units_formula is not None:
            return None
        return sum(plan.max_units or 0 for plan in self.plans) if self.node is None else units_of(self.node)
