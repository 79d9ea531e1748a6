"""Summaries of segments of time, which compose: theory of plans in docs/theory.md, "Segments".

The summary of a segment has, for every set of streams that is convex in time, the number of its partial
matches with all tuples inside the segment, by what streams outside the set can tell of them, whether
these come earlier or later. Two neighbours compose: a match of a set has its tuples of some closed part in
the first segment and the others in the second, and between the two every time condition holds. A state
between two batches is what a summary of all that came before says of the sets that a plan keeps.

A stream that completes every match may project anything: its projected columns are further keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import prod

from streambound.errors import DataError, PlanError
from streambound.query.model import Attribute
from streambound.synopsis.match_join import Match, Matches, MatchJoin, Source, standing
from streambound.synopsis.plan import Key, MatchSynopsis, Plan, Split, Streams
from streambound.synopsis.serial import canonical, dumps, table_of
from streambound.synopsis.state import Table
from streambound.synopsis.timed_planner import splits_of, tables_of

# What is made of one tuple at most, added up over all tuples that can be told apart.
PRODUCTS_PLANNED = 500_000


@dataclass(frozen=True)
class SegmentPlan:
    """How segments are summarised for a plan.

    ``last`` is the stream that completes every match, None if there is none, and ``outputs`` are its
    projected columns. ``tables`` say how the partial matches of each set are told apart; where a set has
    the last stream, ``profiles`` say so apart from the outputs.
    """

    plan: Plan
    last: str | None
    outputs: tuple[Attribute, ...]
    profiles: tuple[MatchSynopsis, ...]

    @cached_property
    def tables(self) -> dict[Streams, MatchSynopsis]:
        """By set of streams, small sets first."""
        return {frozenset(s.streams): self._whole(s) for s in self.profiles}

    def _whole(self, profile: MatchSynopsis) -> MatchSynopsis:
        if self.last not in profile.streams:
            return profile
        exact = tuple(Key(attribute, 1) for attribute in self.outputs)
        cells = (
            replace(cell, keys=(*(k for k in cell.keys if k.attribute not in self.outputs), *exact))
            for cell in profile.cells
        )
        return replace(profile, cells=tuple(cells))

    @cached_property
    def join(self) -> MatchJoin:
        """The conditions between streams."""
        return MatchJoin(self.plan.query.ring, self.plan.joins, self.plan.clock.conditions)

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
    query, clock = plan.query, plan.clock
    outputs = tuple(dict.fromkeys(a for a in query.projected if a.occurrence == last))
    rest = replace(query, select=tuple(o for o in query.select if o.term not in outputs))
    kept = {frozenset(s.streams): s for s in plan.synopses}
    sets = _sets(plan)
    try:
        others = [streams for streams in sets if streams not in kept]
        made = dict(zip(others, tables_of(rest, clock, others), strict=True))
    except PlanError:
        return None
    profiles = tuple({**made, **kept}[streams] for streams in sets)
    return SegmentPlan(plan, last, outputs, profiles) if _small(profiles) else None


def unserved(plan: Plan) -> str | None:
    """Why segments are not summarised for a plan; None if they may be."""
    query, clock = plan.query, plan.clock
    if plan.empty:
        return "its answer is always empty"
    if not plan.timed:
        return "it compares no timestamps"
    if query.ring.idempotent:
        return "it is duplicate-eliminating"
    if query.statics:
        return "it reads static relations"
    if plan.windows or any(clock.delays.values()) or any(s.ages for s in plan.synopses):
        return "its timestamps are compared with an offset"
    if any(len(composite) > 1 for composite in clock.composites):
        return "streams have the same timestamp"
    if any(query.is_timestamp(a) for a in query.projected):
        return "a timestamp is projected"
    return None


def _sets(plan: Plan) -> list[Streams]:
    """All sets of streams that summaries speak of, small ones first."""
    clock, found = plan.clock, dict[Streams, None]()
    pending = [*clock.components(frozenset(clock.streams)), *(frozenset(s.streams) for s in plan.synopses)]
    while pending:
        streams = pending.pop()
        if streams not in found:
            found[streams] = None
            for split in splits_of(clock, streams):
                pending += [*split.kept, *clock.components(frozenset(chain.from_iterable(split.new)))]
    return sorted(found, key=lambda streams: (len(streams), sorted(streams)))


def _small(profiles: tuple[MatchSynopsis, ...]) -> bool:
    """Whether classes are of single values, and their products few."""
    if any(key.points is not None for s in profiles for cell in s.cells for key in cell.keys):
        return False
    units = {frozenset(s.streams): s.units for s in profiles}
    products = sum(
        prod(units.get(part, 1) for part in (*split.new, *split.kept)) for s in profiles for split in s.splits
    )
    return products <= PRODUCTS_PLANNED


@dataclass
class Segment:
    """The summary of a segment of time.

    ``first`` is its first timestamp with a tuple that counts and a stream that has one, ``until`` the last
    timestamp; both are None if no tuple counts.
    """

    tables: dict[Streams, Table] = field(default_factory=dict)
    first: tuple[int, str] | None = None
    until: int | None = None


def empty_segment(plan: SegmentPlan) -> Segment:
    """The summary of nothing."""
    return Segment({streams: Table(s.cells, plan.plan.query.ring) for streams, s in plan.tables.items()})


def composed(plan: SegmentPlan, one: Segment, other: Segment) -> Segment:
    """The summary of two neighbouring segments, the earlier one first.

    Law: associative, and the summary of the two segments as one.
    """
    found = empty_segment(plan)
    before = {streams: standing(table, table.buckets) for streams, table in one.tables.items()}
    after = {streams: standing(table, table.buckets) for streams, table in other.tables.items()}
    for streams, table in found.tables.items():
        table.merge(one.tables[streams])
        for match in made(plan, plan.tables[streams].splits, before, after):
            table.add(match.values, match.weight)
    found.first = one.first or other.first
    found.until = one.until if other.until is None else other.until
    return found


def made(
    plan: SegmentPlan,
    splits: tuple[Split, ...],
    before: Mapping[Streams, Matches],
    inside: Mapping[Streams, Matches],
) -> Iterator[Match]:
    """The matches with some tuples in a segment and the others before it."""
    for split in splits:
        yield from plan.join.matches(sources(plan, split, before, inside))


def sources(
    plan: SegmentPlan, split: Split, before: Mapping[Streams, Matches], inside: Mapping[Streams, Matches]
) -> list[Source]:
    """Whose joins are the matches of a split with its new streams inside a segment."""
    new = [(part, inside[part]) for part in plan.parts(split)]
    return [*new, *((part, before[part]) for part in split.kept)]


def dump_segment(segment: Segment) -> bytes:
    """The canonical bytes of a summary: equal ones have equal bytes."""
    document = {
        "first": segment.first,
        "until": segment.until,
        "tables": [
            [sorted(streams), json.loads(dumps(table))]
            for streams, table in sorted(segment.tables.items(), key=lambda pair: sorted(pair[0]))
            if table.counts
        ],
    }
    return canonical(document)


def load_segment(plan: SegmentPlan, data: bytes) -> Segment:
    """The summary in canonical bytes.

    Raises:
        DataError: the bytes are no summary for this plan.
    """
    found = empty_segment(plan)
    try:
        document = json.loads(data)
        if document["first"] is not None:
            moment, alias = document["first"]
            found.first = moment, alias
        found.until = document["until"]
        for names, table in document["tables"]:
            streams = frozenset(names)
            cells, ring = plan.tables[streams].cells, plan.plan.query.ring
            found.tables[streams] = table_of(cells, ring, " + ".join(names), table)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"a stored summary of {plan.plan.query.name} cannot be read: {error}") from None
    return found
