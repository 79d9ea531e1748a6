"""The state of a query within windows from one partition to the next, by summaries of partitions (``edges``).

It is the state of ``evaluation.onepass``, byte for byte. The tuples that are held are joined with the head
of a partition; the answers inside it were computed by a task. Where answers are asked for by moment, all
tuples of a partition are joined here, and each match is told with the moment at which it is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streambound.evaluation.events import answers
from streambound.evaluation.order import ArrivalOrder
from streambound.history.evaluations import states
from streambound.history.evaluations.evaluation import AnswersAt, Evaluation
from streambound.query.statement import Statement
from streambound.state.codec import BufferedRow, dump_buffered, load_buffered
from streambound.tasks import embedded_engine, emit, encoded_sql
from streambound.tasks.cogroup import COGROUP
from streambound.tasks.edges import (
    CANDIDATES,
    Edges,
    Moments,
    answer_rows,
    load_edges,
    may_come_again,
    query_of,
    require_near,
)
from streambound.tasks.embedded_engine import EmbeddedEngine, opened
from streambound.tasks.relations import load_relation, ordered_form
from streambound.tasks.statements import PART
from streambound.tasks.windows import (
    BUFFERED,
    EARLIER,
    WEIGHT,
    WindowPart,
    WindowPlan,
    across,
    added_up,
    completed,
    first_answered,
)

# Where no table of an occurrence is known, and in SQL text, so that they need no quotes.
BEFORE, INSIDE, ADDED, REMOVED, EARLIER_ANSWERS = "before", "inside", "added", "removed", "answered"


@dataclass
class _PartState:
    """The tuples of each occurrence that are held (see ``Edges.tails``), and the rows that were answered."""

    part: WindowPart
    now: int | None = None
    tails: dict[str, pa.Table] = field(default_factory=dict)
    answered: pa.Table | None = None

    @property
    def units(self) -> int:
        """Stored values."""
        widths = {buffer.alias: buffer.width for buffer in self.part.plan.buffers}
        kept = (len(table) * widths.get(alias, 0) for alias, table in self.tails.items())
        return sum(kept) + (0 if self.answered is None else len(self.answered))

    def before(self, alias: str) -> pa.Table:
        """The tuples of an occurrence that are held."""
        return self.tails[alias] if alias in self.tails else _table([], self.part, alias)

    def take(
        self, session: EmbeddedEngine, until: int, new: Mapping[str, pa.Table], answered: Sequence[pa.Table]
    ) -> None:
        """Go on to a moment.

        Args:
            new: by name, the tuples since then that may match later ones; others may be among them.
            answered: the rows that were answered since then and may come again; others may be among them.
        """
        part = self.part
        self.now = until
        for alias, name in part.tables.items():
            # What has left the window goes; new tuples come after what is held.
            whole = pa.concat_tables([self.before(alias), new[name]])
            stays = pc.greater(whole.column(part.stamp(alias)), until - part.plan.clock.hold(alias))
            self.tails[alias] = whole.filter(stays)
        if part.plan.query.ring.idempotent:
            earlier = pa.concat_tables([*answered] if self.answered is None else [self.answered, *answered])
            earlier = earlier.filter(pa.array(may_come_again(earlier, part.plan.ends, until)))
            with session.registered(EARLIER_ANSWERS, earlier):
                self.answered = _result_table(
                    session, f"SELECT DISTINCT * FROM {EARLIER_ANSWERS}", earlier.schema
                )


class WindowEvaluation(Evaluation):
    """Partitions that follow each other in time, each by its edges (see ``evaluation.Evaluation``)."""

    def __init__(self, plan: WindowPlan) -> None:
        self.plan = plan
        self.parts = {part.label: _PartState(part) for part in plan.parts}
        # Each is asked of every partition, and made as text once.
        self._across_edge = {part.label: query_of(across(part)) for part in plan.parts}
        self._sum = query_of(added_up(plan, encoded_sql.table(CANDIDATES)))
        self.order = ArrivalOrder()

    @property
    def stored_units(self) -> int:
        """What is stored now."""
        return sum(state.units for state in self.parts.values())

    def new_rows(self, statement: Statement, partition: str, summaries: Mapping[str, bytes]) -> emit.NewRows:
        """The new answers of a partition, from its edges: a table from the start.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        edges = load_edges(summaries[COGROUP])
        self._follow(partition, edges.moments)
        with opened() as session:
            across = {label: self._across(session, state, edges) for label, state in self.parts.items()}
            new = self._new(session, edges, [table for table in across.values() if table is not None])
            for label, (_, _, until) in edges.moments.items():
                here = across[label]
                rows = [edges.remembered[label]] if self.plan.ring.idempotent else []
                rows += [] if here is None else [here.drop_columns(PART)]
                self.parts[label].take(session, until, edges.tails, rows)
        self._peak = max(self._peak, self.stored_units)
        return new

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The new answers at each moment, from a relation an occurrence; all are computed at once.

        Raises:
            DataError: a tuple is not later than all of the partitions before, or too far from zero.
        """
        new = {
            name: _arrived(summaries[name], state.part, alias)
            if name in summaries
            else _table([], state.part, alias)
            for state in self.parts.values()
            for alias, name in state.part.tables.items()
        }
        moments = {label: at for label, s in self.parts.items() if (at := _moments(s.part, new)) is not None}
        self._follow(partition, moments)
        if not moments:
            return
        with opened() as session:
            rows = {label: list(self._completed(session, self.parts[label], new)) for label in moments}
            none = _numbered(emit.answer_schema(self.plan.statement.outputs).empty_table(), EARLIER)
            first = self._first(session, [table for tables in rows.values() for table in tables])
            for label, (_, _, until) in moments.items():
                answered = [table.drop_columns(PART) for table in (*rows[label], none)]
                self.parts[label].take(session, until, new, answered)
        self._peak = max(self._peak, self.stored_units)
        kinds = [kind for _, kind in self.plan.statement.outputs]
        columns = [column.to_pylist() for column in first.columns]
        encoded = [list(map(kind.encode, column)) for kind, column in zip(kinds, columns[1:-1], strict=True)]
        answers = zip(columns[0], zip(*encoded, strict=True), map(int, columns[-1]), strict=True)
        for moment, own in groupby(answers, key=itemgetter(0)):
            yield AnswersAt(moment, partial(dict, [(row, count) for _, row, count in own]))

    def _completed(
        self, session: EmbeddedEngine, state: _PartState, new: Mapping[str, pa.Table]
    ) -> Iterator[pa.Table]:
        """The matches with a new tuple, as rows of the answer by the moment at which they are complete."""
        part, names = state.part, list(state.part.tables.items())
        for position in range(len(names)):
            # The first new tuple of a match tells the ways apart in which it can be made.
            tables = {
                name: state.before(alias)
                if at < position
                else new[name]
                if at == position
                else pa.concat_tables([state.before(alias), new[name]])
                for at, (alias, name) in enumerate(names)
            }
            if all(map(len, tables.values())):
                with ExitStack() as exit_stack:
                    for name, table in tables.items():
                        exit_stack.enter_context(session.registered(name, table))
                    matched_rows = session.table(query_of(completed(part)))
                yield answer_rows(part.plan.query, self.plan.statement, matched_rows)

    def _first(self, session: EmbeddedEngine, tables: Sequence[pa.Table]) -> pa.Table:
        """Answer rows by moment, in order; of a distinct statement those that were not answered before."""
        plan, schema = self.plan, emit.answer_schema(self.plan.statement.outputs)
        schema = schema.insert(0, pa.field(PART, pa.int64()))
        if plan.ring.idempotent:
            states = self.parts.values()
            answered = [state.answered for state in states if state.answered is not None]
            tables = [*tables, *(_numbered(table, EARLIER) for table in answered)]
            with session.registered(CANDIDATES, pa.concat_tables([schema.empty_table(), *tables])):
                tables = [
                    session.table(query_of(first_answered(plan, encoded_sql.table(CANDIDATES)))).cast(schema)
                ]
        with session.registered(CANDIDATES, pa.concat_tables([schema.empty_table(), *tables])):
            return session.table(self._sum).cast(schema)

    def _follow(self, partition: str, followed: Mapping[str, Moments]) -> None:
        queries = {label: self.parts[label].part.plan.query for label in followed}
        firsts = [(first, queries[label].occurrence(alias)) for label, (first, alias, _) in followed.items()]
        for moment, occurrence in sorted(firsts, key=itemgetter(0)):
            self.order.follow(occurrence.relation, moment, partition)
        for label, (_, _, until) in followed.items():
            self.order.reach(queries[label], until)

    def _across(self, session: EmbeddedEngine, state: _PartState, edges: Edges) -> pa.Table | None:
        """The matches of what is held with a partition, as rows of the answer."""
        part = state.part
        heads = {alias: edges.heads[name] for alias, name in part.tables.items()}
        if not any(map(len, state.tails.values())) or not any(map(len, heads.values())):
            return None
        with ExitStack() as exit_stack:
            for alias, name in part.tables.items():
                tuples = [_marked(state.tails[alias], True), _marked(heads[alias], False)]
                exit_stack.enter_context(session.registered(name, pa.concat_tables(tuples)))
            matched_rows = session.table(self._across_edge[part.label])
            return answer_rows(part.plan.query, self.plan.statement, matched_rows)

    def _new(self, session: EmbeddedEngine, edges: Edges, across: list[pa.Table]) -> emit.NewRows:
        """The answers inside a partition and across its edge, without rows that were answered before."""
        inside = edges.answers
        assert inside is not None
        schema = inside.schema
        added, removed = schema.empty_table(), schema.empty_table()
        with ExitStack() as exit_stack:
            exit_stack.enter_context(session.registered(INSIDE, inside))
            if across:
                with session.registered(CANDIDATES, pa.concat_tables(across)):
                    added = self._added_up(session)
            answered = [state.answered for state in self.parts.values() if state.answered is not None]
            if answered:
                before = pa.concat_tables(answered)
                with session.registered(BEFORE, before), session.registered(ADDED, added):
                    removed = _result_table(session, f"FROM {INSIDE} INTERSECT FROM {BEFORE}", schema)
                    added = _result_table(
                        session, f"FROM {ADDED} EXCEPT FROM {INSIDE} EXCEPT FROM {BEFORE}", schema
                    )
            if not (len(added) or len(removed)):
                return emit.NewRows(inside, edges.digest)
            exit_stack.enter_context(session.registered(ADDED, added))
            exit_stack.enter_context(session.registered(REMOVED, removed))
            # Of a set each row is there once, so ALL only spares looking for equal ones.
            kept = f"FROM {INSIDE} EXCEPT ALL FROM {REMOVED}" if len(removed) else f"FROM {INSIDE}"
            both = _result_table(session, f"({kept}) UNION ALL FROM {ADDED}", schema)
        with session.registered(CANDIDATES, _numbered(both, 0)):
            table = self._added_up(session)
        whole = edges.digest + emit.digest(added.to_batches()) - emit.digest(removed.to_batches())
        return emit.NewRows(table, emit.Digest(len(table), whole.count, whole.hash))

    def _added_up(self, session: EmbeddedEngine) -> pa.Table:
        """Rows of one partition in canonical order, equal ones as one."""
        sums = session.table(self._sum).drop_columns([PART])
        return sums.cast(emit.answer_schema(self.plan.statement.outputs))

    def dump(self) -> bytes:
        """The tuples that are held and the rows that were answered, of each part."""
        dumped = {label: self._dumped(state) for label, state in self.parts.items()}
        return dumped[self.plan.parts[0].label] if len(dumped) == 1 else states.tables_bytes(dumped)

    def _dumped(self, state: _PartState) -> bytes:
        buffered = {
            alias: list(_tuples(state.tails[alias], state.part, alias)) if alias in state.tails else []
            for alias in state.part.synopses
        }
        kinds = [kind for _, kind in state.part.plan.query.outputs]
        columns = [] if state.answered is None else state.answered.columns[:-1]
        encoded = [map(kind.encode, column.to_pylist()) for kind, column in zip(kinds, columns, strict=False)]
        rows = list(zip(*encoded, strict=True))
        return dump_buffered(state.now, buffered, {row: state.part.plan.until(row) for row in rows})

    def load(self, document: Any, peak_units: int = 0) -> None:
        """Take up tuples and rows."""
        labels = list(self.parts)
        by_part = {labels[0]: document} if len(labels) == 1 else document
        for label, state in self.parts.items():
            state.now, buffered, rows = load_buffered(state.part.plan, by_part[label])
            if self.plan.ring.idempotent:
                loaded = answers(self.plan.statement, None, dict.fromkeys(rows, 1))
                state.answered = emit.answer_table(self.plan.statement, loaded)
            state.tails = {alias: _table(rows, state.part, alias) for alias, rows in buffered.items()}
            self.order.resume(state.part.plan.query, state.now)
        self._peak = peak_units


def _moments(part: WindowPart, new: Mapping[str, pa.Table]) -> Moments | None:
    """The first and the last moment of new tuples, and an occurrence that has the first."""
    moments: list[tuple[int, str, int]] = []
    for alias, name in part.tables.items():
        if len(new[name]):
            ends = pc.min_max(new[name].column(part.stamp(alias))).as_py()
            require_near(part, alias, ends["min"], ends["max"])
            moments.append((ends["min"], alias, ends["max"]))
    if not moments:
        return None
    first, alias, _ = min(moments, key=itemgetter(0))
    return first, alias, max(until for _, _, until in moments)


def _numbered(table: pa.Table, number: int) -> pa.Table:
    return table.add_column(0, PART, pa.array([number] * len(table), pa.int64()))


def _marked(table: pa.Table, buffered: bool) -> pa.Table:
    return table.append_column(BUFFERED, pa.array([buffered] * len(table), pa.bool_()))


def _result_table(session: EmbeddedEngine, text: str, schema: pa.Schema) -> pa.Table:
    return session.table(embedded_engine.EngineQuery(text)).cast(schema)


def _tuples(table: pa.Table, part: WindowPart, alias: str) -> list[BufferedRow]:
    """Tuples as states hold them: the carried columns (encoded), the moment, and how many there are."""
    columns = {name: _encoded(table.column(name)) for name in table.column_names}
    carried = [columns[a.column] for a in part.synopses[alias].carried]
    return [tuple(row) for row in zip(*carried, columns[part.stamp(alias)], columns[WEIGHT], strict=True)]


def _encoded(column: pa.ChunkedArray) -> list[object]:
    days = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
    return [encoded_sql.encoded(value) for value in days.to_pylist()]


def _arrived(data: bytes, part: WindowPart, alias: str) -> pa.Table:
    """The tuples of a relation in ordered form."""
    moments, *columns, counts = load_relation(data).columns
    named = {a.column: column for a, column in zip(part.synopses[alias].carried, columns, strict=True)}
    named[part.stamp(alias)] = moments
    schema, relation = part.schema(alias), part.plan.query.occurrence(alias).relation
    arrays = [ordered_form(named[name], relation.column(name).type) for name in schema.names]
    return pa.Table.from_arrays([*arrays, counts], schema=schema.append(pa.field(WEIGHT, pa.int64())))


def _table(rows: list[BufferedRow], part: WindowPart, alias: str) -> pa.Table:
    relation, carried = part.plan.query.occurrence(alias).relation, part.synopses[alias].carried
    columns = {a.column: [row[i] for row in rows] for i, a in enumerate(carried)}
    columns[part.stamp(alias)] = [row[-2] for row in rows]
    schema = part.schema(alias)
    arrays = [
        encoded_sql.array_of(relation.column(name).type, columns[name], kind)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    counts = pa.array([row[-1] for row in rows], pa.int64())
    return pa.Table.from_arrays([*arrays, counts], schema=schema.append(pa.field(WEIGHT, pa.int64())))
