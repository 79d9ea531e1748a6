"""The state of a query with time conditions from one partition to the next, by summaries of partitions.

It is the state of ``evaluation.onepass``, byte for byte; what a partition adds to it and to the answers
follows from tables whose size does not depend on the partition's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from streambound.evaluation.order import ArrivalOrder
from streambound.history.evaluations.array_join import ArrayJoin
from streambound.history.evaluations.evaluation import AnswersAt, PlanEvaluation
from streambound.plan.model import Streams, TablePlan
from streambound.query.model import Attribute
from streambound.state.codec import BufferedRow, buffered_rows, put_buffered
from streambound.state.row_join import PartialMatches, Row, project, representatives
from streambound.state.segments import (
    SegmentPlan,
    TimeSegment,
    empty_segment,
    load_segment,
    made,
    sources,
    with_moments,
)
from streambound.state.table import Table
from streambound.tasks.cogroup import COGROUP
from streambound.tasks.encoding import EncodedTuples, Encoder, moments_of
from streambound.tasks.relations import kinds_of, load_relation, relation_of
from streambound.tasks.segments import EXACT, Completed, completed, summarised


class SegmentEvaluation(PlanEvaluation):
    """Partitions that follow each other in time, each as a summary (see ``evaluation.Evaluation``)."""

    def __init__(self, segments: SegmentPlan) -> None:
        super().__init__(segments.real, {}, ArrivalOrder())
        self.segments = segments
        self.join = ArrayJoin(self.plan.query.ring, self.plan.joins, segments.plan.clock.conditions)

    def advance(self, partition: str, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        """The new answers of a partition, from its summary.

        Raises:
            DataError: a tuple that counts is not later than all of the partitions before.
        """
        segment = load_segment(self.segments, summaries[COGROUP])
        if segment.first is None or segment.until is None:
            return {}
        state, until = self.engine.state, segment.until
        self._follow(partition, segment.first, until)

        def enters(alias: str, row: BufferedRow) -> bool:
            return self.segments.enters(alias, row[-2], until)

        buffered = self._waiting_rows()
        # Of the matches with tuples that are held, those of tuples held before are no new answers.
        answered = self._completed(_representatives(self._segment_of(buffered)))
        came = {alias: [*rows, *segment.head.get(alias, ())] for alias, rows in buffered.items()}
        before, waits = _split(came, enters)
        after, late = _split(segment.tail, enters)
        answers = self._enter(until, self._segment_of(before))
        for part in (segment, self._segment_of(after)):
            _add(answers, self._enter(until, part))
        waiting = {alias: [*rows, *late.get(alias, ())] for alias, rows in waits.items()}
        self._hold(waiting)
        _add(answers, self._completed(_representatives(self._segment_of(waiting))))
        for row, count in answered.items():
            answers[row] -= count
        state.now = until
        self.engine.peak_units = max(self.engine.peak_units, self.stored_units)
        return {row: count for row, count in answers.items() if count}

    def _waiting_rows(self) -> dict[str, list[BufferedRow]]:
        """The tuples that have not entered: held as they came, or told apart by their timestamps."""
        rows = buffered_rows(self.engine.state)
        for alias, synopsis in self.segments.aged.items():
            positions = _positions(self.segments, alias, synopsis)
            rows[alias] = [
                (*(key[position] for position in positions), stamp, count)
                for (stamp,), table in self.engine.state.tables[frozenset((alias,))].tables.items()
                if stamp is not None
                for (_, key), count in table.counts.items()
            ]
        return rows

    def _hold(self, waiting: Mapping[str, list[BufferedRow]]) -> None:
        """Have these tuples, and no others, that have not entered in virtual time."""
        put_buffered(
            self.engine.state, {a: rows for a, rows in waiting.items() if a not in self.segments.aged}
        )
        for alias, synopsis in self.segments.aged.items():
            tables = self.engine.state.tables[frozenset((alias,))].tables
            for ages in [ages for ages in tables if ages != (None,)]:
                del tables[ages]
            carried = _carried(self.segments, alias)
            for *values, stamp, count in waiting[alias]:
                if (stamp,) not in tables:
                    tables[stamp,] = Table(synopsis.cells, self.plan.query.ring)
                tables[stamp,].add(dict(zip(carried, values, strict=True)), count)

    def _segment_of(self, buffered: Mapping[str, list[BufferedRow]]) -> TimeSegment:
        """The summary of some tuples in virtual time."""
        if not any(buffered.values()):
            return empty_segment(self.segments)
        return summarised(self.segments, {a: _share(self.segments, a, rows) for a, rows in buffered.items()})

    def _completed(self, inside: Mapping[Streams, PartialMatches]) -> dict[Row, int]:
        """The matches that the tuples of a segment complete, after all that has entered the tables."""
        rows: dict[Row, int] = {}
        if any(inside.values()):
            before = self._before()
            for split in self.plan.answers:
                self.join.rows(self.plan.query, sources(self.segments, split, before, inside), rows)
        return rows

    def _enter(self, until: int, segment: TimeSegment) -> dict[Row, int]:
        """Let the tuples of a segment enter the tables; returns the matches that they complete."""
        inside = _representatives(segment)
        answers = self._completed(inside)
        self._add(until, self._before(), inside)
        return answers

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The new answers at each moment, from a relation an occurrence; all are computed at once.

        Raises:
            DataError: a tuple is not later than all of the partitions before.
        """
        marked = with_moments(self.segments)
        encoded = {s.alias: Encoder(marked, s.alias).nothing for s in self.plan.streams}
        for alias in encoded.keys() & summaries.keys():
            encoded[alias] = _weighted(marked, alias, load_relation(summaries[alias]).columns)
        segment, apart = completed(self.segments, encoded)
        if segment.first is None or segment.until is None:
            return
        self._follow(partition, segment.first, segment.until)
        by_match = {
            id(match.match): match for completed_matches in apart.values() for match in completed_matches
        }
        inside = _representatives(segment)
        inside |= {
            streams: PartialMatches(match.match for match in completed_matches)
            for streams, completed_matches in apart.items()
        }
        before = self._before()
        rows: dict[Row, list[tuple[Completed, int]]] = {}
        for split in self.plan.answers:
            for owners, weight in self.segments.join.owners(sources(self.segments, split, before, inside)):
                last = by_match[id(owners[self.segments.last or ""])]
                rows.setdefault(project(self.plan.query, owners), []).append((last, weight))
        self._add(segment.until, before, inside)
        self.engine.state.now = segment.until
        self.engine.peak_units = max(self.engine.peak_units, self.stored_units)
        answers: dict[int, dict[Row, int]] = {}
        for row, parts in rows.items():
            for moment, count in _added_up(parts):
                answers.setdefault(moment, {})[row] = count
        yield from (AnswersAt(moment, partial(dict, answers[moment])) for moment in sorted(answers))

    def _before(self) -> dict[Streams, PartialMatches]:
        """What has entered the tables, of each set of streams."""
        if self.segments.aged:
            return {
                streams: representatives(table, table.buckets)
                for streams, slices in self.engine.state.tables.items()
                for table in [slices.tables.get((None,) * len(slices.synopsis.ages)) or slices.empty()]
            }
        return {streams: slices.partial_matches() for streams, slices in self.engine.state.tables.items()}

    def _follow(self, partition: str, first: tuple[int, str], until: int) -> None:
        moment, alias = first
        self.engine.order.follow(self.plan.query.occurrence(alias).relation, moment, partition)
        self.engine.order.reach(self.plan.query, until)

    def _add(
        self, until: int, before: Mapping[Streams, PartialMatches], inside: Mapping[Streams, PartialMatches]
    ) -> None:
        tables = self.engine.state.tables.values()
        # All from what was kept before: nothing of this partition is kept yet.
        new = [(s, list(made(self.segments, s.synopsis.splits, before, inside))) for s in tables]
        for slices, partial_matches in new:
            for match in partial_matches:
                slices.add(match, until)


