"""How the driver evaluates a query with streams that end (see ``plan.ending``).

Tasks send the tuples that may matter, by timestamp. Until the streams end they are taken in one by one. Those
of a partition from then on are a partition of the plan that goes on, and summarised as tasks summarise one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Reversible
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streambound.evaluation.ending import EndingPass
from streambound.evaluation.events import Encoded
from streambound.evaluation.onepass import OnePass, static_values
from streambound.evaluation.order import ArrivalOrder
from streambound.evaluation.statement import summed
from streambound.history.evaluations.evaluation import AnswersAt, ByEngine, PlanEvaluation
from streambound.plan.ending import shadow_name
from streambound.plan.model import Plan
from streambound.plan.tables.planner import plan_of
from streambound.query.model import Query
from streambound.state.row_join import Row
from streambound.tasks.embedded_engine import opened, translated
from streambound.tasks.encoded_sql import array_of, arrow_type
from streambound.tasks.plans import Static
from streambound.tasks.readers import Reader, readers_of
from streambound.tasks.relations import load_relation, ordered_form, rows_of
from streambound.tasks.statements import MOMENT, PART, TUPLES, static_table
from streambound.tasks.summarise import partition_tables

# So many tuples are looked at before others are made rows.
PORTION = 1_000
Tables = Mapping[str, pa.Table]


class EndingEvaluation(ByEngine[EndingPass]):
    """Partitions have to follow each other in time.

    Once streams have ended ``later`` evaluates what goes on, ``readers`` say what it takes of each stream,
    and ``statics`` are the static relations that these name.
    """

    def __init__(self, plan: Plan, static: Static, order: ArrivalOrder) -> None:
        self.plan = plan
        self.later: PlanEvaluation | None = None
        self.readers: tuple[tuple[str, Reader], ...] = ()
        self.statics: Tables = {}
        super().__init__(EndingPass(plan, static, self._made, order))
        self.streams = {s.alias: plan.query.occurrence(s.alias).relation.name for s in plan.streams}

    def _made(self, query: Query, static: Mapping[str, list[Encoded]], linger: int) -> OnePass:
        """The engine that goes on, whose state ``later`` shares."""
        plan = plan_of(query, static_values(query, static), linger)
        self.later = PlanEvaluation(plan, static, ArrivalOrder(), totalled=False)
        readers = readers_of(plan, Path(), (), counted=plan.stateless)
        self.readers = tuple((stream, replace(reader, by_key=False)) for stream, reader in readers)
        self.statics = _static_tables(plan.query, static) if plan.stateless else {}
        return self.later.engine

    def advance(self, partition: str, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        tables = {
            name: load_relation(summaries[alias])
            for alias, name in self.streams.items()
            if alias in summaries
        }
        last = self.engine.ending.last
        ended = {name: pc.greater(table.column(MOMENT), last) for name, table in tables.items()}
        before = {name: table.filter(pc.invert(ended[name])) for name, table in tables.items()}
        after = {name: table.filter(ended[name]) for name, table in tables.items()}
        delta = summed(map(self.engine.process, self.engine.batches(_named(before), partition)))
        if self._reach(after, partition) and self.later is not None:
            delta.update(self.later.advance(partition, self._summaries(after)))
            self.engine.settle()
        return delta

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """A step for each moment of which there are tuples."""
        tables = {
            name: load_relation(summaries[alias])
            for alias, name in self.streams.items()
            if alias in summaries
        }
        for batch in self.engine.batches(_named(tables), partition):
            yield AnswersAt(batch.moment, partial(self.engine.process, batch))

    def _reach(self, after: Tables, partition: str) -> bool:
        """Go on to the last moment of which a tuple counts; whether there is one."""
        firsts = self._counting(after, backwards=False)
        if firsts:
            for moment, stream in (min(firsts), max(self._counting(after, backwards=True))):
                self.engine.reach(stream, moment, partition)
        return bool(firsts)

    def _counting(self, after: Tables, backwards: bool) -> list[tuple[int, str]]:
        """The first moment, or the last one, of which a tuple of each stream counts."""
        evaluations = []
        for stream, table in after.items():
            rows = (
                row
                for at in _in_order(range(0, len(table), PORTION), backwards)
                for row in _in_order(list(rows_of(table.slice(at, PORTION))), backwards)
            )
            counting = (moment for moment, *row, _ in rows if self.engine.counts(stream, row))
            evaluations += [(moment, stream) for moment in [next(counting, None)] if moment is not None]
        return evaluations

    def _summaries(self, after: Tables) -> dict[str, bytes]:
        """What tasks would make of the tuples for the plan that goes on."""
        summaries: dict[str, bytes] = {}
        with opened() as session, ExitStack() as exit_stack:
            for name, table in self.statics.items():
                exit_stack.enter_context(session.registered(name, table))
            for stream, reader in self.readers:
                if stream in after:
                    with session.registered(TUPLES, self._tuples(reader, after[stream])):
                        (summaries[reader.alias],) = partition_tables(session, reader, 1)
        return summaries

    def _tuples(self, reader: Reader, table: pa.Table) -> pa.Table:
        """Tuples with the columns that hold their timestamps, in ordered form, each as often as it came."""
        relation = reader.query.occurrence(reader.alias).relation
        _, *columns, counts = table.columns
        by_column = dict(zip(self.engine.columns[relation.name], columns, strict=True))
        with translated(relation.name):
            for column, shift in self.engine.ending.shadows[reader.alias]:
                by_column[shadow_name(column, shift)] = pc.add_checked(by_column[column], shift)
        arrays = {name: ordered_form(item, relation.column(name).type) for name, item in by_column.items()}
        each = pa.array(np.repeat(np.arange(len(table)), counts.to_numpy()))
        return pa.table({PART: pa.array(np.zeros(len(table), np.int64)), **arrays}).take(each)


def _in_order(rows: Reversible[Any], backwards: bool) -> Iterable[Any]:
    return reversed(rows) if backwards else rows


def _named(tables: Tables) -> Iterator[tuple[Any, ...]]:
    """(stream, moment, values, multiplicity) of the tuples of each stream."""
    for name, table in tables.items():
        for moment, *values, count in rows_of(table):
            yield name, moment, values, count


def _static_tables(query: Query, static: Mapping[str, list[Encoded]]) -> Tables:
    """The rows of static relations in ordered form, by the names under which statements know them."""
    tables = {}
    for occurrence in query.statics:
        relation = occurrence.relation
        alike = {o.alias for o in query.statics if o.relation.name == relation.name}
        names = sorted({a.column for a in query.mentioned if a.occurrence in alike})
        kinds = {name: relation.column(name).type for name in names}
        rows = static[relation.name]
        tables[static_table(relation.name)] = pa.table(
            {n: array_of(kind, [row[n] for row in rows], arrow_type(kind)) for n, kind in kinds.items()}
        )
    return tables
