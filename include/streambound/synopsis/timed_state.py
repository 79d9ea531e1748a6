"""The state of a plan with time conditions: tables by clipped timestamps, and tuples held as they came.

A table of a set of streams has a slice for each combination of the timestamps that are still told
apart; as time passes a timestamp becomes old, and slices merge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streambound.synopsis.clock import Composite
from streambound.synopsis.match_join import Match, MatchJoin, Source
from streambound.synopsis.matches import MatchTable
from streambound.synopsis.timed import MatchSynopsis, Streams, TimedPlan

Ages = tuple[int | None, ...]


@dataclass
class Slices:
    """The partial matches of a set of streams."""

    synopsis: MatchSynopsis
    preserving: bool
    tables: dict[Ages, MatchTable] = field(default_factory=dict)

    def add(self, match: Match, now: int) -> None:
        """Take in a partial match at virtual time ``now``."""
        stamps = (match.stamps.get(alias) for alias, _, _ in self.synopsis.ages)
        self._table(self._clipped(tuple(stamps), now)).add(match.values, match.weight)

    def age(self, now: int) -> None:
        """Forget the timestamps that conditions no longer tell apart at virtual time ``now``."""
        if not self.synopsis.ages:
            return
        held, self.tables = self.tables, {}
        for ages, table in held.items():
            clipped = self._clipped(ages, now)
            if clipped in self.tables:
                self.tables[clipped].merge(table)
            else:
                self.tables[clipped] = table

    def _clipped(self, ages: Ages, now: int) -> Ages:
        return tuple(
            None if stamp is None or stamp <= now - margin else stamp
            for stamp, (_, _, margin) in zip(ages, self.synopsis.ages, strict=True)
        )

    def _table(self, ages: Ages) -> MatchTable:
        if ages not in self.tables:
            self.tables[ages] = MatchTable(self.synopsis, self.preserving)
        return self.tables[ages]

    def matches(self) -> list[Match]:
        """What stands for all partial matches."""
        found: list[Match] = []
        for ages, table in self.tables.items():
            named = zip(self.synopsis.ages, ages, strict=True)
            stamps = {alias: stamp for (alias, _, _), stamp in named if stamp is not None}
            found.extend(Match(values, stamps, weight) for values, weight in table.matches())
        return found

    @property
    def units(self) -> int:
        """Stored values and counts at this moment."""
        return sum(table.units for table in self.tables.values())


@dataclass
class Held:
    """The tuples that are held as they came, by stream, and the composite matches that they form."""

    plan: TimedPlan
    join: MatchJoin
    tuples: dict[str, list[Match]] = field(default_factory=dict)
    cache: dict[tuple[Composite, int], list[Match]] = field(default_factory=dict)

    def take(self, arriving: Mapping[str, list[Match]]) -> None:
        """Take in the tuples of one batch."""
        for alias, matches in arriving.items():
            self.tuples.setdefault(alias, []).extend(matches)
        self.cache.clear()

    def drop(self, now: int) -> None:
        """Forget tuples of which no composite match can enter after virtual time ``now``."""
        for alias, matches in self.tuples.items():
            hold = self.plan.clock.hold(alias)
            self.tuples[alias] = [m for m in matches if m.stamps[alias] + hold > now]
        self.cache.clear()

    def times(self, composite: Composite) -> set[int]:
        """The timestamps of held tuples of a composite."""
        return {m.stamps[alias] for alias in composite for m in self.tuples.get(alias, ())}

    def complete(self, composite: Composite, at: int) -> list[Match]:
        """The matches of a composite whose last tuple has the timestamp ``at``."""
        if (composite, at) not in self.cache:
            self.cache[composite, at] = self._complete(sorted(composite), at)
        return self.cache[composite, at]

    def _complete(self, aliases: list[str], at: int) -> list[Match]:
        found: list[Match] = []
        for index, last in enumerate(aliases):
            sources: list[Source] = []
            for place, alias in enumerate(aliases):
                # The first stream with a tuple of that time is ``last``.
                until = at - 1 if place < index else at
                held = self.tuples.get(alias, ())
                mine = [
                    m for m in held if (m.stamps[alias] == at if alias == last else m.stamps[alias] <= until)
                ]
                sources.append((frozenset((alias,)), mine))
            found.extend(self.join.matches(sources))
        return found

    @property
    def units(self) -> int:
        """Stored values: those of each tuple that is held beyond its batch."""
        widths = {window.alias: window.width for window in self.plan.windows}
        return sum(len(matches) * widths.get(alias, 0) for alias, matches in self.tuples.items())


class TimedState:
    """Tables and held tuples, and how time advances."""

    def __init__(self, plan: TimedPlan) -> None:
        self.plan = plan
        self.join = MatchJoin(plan.joins, plan.clock.conditions)
        preserving = not plan.query.distinct
        self.tables = {frozenset(s.streams): Slices(s, preserving) for s in plan.synopses}
        self.held = Held(plan, self.join)
        self.now: int | None = None

    def advance(self, until: int) -> None:
        """Let composites enter the tables up to a virtual time, itself included."""
        for moment in sorted(self._moments(until)):
            self._enter(moment)
        self.now = until
        for slices in self.tables.values():
            slices.age(until)

    def _moments(self, until: int) -> set[int]:
        delays = self.plan.clock.delays
        found = {at + delays[c] for c in delays for at in self.held.times(c)}
        return {moment for moment in found if moment <= until and (self.now is None or moment > self.now)}

    def _enter(self, moment: int) -> None:
        entering = {
            composite: matches
            for composite, delay in self.plan.clock.delays.items()
            if (matches := self.held.complete(composite, moment - delay))
        }
        kept: dict[Streams, list[Match]] = {}
        made = [(slices, self._made(slices.synopsis, entering, kept)) for slices in self.tables.values()]
        for slices, matches in made:
            for match in matches:
                slices.add(match, moment)

    def _made(
        self,
        synopsis: MatchSynopsis,
        entering: Mapping[Composite, list[Match]],
        kept: dict[Streams, list[Match]],
    ) -> list[Match]:
        """The partial matches of a set of streams that come about now."""
        found: list[Match] = []
        for split in synopsis.splits:
            if not all(composite in entering for composite in split.new):
                continue
            sources: list[Source] = [(composite, entering[composite]) for composite in split.new]
            sources += [(streams, self.kept(streams, kept)) for streams in split.kept]
            found.extend(self.join.matches(sources))
        return found

    def kept(self, streams: Streams, known: dict[Streams, list[Match]]) -> list[Match]:
        """What is kept of a set of streams; ``known`` has what was asked before."""
        if streams not in known:
            known[streams] = self.tables[streams].matches()
        return known[streams]

    @property
    def units(self) -> int:
        """Stored values and counts at this moment."""
        return self.held.units + sum(slices.units for slices in self.tables.values())
