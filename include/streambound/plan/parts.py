"""The parts of a statement: each a conjunction with its plan (docs/theory.md, Plans and units)."""

from __future__ import annotations

from dataclasses import dataclass

from streambound.plan.model import Plan
from streambound.query.model import Query


@dataclass(frozen=True)
class PlannedPart:
    """A conjunction of a statement with its plan, and the number of its block."""

    block: int
    query: Query
    plan: Plan
