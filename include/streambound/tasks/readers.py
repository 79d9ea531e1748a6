"""What tasks compute for one query of one of its streams: the statements over each partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streambound.approximate.plan import MemoryPlan
from streambound.plan.flow import First, Partial
from streambound.plan.model import Cell, Plan, StreamSynopsis
from streambound.query.model import Attribute, Occurrence, Query, Relation
from streambound.query.ring import INTEGERS
from streambound.query.statement import Statement
from streambound.tasks import embedded_engine, emit
from streambound.tasks.counts import counts_only
from streambound.tasks.plans import StatementPlan
from streambound.tasks.statements import (
    cell_statement,
    extreme_statement,
    relation_statement,
    stateless_statement,
)


@dataclass(frozen=True)
class Static:
    """A static relation that a stateless plan joins, and its files."""

    relation: Relation
    files: tuple[str, ...]


@dataclass(frozen=True)
class Reader:
    """One occurrence of a stream in one query, and the statements over each partition.

    Without ``answers`` (a folder) there is one statement for each of ``cells``; with it one that computes
    the answer rows, which are written below it with the ``outputs`` of the whole text. Of a ``timed`` query
    one computes what counts by timestamp; of a part that keeps nothing, ``counted`` with those of other
    parts, one that computes its answer rows. ``by_key``: the statements give counts by the values of keys.
    ``weights`` are the further columns of each statement (see ``weights``), None where rows weigh one.
    Rows may come by ``partial`` aggregation (see ``flow.Leaf``).
    """

    query: Query
    alias: str
    columns: tuple[str, ...]
    synopsis: StreamSynopsis
    statements: tuple[embedded_engine.EngineQuery, ...]
    cells: tuple[Cell, ...] = ()
    statics: tuple[Static, ...] = ()
    answers: str | None = None
    outputs: emit.Outputs = ()
    timed: bool = False
    counted: bool = False
    by_key: bool = False
    weights: tuple[int, ...] | None = None
    partial: Partial | None = None


def statement_readers(
    plan: StatementPlan, answers: Path | None, statics: Sequence[Static], markers: bool = False
) -> list[tuple[str, Reader]]:
    """(stream, reader) of every occurrence of a stream in the parts of a statement.

    Args:
        answers: their folder; without one the answer rows of a plan that keeps nothing go to the driver.
        markers: answers are asked for at each timestamp, and not only at the end of a partition.
    """
    listed = []
    for part in plan.parts:
        if part.fed and part.plan.stateless:
            continue
        counted = (answers is None or not plan.stateless) and part.plan.stateless
        waiting = markers and bool(plan.waiting & part.inputs.keys())
        for stream, reader in readers_of(
            *(part.plan, answers or Path(), statics, counted, markers, waiting),
            *(part.best, part.first, part.partial),
        ):
            if part.label + reader.alias not in part.inputs:
                continue
            alias, outputs = part.label + reader.alias, plan.statement.outputs
            columns = _read(plan.statement, reader)
            # A sub-query has a name of its own.
            query = replace(reader.query, name=plan.statement.name)
            made = replace(reader, query=query, alias=alias, outputs=outputs, columns=columns)
            listed.append((stream, made))
    return [*listed, *_checking(plan)]


def _checking(plan: StatementPlan) -> Iterator[tuple[str, Reader]]:
    """Readers of what no part needs: they have only the catalog's promises checked."""
    for key, relation in plan.checked.items():
        name, alias = plan.statement.name, relation.name
        query = Query(name, plan.statement.sql, INTEGERS, (), (Occurrence(alias, relation),), ())
        columns = tuple(sorted(plan.statement.reads(relation)))
        whole = StreamSynopsis(alias, (), (), (), (), tuple(Attribute(alias, column) for column in columns))
        reader = Reader(query, key, columns, whole, ())
        yield relation.name, replace(reader, columns=_read(plan.statement, reader))


def _read(statement: Statement, reader: Reader) -> tuple[str, ...]:
    """The columns of a reader, with the timestamp if the statement depends on it: its promises count."""
    relation = reader.query.occurrence(reader.synopsis.alias).relation
    stamp = {str(relation.timestamp)} if statement.reads_time(relation) else set()
    return tuple(sorted({*reader.columns, *stamp}))


def readers_of(
    plan: Plan | MemoryPlan,
    answers: Path,
    statics: Sequence[Static],
    counted: bool = False,
    markers: bool = False,
    waiting: bool = False,
    best: tuple[int, bool] | None = None,
    first: First | None = None,
    partial: Partial | None = None,
) -> list[tuple[str, Reader]]:
    """(stream, reader) of every occurrence of a stream in a plan.

    Args:
        counted: the answer rows of a plan that keeps nothing go to the driver instead of to files.
        markers: see ``statement_readers``.
        waiting: tuples are wanted by time, though the plan does not ask for it.
        best, first, partial: see ``flow.Leaf``.
    """
    if plan.timed or waiting:
        return [timed_reader(plan.query, s, None if markers else plan.extreme(s.alias)) for s in plan.streams]
    query, readers, cells = plan.query, [], {s.streams[0]: s.cells for s in plan.synopses}
    for synopsis in plan.streams:
        own = cells.get(synopsis.alias, ())
        if plan.stateless:
            made = [stateless_statement(plan, counted, best, first, partial)]
        else:
            made = [cell_statement(query, synopsis, cell, number) for number, cell in enumerate(own)]
        reader = Reader(
            query=query,
            alias=synopsis.alias,
            columns=_columns(query, synopsis.alias),
            synopsis=synopsis,
            statements=tuple(embedded_engine.EngineQuery(s.sql(), s.lookups) for s in made),
            cells=own,
            statics=tuple(statics) if plan.stateless else (),
            answers=str(answers) if plan.stateless and not counted else None,
            counted=counted,
            by_key=counts_only(plan),
            partial=partial,
            weights=tuple(s.weights for s in made) if query.weight else None,
        )
        readers.append((query.occurrence(synopsis.alias).relation.name, reader))
    return readers


def _columns(query: Query, alias: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(a.column for a in (*query.mentioned, *query.weight) if a.occurrence == alias))


def timed_reader(query: Query, synopsis: StreamSynopsis, extreme: int | None = None) -> tuple[str, Reader]:
    """(stream, reader) of an occurrence whose tuples are wanted by time; ``extreme`` as in ``Plan``."""
    relation = query.occurrence(synopsis.alias).relation
    made = (
        relation_statement(query, synopsis)
        if extreme is None
        else extreme_statement(query, synopsis, extreme)
    )
    mentioned = _columns(query, synopsis.alias)
    carried = {a.column for a in synopsis.carried}
    return relation.name, Reader(
        query=query,
        alias=synopsis.alias,
        columns=tuple(sorted({*mentioned, *carried, str(relation.timestamp)})),
        synopsis=synopsis,
        statements=(embedded_engine.EngineQuery(made.sql(), made.lookups),),
        timed=True,
    )
