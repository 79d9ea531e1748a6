"""The state of a query with time conditions from one partition to the next, by summaries of partitions.

It is the state of ``evaluation.timed``, byte for byte; what a partition adds to it and to the answers
follows from tables whose size does not depend on the partition's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from streambound.evaluation.timed import TimedPass
from streambound.history import states
from streambound.history.evaluations import Step
from streambound.synopsis.match_join import Matches, Row
from streambound.synopsis.segments import (
    Segment,
    SegmentPlan,
    load_segment,
    made,
    sources,
    standing,
    with_moments,
)
from streambound.synopsis.timed import Streams
from streambound.synopsis.timed_serial import HeldRow, dump_timed, load_timed
from streambound.tasks import ordered
from streambound.tasks.codes import Coder, Share
from streambound.tasks.joint import JOINT
from streambound.tasks.relations import rows_of
from streambound.tasks.segments import summarised


class Segmented:
    """Partitions that follow each other in time, each as a summary (see ``evaluations.Evaluation``)."""

    def __init__(self, segments: SegmentPlan) -> None:
        self.segments, self.plan = segments, segments.plan
        self.total: states.Total | None = None
        self.onepass = TimedPass(segments.plan, {})

    @property
    def units(self) -> int:
        """What is stored now."""
        return self.onepass.units

    @property
    def peak_units(self) -> int:
        """The most that was ever stored."""
        return self.onepass.peak_units

    @property
    def latest(self) -> int | None:
        """The last moment of which a tuple counted."""
        return self.onepass.order.latest

    def advance(self, partition: str, given: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from its summary.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        return self._answers(partition, self.segments, load_segment(self.segments, given[JOINT]))

    def _answers(self, partition: str, segments: SegmentPlan, segment: Segment) -> dict[Row, int]:
        """Take in a summary; returns the new answers, with all outputs of ``segments``."""
        if segment.first is None or segment.until is None:
            return {}
        self._follow(partition, segment.first, segment.until)
        before = {streams: slices.matches() for streams, slices in self.onepass.state.tables.items()}
        inside = {streams: standing(table) for streams, table in segment.tables.items()}
        found: dict[Row, int] = {}
        for split in self.plan.answers:
            segments.join.rows(segments.plan.query, sources(segments, split, before, inside), found)
        self._take(segment.until, before, inside)
        return found

    def steps(self, partition: str, given: Mapping[str, bytes]) -> Iterator[Step]:
        """The new answers at each moment, from a relation an occurrence; all are computed at once.

        Raises:
            DataError: a tuple is not later than all of the partitions before.
        """
        marked = with_moments(self.segments)
        assert marked is not None
        rows = {s.alias: rows_of(given[s.alias]) if s.alias in given else [] for s in self.plan.streams}
        shares = {alias: _share(marked, alias, tuples) for alias, tuples in rows.items()}
        found: dict[int, dict[Row, int]] = {}
        for (*row, moment), count in self._answers(partition, marked, summarised(marked, shares)).items():
            found.setdefault(moment, {})[tuple(row)] = count
        yield from (Step(moment, partial(dict, found[moment])) for moment in sorted(found))

    def _follow(self, partition: str, first: tuple[int, str], until: int) -> None:
        moment, alias = first
        relation = self.plan.query.occurrence(alias).relation
        for at in (moment, until):
            self.onepass.order.follow(relation, at, partition)

    def _take(self, until: int, before: Mapping[Streams, Matches], inside: Mapping[Streams, Matches]) -> None:
        tables = self.onepass.state.tables.values()
        # All from what was kept before: nothing of this partition is kept yet.
        new = [(s, list(made(self.segments, s.synopsis.splits, before, inside))) for s in tables]
        for slices, matches in new:
            for match in matches:
                slices.add(match, until)
        self.onepass.state.now = until
        self.onepass.peak_units = max(self.onepass.peak_units, self.units)

    def dump(self) -> bytes:
        """The tables."""
        return dump_timed(self.onepass.state, {})

    def load(self, data: bytes, peak_units: int) -> None:
        """Take up tables."""
        self.onepass.state, _ = load_timed(self.plan, data)
        self.onepass.order.resume(self.onepass.state.now)
        self.onepass.peak_units = peak_units


def _share(plan: SegmentPlan, alias: str, tuples: list[HeldRow]) -> Share:
    """The tuples of an occurrence as codes."""
    coder, relation = Coder(plan, alias), plan.plan.query.occurrence(alias).relation
    if not tuples:
        return coder.nothing
    *columns, moments, counts = zip(*tuples, strict=True)
    times = np.array(counts, np.int64)
    kinds = [relation.column(attribute.column).type for attribute in coder.carried]
    arrays = [
        ordered.array_of(kind, column, ordered.arrow_type(kind))
        for kind, column in zip(kinds, columns, strict=True)
    ]
    each = pa.array(np.repeat(np.arange(len(tuples)), times))
    return coder.share(pa.array(moments, pa.int64()).take(each), [array.take(each) for array in arrays])
