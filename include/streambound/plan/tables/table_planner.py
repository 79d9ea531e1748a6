"""From a bounded query with time conditions to its compact plan (see ``plan.model``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain, combinations

from streambound.boundedness.criterion.exact import exact
from streambound.boundedness.criterion.folding import folded
from streambound.constraints.system import system
from streambound.errors import PlanError
from streambound.plan.clock import Clock, time_conditions
from streambound.plan.ending import ends
from streambound.plan.model import (
    Buffer,
    Cell,
    Key,
    Plan,
    Remembered,
    Split,
    Streams,
    StreamSynopsis,
    TablePlan,
)
from streambound.plan.tables.cells import CellPlanner
from streambound.plan.tables.facts import Facts, facts_of
from streambound.plan.tables.keys import exact_key
from streambound.plan.tables.merged import renamed, widened
from streambound.plan.tables.skyline import SkylinePlanner, points
from streambound.query.column_types import Value
from streambound.query.model import Attribute, Query, RelationKind

StaticValues = Mapping[Attribute, tuple[Value, ...]]
# Columns that always equal another, which is a key.
Same = tuple[tuple[Attribute, Attribute], ...]
# Every subset of the composites may arrive at once: the plan has a case for each.
COMPOSITES_PLANNED = 8


def timed_plan(query: Query, static_values: StaticValues | None = None, linger: int = 0) -> Plan:
    """The compact plan of a query that the exact criterion calls bounded, and in which no stream ends.

    Args:
        query: a bounded query.
        static_values: the sorted, distinct, encoded values of each column of static relations.
        linger: for how long after its timestamp an answered row is remembered at least.

    Raises:
        PlanError: a set of streams has no finite table, or there are more than COMPOSITES_PLANNED
            streams that time does not merge.
    """
    query = folded(query)
    clock = Clock(tuple(o.alias for o in query.streams), time_conditions(query))
    facts = facts_of(_without_time(query, clock), static_values)
    remembered = Remembered() if query.ring.idempotent else None
    if facts is None or not system(query).satisfiable():
        return Plan(query, clock, remembered=remembered, empty=True)
    if len(clock.composites) > COMPOSITES_PLANNED:
        raise PlanError(
            f"no plan was made: more than {COMPOSITES_PLANNED} streams that time does not merge",
            subject=query.name,
        )
    for attribute in query.projected:
        if query.is_timestamp(attribute) and not clock.completes(attribute.occurrence):
            raise PlanError(f"no plan was found: {attribute} has no end", subject=query.name)
    streams = frozenset(clock.streams)
    answers = tuple(splits_of(clock, streams))
    planner = _Planner(query, facts, clock)
    return Plan(
        query=query,
        clock=clock,
        joins=facts.joins,
        streams=tuple(stream_synopsis(facts, alias) for alias in clock.streams),
        synopses=tuple(planner.synopsis(kept) for kept in _needed(clock, answers)),
        answers=answers,
        buffers=tuple(_buffers(facts, clock)),
        remembered=_remembered(facts, clock, static_values or {}, linger) if query.ring.idempotent else None,
        linger=linger,
    )


def tables_of(query: Query, clock: Clock, sets: Iterable[Streams]) -> tuple[TablePlan, ...]:
    """The tables of any sets of streams, whichever come first in time; without static relations.

    Raises:
        PlanError: one has no finite size.
    """
    facts = facts_of(_without_time(query, clock), {})
    if facts is None:
        return ()
    planner = _Planner(query, facts, clock)
    return tuple(planner.synopsis(streams) for streams in sets)


def _without_time(query: Query, clock: Clock) -> Query:
    return replace(query, where=tuple(atom for atom in query.where if atom not in clock.conditions))


def splits_of(clock: Clock, streams: Streams) -> Iterator[Split]:
    """The ways to make a match of a closed set of streams: what is kept of it is closed as well."""
    inside = [c for c in clock.composites if c <= streams]
    for size in range(1, len(inside) + 1):
        for new in combinations(inside, size):
            kept = [c for c in inside if c not in new]
            if not any(clock.before(late, early) for late in new for early in kept):
                yield Split(new, clock.components(streams.difference(*new)))


def _needed(clock: Clock, answers: tuple[Split, ...]) -> list[Streams]:
    """The sets of streams whose partial matches are kept, smallest first."""
    needed: set[Streams] = set()
    pending = list(chain.from_iterable(split.kept for split in answers))
    while pending:
        streams = pending.pop()
        if streams not in needed:
            needed.add(streams)
            pending.extend(chain.from_iterable(split.kept for split in splits_of(clock, streams)))
    return sorted(needed, key=lambda streams: (len(streams), sorted(streams)))


class _Planner:
    """Lays out the tables of sets of streams."""

    def __init__(self, query: Query, facts: Facts, clock: Clock) -> None:
        self.whole, self.facts, self.clock, self.query = query, facts, clock, facts.query

    @cached_property
    def bounded(self) -> bool:
        """Whether the query is bounded even if no stream ended: several extrema rely on it."""
        return exact(self.whole).bounded and not ends(self.whole)

    def synopsis(self, streams: Streams) -> TablePlan:
        """The table of a closed set of streams.

        Raises:
            PlanError: none of finite size was found.
        """
        ages = (self._age(alias, streams) for alias in self.clock.streams if alias in streams)
        return TablePlan(
            streams=tuple(alias for alias in self.clock.streams if alias in streams),
            cells=tuple(dict.fromkeys(self._cells(streams))),
            ages=tuple(age for age in ages if age[1] > 0),
            splits=tuple(splits_of(self.clock, streams)),
        )

    def _age(self, alias: str, streams: Streams) -> tuple[str, int, int]:
        margin = self.clock.margin(alias, streams)
        delay = self.clock.delays[self.clock.composite(alias)]
        return alias, _ticks(self.query, alias, margin - delay), margin

    def _cells(self, streams: Streams) -> Iterator[Cell]:
        outside = [c for c in self.clock.composites if not c <= streams]
        merged = widened(self.query, self.facts.joins, [streams, *outside])
        facts = facts_of(merged.query, self.facts.static_values, merged.evaluated)
        if facts is None:
            return
        alias = merged.alias(streams)
        try:
            cells = CellPlanner(facts, alias).cells()
        except PlanError:
            if not self.query.ring.idempotent or len(streams) < 2 or not self.bounded:
                raise
            cells = SkylinePlanner(facts, alias).cells()
        for cell in cells:
            keys, same = _distinct_keys(facts, cell.keys)
            original = merged.original(replace(cell, keys=keys))
            yield self._match_cell(original, renamed(same, merged.originals), streams)

    def _match_cell(self, cell: Cell, same: Same, streams: Streams) -> Cell:
        if not self.query.ring.idempotent:
            return replace(cell, same=same)
        exact = {key.attribute for key in cell.keys if _exact(key)}
        pending = {
            a
            for atom in self.facts.joins
            for a in atom.attributes
            if a.occurrence in streams and not {x.occurrence for x in atom.attributes} <= streams
        }
        return Cell(
            conditions=cell.conditions,
            keys=cell.keys,
            extrema=cell.extrema,
            unequal=cell.unequal,
            whole=tuple(sorted(pending - exact - {local for local, _ in same})),
            same=same,
            points=points(self.facts, self.clock, streams) if len(cell.extrema) > 1 else 1,
        )


def _exact(key: Key) -> bool:
    """Whether the class under a key is the value itself."""
    return key.points is None and key.low is None and key.high is None


def _distinct_keys(facts: Facts, keys: tuple[Key, ...]) -> tuple[tuple[Key, ...], Same]:
    """Keys without those that always equal another, and which those are."""
    kept: list[Key] = []
    same: list[tuple[Attribute, Attribute]] = []
    for key in keys:
        mates = (k.attribute for k in kept if _exact(k) and facts.local.equates(k.attribute, key.attribute))
        mate = next(mates, None) if _exact(key) else None
        if mate is None:
            kept.append(key)
        else:
            same.append((key.attribute, mate))
    return tuple(kept), tuple(same)


def _ticks(query: Query, alias: str, length: int) -> int:
    """How many timestamps of a stream lie in an interval of some length, closed at one end."""
    return -(-max(0, length) // query.occurrence(alias).relation.tick)


def _buffers(facts: Facts, clock: Clock) -> Iterator[Buffer]:
    query = facts.query
    # A timestamp is complete when no stream can have a row of it any more.
    late = max(query.occurrence(alias).relation.lateness for alias in clock.streams)
    for alias in clock.streams:
        hold = clock.hold(alias)
        if hold + late > 0:
            yield buffer(query, alias, len(stream_synopsis(facts, alias).carried), hold, late)


def buffer(query: Query, alias: str, carried: int, hold: int, late: int) -> Buffer:
    """The tuples of a stream, each of so many columns, that are held as they came, and wait before that."""
    relation = query.occurrence(alias).relation
    ticks, rows = _ticks(query, alias, hold + late), relation.max_rows_per_timestamp
    return Buffer(alias, relation.name, hold, ticks, carried + 1, rows, _most(query, alias, ticks), late)


def _most(query: Query, alias: str, ticks: int) -> int | None:
    """What the rate of a stream says of so many timestamps in a row; None if it has none."""
    relation = query.occurrence(alias).relation
    return None if relation.rate is None else relation.rate.most(ticks, relation.tick)


def _remembered(facts: Facts, clock: Clock, static_values: StaticValues, linger: int) -> Remembered:
    """The answer rows that may come again."""
    query = facts.query
    last = [a for a in query.projected if query.is_timestamp(a)]
    reach = {a.occurrence: max(linger, clock.reach(a.occurrence)) for a in last}
    if any(length <= 0 for length in reach.values()):
        return Remembered()
    number, recent = 1, dict[str, int]()
    for attribute in query.projected:
        alias = attribute.occurrence
        if query.is_timestamp(attribute):
            continue
        size = _values(facts, static_values, attribute)
        if size is not None:
            number *= size
        elif last and clock.completes(alias):
            recent[alias] = min(
                _ticks(query, alias, reach[a.occurrence] + clock.latest[a.occurrence, alias]) for a in last
            )
        else:
            raise PlanError(
                f"no plan was found: {attribute} has no finite number of values", subject=query.name
            )
    for a in last:
        if a.occurrence not in recent:
            number *= _ticks(query, a.occurrence, reach[a.occurrence])
    relations = [(query.occurrence(alias).relation, ticks) for alias, ticks in recent.items()]
    most = tuple(_most(query, alias, ticks) for alias, ticks in recent.items())
    rows = tuple((r.name, ticks, r.max_rows_per_timestamp) for r, ticks in relations)
    return Remembered(number, rows, most)


def _values(facts: Facts, static_values: StaticValues, attribute: Attribute) -> int | None:
    """The number of values of a projected column; None if there is none."""
    query = facts.query
    if query.occurrence(attribute.occurrence).relation.kind is RelationKind.STATIC:
        return len(static_values.get(attribute, ())) + query.column(attribute).nullable
    key = exact_key(facts, facts.alone, attribute)
    return None if key is None else key.size


def stream_synopsis(facts: Facts, alias: str, cells: tuple[Cell, ...] = ()) -> StreamSynopsis:
    """What counts of an occurrence of which there may be a table with such cells."""
    query = facts.query
    joined = {local for local, _, _ in facts.joined(alias)}
    attributes = {condition.attribute for cell in cells for condition in cell.conditions}
    carried = joined | attributes | {a for a in query.projected if a.occurrence == alias}
    required = {a for a in query.present if a.occurrence == alias}
    return StreamSynopsis(
        alias=alias,
        filters=facts.filters(alias),
        required=tuple(sorted(required)),
        derived=facts.derived(alias),
        members=tuple((a, m) for a in sorted(joined) if (m := facts.narrowing(a)) is not None),
        carried=tuple(sorted(carried)),
    )
