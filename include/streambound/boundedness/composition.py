"""Sub-queries that are not written out: the rows of one statement are the tuples of another
(docs/theory.md).

A bounded statement whose rows are final, or append-only, is a stream for the next: its rows are late by
at most a constant, and of different ones there are boundedly many at a time (not of equal ones: an engine
takes weights). Of one that changes the keys are as good as known (``changing``). So both bounded is
bounded. If the inner one is not, the outer is not where it passes every row and column on; else it is not
known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from streambound.boundedness.exact import NAME
from streambound.boundedness.verdict import Outcome, Verdict
from streambound.query.formula import ALWAYS
from streambound.query.model import Attribute, Relation
from streambound.query.statement import Statement

_OPEN = "a sub-query is not bounded alone, but what uses it may not need all of it"


def fed(statement: Statement) -> Iterator[tuple[Relation, Statement]]:
    """The relations of a statement that are the answers of another, with that."""
    seen = dict[str, tuple[Relation, Statement]]()
    for selection in statement.selections:
        for occurrence in (
            *selection.base.occurrences,
            *(o for g in selection.guards for o in g.base.occurrences),
        ):
            relation = occurrence.relation
            if relation.fed is not None:
                seen.setdefault(relation.name, (relation, relation.fed))
    yield from seen.values()


def inherited(statement: Statement, inner: Iterable[tuple[Relation, Verdict]]) -> Verdict:
    """The verdict on a statement of which a sub-query is not bounded."""
    relation, verdict = next((r, v) for r, v in inner if not v.bounded)
    if verdict.outcome is Outcome.UNBOUNDED and passes_on(statement, relation):
        return verdict
    first = verdict.reasons[0]
    code = first.code if verdict.outcome is Outcome.UNKNOWN else "open-question"
    reason = replace(first, code=code, message=f"{_OPEN}: {first.message}")
    return Verdict(Outcome.UNKNOWN, NAME, (reason,))


def passes_on(statement: Statement, relation: Relation) -> bool:
    """Whether the answers show every row of a relation with every column of it."""
    for block in statement.blocks:
        if block.then is not None or block.ring.remembers or len(block.selections) != 1:
            continue
        selection = block.selections[0]
        if len(selection.base.occurrences) != 1 or selection.guards or selection.as_of:
            continue
        occurrence = selection.base.occurrences[0]
        shown = {
            o.term.column for o in selection.base.select if isinstance(o.term, Attribute) and not o.within
        }
        names = {c.name for c in relation.columns if not c.of}
        if occurrence.relation.name == relation.name and selection.formula == ALWAYS and names <= shown:
            return len(statement.blocks) == 1
    return False
