"""How the driver goes on from one partition's summaries to the next: tables of streams, or time.

Both take in what tasks made of a partition, give its new answers, and have a state at its boundary that
checkpoints hold.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from streambound.evaluation.events import Encoded
from streambound.evaluation.onepass import OnePass
from streambound.evaluation.order import Order
from streambound.evaluation.statement import summed
from streambound.evaluation.timed import TimedPass
from streambound.history import states
from streambound.history.matches import ArrayJoin
from streambound.synopsis.match_join import Row
from streambound.synopsis.plan import Plan
from streambound.synopsis.serial import table_of
from streambound.synopsis.state import Table, fresh
from streambound.synopsis.timed_serial import dump_timed, load_timed
from streambound.tasks.relations import arrivals, counted_rows

Static = Mapping[str, list[Encoded]]


@dataclass(frozen=True)
class Step:
    """What is taken in at once: of one moment, or (None) of a partition; ``take`` gives the new answers."""

    moment: int | None
    take: Callable[[], Mapping[Row, int]]


class Evaluation(Protocol):
    """The state of one query between two partitions.

    ``total`` is the final answer so far; None where it is the sum of the partitions' answers on disk.
    """

    total: states.Total | None

    @property
    def units(self) -> int:
        """What is stored now."""

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""

    def advance(self, partition: str, given: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from what was made of each occurrence's share."""

    def dump(self) -> bytes:
        """The state as checkpoints hold it."""

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up a state."""


class PartEvaluation(Evaluation, Protocol):
    """The evaluation of one conjunction, which may be part of a statement."""

    def steps(self, partition: str, given: Mapping[str, bytes]) -> Iterator[Step]:
        """What ``advance`` does, step by step in order of time; each is to be taken."""

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived; for DISTINCT queries."""


def news(before: Table, new: Table) -> Table:
    """The entries of a duplicate-eliminating table that the state before does not already serve.

    What an entry no better than one under the same key gives, that one gave before.
    """
    found = Table(new.cells, new.preserving)
    for bucket, held in new.entries.items():
        known, layout = before.entries.get(bucket, {}), new.layouts[bucket[0]]
        kept = {
            standing: entry
            for standing, entry in held.items()
            if standing not in known or layout.together(known[standing], entry) != known[standing]
        }
        if kept:
            found.entries[bucket] = kept
    return found


def evaluation_of(
    plan: Plan, static: Static, order: Order | None = None, totalled: bool = True
) -> PartEvaluation:
    """The evaluation of a conjunction, at the beginning (see ``Tabled`` on ``totalled``)."""
    return Timed(plan, static, order or Order()) if plan.timed else Tabled(plan, static, totalled)


class Tabled:
    """Tables of single streams, which merge; of a stateless plan there are none.

    Args:
        totalled: the final answer is kept beside the tables.
    """

    def __init__(self, plan: Plan, static: Static, totalled: bool = True) -> None:
        self.plan, self.preserving = plan, not plan.query.distinct
        self.onepass = OnePass(plan, static, ArrayJoin)
        self.total: states.Total | None = {} if totalled and not plan.stateless else None

    @property
    def units(self) -> int:
        """What is stored now."""
        return self.onepass.units

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""
        return self.onepass.peak_units

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived."""
        return self.onepass.holds(row)

    def steps(self, partition: str, given: Mapping[str, bytes]) -> Iterator[Step]:
        """The one step of a partition."""
        if not self.plan.empty:
            yield Step(None, lambda: self.advance(partition, given))

    def advance(self, partition: str, given: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from a table an occurrence."""
        new = self._tables(given)
        if not self.preserving:
            new = {alias: news(self.onepass.tables[alias], table) for alias, table in new.items()}
        changed = any(table.counts or table.entries for table in new.values())
        counts = self.onepass.advance(new) if changed else {}
        if self.total is not None:
            for row, count in counts.items():
                self.total[row] = self.total.get(row, 0) + count
        return counts

    def _tables(self, given: Mapping[str, bytes]) -> dict[str, Table]:
        found = fresh(self.plan)
        for alias, table in found.items():
            if alias in given:
                found[alias] = table_of(table.cells, self.preserving, alias, json.loads(given[alias]))
        return found

    def dump(self) -> bytes:
        """The tables and the final answer so far."""
        return states.dump_state(self.onepass.tables, self.total or {})

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up tables and the final answer."""
        tables, total = states.load_state(self.plan, data)
        self.onepass.resume(tables)
        self.total = None if self.total is None else total
        self.onepass.peak_units = peak_units


class Filtered:
    """A part of a statement that keeps nothing: tasks have computed its answers."""

    total: states.Total | None = None
    units = peak_units = 0

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def holds(self, row: Row) -> bool:
        """Never asked: what keeps nothing is not distinct."""
        raise AssertionError(f"{self.plan.query.name} keeps no rows")

    def steps(self, partition: str, given: Mapping[str, bytes]) -> Iterator[Step]:
        """The one step of a partition."""
        yield Step(None, lambda: self.advance(partition, given))

    def advance(self, partition: str, given: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition."""
        return summed(counted_rows(self.plan.query, data) for data in given.values())

    def dump(self) -> bytes:
        """Nothing, as JSON."""
        return b"{}"

    def load(self, data: bytes, peak_units: int) -> None:
        """Nothing is taken up."""


class Timed:
    """Batches in order of time; partitions have to follow each other in time."""

    total: states.Total | None = None

    def __init__(self, plan: Plan, static: Static, order: Order) -> None:
        self.plan = plan
        self.onepass = TimedPass(plan, static, order)

    @property
    def units(self) -> int:
        """What is stored now."""
        return self.onepass.units

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""
        return self.onepass.peak_units

    def holds(self, row: Row) -> bool:
        """Whether a row (encoded) is an answer to what has arrived."""
        return self.onepass.holds(row)

    def steps(self, partition: str, given: Mapping[str, bytes]) -> Iterator[Step]:
        """A step for each moment of which a tuple counts."""
        for moment, arriving in arrivals(self.plan, given):
            yield Step(moment, partial(self.onepass.take, moment, arriving, partition))

    def advance(self, partition: str, given: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from a relation an occurrence.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        found: Counter[Row] = Counter()
        for step in self.steps(partition, given):
            found.update(step.take())
        return found

    def dump(self) -> bytes:
        """Tables, held tuples and answered rows."""
        return dump_timed(self.onepass.state, self.onepass.answered)

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up tables, held tuples and answered rows."""
        self.onepass.state, self.onepass.answered = load_timed(self.plan, data)
        self.onepass.order.resume(self.onepass.state.now)
        self.onepass.peak_units = peak_units
