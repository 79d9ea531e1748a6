"""How the driver evaluates a query with streams that end (see ``plan.ending``).

Tasks send the tuples that count, by timestamp. Until the streams end they are taken in one by one. Those
of a partition from then on are a partition of the plan that goes on, and summarised as tasks summarise one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streambound.evaluation.events import Encoded
from streambound.evaluation.onepass import EndingPass, OnePass, static_values
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
from streambound.tasks.relations import arrivals, arriving, ordered_form, relations_of
from streambound.tasks.statements import MOMENT, PART, TUPLES, static_table
from streambound.tasks.summarise import partition_tables

Tables = Mapping[str, pa.Table]


class EndingEvaluation(ByEngine[EndingPass]):
    """Partitions have to follow each other in time.

    Once streams have ended ``later`` evaluates what goes on, ``readers`` say what it takes of each stream,
    and ``statics`` are the static relations that these name.
    """

    def __init__(self, plan: Plan, static: Static, order: ArrivalOrder) -> None:
        self.plan = plan
        self.later: PlanEvaluation | None = None
        self.readers: tuple[Reader, ...] = ()
        self.statics: Tables = {}
        super().__init__(EndingPass(plan, static, order, self._made))
        self.carried = {s.alias: [a.column for a in s.carried] for s in plan.streams}

    def _made(self, query: Query, static: Mapping[str, list[Encoded]], linger: int) -> OnePass:
        """The engine that goes on, whose state ``later`` shares."""
        plan = plan_of(query, static_values(query, static), linger)
        self.later = PlanEvaluation(plan, static, ArrivalOrder())
        readers = readers_of(plan, Path(), (), counted=plan.stateless)
        self.readers = tuple(replace(reader, by_key=False) for _, reader in readers)
        self.statics = _static_tables(plan.query, static) if plan.stateless else {}
        return self.later.engine

    def advance(self, partition: str, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        tables = relations_of(self.plan, summaries)
        last = self.engine.ending.last
        ended = {alias: pc.greater(table.column(MOMENT), last) for alias, table in tables.items()}
        before = {alias: table.filter(pc.invert(ended[alias])) for alias, table in tables.items()}
        after = {alias: table for alias in tables if len(table := tables[alias].filter(ended[alias]))}
        new = (self.engine.take(at, rows, partition) for at, rows in arriving(self.plan, before))
        delta = summed(new)
        if after:
            self._reach(after, partition)
            if self.later is not None:
                delta.update(self.later.advance(partition, self._summaries(after)))
            self.engine.settle()
        return delta

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """A step for each moment of which there are tuples."""
        for moment, rows in arrivals(self.plan, summaries):
            yield AnswersAt(moment, partial(self.engine.take, moment, rows, partition))

    def _reach(self, after: Tables, partition: str) -> None:
        """Go on to the last moment of which there is a tuple."""
        ends = {alias: pc.min_max(table.column(MOMENT)).as_py() for alias, table in after.items()}
        firsts = ((end["min"], alias) for alias, end in ends.items())
        lasts = ((end["max"], alias) for alias, end in ends.items())
        for moment, alias in (min(firsts), max(lasts)):
            self.engine.reach(alias, moment, partition)

    def _summaries(self, after: Tables) -> dict[str, bytes]:
        """What tasks would make of the tuples for the plan that goes on."""
        summaries: dict[str, bytes] = {}
        with opened() as session, ExitStack() as exit_stack:
            for name, table in self.statics.items():
                exit_stack.enter_context(session.registered(name, table))
            for reader in self.readers:
                if reader.alias in after:
                    with session.registered(TUPLES, self._tuples(reader, after[reader.alias])):
                        (summaries[reader.alias],) = partition_tables(session, reader, 1)
        return summaries

    def _tuples(self, reader: Reader, table: pa.Table) -> pa.Table:
        """Tuples with the columns that hold their timestamps, in ordered form, each as often as it came."""
        relation = reader.query.occurrence(reader.alias).relation
        _, *columns, counts = table.columns
        by_column = dict(zip(self.carried[reader.alias], columns, strict=True))
        with translated(relation.name):
            for column, shift in self.engine.ending.shadows[reader.alias]:
                by_column[shadow_name(column, shift)] = pc.add_checked(by_column[column], shift)
        arrays = {name: ordered_form(item, relation.column(name).type) for name, item in by_column.items()}
        each = pa.array(np.repeat(np.arange(len(table)), counts.to_numpy()))
        return pa.table({PART: pa.array(np.zeros(len(table), np.int64)), **arrays}).take(each)


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
