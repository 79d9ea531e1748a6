"""Summaries of segments of time: what one pass gives, whatever the cut, and laws.

Groups: random queries; composition; counts past 64 bits; which plans are served.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from tests.strategies import Case, timed_cases, timed_events

from streambound.boundedness.criterion.exact import exact
from streambound.errors import DataError
from streambound.evaluation.events import Batch, batches
from streambound.evaluation.onepass import OnePass, one_pass
from streambound.history.evaluations.segments import SegmentEvaluation
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from streambound.query.statement import Statement
from streambound.state.row_join import representatives
from streambound.state.segments import (
    SegmentPlan,
    TimeSegment,
    dump_segment,
    empty_segment,
    load_segment,
    made,
    segment_plan,
    unserved,
)
from streambound.state.table import accepts
from streambound.tasks import segments
from streambound.tasks.cogroup import COGROUP
from streambound.tasks.emit import arrow_type
from streambound.tasks.encoding import Encoder, content_of
from streambound.tasks.relations import dump_relation, kinds_of, relation_of
from streambound.tasks.segments import Arriving, partitioned, summarised

MIXES = [(), ("int",), ("decimal(3,1)", "date", "int"), ("string", "boolean", "int")]
STREAMS = {n: {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts"} for n in "STU"}


def planned(sql: str) -> SegmentPlan:
    plan = one_pass(parse(sql, catalog_from_mapping(STREAMS)), {}).plan
    found = segment_plan(plan)
    assert found is not None, unserved(plan)
    return found


def composed(plan: SegmentPlan, left: TimeSegment, right: TimeSegment) -> TimeSegment:
    """The summary of two neighbouring segments without heads and tails, the earlier one first.

    Law: associative, and the summary of the two segments as one.
    """
    segment = empty_segment(plan)
    before = {streams: representatives(table, table.buckets) for streams, table in left.tables.items()}
    after = {streams: representatives(table, table.buckets) for streams, table in right.tables.items()}
    for streams, table in segment.tables.items():
        table.merge(left.tables[streams])
        for match in made(plan, plan.tables[streams].splits, before, after):
            table.add(match.values, match.weight)
    segment.first = left.first or right.first
    segment.until = left.until if right.until is None else right.until
    return segment


def summary(plan: SegmentPlan, arriving: list[Batch]) -> TimeSegment:
    """What a task makes of some batches."""
    found = {}
    for synopsis in plan.plan.streams:
        relation = plan.plan.query.occurrence(synopsis.alias).relation
        rows = [
            (batch.moment, row)
            for batch in arriving
            for row in batch.tuples.get(relation.name, ())
            if accepts(synopsis, row)
        ]
        columns = []
        for attribute in synopsis.carried:
            kind = relation.column(attribute.column).type
            own = [row[attribute.column] for _, row in rows]
            wanted = pa.int64() if kind.name in ("date", "boolean") else arrow_type(kind)
            plain = own if kind.name in ("date", "boolean") else [kind.decode(value) for value in own]
            columns.append(pa.array(plain, wanted))
        moments = np.array([moment for moment, _ in rows], np.int64)
        found[synopsis.alias] = Arriving(moments, columns)
    return partitioned(plan, found)


def drawn(
    data: st.DataObject, types: tuple[str, ...], delayed: bool = False
) -> tuple[Case, SegmentPlan, list[Batch]]:
    case = data.draw(timed_cases(types, orders=True, delayed=delayed))
    assume(exact(case.query).bounded)
    plan = one_pass(case.query, {}).plan
    assume(plan.ending is None and plan.timed)
    found = segment_plan(plan)
    assume(found is not None)
    assert found is not None
    assume(bool(found.delay) == delayed)
    arriving = list(batches(case.statement, data.draw(timed_events(case, size=20))))
    return case, found, arriving


def cut(data: st.DataObject, arriving: list[Batch]) -> list[list[Batch]]:
    marks = sorted(data.draw(st.lists(st.integers(0, len(arriving)), max_size=4)))
    edges = [0, *marks, len(arriving)]
    return [arriving[one:other] for one, other in pairwise(edges)]


@pytest.mark.parametrize("delayed", [False, True])
@pytest.mark.parametrize("types", MIXES, ids=lambda types: "-".join(types) or "plain")
@settings(max_examples=settings.default.max_examples // 5)
@given(data=st.data())
def test_segments_give_what_one_pass_gives(
    types: tuple[str, ...], delayed: bool, data: st.DataObject
) -> None:
    """Answers and, byte for byte, states at every boundary; and the answers of the definition."""
    case, plan, arriving = drawn(data, types, delayed)
    event(f"aged: {bool(plan.aged)}")
    engine, other = OnePass(plan.real, {}), SegmentEvaluation(plan)
    for number, part in enumerate(cut(data, arriving)):
        expected: Counter[tuple[Any, ...]] = Counter()
        for batch in part:
            expected.update(engine.process(batch))
        assert other.advance(str(number), {COGROUP: dump_segment(summary(plan, part))}) == expected, case.sql
        assert other.dump() == engine.dump(), case.sql
        assert other.stored_units == engine.stored_units
        # Between boundaries more may be held.
        assert other.peak_units <= engine.peak_units if plan.delay else other.peak_units == engine.peak_units


@pytest.mark.parametrize("types", MIXES, ids=lambda types: "-".join(types) or "plain")
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_summaries_compose(types: tuple[str, ...], data: st.DataObject) -> None:
    """summary(a + b) = composed(summary(a), summary(b)), whatever the cut and the brackets."""
    case, plan, arriving = drawn(data, types)
    parts = [summary(plan, part) for part in cut(data, arriving)]
    left, right = empty_segment(plan), empty_segment(plan)
    for part in parts:
        left = composed(plan, left, part)
    for part in reversed(parts):
        right = composed(plan, part, right)
    whole = dump_segment(summary(plan, arriving))
    assert dump_segment(left) == dump_segment(right) == whole, case.sql
    assert dump_segment(load_segment(plan, whole)) == whole


CHAIN = "SELECT S.A, T.A FROM S, T, U WHERE S.ts > T.ts AND T.ts > U.ts AND S.A > T.A AND T.A > 0 AND T.A < 5"


def test_counts_past_64_bits_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted modulo primes they are those that machine integers hold, and go on where these end."""
    plan = planned("SELECT 1 FROM S, T, U WHERE S.ts > T.ts AND T.ts > U.ts")
    tuples = 3_000_000
    shares = {alias: Encoder(plan, alias).encode(np.full(tuples, at), []) for at, alias in enumerate("UTS")}
    found = summarised(plan, {alias: shares[alias] for alias in "STU"})
    assert list(found.tables[frozenset("STU")].counts.values()) == [tuples**3]
    assert tuples**3 > 2**64
    few = planned(CHAIN)
    events = [{"stream": "STU"[n % 3], "A": n % 7, "B": 0, "ts": n // 4} for n in range(200)]
    arriving = list(batches(Statement.of(few.plan.query), events))
    expected = dump_segment(summary(few, arriving))
    monkeypatch.setattr(segments, "EXACT", 1)
    assert dump_segment(summary(few, arriving)) == expected


def test_outputs_of_the_last_stream_may_be_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted some at a time."""
    plan = planned(CHAIN)
    events = [{"stream": "STU"[n % 3], "A": n % 50, "B": 0, "ts": n} for n in range(300)]
    arriving = list(batches(Statement.of(plan.plan.query), events))
    expected = dump_segment(summary(plan, arriving))
    monkeypatch.setattr(segments, "COMPLETIONS", 10)
    assert dump_segment(summary(plan, arriving)) == expected


def test_the_content_of_a_share_is_a_bag() -> None:
    def content(rows: list[tuple[int, int]]) -> str:
        return content_of([pa.array([t for t, _ in rows]), pa.array([a for _, a in rows])])

    rows = [(1, 5), (2, 6), (2, 6), (3, 1)]
    assert content(rows) == content(rows[::-1])
    for others in (
        [(1, 5), (2, 6), (3, 1)],
        [(1, 6), (2, 5), (2, 6), (3, 1)],
        [(2, 5), (2, 6), (2, 6), (3, 1)],
    ):
        assert content(others) != content(rows)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT DISTINCT 1 FROM S, T WHERE S.ts > T.ts", "duplicate-eliminating"),
        ("SELECT 1 FROM S, T, U WHERE S.ts > T.ts + 5 AND T.ts > U.ts", "with offsets"),
        (
            "SELECT 1 FROM S, T, U WHERE S.ts <= T.ts + 5 AND T.ts <= U.ts + 1 AND S.ts <= U.ts + 3",
            "with offsets",
        ),
        ("SELECT 1 FROM S, T, U WHERE S.ts = T.ts AND T.ts < U.ts", "precede each other"),
        ("SELECT S.ts FROM S, T WHERE S.ts > T.ts", "a timestamp is projected"),
    ],
)
def test_plans_that_are_evaluated_batch_by_batch(sql: str, why: str) -> None:
    plan = one_pass(parse(sql, catalog_from_mapping(STREAMS)), {}).plan
    assert why in str(unserved(plan)) and segment_plan(plan) is None


def test_dates_by_moment() -> None:
    """As the relations of a live query bring them."""
    body = {"columns": {"A": "date", "ts": "int"}, "timestamp": "ts"}
    days = "(DATE '2026-01-01', DATE '2026-01-02')"
    sql = f"SELECT S.A FROM S, T WHERE S.A = T.A AND S.ts < T.ts AND S.A IN {days}"
    plan = one_pass(parse(sql, catalog_from_mapping({"S": body, "T": body})), {}).plan
    found = segment_plan(plan)
    assert found is not None
    rows = {"S": [(1, 20454, 1)], "T": [(2, 20454, 3)]}
    kinds = {synopsis.alias: kinds_of(plan.query, synopsis) for synopsis in plan.streams}
    given = {alias: dump_relation(relation_of(own, kinds[alias])) for alias, own in rows.items()}
    steps = list(SegmentEvaluation(found).by_moment("0", given))
    assert [(step.moment, step.take()) for step in steps] == [(2, {(20454,): 3})]


def test_a_damaged_summary_is_refused() -> None:
    with pytest.raises(DataError, match="a stored summary of query cannot be read"):
        load_segment(planned(CHAIN), b'{"first":null,"until":null,"tables":[[["X"],{}]]}')
