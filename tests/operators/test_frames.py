"""Window functions: the changes add up to what the definition says of all rows, however these came."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.errors import PlanError
from streambound.evaluation.definition_orders import with_functions
from streambound.evaluation.definition_rows import Row as Defined
from streambound.operators.ordering.frames import Frames
from streambound.operators.ordering.timed_frames import TimedFrames
from streambound.operators.ordering.window_functions import Functions
from streambound.operators.rows.operator import Row
from streambound.plan.flow import Times
from streambound.plan.frame_reach import ascending, looks, settles
from streambound.query.column_types import NAN, parse_type
from streambound.query.operators import Aggregate, AggregateKind, Frame, Over, Shown, WindowCalls

INT, DOUBLE, TEXT = map(parse_type, ("int", "double", "string"))
# A time, a key, another one, a number and a word.
TYPES = (INT, INT, INT, DOUBLE, TEXT)
TIME, KEY, OTHER, REAL, WORD = range(5)

rows = st.tuples(
    st.integers(0, 7),
    st.none() | st.integers(0, 1),
    st.integers(0, 1),
    st.sampled_from([None, 0.5, 0.1, -2.0]),
    st.sampled_from([None, "", "a", "b"]),
)
AGGREGATES = (
    Aggregate(AggregateKind.COUNT, "COUNT(*)", function="COUNT"),
    Aggregate(AggregateKind.SUM, "SUM(r)", (REAL,), function="SUM"),
    Aggregate(AggregateKind.MEAN, "AVG(r)", (REAL,), function="AVG"),
    Aggregate(AggregateKind.LEAST, "MIN(r)", (REAL,), function="MIN"),
    Aggregate(AggregateKind.GREATEST, "MAX(w)", (WORD,), function="MAX"),
    Aggregate(AggregateKind.COUNT, "COUNT(DISTINCT w)", (WORD,), distinct=True, function="COUNT"),
    Aggregate(AggregateKind.ANY, "ANY_VALUE(w)", (WORD,), function="ANY_VALUE"),
)
ENDS = ("FIRST_VALUE", "LAST_VALUE", "NTH_VALUE")


@st.composite
def overs(draw: st.DrawFn, timed: bool) -> Over:
    """A function; ``timed``: of those of which what they say is settled."""
    name = draw(st.sampled_from(["AGGREGATE", *ENDS, "LAG", "LEAD", "ROW_NUMBER", "RANK", "DENSE_RANK"]))
    partition = draw(st.sampled_from([(), (KEY,), (KEY, OTHER)]))
    descends = draw(st.booleans())
    first = TIME if timed else draw(st.sampled_from([TIME, REAL, WORD]))
    order = [(first, descends), *draw(st.sampled_from([(), ((REAL, False),), ((WORD, True),)]))]
    if not timed and draw(st.integers(0, 3)) == 0:
        order = []
    elif first == order[-1][0]:
        order = order[:1]
    by_rows = draw(st.booleans())
    ends = st.none() | st.integers(-2, 3)
    before, after = draw(ends), draw(ends)
    if not by_rows and (len(order) != 1 or first == WORD):
        before, after = draw(st.sampled_from([(None, 0), (0, 0), (None, None), (0, None)]))
    if not order and name not in (*ENDS, "LAG", "LEAD"):
        by_rows, before, after = False, None, None
    frame, offset = Frame(by_rows, before, after), 1
    arguments: tuple[int, ...] = ()
    aggregate = draw(st.sampled_from(AGGREGATES)) if name == "AGGREGATE" else None
    if name in (*ENDS, "LAG", "LEAD"):
        arguments, offset = (draw(st.sampled_from([REAL, WORD])),), draw(st.integers(1, 3))
    if name == "ROW_NUMBER":
        frame = Frame(True, None, 0 if order else None)
    if name in ("RANK", "DENSE_RANK"):
        frame = Frame(True, None, 0)
    return Over(
        aggregate.text if aggregate else name,
        aggregate,
        partition,
        tuple(order),
        frame,
        arguments=arguments,
        offset=offset,
    )


def framing(functions: Sequence[Over]) -> WindowCalls:
    kinds = Functions(functions, TYPES, TIME).types
    shown = [Shown(f"o{n}", kind, (n,)) for n, kind in enumerate(TYPES)]
    shown += [Shown(f"v{n}", kind, (), (n,)) for n, kind in enumerate(kinds)]
    return WindowCalls(tuple(functions), tuple(shown))


def timed_framings(most: int) -> st.SearchStrategy[WindowCalls]:
    found = st.lists(overs(True), min_size=1, max_size=most).map(framing)
    return found.filter(lambda then: settles(then, Times({TIME: (0, 0)})))


def defined(then: WindowCalls, bag: Mapping[Row, int]) -> Counter[Row]:
    every = [Defined(row, row[TIME]) for row, count in bag.items() for _ in range(count)]
    return Counter(row.values for row in with_functions(then, every, TYPES))


def added(total: Counter[Row], changes: Mapping[Row, int]) -> None:
    for row, count in changes.items():
        assert count
        total[row] += count


def resumed(one: Any, fresh: Any) -> Any:
    text = json.dumps(one.dump())
    fresh.load(json.loads(text))
    assert json.dumps(fresh.dump()) == text
    assert fresh.stored_units == one.stored_units
    return fresh


def batches(came: Iterable[tuple[Row, int]], delay: int, cuts: Sequence[int]) -> list[Counter[Row]]:
    """Rows in an order in which none is later than ``delay`` behind another, equal times mostly together."""
    found = []
    known = [(row[TIME] + (delay if row[WORD] == "b" else 0), row, count) for row, count in came]
    for low, high in zip([-1, *cuts], [*cuts, 99], strict=True):
        batch = Counter[Row]()
        for arrival, row, count in known:
            if low < arrival <= high:
                batch[row] += count
        found.append(batch)
    return found


def check_timed(then: WindowCalls, came: list[tuple[Row, int]], delay: int, cuts: set[int]) -> None:
    times = Times({TIME: (0, 0)}, delay)
    whole, parts = TimedFrames(then, TYPES, times, TIME), TimedFrames(then, TYPES, times, TIME)
    total, seen = Counter[Row](), Counter[Row]()
    for batch in batches(came, delay, sorted(cuts)):
        seen.update(batch)
        added(total, parts.take([dict(batch)]))
        assert {row: n for row, n in total.items() if n} == dict(defined(then, seen))
        parts = resumed(parts, TimedFrames(then, TYPES, times, TIME))
    assert whole.take([seen]) == dict(+total)
    assert json.dumps(whole.dump()) == json.dumps(parts.dump())


came = st.lists(st.tuples(rows, st.integers(1, 2)), max_size=10)


@given(then=timed_framings(1), came=came, delay=st.integers(0, 2), cuts=st.sets(st.integers(0, 9)))
def test_a_function_ordered_by_time(
    then: WindowCalls, came: list[tuple[Row, int]], delay: int, cuts: set[int]
) -> None:
    check_timed(then, came, delay, cuts)


@given(then=timed_framings(3), came=came, delay=st.integers(0, 2), cuts=st.sets(st.integers(0, 9)))
def test_several_functions_ordered_by_time(
    then: WindowCalls, came: list[tuple[Row, int]], delay: int, cuts: set[int]
) -> None:
    lanes = {(one.partition, one.order) for one in then.functions}
    ahead = [looks(ascending(one), TYPES.__getitem__)[0] for one in then.functions]
    if len(lanes) == 1 or not any(ahead):
        check_timed(then, came, delay, cuts)


@given(
    then=st.lists(overs(False), min_size=1, max_size=2).map(framing),
    came=st.lists(st.tuples(rows, st.integers(1, 2), st.integers(0, 2)), max_size=8),
    cut=st.integers(0, 8),
)
def test_rows_that_change(then: WindowCalls, came: list[tuple[Row, int, int]], cut: int) -> None:
    gone = [(row, -min(count, back)) for row, count, back in came]
    steps = [
        [(r, n) for r, n, _ in came[:cut]],
        [*((r, n) for r, n, _ in came[cut:]), *gone[:cut]],
        gone[cut:],
    ]
    one, total, now = Frames(then, TYPES, Times(), TIME), Counter[Row](), Counter[Row]()
    for step in steps:
        batch = Counter[Row]()
        for row, count in step:
            batch[row] += count
            now[row] += count
        added(total, one.take([batch]))
        assert {row: n for row, n in total.items() if n} == dict(defined(then, +now))
        one = resumed(one, Frames(then, TYPES, Times(), TIME))
    assert one.stored_units == 6 * len(+now)


def over(name: str, frame: Frame, aggregate: Aggregate | None = None, **more: Any) -> Over:
    return Over(name, aggregate, (KEY,), ((TIME, False),), frame, **more)


def history(length: int) -> list[Counter[Row]]:
    """Each moment of a history with two rows of a key and one of another."""
    return [
        Counter({(t, 0, 0, 0.5, "a"): 2, (t, 1, 0, 0.1, "b"): 1, (t, 1, t % 2, -2.0, None): 1})
        for t in range(length)
    ]


@pytest.mark.parametrize(
    ("function", "kept"),
    [
        (over("COUNT", Frame(False, None, 0), AGGREGATES[0]), 3 * 6 + 2),
        (over("SUM", Frame(True, None, 0), AGGREGATES[1]), 4 * 6 + 2 * 5),
        (over("COUNT", Frame(True, 3, 0), AGGREGATES[0]), (4 + 2 * 3) * 6),
        (over("COUNT", Frame(False, 2, 0), AGGREGATES[0]), 3 * 3 * 6),
        (over("COUNT", Frame(False, 0, 2), AGGREGATES[0]), 3 * 3 * 6),
        (over("LAG", Frame(True, 2, 0), arguments=(REAL,), offset=2), (4 + 2 * 2) * 6),
        (over("LEAD", Frame(True, 0, 2), arguments=(REAL,), offset=2), (4 + 2 * 2) * 6),
        (over("ROW_NUMBER", Frame(True, None, 0)), 4 * 6 + 2),
        (over("RANK", Frame(True, None, 0)), 3 * 6 + 2),
        (over("FIRST_VALUE", Frame(False, None, 0), arguments=(WORD,)), 3 * 6 + 2),
        (over("LAST_VALUE", Frame(False, None, 0), arguments=(WORD,)), 3 * 6 + 2),
    ],
    ids=lambda one: one.name if isinstance(one, Over) else "",
)
def test_units_do_not_grow_with_a_history(function: Over, kept: int) -> None:
    one = TimedFrames(framing([function]), TYPES, Times({TIME: (0, 0)}), TIME)
    units = []
    for batch in history(30):
        one.take([batch])
        units.append(one.stored_units)
    assert max(units[5:]) <= kept


def test_a_partition_with_a_time_is_forgotten() -> None:
    lead = Over("LEAD", None, (TIME,), ((TIME, False),), Frame(True, 0, 1), arguments=(REAL,))
    one = TimedFrames(framing([lead]), TYPES, Times({TIME: (0, 0)}), TIME)
    for batch in history(5):
        one.take([batch])
    assert one.stored_units == 3 * 6
    frames = Frames(
        framing([Over("COUNT", AGGREGATES[0], (TIME,), (), Frame(False, None, None))]),
        TYPES,
        Times({TIME: (0, 0)}),
    )
    for batch in history(5):
        frames.take([batch])
    assert frames.stored_units == 3 * 6


def test_counts_are_not_numbers_of_steps() -> None:
    """Rows that are equal in all that is shown are kept as one, however many they are."""
    count = Over("COUNT", AGGREGATES[0], (KEY,), (), Frame(False, None, None))
    one = Frames(framing([count]), TYPES, Times())
    row = (0, 0, 0, NAN, "a")
    assert one.take([{row: 10**15}]) == {(*row, 10**15): 10**15}
    assert one.stored_units == 6


@pytest.mark.parametrize(
    ("name", "aggregate"),
    [
        ("PERCENTILE", None),
        ("LAG", Aggregate(AggregateKind.ANY, "LAG(r, 1, 0)", (REAL,), function="LAG with a default")),
        ("LAG", Aggregate(AggregateKind.ANY, "LAG(r)", (REAL,), function="LAG IGNORE NULLS")),
    ],
)
def test_what_is_not_computed_is_named(name: str, aggregate: Aggregate | None) -> None:
    function = over(name, Frame(True, 1, 0), aggregate, arguments=(REAL,))
    with pytest.raises(PlanError, match=name):
        Functions([function], TYPES, TIME)
