"""Queries with streams that end, on one machine: see ``plan.ending``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.evaluation.order import ArrivalOrder
from streambound.plan.clock import time_conditions
from streambound.plan.ending import static_name, widened_row
from streambound.plan.model import Plan
from streambound.plan.tables.planner import needs_time
from streambound.query.model import Atom, Join, Query, RelationKind
from streambound.query.statement import Statement
from streambound.state.codec import sorted_rows
from streambound.state.row_join import PartialMatch, PartialMatches, Row, RowJoin, static_sources, with_new
from streambound.state.serial import canonical, decoded, plain, value_of
from streambound.state.table import passes


class BatchPass(Protocol):
    """Evaluates a query batch by batch."""

    @property
    def stored_units(self) -> int:
        """What is stored now."""

    def process(self, batch: Batch) -> dict[Row, int]:
        """The new answer rows of a batch."""

    def holds(self, row: Row) -> bool:
        """Whether a row is an answer to what has arrived."""

    def dump(self) -> bytes:
        """The state between two batches, as canonical JSON."""

    def load(self, document: Any) -> None:
        """Take up a state, from what its bytes hold as JSON."""


# Makes the engine of a query with the rows of its static relations, which remembers rows for so long.
Make = Callable[[Query, Mapping[str, list[Encoded]], int], BatchPass]


class EndingPass:
    """Evaluates a query with streams that end; ``peak_units`` is the most that was ever stored.

    Until the streams end it has the tuples that are ``buffered``; afterwards ``ended`` are their rows, and
    ``later`` is the engine that goes on. ``now`` is the last moment of which a tuple counted.
    """

    def __init__(
        self,
        plan: Plan,
        static: Mapping[str, list[Encoded]],
        make: Make,
        order: ArrivalOrder | None = None,
    ) -> None:
        assert plan.ending is not None
        self.plan, self.ending, self.query, self.make = plan, plan.ending, plan.query, make
        self.order = order or ArrivalOrder()
        self.static = dict(static)
        self.fixed = static_sources(plan.query, static)
        self.ended: dict[str, list[Encoded]] = {}
        self.buffered: list[Batch] = []
        self.seen = {
            o.alias: PartialMatches()
            for o in plan.query.occurrences
            if o.relation.kind is not RelationKind.STATIC
        }
        self.join = RowJoin(plan.query.ring, _joins(plan.query), time_conditions(plan.query))
        # Asked for at every moment, so it is counted as tuples come.
        self._values = 0
        self.answered: set[Row] = set()
        self.later: BatchPass | None = None
        self.now: int | None = None
        self.peak_units = 0

    @property
    def stored_units(self) -> int:
        """What is stored now: every value of the tuples that are held, then what the plan keeps."""
        if self.later is not None:
            return self.later.stored_units
        return self._values + len(self.answered)

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived; for DISTINCT queries."""
        return row in self.answered if self.later is None else self.later.holds(row)

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Answer]]:
        """The new answers at each marker."""
        statement = Statement.of(self.query)
        for batch in batches:
            yield answers(statement, batch.marker, self.process(batch))

    def process(self, batch: Batch) -> dict[Row, int]:
        """Take in one batch and return its new answer rows (encoded) with their multiplicities.

        Raises:
            DataError: a tuple that counts is not later than those of the partitions before.
        """
        first = self._first(batch)
        if first is None:
            return {}
        self._follow(first, batch)
        self.now = batch.moment
        if self.later is None and batch.moment > self.ending.last:
            self._end()
        answers = (
            self._joined_with_buffered(batch)
            if self.later is None
            else self.later.process(self._widened(batch))
        )
        self.peak_units = max(self.peak_units, self.stored_units)
        return answers

    def _first(self, batch: Batch) -> str | None:
        """An occurrence of which a tuple counts."""
        return next((alias for alias in self.seen if any(True for _ in self._counting(alias, batch))), None)

    def counts(self, stream: str, values: Sequence[Any]) -> bool:
        """Whether a tuple counts, from the columns that are held."""
        row = dict(zip(self.columns[stream], values, strict=True))
        return any(self._passes(alias, row) for alias in self._aliases[stream])

    def reach(self, stream: str, moment: int, partition: str | None) -> None:
        """Step to a moment after the streams have ended, of which a tuple counts that is taken in elsewhere.

        Raises:
            DataError: it is not later than those of the partitions before.
        """
        self._follow(self._aliases[stream][0], Batch(moment, {}, moment, partition))
        self.now = moment
        if self.later is None:
            self._end()

    def settle(self) -> None:
        """Count what was taken in elsewhere."""
        self.peak_units = max(self.peak_units, self.stored_units)

    @cached_property
    def _aliases(self) -> dict[str, list[str]]:
        aliases: dict[str, list[str]] = {}
        for alias in self.seen:
            aliases.setdefault(self.query.occurrence(alias).relation.name, []).append(alias)
        return aliases

    def _follow(self, alias: str, batch: Batch) -> None:
        self.order.follow(self.query.occurrence(alias).relation, batch.moment, batch.partition)

    def _joined_with_buffered(self, batch: Batch) -> dict[Row, int]:
        arriving = {alias: self._counting_matches(alias, batch) for alias in self.seen}
        new = {
            frozenset((alias,)): PartialMatches(partial_matches)
            for alias, partial_matches in arriving.items()
        }
        older = {frozenset((alias,)): partial_matches for alias, partial_matches in self.seen.items()}
        rows: dict[Row, int] = {}
        for sources in with_new(new, older):
            self.join.rows(self.query, [*sources, *self.fixed], rows)
        self.hold(batch, arriving)
        if self.query.ring.idempotent:
            rows = {row: 1 for row in rows if row not in self.answered}
            self.answered.update(rows)
        return rows

    def hold(self, batch: Batch, arriving: Mapping[str, list[PartialMatch]] | None = None) -> None:
        """Keep the tuples of a batch as they came."""
        for alias in self.seen:
            own = self._counting_matches(alias, batch) if arriving is None else arriving[alias]
            self.seen[alias].put(batch.moment, own)
            self._values += sum(len(match.values) for match in own)
        self.buffered.append(batch)

    def _counting_matches(self, alias: str, batch: Batch) -> list[PartialMatch]:
        """The tuples of an occurrence that meet the conditions on it alone."""
        columns = [a for a in self.query.mentioned if a.occurrence == alias]
        return [
            PartialMatch({a: row[a.column] for a in columns}, {alias: batch.moment})
            for row in self._counting(alias, batch)
        ]

    def _counting(self, alias: str, batch: Batch) -> Iterator[Encoded]:
        name = self.query.occurrence(alias).relation.name
        return (row for row in batch.tuples.get(name, ()) if self._passes(alias, row))

    def _passes(self, alias: str, row: Encoded) -> bool:
        own, needed = self._own[alias]
        return all(row[name] is not None for name in needed) and passes(own, row)

    @cached_property
    def _own(self) -> dict[str, tuple[list[Atom], list[str]]]:
        """The conditions on each occurrence alone, and its columns that must not be NULL."""
        where, present = self.query.where, self.query.present
        return {
            alias: (
                [a for a in where if {x.occurrence for x in a.attributes} == {alias}],
                [x.column for x in present if x.occurrence == alias],
            )
            for alias in self.seen
        }

    def _end(self) -> None:
        """Make the tuples of the streams that have ended static, and plan what is left."""
        # Their answers have been given, and where no order is asked for they enter at once.
        batches = self.buffered if needs_time(self.ending.later) else [_merged(self.buffered)]
        later = self.end({static_name(self.query.occurrence(a)): self._last(a) for a in self.ending.finite})
        for batch in batches:
            later.process(self._widened(batch))

    def _last(self, alias: str) -> list[Encoded]:
        """The tuples that came of an occurrence that has ended."""
        own = [a for a in self.query.where if {x.occurrence for x in a.attributes} == {alias}]
        name = self.query.occurrence(alias).relation.name
        return [
            widened_row(row, self.ending.shadows[alias])
            for batch in self.buffered
            for row in batch.tuples.get(name, ())
            if passes(own, row)
        ]

    def end(self, rows: Mapping[str, list[Encoded]]) -> BatchPass:
        """Go on with the rows of the streams that have ended; returns the engine that does."""
        self.ended = dict(rows)
        static = {**self.static, **rows}
        later, linger = self.ending.later, self.ending.linger
        made = self.make(later, static, linger) if later.streams else Answered(self.answered)
        self.later, self.buffered, self.answered = made, [], set()
        self.seen = dict.fromkeys(self.seen, PartialMatches())
        return made

    @cached_property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The columns that are held, by stream."""
        names = {s.alias: self.query.occurrence(s.alias).relation.name for s in self.plan.streams}
        return {names[s.alias]: tuple(a.column for a in s.carried) for s in self.plan.streams}

    def batches(self, rows: Iterable[Sequence[Any]], partition: str | None = None) -> Iterator[Batch]:
        """Batches in order of time, from (stream, moment, encoded values, multiplicity)."""
        batches: dict[int, dict[str, list[Encoded]]] = {}
        for stream, moment, values, count in rows:
            row = dict(zip(self.columns[stream], values, strict=True))
            batches.setdefault(moment, {}).setdefault(stream, []).extend([row] * count)
        for moment in sorted(batches):
            yield Batch(moment, batches[moment], moment, partition)

    def dump(self) -> bytes:
        """What is held, or what has ended and the state of the engine that goes on, as canonical JSON."""
        if self.later is None:
            return canonical(
                {"now": self.now, "held": self._counted(), "answered": sorted_rows(self.answered)}
            )
        ended = {name: _table(rows) for name, rows in self.ended.items()}
        return canonical({"now": self.now, "ended": ended, "later": json.loads(self.later.dump())})

    def _counted(self) -> list[Any]:
        counter: Counter[bytes] = Counter()
        for batch in self.buffered:
            for stream, rows in batch.tuples.items():
                values = ([plain(row[name]) for name in self.columns[stream]] for row in rows)
                counter.update(canonical([stream, batch.moment, row]) for row in values)
        return [[*json.loads(body), count] for body, count in sorted(counter.items())]

    def load(self, document: Any) -> None:
        """Take up a state, from what its bytes hold as JSON."""
        if "held" in document:
            rows = ((stream, at, decoded(values), n) for stream, at, values, n in document["held"])
            for batch in self.batches(rows):
                self.hold(batch)
            self.answered = {tuple(map(value_of, row)) for row in document["answered"]}
        else:
            later = self.end({name: _encoded(table) for name, table in document["ended"].items()})
            later.load(document["later"])
        self.now = document["now"]
        self.order.resume(self.query, self.now)

    def _widened(self, batch: Batch) -> Batch:
        """A batch with the columns that hold timestamps, of the streams that go on."""
        shadows = {o.relation.name: self.ending.shadows[o.alias] for o in self.ending.later.streams}
        tuples = {
            name: [widened_row(row, shadows[name]) for row in rows]
            for name, rows in batch.tuples.items()
            if name in shadows
        }
        return Batch(batch.marker, tuples, batch.moment)


def _merged(batches: Sequence[Batch]) -> Batch:
    tuples: dict[str, list[Encoded]] = {}
    for batch in batches:
        for stream, rows in batch.tuples.items():
            tuples.setdefault(stream, []).extend(rows)
    last = batches[-1].moment if batches else 0
    return Batch(last, tuples, last)


def _joins(query: Query) -> tuple[Join, ...]:
    """The comparisons between occurrences, other than of timestamps."""
    pairs = (a for a in query.joins if len({x.occurrence for x in a.attributes}) == 2)
    return tuple(a for a in pairs if not query.is_timestamp(a.left))


def _table(rows: Sequence[Encoded]) -> dict[str, Any]:
    columns = sorted(rows[0]) if rows else []
    return {"columns": columns, "rows": sorted_rows(tuple(row[c] for c in columns) for row in rows)}


def _encoded(table: Mapping[str, Any]) -> list[Encoded]:
    return [dict(zip(table["columns"], map(value_of, row), strict=True)) for row in table["rows"]]


class Answered:
    """The engine of a query all of whose streams have ended: the rows that it answered."""

    def __init__(self, rows: set[Row]) -> None:
        self.rows = rows

    @property
    def stored_units(self) -> int:
        """A unit for each row."""
        return len(self.rows)

    def process(self, batch: Batch) -> dict[Row, int]:
        """No answers."""
        return {}

    def holds(self, row: Row) -> bool:
        """Whether the row was answered."""
        return row in self.rows

    def dump(self) -> bytes:
        """The rows."""
        return canonical(sorted_rows(self.rows))

    def load(self, document: Any) -> None:
        """Take up rows."""
        self.rows = {tuple(map(value_of, row)) for row in document}
