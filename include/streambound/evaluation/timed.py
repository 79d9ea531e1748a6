"""A plan with time conditions on one machine: see ``synopsis.timed``.

At a marker, answers are the matches with a tuple of its batch: those of the composites that have not
entered the tables yet, with what is kept of the others. With DISTINCT, rows that were answered are
remembered; a row with the timestamp of a stream that completes every match only as long as it can come
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.evaluation.order import Order
from streambound.synopsis.clock import Composite
from streambound.synopsis.match_join import Match, Matches, MatchJoin, Row, Source, static_sources, with_new
from streambound.synopsis.plan import Plan, Split, StreamSynopsis
from streambound.synopsis.state import accepted
from streambound.synopsis.timed_state import TimedState


class TimedPass:
    """Evaluates a plan with time conditions; ``peak_units`` is the most that was ever stored.

    Args:
        join: what joins representatives.
    """

    def __init__(
        self,
        plan: Plan,
        static: Mapping[str, list[Encoded]],
        order: Order | None = None,
        join: type[MatchJoin] = MatchJoin,
    ) -> None:
        self.plan, self.query = plan, plan.query
        self.order = order or Order()
        self.state = TimedState(plan, join)
        self.static = static_sources(plan.query, static)
        self.answered: dict[Row, int | None] = {}
        self.peak_units = 0

    @property
    def units(self) -> int:
        """What is stored now."""
        return self.state.units + len(self.answered)

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived; for DISTINCT queries."""
        return row in self.answered

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Answer]]:
        """The new answers at each marker."""
        for batch in batches:
            yield answers(self.query, batch.marker, self.step(batch))

    def step(self, batch: Batch) -> dict[Row, int]:
        """Take in one batch and return its new answer rows (encoded) with their multiplicities."""
        arriving = {s.alias: self._arriving(s, batch) for s in self.plan.streams}
        return self.take(batch.moment, arriving, batch.partition)

    def take(
        self, now: int, arriving: Mapping[str, list[Match]], partition: str | None = None
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
        self.state.advance(now - 1)
        self.state.held.take(arriving, now)
        found = self._answers(now)
        if self.query.distinct:
            found = dict.fromkeys((row for row in found if row not in self.answered), 1)
            self._remember(found, now)
        self.state.advance(now)
        self.state.held.drop(now)
        self.peak_units = max(self.peak_units, self.units)
        return found

    def _arriving(self, synopsis: StreamSynopsis, batch: Batch) -> list[Match]:
        name = self.query.occurrence(synopsis.alias).relation.name
        stamps = {synopsis.alias: batch.moment}
        return [Match(values, stamps) for values in accepted(synopsis, batch.tuples.get(name, ()))]

    def _answers(self, now: int) -> dict[Row, int]:
        found: dict[Row, int] = {}
        for split in self.plan.answers:
            for sources in self._sources(split, now):
                self.state.join.rows(self.query, sources, found)
        return found

    def _sources(self, split: Split, now: int) -> Iterator[list[Source]]:
        """Sources whose joins are the matches of a split with a tuple of this batch, each once."""
        if not self.state.tables and len(split.new) == 1:
            # Nobody else asks for these matches, so they need not be made one by one.
            for sources in self.state.held.arrived(split.new[0]):
                yield [*sources, *self.static]
            return
        new = {c: self.state.held.complete(c, now) for c in split.new}
        if any(new.values()):
            # Of a single part only what is new can make a new match.
            older = {c: self._older(c, now) for c in split.new} if len(new) > 1 else {}
            rest = [*self.static, *self.state.kept(split)]
            for sources in with_new(new, older):
                yield [*sources, *rest]

    def _older(self, composite: Composite, now: int) -> Matches:
        """The matches of a composite from before this batch that have not entered the tables."""
        held, delay = self.state.held, self.plan.clock.delays[composite]
        times = [at for at in held.times(composite) if now - delay <= at < now]
        return Matches(match for at in times for match in held.complete(composite, at))

    def _remember(self, rows: Mapping[Row, int], now: int) -> None:
        """Remember answered rows until they cannot come again."""
        self.answered.update((row, self.plan.until(row)) for row in rows)
        if self.plan.ends:
            self.answered = {r: until for r, until in self.answered.items() if until is None or until > now}
