"""Sessions: the changes add up to the sessions of all rows that came, however these came."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.operators.grouping.sessions import Sessions
from streambound.operators.rows.operator import Row
from streambound.plan.flow import Grouped, Reads, Times
from streambound.query.column_types import parse_type
from streambound.query.model import Op
from streambound.query.operators import Aggregate, AggregateKind, Grouping, Having, Shown
from streambound.query.operators import Test as Comparison

INT, BIGINT, DOUBLE = map(parse_type, ("int", "bigint", "double"))
KEY, VALUE, TIME = range(3)
TYPES = (INT, INT, INT)
GAP = 3
AGGREGATES = (
    Aggregate(AggregateKind.ANY, "session_start", function="SESSION_START"),
    Aggregate(AggregateKind.ANY, "session_end", function="SESSION_END"),
    Aggregate(AggregateKind.COUNT, "COUNT(*)", function="COUNT"),
    Aggregate(AggregateKind.SUM, "SUM(v)", (VALUE,), function="SUM"),
    Aggregate(AggregateKind.GREATEST, "MAX(v)", (VALUE,), function="MAX"),
    Aggregate(AggregateKind.COUNT, "COUNT(DISTINCT v)", (VALUE,), distinct=True, function="COUNT"),
    Aggregate(AggregateKind.LAST, "LAST(v)", (VALUE,), function="LAST"),
)
SHOWN = (
    Shown("key", INT, (KEY,)),
    *(Shown(f"v{n}", BIGINT, (), (n,)) for n in range(len(AGGREGATES))),
)
MANY = Having((2,), Comparison(2, Op.GE, Fraction(2)), formula="v2 >= 2")


def operation(keys: int, having: Having | None) -> Grouped:
    then = Grouping(keys, AGGREGATES, SHOWN if keys else SHOWN[1:], having, GAP)
    reads = Reads(0, {KEY: KEY, VALUE: VALUE, TIME: TIME}, TIME)
    return Grouped(then, tuple(range(keys)), (reads,) * len(AGGREGATES), TYPES)


def made(then: Grouped, retracts: bool, delay: int) -> Sessions:
    return Sessions(then, TYPES, Times({TIME: (0, 0)}, delay), TIME, retracts)


def defined(then: Grouped, bag: Mapping[Row, int]) -> Counter[Row]:
    """The sessions of a bag: rows of a key that are linked by steps shorter than the gap."""
    found = Counter[Row]()
    for key in {row[: then.then.keys] for row in bag}:
        rows = [row for row, n in bag.items() for _ in range(n) if row[: then.then.keys] == key]
        times = sorted({row[TIME] for row in rows})
        starts = [t for t in times if not any(0 < t - other < GAP for other in times)]
        for number, start in enumerate(starts):
            end = starts[number + 1] if number + 1 < len(starts) else 10**9
            mine = [row for row in rows if start <= row[TIME] < end]
            values = [row[VALUE] for row in mine if row[VALUE] is not None]
            last = max(row[TIME] for row in mine)
            latest = [row[VALUE] for row in mine if row[TIME] == last]
            row = (
                *key,
                *(start, last + GAP, len(mine), sum(values) if values else None, max(values, default=None)),
                *(len(set(values)), max(latest, key=lambda v: (v is not None, v or 0))),
            )
            if then.then.having is None or len(mine) >= 2:
                found[row] += 1
    return found


rows = st.tuples(st.none() | st.integers(0, 1), st.none() | st.integers(-1, 2), st.integers(0, 14))
operations = st.builds(operation, st.integers(0, 1), st.sampled_from([None, MANY]))


def resumed(one: Sessions, then: Grouped, retracts: bool, delay: int) -> Sessions:
    text = json.dumps(one.dump())
    found = made(then, retracts, delay)
    found.load(json.loads(text))
    assert json.dumps(found.dump()) == text
    assert found.stored_units == one.stored_units
    return found


def batches(came: list[tuple[Row, int]], delay: int, cuts: list[int]) -> list[Counter[Row]]:
    """Rows in an order in which none is later than ``delay`` behind another, rows of one time together."""
    order = sorted(came, key=lambda one: (one[0][TIME] + (delay if one[0][VALUE] == 2 else 0), one[0][TIME]))
    found = []
    for low, high in zip([-1, *cuts], [*cuts, 99], strict=True):
        batch = Counter[Row]()
        for row, count in order:
            if low < row[TIME] + (delay if row[VALUE] == 2 else 0) <= high:
                batch[row] += count
        found.append(batch)
    return found


@given(
    then=operations,
    came=st.lists(st.tuples(rows, st.integers(1, 2)), max_size=10),
    delay=st.integers(0, 4),
    cuts=st.sets(st.integers(0, 18), max_size=6),
)
def test_rows_that_only_come(then: Grouped, came: list[tuple[Row, int]], delay: int, cuts: set[int]) -> None:
    whole, parts = made(then, False, delay), made(then, False, delay)
    total, seen = Counter[Row](), Counter[Row]()
    for batch in batches(came, delay, sorted(cuts)):
        seen.update(batch)
        for row, count in parts.take([dict(batch)]).items():
            total[row] += count
        assert +total == total
        assert {row: n for row, n in total.items() if n} == dict(defined(then, seen))
        parts = resumed(parts, then, False, delay)
        assert parts.stored_units <= units(then, seen, delay)
    assert whole.take([seen]) == dict(+total)
    assert json.dumps(whole.dump()) == json.dumps(parts.dump())


def units(then: Grouped, bag: Mapping[Row, int], delay: int) -> int:
    """What may be kept: of sessions that can still grow, and of values that are told apart."""
    latest = max((row[TIME] for row in bag), default=0)
    lasting = [row for row in bag if row[TIME] > latest - 15]
    sessions = [row for row in defined(operation(then.then.keys, None), bag) if row[-6] + delay > latest]
    return sum(2 + 1 + 2 + 1 + 2 for _ in sessions) + len(lasting) * bool(sessions)


@given(
    then=operations,
    came=st.lists(st.tuples(rows, st.integers(1, 2), st.integers(0, 2)), max_size=10),
    cut=st.integers(0, 10),
)
def test_rows_that_are_taken_back(then: Grouped, came: list[tuple[Row, int, int]], cut: int) -> None:
    """As long as no time is over rows come and go in any order."""
    gone = [(row, -min(count, back)) for row, count, back in came]
    steps = [
        [(r, n) for r, n, _ in came[:cut]],
        [*((r, n) for r, n, _ in came[cut:]), *gone[:cut]],
        gone[cut:],
    ]
    one, total, now = made(then, True, 99), Counter[Row](), Counter[Row]()
    for step in steps:
        batch = Counter[Row]()
        for row, count in step:
            batch[row] += count
            now[row] += count
        for row, count in one.take([batch]).items():
            total[row] += count
        assert {row: n for row, n in total.items() if n} == dict(defined(then, +now))
        one = resumed(one, then, True, 99)
    assert one.stored_units == 4 * len(+now)


def test_a_session_falls_apart_and_is_forgotten_with_its_rows() -> None:
    then = operation(1, None)
    one = made(then, True, 2)
    one.take([{(0, 1, 0): 1, (0, 1, 2): 1, (0, 1, 4): 1}])
    assert one.take([{(0, 1, 2): -1}]) == {
        (0, 0, 7, 3, 3, 1, 1, 1): -1,
        (0, 0, 3, 1, 1, 1, 1, 1): 1,
        (0, 4, 7, 1, 1, 1, 1, 1): 1,
    }
    assert one.stored_units == 8
    one.take([{(1, 1, 5): 1}])
    assert [row[TIME] for row in one.dump()["rows"]] == [4, 5]
    one.take([{(1, 1, 10): 1}])
    assert [row[TIME] for row in one.dump()["rows"]] == [10]


@pytest.mark.parametrize(("time", "sessions"), [(2, 1), (3, 2)])
def test_rows_a_gap_apart_are_two_sessions(time: int, sessions: int) -> None:
    one = made(operation(1, None), False, 0)
    found = Counter(one.take([{(0, 1, 0): 1}]))
    found.update(one.take([{(0, 1, time): 1}]))
    assert sum(found.values()) == sessions


def test_days_are_not_microseconds() -> None:
    day = 86_400_000_000
    then = operation(1, None)
    then = replace(then, then=replace(then.then, session=2 * day))
    one = Sessions(then, TYPES, Times({TIME: (0, 0)}, 0, {TIME: day}), TIME, False)
    found: dict[Row, Any] = one.take([{(0, 1, 10): 1, (0, 1, 11): 1, (0, 1, 13): 1}])
    assert sorted(row[1:3] for row in found) == [(10, 13), (13, 15)]
