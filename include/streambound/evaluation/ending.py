"""Queries with streams that end, on one machine: see ``synopsis.ending``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.query.model import Attribute, Kind, Query
from streambound.synopsis.answer import static_rows
from streambound.synopsis.clock import time_conditions
from streambound.synopsis.ending import EndingPlan, static_name, widened_row
from streambound.synopsis.match_join import Match, MatchJoin, Source
from streambound.synopsis.state import passes

Row = tuple[Any, ...]


class Engine(Protocol):
    """Evaluates a query batch by batch."""

    @property
    def units(self) -> int:
        """What is stored now."""

    def step(self, batch: Batch) -> dict[Row, int]:
        """The new answer rows of a batch."""

    def holds(self, row: Row) -> bool:
        """Whether a row is an answer to what has arrived."""


# Makes the engine of a query with the rows of its static relations.
Make = Callable[[Query, Mapping[str, list[Encoded]]], Engine]


class EndingPass:
    """Evaluates a query with streams that end; ``peak_units`` is the most that was ever stored."""

    def __init__(self, plan: EndingPlan, static: Mapping[str, list[Encoded]], make: Make) -> None:
        self.plan, self.query, self.make = plan, plan.query, make
        self.static = dict(static)
        self.held: list[Batch] = []
        self.seen: dict[str, list[Match]] = {o.alias: [] for o in self._arriving}
        self.join = MatchJoin(
            tuple(
                a
                for a in plan.query.comparisons
                if isinstance(a.right, Attribute)
                and not plan.query.is_timestamp(a.left)
                and a.left.occurrence != a.right.occurrence
            ),
            time_conditions(plan.query),
        )
        self.answered: set[Row] = set()
        self.later: Engine | None = None
        self.peak_units = 0

    @property
    def _arriving(self) -> list[Any]:
        return [o for o in self.query.occurrences if o.relation.kind is not Kind.STATIC]

    @property
    def units(self) -> int:
        """What is stored now: every value of the tuples that are held, then what the plan keeps."""
        if self.later is not None:
            return self.later.units
        return sum(len(match.values) for matches in self.seen.values() for match in matches) + len(
            self.answered
        )

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived; for DISTINCT queries."""
        return row in self.answered if self.later is None else self.later.holds(row)

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Answer]]:
        """The new answers at each marker."""
        for batch in batches:
            yield answers(self.query, batch.marker, self.step(batch))

    def step(self, batch: Batch) -> dict[Row, int]:
        """Take in one batch and return its new answer rows (encoded) with their multiplicities."""
        if self.later is None and batch.moment > self.plan.last:
            self._end()
        found = self._held(batch) if self.later is None else self.later.step(self._widened(batch))
        self.peak_units = max(self.peak_units, self.units)
        return found

    def _held(self, batch: Batch) -> dict[Row, int]:
        new = {o.alias: self._matches(o.alias, batch) for o in self._arriving}
        found: dict[Row, int] = {}
        for sources in self._sources(new):
            for owners, weight in self.join.owners(sources):
                row = tuple(
                    owners[o.term.occurrence].values[o.term]
                    if isinstance(o.term, Attribute)
                    else o.term.value
                    for o in self.query.select
                )
                found[row] = found.get(row, 0) + weight
        for alias, matches in new.items():
            self.seen[alias].extend(matches)
        self.held.append(batch)
        if self.query.distinct:
            found = {row: 1 for row in found if row not in self.answered}
            self.answered.update(found)
        return found

    def _matches(self, alias: str, batch: Batch) -> list[Match]:
        """The tuples of an occurrence that meet the conditions on it alone."""
        own = [a for a in self.query.where if {x.occurrence for x in a.attributes} == {alias}]
        needed = {x for x in self.query.present if x.occurrence == alias}
        columns = [a for a in self.query.mentioned if a.occurrence == alias]
        return [
            Match({a: row[a.column] for a in columns}, {alias: batch.moment})
            for row in batch.tuples.get(self.query.occurrence(alias).relation.name, ())
            if all(row[x.column] is not None for x in needed) and passes(own, row)
        ]

    def _sources(self, new: Mapping[str, list[Match]]) -> Iterator[list[Source]]:
        """Sources whose joins are the matches with a tuple of this batch, each once."""
        fixed: list[Source] = [
            (
                frozenset((alias,)),
                [Match({Attribute(alias, c): v for c, v in rep.values.items()}, {}) for rep in reps],
            )
            for alias, reps in static_rows(self.query, self.static).items()
        ]
        for first in new:
            sources = list(fixed)
            reached = False
            for alias in new:
                reached = reached or alias == first
                mine = new[alias] if alias == first else self.seen[alias]
                sources.append(
                    (frozenset((alias,)), [*mine, *(new[alias] if reached and alias != first else [])])
                )
            yield sources

    def _end(self) -> None:
        """Make the tuples of the streams that have ended static, and plan what is left."""
        for alias in self.plan.finite:
            occurrence = self.query.occurrence(alias)
            own = [a for a in self.query.where if {x.occurrence for x in a.attributes} == {alias}]
            self.static[static_name(occurrence)] = [
                widened_row(row, self.plan.shadows[alias])
                for batch in self.held
                for row in batch.tuples.get(occurrence.relation.name, ())
                if passes(own, row)
            ]
        if self.plan.later.streams:
            self.later = self.make(self.plan.later, self.static)
            for batch in self.held:
                self.later.step(self._widened(batch))
        else:
            self.later = _Answered(self.answered)
        self.held, self.seen, self.answered = [], {}, set()

    def _widened(self, batch: Batch) -> Batch:
        """A batch with the columns that hold timestamps, of the streams that go on."""
        shadows = {o.relation.name: self.plan.shadows[o.alias] for o in self.plan.later.streams}
        tuples = {
            name: [widened_row(row, shadows[name]) for row in rows]
            for name, rows in batch.tuples.items()
            if name in shadows
        }
        return Batch(batch.marker, tuples, batch.moment)


class _Answered:
    """The engine of a query all of whose streams have ended: the rows that it answered."""

    def __init__(self, rows: set[Row]) -> None:
        self.rows = rows

    @property
    def units(self) -> int:
        """A unit for each row."""
        return len(self.rows)

    def step(self, batch: Batch) -> dict[Row, int]:
        """No answers."""
        return {}

    def holds(self, row: Row) -> bool:
        """Whether the row was answered."""
        return row in self.rows
