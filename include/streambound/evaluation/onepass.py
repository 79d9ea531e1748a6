"""The plan on one machine: each tuple is read once, and the state stays within the plan's units.

Without conditions on time, new answers of a batch are found from the tables before it and the representatives
of the batch alone: the streams are taken in one after the other, each joined with what is kept of the others
by then. A DISTINCT row is new if it did not follow from the tables before, so nothing has to be remembered as
emitted.

In time, answers at a marker are the matches with a tuple of its batch: those of the composites that have not
entered the tables yet, with what is kept of the others. With DISTINCT, rows that were answered are
remembered; a row with the timestamp of a stream that completes every match only as long as it can come
again.

Where streams end (``plan.ending``), all tuples are held until then. Afterwards a plan is made with their
rows, and goes on with what was held of the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.evaluation.order import ArrivalOrder
from streambound.plan.clock import Clock, Composite
from streambound.plan.ending import shadow_name, static_name
from streambound.plan.model import Plan, Remembered, Split, Streams, StreamSynopsis
from streambound.plan.tables.planner import plan_of
from streambound.query.column_types import Value
from streambound.query.model import Attribute, Query
from streambound.query.statement import Statement
from streambound.state.codec import dump_state, load_state, sorted_rows
from streambound.state.engine import EngineState
from streambound.state.row_join import (
    PartialMatch,
    PartialMatches,
    Row,
    RowJoin,
    Source,
    static_sources,
    weight_of,
    with_new,
)
from streambound.state.serial import canonical, value_of
from streambound.state.table import Table, accepted


def static_values(query: Query, static: Mapping[str, list[Encoded]]) -> dict[Attribute, tuple[Value, ...]]:
    """The sorted distinct values of every mentioned column of the static relations."""
    by_column = {}
    for attribute in query.mentioned:
        if query.is_static(attribute):
            rows = static[query.occurrence(attribute.occurrence).relation.name]
            values = {row[attribute.column] for row in rows} - {None}
            by_column[attribute] = tuple(sorted(values))
    return by_column


class OnePass:
    """Evaluates a compact plan; ``peak_units`` is the most that was ever stored.

    Args:
        join: what joins representatives.
    """

    def __init__(
        self,
        plan: Plan,
        static: Mapping[str, list[Encoded]],
        order: ArrivalOrder | None = None,
        join: type[RowJoin] = RowJoin,
    ) -> None:
        self.plan, self.query = plan, plan.query
        self.order = order or ArrivalOrder()
        self.state = EngineState(plan, join)
        self.static = static_sources(plan.query, static)
        self.answered: dict[Row, int | None] = {}
        self.peak_units = 0

    @property
    def stored_units(self) -> int:
        """What is stored now."""
        return self.state.stored_units + len(self.answered)

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived; for DISTINCT queries."""
        if self.plan.empty or self.plan.remembered is not None:
            return row in self.answered
        kept: list[Source] = [
            (streams, slices.partial_matches()) for streams, slices in self.state.tables.items()
        ]
        return self.state.join.exists(self.query, [*self.static, *kept], row)

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Answer]]:
        """The new answers at each marker."""
        statement = Statement.of(self.query)
        for batch in batches:
            yield answers(statement, batch.marker, self.process(batch))

    def process(self, batch: Batch) -> dict[Row, int]:
        """Take in one batch and return its new answer rows (encoded) with their multiplicities."""
        arriving = {s.alias: self.arriving(s, batch) for s in self.plan.streams}
        return self.step(batch.moment, arriving, batch.partition)

    def step(
        self, moment: int, arriving: Mapping[str, list[PartialMatch]], partition: str | None = None
    ) -> dict[Row, int]:
        """Take in the tuples of a batch, by occurrence."""
        return self.take(moment, arriving, partition) if self.plan.timed else self.join(arriving)

    def join(self, arriving: Mapping[str, list[PartialMatch]]) -> dict[Row, int]:
        """Take in the tuples of a batch, by occurrence, where the plan does not step through time."""
        if self.plan.stateless:
            return self._joined(frozenset(arriving), PartialMatches(*arriving.values()), self.plan.answers[0])
        summary = self.state.fresh()
        for streams, table in summary.items():
            for match in arriving[min(streams)]:
                table.add(match.values, match.weight)
        return self.advance(summary)

    def arriving(self, synopsis: StreamSynopsis, batch: Batch) -> list[PartialMatch]:
        """The tuples of an occurrence that count, with their weights."""
        name = self.query.occurrence(synopsis.alias).relation.name
        stamps, rows = {synopsis.alias: batch.moment}, batch.tuples.get(name, ())
        own = [a.column for a in self.query.weighing(synopsis.alias)]
        if name not in batch.weights and not own:
            return [PartialMatch(values, stamps) for values in accepted(synopsis, rows)]
        weighted = zip(rows, batch.weights.get(name, [1] * len(rows)), strict=True)
        return [
            PartialMatch(values, stamps, weight * weight_of(row[column] for column in own))
            for row, weight in weighted
            for values in accepted(synopsis, [row])
        ]

    def _joined(self, streams: Streams, new: PartialMatches, split: Split) -> dict[Row, int]:
        rows: dict[Row, int] = {}
        sources = [*self.static, (streams, new), *self.state.kept(split)]
        self.state.join.rows(self.query, sources, rows)
        return rows

    def advance(self, summary: Mapping[Streams, Table]) -> dict[Row, int]:
        """Take in summarised tuples (a table of each stream) and return the new answer rows.

        Rows are encoded, with their multiplicities. It is for plans that do not step through time, and keep
        state.
        """
        answers: dict[Row, int] = {}
        for split in self.plan.answers:
            (streams,) = split.new
            slices = self.state.tables[streams]
            if not (new := slices.merge(summary[streams])):
                continue
            rows = self._joined(streams, new, split)
            if self.query.ring.idempotent and rows:
                before = [*self.static, (streams, slices.representatives), *self.state.kept(split)]
                rows = {row: 1 for row in rows if not self.state.join.exists(self.query, before, row)}
            for row, count in rows.items():
                self.query.ring.put(answers, row, count)
        self.peak_units = max(self.peak_units, self.stored_units)
        return answers

    def take(
        self, now: int, arriving: Mapping[str, list[PartialMatch]], partition: str | None = None
    ) -> dict[Row, int]:
        """Take in the accepted tuples of one timestamp, by occurrence: all there are of any stream.

        A tuple with a weight stands for so many equal tuples.

        Raises:
            DataError: some are not later than those of the partitions before.
        """
        first = next((alias for alias, rows in arriving.items() if rows), None)
        if self.plan.empty or first is None:
            return {}
        self.order.follow(self.query.occurrence(first).relation, now, partition)
        answers = self._moment(now, arriving)
        self.peak_units = max(self.peak_units, self.stored_units)
        return answers

    def _moment(self, now: int, arriving: Mapping[str, list[PartialMatch]]) -> dict[Row, int]:
        """The new answers at a moment of which there are tuples."""
        self.state.advance(now - 1)
        self.state.buffer.take(arriving, now)
        answers = self._answers(now)
        if self.plan.remembered is not None:
            answers = dict.fromkeys((row for row in answers if row not in self.answered), 1)
            self._remember(answers, now)
        self.state.advance(now)
        self.state.buffer.drop(now)
        return answers

    def dump(self) -> bytes:
        """The state between two batches, as canonical JSON."""
        return dump_state(self.state, self.answered)

    def load(self, document: Any) -> None:
        """Take up a state, from what its bytes hold as JSON.

        Raises:
            DataError: it is no state of this plan.
        """
        self.state, self.answered = load_state(self.plan, document, type(self.state.join))
        self.order.resume(self.query, self.state.now)

    def _answers(self, now: int) -> dict[Row, int]:
        rows: dict[Row, int] = {}
        for split in self.plan.answers:
            for sources in self._sources(split, now):
                self.state.join.rows(self.query, sources, rows)
        return rows

    def _sources(self, split: Split, now: int) -> Iterator[list[Source]]:
        """Sources whose joins are the matches of a split with a tuple of this batch, each once."""
        if not self.state.tables and len(split.new) == 1:
            # Nobody else asks for these matches, so they need not be made one by one.
            for sources in self.state.buffer.arrived(split.new[0]):
                yield [*sources, *self.static]
            return
        new = {c: self.state.buffer.complete(c, now) for c in split.new}
        if any(new.values()):
            # Of a single part only what is new can make a new match.
            older = {c: self._older(c, now) for c in split.new} if len(new) > 1 else {}
            rest = [*self.static, *self.state.kept(split)]
            for sources in with_new(new, older):
                yield [*sources, *rest]

    def _older(self, composite: Composite, now: int) -> PartialMatches:
        """The matches of a composite from before this batch that have not entered the tables."""
        tuple_buffer, delay = self.state.buffer, self.plan.clock.delays[composite]
        times = [at for at in tuple_buffer.times(composite) if now - delay <= at < now]
        return PartialMatches(match for at in times for match in tuple_buffer.complete(composite, at))

    def _remember(self, rows: Mapping[Row, int], now: int) -> None:
        """Remember answered rows until they cannot come again."""
        self.answered.update((row, self.plan.until(row)) for row in rows)
        if self.plan.ends:
            self.answered = {r: until for r, until in self.answered.items() if until is None or until > now}


