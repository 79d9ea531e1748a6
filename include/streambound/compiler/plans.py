"""The plan of a bounded query: of its parts, or of the operations on their rows; or why it has none."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from streambound.compiler.stages import Decided, Planned
from streambound.errors import PlanError
from streambound.plan.flow import formula_of
from streambound.plan.tables.statement import planned_parts, require_final, sizing
from streambound.plan.trees.flow_planner import flow
from streambound.query.column_types import Family, Value
from streambound.query.model import Attribute, Query
from streambound.query.statement import Statement


def planned(job: Decided) -> Planned:
    """The compact plan of each part of a bounded query; a formula where static values decide its size."""
    planned_job = Planned(**vars(job))
    if not job.verdict.bounded:
        return planned_job
    if (why := unplanned(job)) is not None:
        return replace(planned_job, unplanned=why)
    if job.statement.plain and not job.decision.operators:
        if sized := [query for query in job.parts if _sized_by_statics(query)]:
            named = dict.fromkeys(str(a) for query in sized for a in query.mentioned if query.is_static(a))
            return replace(
                planned_job, units_formula=f"keys x classes of the static values of {', '.join(named)}"
            )
        # Without tables of its parts it may have a plan as operations.
        with suppress(PlanError):
            parts = planned_parts(job.decision.parts)
            sizes = sizing([part.plan for part in parts])
            return replace(planned_job, planned_parts=parts, units_formula=sizes)
    try:
        if job.statement.final:
            require_final(job.name, job.verdict)
        node = flow(job.statement)
    except PlanError as error:
        if not _planned_with_statics(job.statement):
            # Bounded, but beyond a named limit of the planner: the verdict stands without a size.
            return replace(planned_job, unplanned=error.message)
        names = ", ".join(dict.fromkeys(o.relation.name for o in job.statement.statics))
        return replace(planned_job, units_formula=f"keys x classes of the static values of {names}")
    return replace(planned_job, node=node, units_formula=formula_of(node))


def unplanned(job: Decided) -> str | None:
    """Why a bounded query has no plan, whatever static relations hold; None if it may have one."""
    # Operations on rows of plain streams are planned by what they are.
    operated = job.decision.operators and not job.statement.statics
    decided = job.decision.unplanned if job.statement.plain and not operated else None
    return job.statement.unevaluated or decided


def _planned_with_statics(statement: Statement) -> bool:
    """Whether there is a plan once the values of static relations are known: of any others it is alike."""

    def values(query: Query) -> dict[Attribute, tuple[Value, ...]]:
        texts = [a for a in query.mentioned if query.type_of(a).family is Family.STRING]
        return {a: ("",) if a in texts else (0,) for a in query.mentioned if query.is_static(a)}

    with suppress(PlanError):
        return bool(statement.statics) and flow(statement, values) is not None
    return False


def _sized_by_statics(query: Query) -> bool:
    return bool(query.statics) and (query.ring.idempotent or len(query.streams) > 1)
