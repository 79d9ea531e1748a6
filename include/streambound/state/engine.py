"""The state of a plan: tables by clipped timestamps, and tuples held as they came.

A table of a set of streams has a slice for each combination of the timestamps that are still told
apart; as time passes a timestamp becomes old, and slices merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from streambound.plan.clock import Composite
from streambound.plan.exclusions import excluded
from streambound.plan.model import Plan, Split, Streams, TablePlan
from streambound.query.model import Join, Op
from streambound.query.ring import Ring
from streambound.state.row_join import PartialMatch, PartialMatches, RowJoin, Source, with_new
from streambound.state.table import Bucket, Table

Ages = tuple[int | None, ...]
# Where they hold for the oldest and the newest of some timestamps, they hold for all.
MONOTONE = (Op.LT, Op.LE, Op.GT, Op.GE)


@dataclass
class Slices:
    """The partial matches of a set of streams, and ``representatives``, the matches that stand for them."""

    synopsis: TablePlan
    ring: Ring
    tables: dict[Ages, Table] = field(default_factory=dict)
    representatives: PartialMatches = field(default_factory=PartialMatches)

    def add(self, match: PartialMatch, now: int) -> None:
        """Take in a partial match at virtual time ``now`` (an encoded timestamp: ticks or microseconds)."""
        stamps = (match.stamps.get(alias) for alias, _, _ in self.synopsis.ages)
        ages = self._clipped(tuple(stamps), now)
        if ages not in self.tables:
            self.tables[ages] = Table(self.synopsis.cells, self.ring)
        self.tables[ages].add(match.values, match.weight)

    def resume(self, tables: Mapping[Ages, Table]) -> None:
        """Take up tables of a state."""
        self.tables.update(tables)
        for table in tables.values():
            table.changed.update(dict.fromkeys(table.buckets))

    def empty(self) -> Table:
        """A table of nothing."""
        return Table(self.synopsis.cells, self.ring)

    def merge(self, new: Table) -> PartialMatches:
        """Take in a table of tuples without timestamps; returns what stands for those that tell anything."""
        self.partial_matches()
        table = self.tables.setdefault((), Table(self.synopsis.cells, self.ring))
        table.merge(new)
        return PartialMatches(
            match for bucket in table.changed for match in self._representatives(new, bucket, (), {})
        )

    def age(self, now: int) -> None:
        """Forget the timestamps that conditions no longer tell apart at virtual time ``now``."""
        moved = {ages: clipped for ages in self.tables if (clipped := self._clipped(ages, now)) != ages}
        for ages, clipped in moved.items():
            table = self.tables.pop(ages)
            for bucket in table.buckets:
                self.representatives.put((ages, bucket), [])
            if clipped not in self.tables:
                self.tables[clipped] = Table(self.synopsis.cells, self.ring)
            self.tables[clipped].merge(table)

    def _clipped(self, ages: Ages, now: int) -> Ages:
        return tuple(
            None if stamp is None or stamp <= now - margin else stamp
            for stamp, (_, _, margin) in zip(ages, self.synopsis.ages, strict=True)
        )

    def partial_matches(self) -> PartialMatches:
        """What stands for all partial matches; only entries that changed are made anew."""
        for ages, table in self.tables.items():
            named = zip(self.synopsis.ages, ages, strict=True)
            stamps = {alias: stamp for (alias, _, _), stamp in named if stamp is not None}
            for bucket in table.changed:
                self.representatives.put((ages, bucket), self._representatives(table, bucket, ages, stamps))
            table.changed.clear()
        return self.representatives

    def _representatives(
        self, table: Table, bucket: Bucket, ages: Ages, stamps: Mapping[str, int]
    ) -> list[PartialMatch]:
        """What stands for the entries of a bucket of a table."""
        partial_matches = self.representatives.groups.get((ages, bucket))
        if partial_matches and bucket not in table.entries:
            # Of a bare count the values follow from the key, and are there.
            return [PartialMatch(partial_matches[0].values, stamps, table.counts[bucket], bucket[0])]
        representatives = table.representatives(bucket)
        return [PartialMatch(values, stamps, weight, bucket[0]) for values, weight in representatives]

    @property
    def stored_units(self) -> int:
        """Stored values and counts at this moment."""
        return sum(table.stored_units for table in self.tables.values())


class TupleBuffer:
    """The tuples that are held as they came, and the composite matches that they form.

    ``older`` are the tuples of earlier batches by stream, grouped by timestamp in order of time; ``new``
    those that arrived at ``moment``.
    """

    def __init__(self, plan: Plan, join: RowJoin) -> None:
        self.plan, self.join = plan, join
        self.older = {alias: PartialMatches() for alias in plan.clock.streams}
        self.new = {alias: PartialMatches() for alias in plan.clock.streams}
        self.moment: int | None = None
        self.cache: dict[tuple[Composite, int], PartialMatches] = {}
        self.holds = {alias: plan.clock.hold(alias) for alias in plan.clock.streams}
        self.widths = {buffer.alias: buffer.width for buffer in plan.buffers}

    def take(self, arriving: Mapping[str, list[PartialMatch]], moment: int | None) -> None:
        """Take in the tuples of one batch."""
        self.new = {alias: PartialMatches(partial_matches) for alias, partial_matches in arriving.items()}
        self.moment = moment
        self.cache.clear()

    def drop(self, now: int) -> None:
        """Forget tuples of which no composite match can enter after virtual time ``now``."""
        for alias, older in self.older.items():
            if self.holds[alias] > 0:
                older.put(self.moment, _alike(self.new[alias]))
            while older.groups and (at := next(iter(older.groups))) + self.holds[alias] <= now:
                older.put(at, [])
        self.take({alias: [] for alias in self.new}, None)

    def times(self, composite: Composite) -> set[int]:
        """The timestamps of held tuples of a composite."""
        times = {at for alias in composite for at in self.older[alias].groups}
        if self.moment is not None and any(self.new[alias] for alias in composite):
            times.add(self.moment)
        return times

    def complete(self, composite: Composite, at: int) -> PartialMatches:
        """The matches of a composite whose last tuple has the timestamp ``at``."""
        if (composite, at) not in self.cache:
            self.cache[composite, at] = self._complete(sorted(composite), at)
        return self.cache[composite, at]

    def _complete(self, aliases: list[str], at: int) -> PartialMatches:
        new: dict[frozenset[str], PartialMatches] = {}
        older: dict[frozenset[str], PartialMatches] = {}
        for alias in aliases:
            partial_matches = self.older[alias]
            here = at == self.moment
            new[frozenset((alias,))] = (
                self.new[alias] if here else PartialMatches(partial_matches.groups.get(at, ()))
            )
            older[frozenset((alias,))] = partial_matches if here else partial_matches.before(at)
        if len(aliases) == 1:
            return new[frozenset(aliases)]
        return PartialMatches(
            match for sources in with_new(new, older) for match in self.join.joined(sources)
        )

    def arrived(self, composite: Composite) -> Iterator[list[Source]]:
        """Sources whose joins are the matches of a composite with a tuple of this batch, each once.

        They have timestamps only as far as conditions within the composite still ask for them.
        """
        for fresh in product((True, False), repeat=len(composite)):
            among = {alias for alias, new in zip(sorted(composite), fresh, strict=True) if new}
            if among and all(self.new[alias] for alias in among):
                older = {alias: self._before(alias, among, composite) for alias in composite - among}
                if all(older.values()):
                    yield [(frozenset((a,)), older[a] if a in older else self.new[a]) for a in composite]

    def _before(self, alias: str, new: set[str], composite: Composite) -> PartialMatches:
        """The older tuples of a stream that may match tuples of this batch of the ``new`` ones."""
        older, settled = self.older[alias], True
        for atom in self.join.times:
            both = {a.occurrence for a in atom.attributes}
            if alias not in both or not both <= composite:
                continue
            if both - {alias} <= new and atom.op in MONOTONE and older:
                ends = next(iter(older.groups)), next(reversed(older.groups))
                met = [self._meets(atom, alias, at) for at in ends]
                if not any(met):
                    return PartialMatches()
                settled = settled and all(met)
            else:
                settled = False
        return older.merged() if settled else older

    def _meets(self, atom: Join, alias: str, at: int) -> bool:
        """Whether a timestamp of ``alias`` and this batch's meet a condition."""
        assert self.moment is not None
        left, right = (at if a.occurrence == alias else self.moment for a in (atom.left, atom.right))
        return atom.op.holds(left, right + atom.offset)

    @property
    def stored_units(self) -> int:
        """Stored values: those of each tuple that is held beyond its batch."""
        return sum(
            len(partial_matches) * self.widths.get(alias, 0) for alias, partial_matches in self.older.items()
        )


