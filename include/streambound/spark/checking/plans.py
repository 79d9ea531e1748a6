"""What a person has of a query of Spark, as blocks: a DataFrame, or a query that runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streambound.errors import QueryError, UnsupportedError
from streambound.query.column_types import shown
from streambound.spark.checking import classic, connect
from streambound.spark.checking.blocks import Query
from streambound.spark.checking.plan_sources import PlanSources

# Where a query that ``install`` saw start on Spark Connect keeps its DataFrame.
STARTED = "_streambound_frame"
ACCEPTED = "a streaming DataFrame, or a StreamingQuery"


@dataclass(frozen=True)
class Plan:
    """The query of a DataFrame, and what it is called."""

    query: Query
    world: PlanSources
    name: str


def plan_of(frame: Any, name: str | None) -> Plan:
    """The plan of a DataFrame or of a running query, classic or Connect.

    Raises:
        QueryError: it is neither, not streaming, or its plan cannot be had.
    """
    world = PlanSources()
    if of_spark(frame, "sql.streaming.query", "StreamingQuery"):
        name = name or frame.name or "query"
        plan = frame._jsq.streamingQuery().analyzedPlan()
        return Plan(_read(lambda: classic.read(plan, world), name), world, name)
    if of_spark(frame, "sql.connect.streaming.query", "StreamingQuery"):
        if (started := getattr(frame, STARTED, None)) is not None:
            return plan_of(started, name or frame.name)
        raise QueryError(
            "a query that runs on Spark Connect tells no client its plan",
            subject=name or frame.name,
            accepted=ACCEPTED,
            fix="check the DataFrame before it is started, or have streambound.spark.install do so",
        )
    on_connect = of_spark(frame, "sql.connect.dataframe", "DataFrame")
    if not on_connect and not of_spark(frame, "sql.classic.dataframe", "DataFrame"):
        raise QueryError(f"found {shown(frame)}", subject=name, accepted=ACCEPTED)
    if not frame.isStreaming:
        raise QueryError(
            "the DataFrame is not streaming",
            subject=name,
            accepted=ACCEPTED,
            fix="read its streams with spark.readStream",
        )
    name = name or "query"
    if on_connect:
        client = frame._session.client
        return Plan(_read(lambda: connect.read(frame._plan.plan(client), client, world), name), world, name)
    plan = frame._jdf.queryExecution().analyzed()
    return Plan(_read(lambda: classic.read(plan, world), name), world, name)


def _read(read: Callable[[], Query], name: str) -> Query:
    """What a reader makes of a plan; Spark has more forms than are known, and none of them is a defect."""
    try:
        return read()
    except (LookupError, AttributeError, TypeError, ValueError, StopIteration, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"
        message = f"the plan has a form that is not known ({what})"
        raise UnsupportedError(
            message, subject=name, fix="write it in other operations, or as SQL"
        ) from error


def of_spark(value: Any, module: str, kind: str) -> bool:
    """Whether a value is of a class of pyspark; none is, where its module was never loaded."""
    loaded = sys.modules.get(f"pyspark.{module}")
    return loaded is not None and isinstance(value, getattr(loaded, kind))
