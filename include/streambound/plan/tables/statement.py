"""Statements with OR or UNION: the bounded conjunctions whose answers make theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streambound.boundedness.criterion.verdict import Verdict
from streambound.boundedness.statements import Decision, Part, decide
from streambound.errors import PlanError
from streambound.plan.model import Plan, sum_of
from streambound.plan.parts import PlannedPart
from streambound.plan.tables.planner import plan_of
from streambound.plan.tables.table_planner import StaticValues
from streambound.query.model import Query
from streambound.query.statement import Statement

# How a statement is called where it is all that was asked, and where it is a part of that.
WHOLE, PART = "the query is", "no plan was found: its rows alone are"


def require_bounded(statement: Statement, called: str = WHOLE) -> Decision:
    """The decision on a statement that is bounded, in the mode that is asked for.

    Raises:
        PlanError: it is not.
    """
    decision = decide(statement)
    if statement.final:
        require_final(statement.name, decision.verdict)
    elif not decision.verdict.bounded:
        raise PlanError(
            f"{called} {decision.verdict.outcome.value}: {decision.verdict.reasons[0].message}",
            subject=statement.name,
            fix="see streambound check",
        )
    return decision


def require_final(name: str, verdict: Verdict) -> None:
    """Refuse what cannot be evaluated in mode final, by the verdict on a query.

    Raises:
        PlanError: it is never final, or not known to be bounded in that mode.
    """
    if verdict.final == "bounded":
        return
    if verdict.final == "never-final":
        raise PlanError(
            "never final: every row may be taken back for ever, so none is answered once and for all",
            subject=name,
            fix="use --mode changes, or group by a window of time, which ends",
        )
    said = "unbounded" if verdict.final else "not known to be bounded"
    raise PlanError(
        f"the query is {said} in mode final",
        subject=name,
        fix="use --mode changes" if verdict.bounded else "see streambound check",
    )


def not_evaluated(name: str, why: str, cause: PlanError | None = None) -> PlanError:
    """What is said of a bounded query without a plan; ``told`` may know the place, and a fix for it."""
    message = f"bounded, but it cannot be evaluated yet: {why}"
    if cause is not None and cause.location is not None:
        return PlanError(message, subject=name, location=cause.location, fix=cause.fix)
    fix = "choose other queries; of many run --engine reference evaluates small inputs"
    return PlanError(message, subject=name, fix=fix)


def bounded_parts(statement: Statement, called: str = WHOLE) -> tuple[Part, ...]:
    """The conjunctions of a statement, each bounded; none if its answer is always empty.

    In a block of bags no match is in two of them. So the answer of a block is the sum of its parts', or
    their union if it is distinct.

    Raises:
        PlanError: the statement, or a part of it, is not bounded.
    """
    decision = require_bounded(statement, called)
    if decision.unplanned is not None:
        raise PlanError(f"no plan was made: {decision.unplanned}", subject=statement.name)
    return decision.parts


def plans_of_block(parts: Sequence[tuple[Query, StaticValues | None]]) -> list[Plan]:
    """The plans of the parts of one block, each a query with the values of its static relations.

    A row that a part has answered and forgotten must not come anew from another part: all parts
    remember rows as long as any of them may have them again, and through that moment, since the rows of a
    moment are compared when each part has forgotten what cannot come after it.

    Raises:
        PlanError: a part has no plan, or only some parts forget rows.
    """
    plans = [plan_of(query, values) for query, values in parts]
    ends = [plan.ends for plan in plans]
    if len(plans) < 2 or not any(ends):
        return plans
    if len({frozenset(own_ends) for own_ends in ends}) > 1:
        raise PlanError(
            "no plan was made: DISTINCT rows with a timestamp in some alternatives of OR or UNION only",
            subject=parts[0][0].name,
        )
    last = max(after for own_ends in ends for after in own_ends.values())
    return [plan_of(query, values, last + 1 if last > 0 else 0) for query, values in parts]


def planned_parts(
    parts: Sequence[Part], values: Callable[[Query], StaticValues] | None = None
) -> tuple[PlannedPart, ...]:
    """The plans of all parts of a statement.

    Args:
        values: gives the values of the static relations of a part, if they are known.

    Raises:
        PlanError: a part has none (see ``plans_of_block``).
    """
    planned: list[PlannedPart] = []
    for block in dict.fromkeys(part.block for part in parts):
        queries = [part.query for part in parts if part.block == block]
        plans = plans_of_block([(query, None if values is None else values(query)) for query in queries])
        planned.extend(PlannedPart(block, query, plan) for query, plan in zip(queries, plans, strict=True))
    return tuple(planned)


def sizing(plans: Sequence[Plan]) -> str | None:
    """The units of plans where rows at a timestamp are not declared, or a stream ends; else None."""
    sized = [plan.max_units for plan in plans if plan.max_units is not None]
    if len(sized) == len(plans):
        return None
    open_ended = [plan.formula for plan in plans if plan.max_units is None]
    return sum_of([str(sum(sized))] * bool(sum(sized)) + open_ended)
