"""The plan on one machine: each tuple is read once, and the state stays within the plan's units.

New answers of a batch are found from the tables before it and the representatives of the batch
alone: the sum over the streams of the matches whose first stream (in FROM
order) that contributes a new tuple is that one. Duplicate-eliminating: the rows of those matches
that did not follow from the tables before, so nothing has to be remembered as emitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from streambound.errors import PlanError
from streambound.evaluation.ending import EndingPass
from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.evaluation.order import Order
from streambound.evaluation.timed import TimedPass
from streambound.query.model import Attribute, Query
from streambound.query.statement import Statement
from streambound.query.values import Value
from streambound.synopsis.answer import Joiner, Rep, by_bucket, representatives, static_rows
from streambound.synopsis.ending import EndingPlan
from streambound.synopsis.plan import Plan
from streambound.synopsis.planner import plan as make_plan
from streambound.synopsis.state import Bucket, Table, accepts, fresh, units
from streambound.synopsis.timed import TimedPlan
from streambound.synopsis.timed_planner import AnyPlan, plan_of


def static_values(query: Query, static: Mapping[str, list[Encoded]]) -> dict[Attribute, tuple[Value, ...]]:
    """The sorted distinct values of every mentioned column of the static relations."""
    found = {}
    for attribute in query.mentioned:
        if query.is_static(attribute):
            rows = static[query.occurrence(attribute.occurrence).relation.name]
            values = {row[attribute.column] for row in rows} - {None}
            found[attribute] = tuple(sorted(values))
    return found


AnyPass: TypeAlias = "OnePass | TimedPass | EndingPass"


def one_pass(query: Query, static: Mapping[str, list[Encoded]], linger: int = 0) -> AnyPass:
    """The engine that a bounded query needs; ``linger`` is that of ``plan_of``.

    Raises:
        PlanError: there is no plan.
    """
    return pass_of(plan_of(query, static_values(query, static), linger), query, static)


def pass_of(
    plan: AnyPlan, query: Query, static: Mapping[str, list[Encoded]], order: Order | None = None
) -> AnyPass:
    """The engine of a plan; the parts of one statement share an ``order``."""
    if isinstance(plan, TimedPlan):
        return TimedPass(plan, static, order)
    if isinstance(plan, EndingPlan):
        return EndingPass(plan, static, one_pass, order)
    return OnePass(query, static, plan)


class OnePass:
    """Evaluates a bounded query without time conditions; ``peak_units`` is the most that was ever stored."""

    def __init__(self, query: Query, static: Mapping[str, list[Encoded]], plan: Plan | None = None) -> None:
        if not query.arriving:
            raise PlanError("only static relations are queried: the answer never changes", subject=query.name)
        self.plan = plan or make_plan(query, static_values(query, static))
        # Without the occurrences of a stream that fold onto others.
        self.query = query = self.plan.query
        self.joiner = Joiner(self.plan)
        self.static = static_rows(query, static)
        self.tables = fresh(self.plan)
        self.kept: dict[str, dict[Bucket, list[Rep]]] = {alias: {} for alias in self.tables}
        self.peak_units = 0

    @property
    def units(self) -> int:
        """What is stored now."""
        return units(self.tables)

    def holds(self, row: tuple[Any, ...]) -> bool:
        """Whether a row (encoded) is an answer to what has arrived; for DISTINCT queries."""
        if self.plan.empty:
            return False
        kept = {alias: [r for reps in kept.values() for r in reps] for alias, kept in self.kept.items()}
        return self.joiner.exists({**self.static, **kept}, row)

    def resume(self, tables: Mapping[str, Table]) -> None:
        """Take up the tables of a state."""
        self.tables = dict(tables)
        self.kept = {
            alias: by_bucket(table, table.entries if table.ring.idempotent else table.counts)
            for alias, table in self.tables.items()
        }

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Answer]]:
        """The new answers at each marker."""
        statement = Statement.of(self.query)
        for batch in batches:
            yield answers(statement, batch.marker, self.step(batch))

    def step(self, batch: Batch) -> dict[tuple[Any, ...], int]:
        """Take in one batch and return its new answer rows (encoded) with their multiplicities."""
        if self.plan.empty:
            return {}
        if self.plan.stateless:
            return self.joiner.counts({**self.static, **self._passing(batch)})
        return self.advance(self._summary(batch))

    def advance(self, new: Mapping[str, Table]) -> dict[tuple[Any, ...], int]:
        """Take in summarised tuples (a table an occurrence) and return the new answer rows.

        Rows are encoded, with their multiplicities; the plan must keep state.
        """
        before = {alias: [rep for reps in kept.values() for rep in reps] for alias, kept in self.kept.items()}
        counts = self._changes(before, {alias: self._merge(alias, table) for alias, table in new.items()})
        self.peak_units = max(self.peak_units, units(self.tables))
        return counts

    def _merge(self, alias: str, new: Table) -> list[Rep]:
        """Take in a table; returns the representatives of its tuples that can make a difference."""
        table = self.tables[alias]
        changed = table.merge(new)
        self.kept[alias].update(by_bucket(table, changed))
        return representatives(new, changed)

    def _passing(self, batch: Batch) -> dict[str, list[Rep]]:
        synopsis = self.plan.synopses[0]
        name = self.query.occurrence(synopsis.alias).relation.name
        rows = batch.tuples.get(name, ())
        return {synopsis.alias: [Rep(row, self.query.ring.one) for row in rows if accepts(synopsis, row)]}

    def _summary(self, batch: Batch) -> dict[str, Table]:
        new = fresh(self.plan)
        for alias, table in new.items():
            for row in batch.tuples.get(self.query.occurrence(alias).relation.name, ()):
                table.add(row)
        return new

    def _changes(
        self, before: Mapping[str, list[Rep]], fresh_reps: Mapping[str, list[Rep]]
    ) -> dict[tuple[Any, ...], int]:
        found: dict[tuple[Any, ...], int] = {}
        for first in fresh_reps:
            if not fresh_reps[first]:
                continue
            for row, weight in self.joiner.rows(self._mixture(first, before, fresh_reps)):
                self.query.ring.put(found, row, weight)
        if self.query.ring.idempotent:
            sources = {**self.static, **before}
            return {row: 1 for row in found if not self.joiner.exists(sources, row)}
        return found

    def _mixture(
        self, first: str, before: Mapping[str, list[Rep]], new: Mapping[str, list[Rep]]
    ) -> dict[str, list[Rep]]:
        """Old tuples of the streams before ``first``, new ones of it, and all of those after it."""
        sources: dict[str, list[Rep]] = dict(self.static)
        reached = False
        for alias in before:
            if alias == first:
                reached = True
                sources[alias] = new[alias]
            else:
                sources[alias] = [*before[alias], *new[alias]] if reached else before[alias]
        return sources