# Makes the engine of a query with the rows of its static relations, which remembers rows for so long.
Make: TypeAlias = Callable[[Query, Mapping[str, list[Encoded]], int], OnePass]


def one_pass(query: Query, static: Mapping[str, list[Encoded]], linger: int = 0) -> OnePass:
    """The engine that a bounded query needs; ``linger`` is that of ``plan_of``.

    Raises:
        PlanError: there is no plan.
    """
    return pass_of(plan_of(query, static_values(query, static), linger), static)


def pass_of(plan: Plan, static: Mapping[str, list[Encoded]], order: ArrivalOrder | None = None) -> OnePass:
    """The engine of a plan; the parts of one statement share an ``order``."""
    return OnePass(plan, static, order) if plan.ending is None else EndingPass(plan, static, order)


class EndingPass(OnePass):
    """Evaluates a plan whose streams end.

    Afterwards ``ended`` are their rows, and ``later`` is the engine that goes on.
    """

    def __init__(
        self,
        plan: Plan,
        static: Mapping[str, list[Encoded]],
        order: ArrivalOrder | None = None,
        make: Make = one_pass,
    ) -> None:
        super().__init__(plan, static, order)
        assert plan.ending is not None
        self.ending, self.make, self.given = plan.ending, make, static
        self.ended: Mapping[str, list[Encoded]] = {}
        self.later: OnePass | None = None

    @property
    def stored_units(self) -> int:
        """What is stored now."""
        return super().stored_units if self.later is None else self.later.stored_units

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived; for DISTINCT queries."""
        return super().holds(row) if self.later is None else self.later.holds(row)

    def reach(self, alias: str, moment: int, partition: str | None) -> None:
        """Step to a moment after the streams have ended, of which a tuple is taken in elsewhere.

        Raises:
            DataError: it is not later than those of the partitions before.
        """
        self.order.follow(self.query.occurrence(alias).relation, moment, partition)
        self.state.now = moment
        if self.later is None:
            self._end()

    def settle(self) -> None:
        """Count what was taken in elsewhere."""
        self.peak_units = max(self.peak_units, self.stored_units)

    def _moment(self, now: int, arriving: Mapping[str, list[PartialMatch]]) -> dict[Row, int]:
        if self.later is None and now > self.ending.last:
            self._end()
        if self.later is None:
            return super()._moment(now, arriving)
        self.state.now = now
        return self.later.step(now, self._counting(self.later, arriving))

    def _remember(self, rows: Mapping[Row, int], now: int) -> None:
        """Remember answered rows: until streams have ended any may come again."""
        self.answered.update(dict.fromkeys(rows))

    def _end(self) -> None:
        """Make the tuples of the streams that have ended static, and plan what is left."""
        buffered, ending = self.state.buffer.older, self.ending
        later = self.end(
            {
                static_name(self.query.occurrence(alias)): [
                    row for match in buffered[alias] for row in [self._row(alias, match)] * int(match.weight)
                ]
                for alias in ending.finite
            }
        )
        going = {alias: rows for alias, rows in buffered.items() if alias not in ending.finite}
        # Their answers have been given, and where no order is asked for they enter at once.
        if later.plan.timed:
            for now in sorted({at for rows in going.values() for at in rows.groups}):
                here = {alias: rows.groups.get(now, []) for alias, rows in going.items()}
                later.step(now, self._counting(later, here))
        elif not later.plan.stateless:
            later.join(self._counting(later, {alias: list(rows) for alias, rows in going.items()}))

    def end(self, rows: Mapping[str, list[Encoded]]) -> OnePass:
        """Go on with the rows of the streams that have ended; returns the engine that does."""
        query, static = self.ending.later, {**self.given, **rows}
        if query.streams:
            later = self.make(query, static, self.ending.linger)
        else:
            later = OnePass(Plan(query, Clock((), ()), remembered=Remembered(), empty=True), static)
            later.answered = self.answered
        self.ended, self.later, self.answered, now = rows, later, {}, self.state.now
        self.state = EngineState(self.plan)
        self.state.now = now
        return later

    def _counting(
        self, later: OnePass, arriving: Mapping[str, Sequence[PartialMatch]]
    ) -> dict[str, list[PartialMatch]]:
        """The tuples that count for what goes on."""
        return {
            s.alias: [
                PartialMatch(values, match.stamps, match.weight)
                for match in arriving[s.alias]
                for values in accepted(s, [self._row(s.alias, match)])
            ]
            for s in later.plan.streams
        }

    def _row(self, alias: str, match: PartialMatch) -> Encoded:
        """A tuple with the columns that hold its timestamp."""
        row: dict[str, Any] = {attribute.column: value for attribute, value in match.values.items()}
        shadows = self.ending.shadows[alias]
        return {**row, **{shadow_name(name, shift): row[name] + shift for name, shift in shadows}}

    def dump(self) -> bytes:
        """What is held, or what has ended and the state of the engine that goes on, as canonical JSON."""
        if self.later is None:
            return super().dump()
        ended = {name: _table(rows) for name, rows in self.ended.items()}
        return canonical({"now": self.state.now, "ended": ended, "later": json.loads(self.later.dump())})

    def load(self, document: Any) -> None:
        """Take up a state, from what its bytes hold as JSON."""
        if "later" not in document:
            super().load(document)
            return
        self.end({name: _encoded(table) for name, table in document["ended"].items()}).load(document["later"])
        self.state.now = document["now"]
        self.order.resume(self.query, self.state.now)


def _table(rows: Sequence[Encoded]) -> dict[str, Any]:
    columns = sorted(rows[0]) if rows else []
    return {"columns": columns, "rows": sorted_rows(tuple(row[c] for c in columns) for row in rows)}


def _encoded(table: Mapping[str, Any]) -> list[Encoded]:
    return [dict(zip(table["columns"], map(value_of, row), strict=True)) for row in table["rows"]]