def _alike(partial_matches: PartialMatches) -> list[PartialMatch]:
    """Tuples of one stream and moment, equal ones as one of all their weight."""
    by_values: dict[tuple[Any, ...], PartialMatch] = {}
    for match in partial_matches:
        values = tuple(match.values.values())
        equal = by_values.get(values)
        weight = match.weight if equal is None else equal.weight + match.weight
        by_values[values] = match if equal is None else PartialMatch(match.values, match.stamps, weight)
    return list(by_values.values())


class EngineState:
    """Tables and held tuples, and how time advances."""

    def __init__(self, plan: Plan, join: type[RowJoin] = RowJoin) -> None:
        self.plan = plan
        self.join = join(plan.query.ring, plan.joins, plan.clock.conditions, excluded(plan.synopses))
        self.tables = {frozenset(s.streams): Slices(s, plan.query.ring) for s in plan.synopses}
        self.buffer = TupleBuffer(plan, self.join)
        self.now: int | None = None

    def fresh(self) -> dict[Streams, Table]:
        """An empty table for each set of streams."""
        return {streams: Table(s.synopsis.cells, s.ring) for streams, s in self.tables.items()}

    def advance(self, until: int) -> None:
        """Let composites enter the tables up to a virtual time (ticks or microseconds), itself included."""
        # Where matches are complete within their windows no table is kept.
        if self.tables:
            for moment in sorted(self._moments(until)):
                self._enter(moment)
        self.now = until
        for slices in self.tables.values():
            slices.age(until)

    def _moments(self, until: int) -> set[int]:
        delays = self.plan.clock.delays
        moments = {at + delays[c] for c in delays for at in self.buffer.times(c)}
        return {moment for moment in moments if moment <= until and (self.now is None or moment > self.now)}

    def _enter(self, moment: int) -> None:
        entering = {
            composite: partial_matches
            for composite, delay in self.plan.clock.delays.items()
            if (partial_matches := self.buffer.complete(composite, moment - delay))
        }
        # All from what was kept before: nothing that enters now is kept yet.
        made = [(slices, list(self._made(slices.synopsis, entering))) for slices in self.tables.values()]
        for slices, partial in made:
            for match in partial:
                slices.add(match, moment)

    def _made(
        self, synopsis: TablePlan, entering: Mapping[Composite, PartialMatches]
    ) -> Iterator[PartialMatch]:
        """The partial matches of a set of streams that come about now."""
        for split in synopsis.splits:
            if all(composite in entering for composite in split.new):
                new = [(composite, entering[composite]) for composite in split.new]
                yield from self.join.joined([*new, *self.kept(split)])

    def kept(self, split: Split) -> list[Source]:
        """What is kept of the parts of a match that are not new."""
        return [(streams, self.tables[streams].partial_matches()) for streams in split.kept]

    @property
    def stored_units(self) -> int:
        """Stored values and counts at this moment."""
        return self.buffer.stored_units + sum(slices.stored_units for slices in self.tables.values())
