"""What a person has of a query of Spark, as blocks: a DataFrame, or a query that runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streambound.errors import QueryError, UnsupportedError
from streambound.query.values import shown
from streambound.spark.checking import classic
from streambound.spark.checking.blocks import Query, World

ACCEPTED = "a streaming DataFrame, or a StreamingQuery"


@dataclass(frozen=True)
class Plan:
    """The query of a DataFrame, and what it is called."""

    query: Query
    world: World
    name: str


def plan_of(frame: Any, name: str | None) -> Plan:
    """The plan of a DataFrame or of a running query, classic or Connect.

    Raises:
        QueryError: it is neither, or not streaming.
        UnsupportedError: its plan cannot be had.
    """
    world = World()
    if hasattr(frame, "_jsq"):
        running = frame._jsq.streamingQuery()
        plan = running.analyzedPlan()
        return Plan(classic.read(plan, world), world, name or frame.name or "query")
    if not getattr(frame, "isStreaming", None):
        found = (
            f"{shown(type(frame).__name__)} is not streaming"
            if hasattr(frame, "isStreaming")
            else shown(frame)
        )
        raise QueryError(
            found if hasattr(frame, "isStreaming") else f"found {found}",
            subject=name,
            accepted=ACCEPTED,
            fix="read its streams with spark.readStream",
        )
    if hasattr(frame, "_jdf"):
        plan = frame._jdf.queryExecution().analyzed()
        return Plan(classic.read(plan, world), world, name or "query")
    raise UnsupportedError("not yet", subject=name)
