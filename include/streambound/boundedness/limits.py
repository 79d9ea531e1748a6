"""Where ``bounded`` is not settled: shapes that the reductions do not cover (docs/theory.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from streambound.boundedness.criterion.current_time import leaves
from streambound.boundedness.criterion.exact import NAME
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.constraints.cases import cases
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.query.model import Attribute, RelationKind
from streambound.query.operators import Aggregate, AggregateKind, Grouping, WindowCalls
from streambound.query.statement import Block, Guard, Selection, Statement

_EXTREMA = (AggregateKind.LEAST, AggregateKind.GREATEST)


def within_limits(statement: Statement, verdict: Verdict) -> Verdict:
    """The verdict; unknown in place of bounded where a part of the statement is an open question."""
    guards = [g for s in statement.selections for g in s.guards]
    if any(o.relation.kind is RelationKind.VERSIONED for g in guards for o in g.base.occurrences):
        # Rows may be taken back, and which stay is not settled.
        verdict = replace(verdict, final=None)
    elif verdict.final is not None and any(map(_leaving, guards)):
        every = all(any(_leaving(g) and not g.negated for g in s.guards) for s in statement.selections)
        verdict = replace(verdict, final="never-final" if every else None)
    if not verdict.bounded:
        return verdict
    reason = next((r for block in statement.blocks for r in _open(block)), None)
    return verdict if reason is None else Verdict(Outcome.UNKNOWN, NAME, (reason,))


def _leaving(guard: Guard) -> bool:
    """Whether what a guard looks for is gone after some time (``NOW()``)."""
    return any(o.relation.fed is not None and leaves(o.relation.fed) for o in guard.base.occurrences)


def _open(block: Block) -> Iterator[Reason]:
    for selection in block.selections:
        for guard in () if _of_tables(selection) else selection.guards:
            if any(o.relation.kind is RelationKind.VERSIONED for o in guard.base.occurrences):
                message = "what is looked for is in a table that changes: rows come and go with it"
                yield Reason("open-question", message, (), guard.location)
    if isinstance(block.then, Grouping):
        asked = [a for a in block.then.aggregates if any(_computed(s, a) for s in block.selections)]
    elif isinstance(block.then, WindowCalls):
        asked = []
        for over in block.then.functions:
            if any(_joins(s) for s in block.selections):
                message = f"{over.name} is over the rows of a join that time does not keep together"
                yield Reason("open-question", message, (), over.location)
    else:
        return
    for aggregate in asked:
        message = f"{aggregate.text} is computed from columns of several streams, and is no sum of products"
        yield Reason("open-question", message, (), aggregate.location)


def _of_tables(selection: Selection) -> bool:
    """Whether all that is read are tables of boundedly many rows: what is asked of them is asked again."""
    return all(
        o.relation.kind is RelationKind.STATIC
        or (o.relation.kind is RelationKind.VERSIONED and o.relation.primary_key)
        for o in selection.occurrences
    )


def _computed(selection: Selection, aggregate: Aggregate) -> bool:
    """Whether an aggregate is of what compares or computes something of several streams."""
    terms = [selection.base.select[p].term for p in aggregate.arguments]
    owners = {t.occurrence for t in terms if isinstance(t, Attribute)}
    if (
        len(owners) < 2
        or aggregate.by is not None
        or aggregate.distinct
        or aggregate.kind is AggregateKind.LIST
    ):
        return False
    linear = aggregate.polynomial is not None and all(
        len(factors) <= 1 for _, factors in aggregate.polynomial
    )
    by_criterion = aggregate.polynomial is not None and (aggregate.kind not in _EXTREMA or linear)
    return not by_criterion and _joins(selection)


def _joins(selection: Selection) -> bool:
    """Whether rows come of several streams that time does not keep together."""
    return any(
        len(TimeOrder(system(query)).composites) > 1 for case in cases(selection) for query in case.parts
    )
