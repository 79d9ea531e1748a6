"""Statements with OR or UNION: the bounded conjunctions whose answers make theirs."""

from __future__ import annotations

from streambound.boundedness.statements import Part, decide
from streambound.errors import PlanError
from streambound.query.statement import Statement


def bounded_parts(statement: Statement) -> tuple[Part, ...]:
    """The conjunctions of a statement, each bounded; none if its answer is always empty.

    In a block of bags no match is in two of them. So the answer of a block is the sum of its parts', or
    their union if it is distinct.

    Raises:
        PlanError: the statement, or a part of it, is not bounded.
    """
    decision = decide(statement)
    if not decision.verdict.bounded:
        raise PlanError(
            f"the query is {decision.verdict.outcome.value}: {decision.verdict.reasons[0].message}",
            subject=statement.name,
            fix="see streambound check",
        )
    return decision.parts
