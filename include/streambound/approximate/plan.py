"""The plan of an equijoin in k tuples of memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from streambound.approximate.equijoin import Equijoin, equijoin, synopses, width
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.errors import QueryError
from streambound.plan.model import StreamSynopsis
from streambound.query.model import Query
from streambound.query.statement import Statement

# So many tuples and counts the estimate of all results may take beside the cache.
SAMPLED = 1_000


@dataclass(frozen=True)
class MemoryPlan:
    """How an equijoin is evaluated: ``size`` tuples of both streams together, kept by ``selected_policy``.

    ``streams`` say which tuples count at all and which of their columns are kept.
    """

    join: Equijoin
    streams: tuple[StreamSynopsis, StreamSynopsis]
    size: int
    selected_policy: SelectedPolicy = field(metadata={"written": "choice"})
    sampled: int = SAMPLED
    approximate: ClassVar[Literal[True]] = True
    timed: ClassVar[Literal[True]] = True
    stateless: ClassVar[Literal[False]] = False
    empty: ClassVar[Literal[False]] = False
    ending: ClassVar[None] = None

    def extreme(self, alias: str) -> int | None:
        """See ``Plan.extreme``: all tuples count."""
        return None

    @property
    def query(self) -> Query:
        """The query."""
        return self.join.query

    @property
    def width(self) -> int:
        """Stored values of a cached tuple of the wider stream."""
        return width(self.streams)

    @property
    def max_units(self) -> int:
        """Stored values of the cache, at most: k times the width. The estimate's sample comes beside."""
        return self.size * self.width


def memory_plan(statement: Statement, size: int) -> MemoryPlan:
    """The plan of a statement in ``size`` tuples.

    Raises:
        PlanError: it is no equijoin that is accepted (see ``equijoin``).
        QueryError: the size is below 1.
    """
    if size < 1:
        raise QueryError(f"the memory is {size} tuples", subject=statement.name, accepted="1 or more")
    join = equijoin(statement)
    return MemoryPlan(join, synopses(join), size, SelectedPolicy())
