"""The plan on one machine: each tuple is read once, and the state stays within the plan's units.

New answers of a batch are found from the tables before it and the representatives of the batch alone: the
streams are taken in one after the other, each joined with what is kept of the others by then.
Duplicate-eliminating, a row is new if it did not follow from the tables before, so nothing has to be
remembered as emitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from streambound.errors import PlanError
from streambound.evaluation.ending import EndingPass
from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.evaluation.order import Order
from streambound.evaluation.timed import TimedPass
from streambound.query.model import Attribute, Query
from streambound.query.values import Value
from streambound.synopsis.ending import EndingPlan
from streambound.synopsis.match_join import (
    Match,
    Matches,
    MatchJoin,
    Row,
    Source,
    excluded,
    representatives,
    static_sources,
)
from streambound.synopsis.plan import Plan
from streambound.synopsis.planner import AnyPlan, plan_of
from streambound.synopsis.state import Table, accepted, fresh


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
    return pass_of(plan_of(query, static_values(query, static), linger), static)


def pass_of(plan: AnyPlan, static: Mapping[str, list[Encoded]], order: Order | None = None) -> AnyPass:
    """The engine of a plan; the parts of one statement share an ``order``."""
    if isinstance(plan, EndingPlan):
        return EndingPass(plan, static, one_pass, order)
    return TimedPass(plan, static, order) if plan.timed else OnePass(plan, static)


class OnePass:
    """Evaluates a bounded query without time conditions; ``peak_units`` is the most that was ever stored.

    Args:
        join: what joins representatives.
    """

    def __init__(
        self,
        plan: Plan,
        static: Mapping[str, list[Encoded]],
        join: type[MatchJoin] = MatchJoin,
    ) -> None:
        self.plan, self.query = plan, plan.query
        if not self.query.arriving:
            name = self.query.name
            raise PlanError("only static relations are queried: the answer never changes", subject=name)
        self.join = join(plan.joins, (), excluded(plan.synopses))
        self.static = static_sources(self.query, static)
        self.tables = fresh(plan)
        self.kept = {alias: Matches() for alias in self.tables}
        self.peak_units = 0

    @property
    def units(self) -> int:
        """What is stored now."""
        return sum(table.units for table in self.tables.values())

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived; for DISTINCT queries."""
        return not self.plan.empty and self.join.exists(self.query, self._sources(), row)

    def resume(self, tables: Mapping[str, Table]) -> None:
        """Take up the tables of a state."""
        self.tables = dict(tables)
        self.kept = {alias: Matches() for alias in tables}
        for alias, table in self.tables.items():
            table.changed = dict.fromkeys(table.buckets)
            self._keep(alias)

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Answer]]:
        """The new answers at each marker."""
        for batch in batches:
            yield answers(self.query, batch.marker, self.step(batch))

    def step(self, batch: Batch) -> dict[Row, int]:
        """Take in one batch and return its new answer rows (encoded) with their multiplicities."""
        if self.plan.empty:
            return {}
        arriving = {
            s.alias: accepted(s, batch.tuples.get(self.query.occurrence(s.alias).relation.name, ()))
            for s in self.plan.streams
        }
        if self.plan.stateless:
            found: dict[Row, int] = {}
            for alias, tuples in arriving.items():
                new = Matches(Match(values, {}) for values in tuples)
                self.join.rows(self.query, [*self.static, (frozenset((alias,)), new)], found)
            return found
        summary = fresh(self.plan)
        for alias, tuples in arriving.items():
            for values in tuples:
                summary[alias].add(values)
        return self.advance(summary)

    def advance(self, new: Mapping[str, Table]) -> dict[Row, int]:
        """Take in summarised tuples (a table an occurrence) and return the new answer rows.

        Rows are encoded, with their multiplicities; the plan must keep state.
        """
        found: dict[Row, int] = {}
        for alias, table in new.items():
            self.tables[alias].merge(table)
            # Of its tuples only those count that make a difference.
            changed = self.tables[alias].changed
            matches = Matches(match for bucket in changed for match in representatives(table, bucket))
            if not self.query.distinct:
                self.join.rows(self.query, self._sources(alias, matches), found)
            elif matches:
                rows: dict[Row, int] = {}
                self.join.rows(self.query, self._sources(alias, matches), rows)
                before = self._sources()
                found.update((row, 1) for row in rows if not self.join.exists(self.query, before, row))
            self._keep(alias)
        self.peak_units = max(self.peak_units, self.units)
        return found

    def _keep(self, alias: str) -> None:
        """Make what stands for the changed entries of a table anew."""
        table = self.tables[alias]
        for bucket in table.changed:
            self.kept[alias].put(bucket, representatives(table, bucket))
        table.changed.clear()

    def _sources(self, alias: str | None = None, new: Matches | None = None) -> list[Source]:
        """What is kept of every stream, or new of one of them."""
        kept = {**self.kept, alias: new} if alias is not None and new is not None else self.kept
        return [*self.static, *((frozenset((name,)), matches) for name, matches in kept.items())]
