"""The state of a query with time conditions from one partition to the next, by summaries of partitions.

It is the state of ``evaluation.onepass``, byte for byte; what a partition adds to it and to the answers
follows from tables whose size does not depend on the partition's.
"""

from __future__ import annotations

from collections.abc import Mapping

from streambound.evaluation.order import Order
from streambound.history.evaluations import Compact
from streambound.history.matches import ArrayJoin
from streambound.synopsis.match_join import Matches, Row, standing
from streambound.synopsis.plan import Streams
from streambound.synopsis.segments import SegmentPlan, load_segment, made, sources
from streambound.tasks.joint import JOINT


class Segmented(Compact):
    """Partitions that follow each other in time, each as a summary (see ``evaluations.Evaluation``)."""

    def __init__(self, segments: SegmentPlan) -> None:
        super().__init__(segments.plan, {}, Order())
        self.segments = segments
        self.join = ArrayJoin(self.plan.query.ring, self.plan.joins, self.plan.clock.conditions)

    def advance(self, partition: str, given: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from its summary.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        segment = load_segment(self.segments, given[JOINT])
        if segment.first is None or segment.until is None:
            return {}
        self._follow(partition, segment.first, segment.until)
        before = {streams: slices.matches() for streams, slices in self.engine.state.tables.items()}
        inside = {streams: standing(table, table.buckets) for streams, table in segment.tables.items()}
        found: dict[Row, int] = {}
        for split in self.plan.answers:
            self.join.rows(self.plan.query, sources(self.segments, split, before, inside), found)
        self._enter(segment.until, before, inside)
        return found

    def _follow(self, partition: str, first: tuple[int, str], until: int) -> None:
        moment, alias = first
        relation = self.plan.query.occurrence(alias).relation
        for at in (moment, until):
            self.engine.order.follow(relation, at, partition)

    def _enter(
        self, until: int, before: Mapping[Streams, Matches], inside: Mapping[Streams, Matches]
    ) -> None:
        tables = self.engine.state.tables.values()
        # All from what was kept before: nothing of this partition is kept yet.
        new = [(s, list(made(self.segments, s.synopsis.splits, before, inside))) for s in tables]
        for slices, matches in new:
            for match in matches:
                slices.add(match, until)
        self.engine.state.now = until
        self.engine.peak_units = max(self.engine.peak_units, self.units)