def _carried(plan: SegmentPlan, alias: str) -> tuple[Attribute, ...]:
    return next(s.carried for s in plan.real.streams if s.alias == alias)


def _positions(plan: SegmentPlan, alias: str, synopsis: TablePlan) -> list[int]:
    """Where the carried columns are in the keys of a table."""
    keys = [key.attribute for key in synopsis.cells[0].keys]
    return [keys.index(attribute) for attribute in _carried(plan, alias)]


def _split(
    rows: Mapping[str, list[BufferedRow]], chosen: Callable[[str, BufferedRow], bool]
) -> tuple[dict[str, list[BufferedRow]], dict[str, list[BufferedRow]]]:
    """The rows for which something holds, and the others."""
    some = {alias: [row for row in mine if chosen(alias, row)] for alias, mine in rows.items()}
    return some, {alias: [row for row in mine if not chosen(alias, row)] for alias, mine in rows.items()}


def _representatives(segment: TimeSegment) -> dict[Streams, PartialMatches]:
    return {streams: representatives(table, table.buckets) for streams, table in segment.tables.items()}


def _add(rows: dict[Row, int], more: Mapping[Row, int]) -> None:
    for row, count in more.items():
        rows[row] = rows.get(row, 0) + count


def _share(plan: SegmentPlan, alias: str, tuples: list[BufferedRow]) -> EncodedTuples:
    """The tuples of an occurrence as symbols."""
    if not tuples:
        return Encoder(plan, alias).nothing
    kinds = kinds_of(plan.plan.query, next(s for s in plan.plan.streams if s.alias == alias))
    moved = [(moment, *values, count) for *values, moment, count in tuples]
    return _weighted(plan, alias, relation_of(moved, kinds).columns)


def _weighted(plan: SegmentPlan, alias: str, columns: Sequence[pa.ChunkedArray]) -> EncodedTuples:
    """The tuples of a relation as symbols, each as often as there are of it."""
    moments, *carried, counts = (column.combine_chunks() for column in columns)
    times = counts.to_numpy()
    if not len(times):
        return Encoder(plan, alias).nothing
    each = pa.array(np.repeat(np.arange(len(times)), times))
    stamps = np.repeat(moments_of(moments), times) + plan.delays[alias]
    return Encoder(plan, alias).encode(stamps, [column.take(each) for column in carried])


def _added_up(parts: list[tuple[Completed, int]]) -> Iterator[tuple[int, int]]:
    """How many matches are complete at each moment, of some that stand for so many each."""
    most = sum(int(item.counts.sum()) * weight for item, weight in parts)
    kind = np.int64 if most < EXACT else object
    moments = np.concatenate([item.moments for item, _ in parts])
    counts = np.concatenate([item.counts.astype(kind) * weight for item, weight in parts])
    order = np.argsort(moments, kind="stable")
    starts = np.flatnonzero(np.diff(moments[order], prepend=moments[order][0] - 1))
    yield from zip(
        moments[order][starts].tolist(), np.add.reduceat(counts[order], starts).tolist(), strict=True
    )
