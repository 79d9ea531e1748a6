"""What tasks compute for one query of one of its streams: the statements over each partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streambound.query.model import Query, Relation
from streambound.spark import engine
from streambound.spark.statements import cell_statement, relation_statement, stateless_statement
from streambound.synopsis.plan import Plan, StreamSynopsis
from streambound.synopsis.timed import TimedPlan


@dataclass(frozen=True)
class Static:
    """A static relation that a stateless plan joins, and its files."""

    relation: Relation
    files: tuple[str, ...]


@dataclass(frozen=True)
class Reader:
    """One occurrence of a stream in one query, and the statements over each partition.

    Without ``answers`` (a folder) there is one statement a cell of ``synopsis``; with it one that computes
    the answer rows, which are written below it. Of a ``timed`` query one computes what counts by timestamp.
    """

    query: Query
    alias: str
    columns: tuple[str, ...]
    synopsis: StreamSynopsis
    statements: tuple[engine.Query, ...]
    statics: tuple[Static, ...] = ()
    answers: str | None = None
    timed: bool = False


def synopses_of(plan: Plan | TimedPlan) -> tuple[StreamSynopsis, ...]:
    """What counts of each occurrence of a stream in a plan."""
    return plan.streams if isinstance(plan, TimedPlan) else plan.synopses


def readers_of(plan: Plan | TimedPlan, answers: Path, statics: Sequence[Static]) -> list[tuple[str, Reader]]:
    """(stream, reader) of every occurrence of a stream in a plan."""
    if isinstance(plan, TimedPlan):
        return [_timed_reader(plan, synopsis) for synopsis in plan.streams]
    query, found = plan.query, []
    for synopsis in plan.synopses:
        if plan.stateless:
            made = [stateless_statement(plan)]
        else:
            made = [cell_statement(plan, synopsis, n) for n in range(len(synopsis.cells))]
        reader = Reader(
            query=query,
            alias=synopsis.alias,
            columns=tuple(a.column for a in query.mentioned if a.occurrence == synopsis.alias),
            synopsis=synopsis,
            statements=tuple(engine.Query(s.sql(), s.lookups) for s in made),
            statics=tuple(statics) if plan.stateless else (),
            answers=str(answers) if plan.stateless else None,
        )
        found.append((query.occurrence(synopsis.alias).relation.name, reader))
    return found


def _timed_reader(plan: TimedPlan, synopsis: StreamSynopsis) -> tuple[str, Reader]:
    relation, made = plan.query.occurrence(synopsis.alias).relation, relation_statement(plan, synopsis)
    mentioned = {a.column for a in plan.query.mentioned if a.occurrence == synopsis.alias}
    return relation.name, Reader(
        query=plan.query,
        alias=synopsis.alias,
        columns=tuple(sorted({*mentioned, str(relation.timestamp)})),
        synopsis=synopsis,
        statements=(engine.Query(made.sql(), made.lookups),),
        timed=True,
    )
