"""Summaries of segments of time, which compose: theory of plans in docs/theory.md, "Segments".

The summary of a segment has, for every set of streams that is convex in time, the number of its partial
matches with all tuples inside the segment, by what streams outside the set can tell of them, whether
these come earlier or later. Two neighbours compose: a match of a set has its tuples of some closed part in
the first segment and the others in the second, and between the two every time condition holds. A state
between two batches is what a summary of all that came before says of the sets that a plan keeps.

A stream that completes every match may project anything: its projected columns are further keys.

Where timestamps are compared with offsets, time is *virtual*: that of a tuple is its timestamp and the delay
of its stream (see ``clock``), if in virtual time no offset is left. Tuples whose virtual time has not come
are held as they came, and so a partition has a *head*, which may meet held ones, and a *tail*, to be held.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import prod
from typing import Any

from streambound.errors import DataError, PlanError
from streambound.plan.clock import Clock
from streambound.plan.model import Key, Plan, Split, Streams, TablePlan
from streambound.plan.tables.table_planner import splits_of, tables_of
from streambound.query.model import Attribute, Join, Op
from streambound.state.codec import BufferedRow, dumped_rows, loaded_rows
from streambound.state.row_join import PartialMatch, PartialMatches, RowJoin, Source
from streambound.state.serial import canonical, dumps, table_of
from streambound.state.table import Table

# What is made of one tuple at most, added up over all tuples that can be told apart.
PRODUCTS_PLANNED = 500_000


@dataclass(frozen=True)
class SegmentPlan:
    """How segments are summarised for a plan.

    ``plan`` is that in virtual time, ``real`` the one in the time of timestamps, whose states are kept.
    ``last`` is the stream that completes every match, None if there is none, and ``outputs`` are its
    projected columns. ``tables`` say how the partial matches of each set are told apart; where a set has
    the last stream, ``profiles`` say so apart from the outputs.
    """

    plan: Plan
    last: str | None
    outputs: tuple[Attribute, ...]
    profiles: tuple[TablePlan, ...]
    real: Plan

    @cached_property
    def delays(self) -> Mapping[str, int]:
        """How much later than its timestamp the virtual time of a tuple is, by stream."""
        delays = _delays(self.real)
        assert delays is not None
        return delays

    @cached_property
    def aged(self) -> Mapping[str, TablePlan]:
        """The tables that tell recent tuples apart by their timestamps, by stream."""
        return {s.streams[0]: s for s in self.real.synopses if s.ages}

    def enters(self, alias: str, moment: int, until: int) -> bool:
        """Whether a tuple of a moment enters the tables up to a moment."""
        if alias in self.aged:
            ((_, _, margin),) = self.aged[alias].ages
            return moment <= until - margin
        return moment + self.delays[alias] <= until

    @property
    def delay(self) -> int:
        """The longest of all delays."""
        return max(self.delays.values())

    @cached_property
    def tables(self) -> dict[Streams, TablePlan]:
        """The tables by set of streams, small sets first."""
        return {frozenset(s.streams): self._whole(s) for s in self.profiles}

    def _whole(self, profile: TablePlan) -> TablePlan:
        if self.last not in profile.streams:
            return profile
        exact = tuple(Key(attribute, 1) for attribute in self.outputs)
        cells = (
            replace(cell, keys=(*(k for k in cell.keys if k.attribute not in self.outputs), *exact))
            for cell in profile.cells
        )
        return replace(profile, cells=tuple(cells))

    @cached_property
    def join(self) -> RowJoin:
        """The conditions between streams."""
        return RowJoin(self.plan.query.ring, self.plan.joins, self.plan.clock.conditions)

    def parts(self, split: Split) -> tuple[Streams, ...]:
        """The new streams of a split, in sets that time links."""
        return self.plan.clock.components(frozenset(chain.from_iterable(split.new)))


def with_moments(plan: SegmentPlan) -> SegmentPlan:
    """The same with the timestamp of the stream that completes every match as one more output, the last.

    So completed matches are told apart by the moment at which they are. ``plan.last`` is not None.
    """
    assert plan.last is not None
    relation = plan.plan.query.occurrence(plan.last).relation
    return replace(plan, outputs=(*plan.outputs, Attribute(plan.last, str(relation.timestamp))))


def segment_plan(plan: Plan) -> SegmentPlan | None:
    """How to summarise segments for a plan; None if ``unserved`` says why not."""
    if unserved(plan) is not None:
        return None
    last = next((alias for alias in plan.clock.streams if plan.clock.completes(alias)), None)
    real, plan = plan, _virtual(plan)
    query, clock = plan.query, plan.clock
    outputs = tuple(dict.fromkeys(a for a in query.projected if a.occurrence == last))
    rest = replace(query, select=tuple(o for o in query.select if o.term not in outputs))
    kept = {frozenset(s.streams): s for s in plan.synopses}
    sets = _sets(plan)
    try:
        unkept = [streams for streams in sets if streams not in kept]
        added = dict(zip(unkept, tables_of(rest, clock, unkept), strict=True))
    except PlanError:
        return None
    profiles = tuple({**added, **kept}[streams] for streams in sets)
    return SegmentPlan(plan, last, outputs, profiles, real) if _small(profiles) else None


def unserved(plan: Plan) -> str | None:
    """Why segments are not summarised for a plan; None if they may be."""
    query, clock = plan.query, plan.clock
    if plan.empty:
        return "its answer is always empty"
    if not plan.timed:
        return "it compares no timestamps"
    if plan.ending is not None:
        return "streams end"
    if query.ring.idempotent:
        return "it is duplicate-eliminating"
    if query.statics:
        return "it reads static relations"
    if any(len(composite) > 1 for composite in clock.composites):
        return "streams precede each other"
    if _delays(plan) is None:
        return "its timestamps are compared with offsets that no delays make up for"
    if any(query.is_timestamp(a) for a in query.projected):
        return "a timestamp is projected"
    return None


def _delays(plan: Plan) -> Mapping[str, int] | None:
    """Delays of streams that make up for all offsets, and of which states say which tuples they hold up."""
    clock = plan.clock
    holds = {alias: clock.hold(alias) for alias in clock.streams}
    aged = {alias for s in plan.synopses for alias, _, _ in s.ages}
    if not aged and all(_in_virtual_time(holds, condition) for condition in clock.conditions):
        return holds
    potential = _potential(clock)
    if potential is None or not all(_in_virtual_time(potential, condition) for condition in clock.conditions):
        return None
    fits = (
        _aged_by_timestamp(plan, alias, delay) if alias in aged else delay == holds[alias]
        for alias, delay in potential.items()
    )
    return potential if all(fits) else None


def _potential(clock: Clock) -> dict[str, int] | None:
    """Delays under which no offset is left, the least of linked streams being 0; None if there are none."""
    distances: dict[str, int] = {}
    for streams in clock.components(frozenset(clock.streams)):
        start = min(streams)
        part, pending = {start: 0}, [start]
        while pending:
            here = pending.pop()
            for order in clock.orders:
                if here in (order.early, order.late):
                    partner = order.late if order.early == here else order.early
                    by = order.offset if order.early == here else -order.offset
                    if partner not in part:
                        part[partner] = part[here] + by
                        pending.append(partner)
                    elif part[partner] != part[here] + by:
                        return None
        least = min(part.values())
        distances.update((alias, delay - least) for alias, delay in part.items())
    return distances


def _aged_by_timestamp(plan: Plan, alias: str, delay: int) -> bool:
    """Whether a table of the stream alone has what a delay holds up, by timestamp and as good as it came."""
    tables = [s for s in plan.synopses if any(alias == of for of, _, _ in s.ages)]
    if [s.streams for s in tables] != [(alias,)] or len(tables[0].cells) != 1 or plan.clock.hold(alias):
        return False
    ((_, _, margin),), (cell,) = tables[0].ages, tables[0].cells
    carried = next(s.carried for s in plan.streams if s.alias == alias)
    # Where the last of them enters a tick earlier, no other stream may have to precede this one.
    early = all(order.early == alias for order in plan.clock.orders if alias in (order.early, order.late))
    fits = margin == delay or (margin == delay - 1 and early)
    return fits and {key.attribute for key in cell.keys} == set(carried)


def _in_virtual_time(delays: Mapping[str, int], condition: Join) -> Join | None:
    """A time condition in virtual time; None if an offset is left."""
    left = condition.offset + delays[condition.left.occurrence] - delays[condition.right.occurrence]
    # Of whole numbers x < y + 1 is x <= y.
    op = _SHIFTED.get((condition.op, left), condition.op if left == 0 else None)
    return None if op is None else replace(condition, op=op, offset=0, offset_text="")


_SHIFTED = {(Op.LT, 1): Op.LE, (Op.LE, -1): Op.LT, (Op.GT, -1): Op.GE, (Op.GE, 1): Op.GT}


def _virtual(plan: Plan) -> Plan:
    """A plan in virtual time."""
    clock, delays = plan.clock, _delays(plan) or {}
    virtual = {condition: _in_virtual_time(delays, condition) for condition in clock.conditions}
    conditions = tuple(condition for condition in virtual.values() if condition is not None)
    where = tuple(
        (virtual.get(atom) or atom) if isinstance(atom, Join) else atom for atom in plan.query.where
    )
    query = replace(plan.query, where=where)
    return replace(
        plan,
        query=query,
        clock=replace(clock, conditions=conditions),
        buffers=(),
        synopses=tuple(replace(synopsis, ages=()) for synopsis in plan.synopses),
    )


def _sets(plan: Plan) -> list[Streams]:
    """All sets of streams that summaries speak of, small ones first."""
    clock, sets = plan.clock, dict[Streams, None]()
    pending = [*clock.components(frozenset(clock.streams)), *(frozenset(s.streams) for s in plan.synopses)]
    while pending:
        streams = pending.pop()
        if streams not in sets:
            sets[streams] = None
            for split in splits_of(clock, streams):
                pending += [*split.kept, *clock.components(frozenset(chain.from_iterable(split.new)))]
    return sorted(sets, key=lambda streams: (len(streams), sorted(streams)))


def _small(profiles: tuple[TablePlan, ...]) -> bool:
    """Whether classes are of single values, and their products few."""
    if any(key.points is not None for s in profiles for cell in s.cells for key in cell.keys):
        return False
    units = {frozenset(s.streams): s.max_units for s in profiles}
    products = sum(
        prod(units.get(part, 1) for part in (*split.new, *split.kept)) for s in profiles for split in s.splits
    )
    return products <= PRODUCTS_PLANNED


@dataclass
class TimeSegment:
    """The summary of a segment of time.

    ``first`` is its first timestamp with a tuple that counts and a stream that has one, ``until`` the last
    timestamp; both are None if no tuple counts. ``head`` and ``tail`` are tuples that are not in ``tables``.
    """

    tables: dict[Streams, Table] = field(default_factory=dict)
    first: tuple[int, str] | None = None
    until: int | None = None
    head: Mapping[str, list[BufferedRow]] = field(default_factory=dict)
    tail: Mapping[str, list[BufferedRow]] = field(default_factory=dict)


def empty_segment(plan: SegmentPlan) -> TimeSegment:
    """The summary of nothing."""
    return TimeSegment({streams: Table(s.cells, plan.plan.query.ring) for streams, s in plan.tables.items()})


def made(
    plan: SegmentPlan,
    splits: tuple[Split, ...],
    before: Mapping[Streams, PartialMatches],
    inside: Mapping[Streams, PartialMatches],
) -> Iterator[PartialMatch]:
    """The matches with some tuples in a segment and the others before it."""
    for split in splits:
        yield from plan.join.joined(sources(plan, split, before, inside))


def sources(
    plan: SegmentPlan,
    split: Split,
    before: Mapping[Streams, PartialMatches],
    inside: Mapping[Streams, PartialMatches],
) -> list[Source]:
    """Whose joins are the matches of a split with its new streams inside a segment."""
    new = [(part, inside[part]) for part in plan.parts(split)]
    return [*new, *((part, before[part]) for part in split.kept)]


def dump_segment(segment: TimeSegment) -> bytes:
    """The canonical bytes of a summary: equal ones have equal bytes."""
    document: dict[str, Any] = {
        "first": segment.first,
        "until": segment.until,
        "tables": [
            [sorted(streams), json.loads(dumps(table))]
            for streams, table in sorted(segment.tables.items(), key=lambda pair: sorted(pair[0]))
            if table.counts
        ],
    }
    if segment.head or segment.tail:
        document |= {"head": dumped_rows(segment.head), "tail": dumped_rows(segment.tail)}
    return canonical(document)


def load_segment(plan: SegmentPlan, data: bytes) -> TimeSegment:
    """The summary in canonical bytes.

    Raises:
        DataError: the bytes are no summary for this plan.
    """
    segment = empty_segment(plan)
    try:
        document = json.loads(data)
        if document["first"] is not None:
            moment, alias = document["first"]
            segment.first = moment, alias
        segment.until = document["until"]
        for names, table in document["tables"]:
            streams = frozenset(names)
            cells, ring = plan.tables[streams].cells, plan.plan.query.ring
            segment.tables[streams] = table_of(cells, ring, " + ".join(names), table)
        segment.head, segment.tail = (loaded_rows(document.get(name, [])) for name in ("head", "tail"))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"a stored summary of {plan.plan.query.name} cannot be read: {error}") from None
    return segment
