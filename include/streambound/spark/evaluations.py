"""How the driver goes on from one partition's summaries to the next: tables of streams, or time.

Both take in what tasks made of a partition, give its new answers, and have a state at its boundary that
checkpoints hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from streambound.evaluation.events import Encoded
from streambound.evaluation.onepass import OnePass
from streambound.evaluation.timed import TimedPass
from streambound.query.model import Query
from streambound.spark import states
from streambound.spark.matches import Matches
from streambound.spark.relations import arrivals
from streambound.synopsis.answer import representatives
from streambound.synopsis.match_join import Row
from streambound.synopsis.plan import Plan
from streambound.synopsis.serial import loads
from streambound.synopsis.state import Bucket, Table, units
from streambound.synopsis.timed import TimedPlan
from streambound.synopsis.timed_serial import dump_timed, load_timed

Static = Mapping[str, list[Encoded]]


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


def evaluation_of(plan: Plan | TimedPlan, query: Query, static: Static) -> Evaluation:
    """The evaluation of a plan, at the beginning."""
    return Timed(plan, static) if isinstance(plan, TimedPlan) else Tabled(plan, query, static)


def news(before: Table, new: Table) -> Table:
    """The entries of a duplicate-eliminating table that the state before does not already serve.

    What an entry no better than one under the same key gives, that one gave before.
    """
    found = Table(new.synopsis, new.preserving)
    for bucket, held in new.entries.items():
        known, shape = before.entries.get(bucket, {}), new.layouts[bucket[0]]
        kept = {
            unequal: ends
            for unequal, ends in held.items()
            if unequal not in known or shape.better(known[unequal], ends) != known[unequal]
        }
        if kept:
            found.entries[bucket] = kept
    return found


class Tabled:
    """Tables of single streams, which merge; of a stateless plan there are none."""

    def __init__(self, plan: Plan, query: Query, static: Static) -> None:
        self.plan, self.preserving = plan, not plan.query.distinct
        self.onepass = OnePass(query, static, plan)
        self.onepass.joiner = Matches(plan)
        self.total: states.Total | None = None if plan.stateless else {}

    @property
    def units(self) -> int:
        """What is stored now."""
        return units(self.onepass.tables)

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""
        return self.onepass.peak_units

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
        return {
            s.alias: loads(s, self.preserving, given[s.alias])
            if s.alias in given
            else Table(s, self.preserving)
            for s in self.plan.synopses
        }

    def dump(self) -> bytes:
        """The tables and the final answer so far."""
        return states.dump_state({} if self.plan.stateless else self.onepass.tables, self.total or {})

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up tables and the final answer."""
        self.onepass.tables, self.total = states.load_state(self.plan, data)
        self.onepass.kept = {
            alias: {bucket: representatives(table, [bucket]) for bucket in _buckets(table)}
            for alias, table in self.onepass.tables.items()
        }
        self.onepass.peak_units = peak_units


def _buckets(table: Table) -> Iterable[Bucket]:
    return table.counts if table.preserving else table.entries


class Timed:
    """Batches in order of time; partitions have to follow each other in time."""

    total: states.Total | None = None

    def __init__(self, plan: TimedPlan, static: Static) -> None:
        self.plan = plan
        self.onepass = TimedPass(plan, static)

    @property
    def units(self) -> int:
        """What is stored now."""
        return self.onepass.units

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""
        return self.onepass.peak_units

    def advance(self, partition: str, given: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from a relation an occurrence.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        found: Counter[Row] = Counter()
        for moment, arriving in arrivals(self.plan, given):
            found.update(self.onepass.take(moment, arriving, partition))
        return found

    def dump(self) -> bytes:
        """Tables, held tuples and answered rows."""
        return dump_timed(self.onepass.state, self.onepass.answered)

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up tables, held tuples and answered rows."""
        self.onepass.state, self.onepass.answered = load_timed(self.plan, data)
        self.onepass.order.resume(self.onepass.state.now)
        self.onepass.peak_units = peak_units
