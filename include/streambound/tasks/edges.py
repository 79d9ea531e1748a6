"""What tasks make of partitions of a query within windows (see ``windows``): inside, head and tail."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from streambound.errors import DataError
from streambound.query.model import Query
from streambound.query.statement import Statement
from streambound.tasks import embedded_engine, emit, encoded_sql
from streambound.tasks.columns import packed, unpacked
from streambound.tasks.embedded_engine import EmbeddedEngine
from streambound.tasks.statements import PART
from streambound.tasks.windows import FARTHEST, WEIGHT, WindowPart, WindowPlan, added_up, inside, named

# Tables beside those of the occurrences, which have the names of a user's aliases.
CANDIDATES, BOUNDS = "streambound found", "streambound bounds"
FIRST, UNTIL = "first", "until"
# The first moment of a partition of which a tuple counts, an occurrence that has one, and the last moment.
Moments = tuple[int, str, int]


@dataclass
class Edges:
    """What a partition adds: answers inside it with their digest, and tuples near its ends.

    Heads and tails are by occurrence (under the label of its part), equal tuples once with their number; the
    moments of a part and, of a distinct statement of several, its rows that may come again are by its label.
    """

    moments: dict[str, Moments] = field(default_factory=dict)
    heads: dict[str, pa.Table] = field(default_factory=dict)
    tails: dict[str, pa.Table] = field(default_factory=dict)
    remembered: dict[str, pa.Table] = field(default_factory=dict)
    answers: pa.Table | None = None
    digest: emit.Digest = field(default_factory=emit.Digest)


def summaries(
    plan: WindowPlan, session: EmbeddedEngine, given: Mapping[str, pa.Table], size: int
) -> list[Edges]:
    """Of each of ``size`` partitions, from the tuples of each occurrence (``windows.tuples_statement``)."""
    by_part = [Edges() for _ in range(size)]
    with ExitStack() as exit_stack:
        for part in plan.parts:
            for alias, name in part.tables.items():
                exit_stack.enter_context(session.registered(name, given.get(name, _nothing(part, alias))))
        for part in plan.parts:
            _take_moments(session, part, by_part)
            with session.registered(BOUNDS, _bounds(part.label, by_part)):
                for alias, name in part.tables.items():
                    for edges, table in zip(by_part, _edge(session, part, alias, _early, size), strict=True):
                        edges.heads[name] = table
                    for edges, table in zip(by_part, _edge(session, part, alias, _late, size), strict=True):
                        edges.tails[name] = table
        inner = [_inside(session, plan, part) for part in plan.parts]
        if plan.ring.idempotent:
            for part, rows in zip(plan.parts, inner, strict=True):
                _take_remembered(part, rows, by_part)
        _take_answers(session, plan, inner, by_part)
    return by_part


def _nothing(part: WindowPart, alias: str) -> pa.Table:
    return part.schema(alias).insert(0, pa.field(PART, pa.int64())).empty_table()


def _take_moments(session: EmbeddedEngine, part: WindowPart, edges: list[Edges]) -> None:
    for alias, name in part.tables.items():
        stamp = encoded_sql.column(part.stamp(alias), name)
        chosen = exp.select(encoded_sql.column(PART, name), exp.Min(this=stamp), exp.Max(this=stamp.copy()))
        chosen = chosen.from_(encoded_sql.table(name)).group_by(exp.Literal.number(1))
        for number, first, until in session.rows(query_of(chosen)):
            require_near(part, alias, first, until)
            moments = edges[number].moments
            start, owner, end = moments.get(part.label, (first, alias, until))
            moments[part.label] = min(start, first), alias if first < start else owner, max(end, until)


def require_near(part: WindowPart, alias: str, first: int, until: int) -> None:
    """Refuse moments of an occurrence to which no offset can be added.

    Raises:
        DataError: naming the stream.
    """
    if max(-first, until) < FARTHEST:
        return
    relation, moment = part.plan.query.occurrence(alias).relation, first if -first >= FARTHEST else until
    raise DataError(
        f"{relation.name}.{relation.timestamp} = {moment} is too far from zero to be compared with an offset",
        accepted=f"timestamps from -{FARTHEST:,} to {FARTHEST:,}, both excluded",
        fix="mend the data, or count ticks from a later moment",
    )


def _bounds(label: str, every: list[Edges]) -> pa.Table:
    there = [(number, edges.moments[label]) for number, edges in enumerate(every) if label in edges.moments]
    columns = {
        PART: [number for number, _ in there],
        FIRST: [first for _, (first, _, _) in there],
        UNTIL: [until for _, (_, _, until) in there],
    }
    return pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})


def _early(part: WindowPart, alias: str) -> exp.Expr:
    """That a tuple may match one from before its partition, which is earlier than the partition's first."""
    stamp, first = encoded_sql.column(part.stamp(alias), part.table(alias)), encoded_sql.column(FIRST, BOUNDS)
    return exp.LT(this=stamp, expression=exp.Add(this=first, expression=_number(part.lag(alias))))


def _late(part: WindowPart, alias: str) -> exp.Expr:
    """That a tuple is held after its partition (see ``state.engine.TupleBuffer.drop``)."""
    stamp, until = encoded_sql.column(part.stamp(alias), part.table(alias)), encoded_sql.column(UNTIL, BOUNDS)
    return exp.GT(this=exp.Add(this=stamp, expression=_number(part.plan.clock.hold(alias))), expression=until)


def _edge(
    session: EmbeddedEngine, part: WindowPart, alias: str, condition: _Condition, size: int
) -> list[pa.Table]:
    """Tuples of an occurrence near an end of each partition."""
    name, schema = part.table(alias), part.schema(alias)
    number = encoded_sql.column(PART, name)
    columns = [encoded_sql.column(column, name) for column in schema.names]
    chosen = exp.select(number, *columns, named(WEIGHT, exp.Count(this=exp.Star())))
    chosen = chosen.from_(encoded_sql.table(name)).join(
        encoded_sql.table(BOUNDS), on=exp.EQ(this=number.copy(), expression=encoded_sql.column(PART, BOUNDS))
    )
    ordinals = [_number(ordinal + 1) for ordinal in range(len(columns) + 1)]
    order = [exp.Ordered(this=ordinal.copy(), nulls_first=True) for ordinal in ordinals]
    chosen = chosen.where(condition(part, alias)).group_by(*ordinals).order_by(*order)
    return _by_partition(session, chosen, schema.append(pa.field(WEIGHT, pa.int64())), size)


def _by_partition(
    session: EmbeddedEngine, chosen: exp.Select, schema: pa.Schema, size: int
) -> list[pa.Table]:
    """The rows of each partition, from rows in its order, whose first column is its number."""
    table = session.table(query_of(chosen)).combine_chunks()
    edges = table.column(0).to_numpy().searchsorted(range(size + 1))
    rest = table.drop_columns(table.column_names[:1]).cast(schema)
    return [rest.slice(edges[n], edges[n + 1] - edges[n]) for n in range(size)]


def _inside(session: EmbeddedEngine, plan: WindowPlan, part: WindowPart) -> pa.Table:
    """The answers of a part inside the partitions; of a distinct statement in order, since some are kept."""
    chosen = inside(part)
    if plan.ring.idempotent:
        ordinals = range(1, len(chosen.expressions) + 1)
        chosen = chosen.order_by(
            *(exp.Ordered(this=_number(ordinal), nulls_first=True) for ordinal in ordinals)
        )
    return answer_rows(part.plan.query, plan.statement, session.table(query_of(chosen)))


def _take_remembered(part: WindowPart, rows: pa.Table, by_part: list[Edges]) -> None:
    """The answer rows of a part that may come again after each partition."""
    numbers = rows.column(0).to_numpy()
    ends = part.plan.ends
    until = np.array(
        [edges.moments[part.label][2] if part.label in edges.moments else 0 for edges in by_part]
    )
    kept = may_come_again(rows.drop_columns([PART]), ends, until[numbers])
    for number, edges in enumerate(by_part):
        edges.remembered[part.label] = rows.filter(pa.array(kept & (numbers == number))).drop_columns([PART])


def may_come_again(rows: pa.Table, ends: Mapping[int, int], until: Any) -> NDArray[np.bool_]:
    """Of each answer row, whether it may come again after a moment (see ``Plan.ends``)."""
    kept = np.ones(len(rows), np.bool_)
    for position, after in ends.items():
        kept &= rows.column(position).cast(pa.int64()).to_numpy() + after > until
    return kept


def _take_answers(
    session: EmbeddedEngine, plan: WindowPlan, tables: list[pa.Table], by_part: list[Edges]
) -> None:
    schema = emit.answer_schema(plan.statement.outputs)
    with session.registered(CANDIDATES, pa.concat_tables(tables)):
        chosen = added_up(plan, encoded_sql.table(CANDIDATES))
        for edges, table in zip(by_part, _by_partition(session, chosen, schema, len(by_part)), strict=True):
            edges.answers, edges.digest = table, emit.digest(table.to_batches())


def answer_rows(query: Query, statement: Statement, matched_rows: pa.Table) -> pa.Table:
    """Matches (partition, projected columns, count) as partition and rows of the statement's answer."""
    batches = matched_rows.combine_chunks().to_batches()
    rows = [emit.projected_batch(query, statement.outputs, batch) for batch in batches]
    table = pa.Table.from_batches(rows, emit.answer_schema(statement.outputs))
    return table.add_column(0, PART, matched_rows.column(0).cast(pa.int64()))


_Condition = Callable[[WindowPart, str], exp.Expr]


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def query_of(chosen: exp.Select) -> embedded_engine.EngineQuery:
    """A SELECT as the engine takes it; it names no lookup tables."""
    return embedded_engine.EngineQuery(chosen.sql(dialect=encoded_sql.DIALECT))


def dump_edges(edges: Edges) -> bytes:
    """Canonical bytes: tables are as ``columns`` writes them."""
    assert edges.answers is not None
    document = {
        "moments": edges.moments,
        "heads": {name: packed(table) for name, table in edges.heads.items()},
        "tails": {name: packed(table) for name, table in edges.tails.items()},
        "remembered": {label: packed(table) for label, table in edges.remembered.items()},
        "answers": packed(edges.answers),
        "digest": [edges.digest.rows, str(edges.digest.count), str(edges.digest)],
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode()


def load_edges(data: bytes) -> Edges:
    """What such bytes hold.

    Raises:
        DataError: they are no summary of a partition.
    """
    try:
        document = json.loads(data)
        rows, count, digest = document["digest"]
        return Edges(
            {label: (first, alias, until) for label, (first, alias, until) in document["moments"].items()},
            {name: unpacked(text) for name, text in document["heads"].items()},
            {name: unpacked(text) for name, text in document["tails"].items()},
            {label: unpacked(text) for label, text in document["remembered"].items()},
            unpacked(document["answers"]),
            emit.Digest(rows, int(count), int(digest, 16)),
        )
    except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise DataError(f"a stored summary of a partition cannot be read: {error}") from None
