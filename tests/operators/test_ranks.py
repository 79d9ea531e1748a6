"""Ranks: the changes add up to the rows that have the ranks, over all rows that came, however these came."""

from __future__ import annotations

import json
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.operators.ordering.ranks import Ranks
from streambound.operators.rows.operator import Row
from streambound.plan.flow import Times
from streambound.plan.widths import ranked
from streambound.query.column_types import NAN, parse_type
from streambound.query.model import Op
from streambound.query.operators import Ranking, Shown

INT, DOUBLE, TEXT, BIGINT = map(parse_type, ("int", "double", "string", "bigint"))
# A time, a key, two columns to order by, and another one.
TYPES = (INT, INT, DOUBLE, TEXT, INT)
TIME, KEY, REAL, WORD, REST = range(5)
TIMES = Times({TIME: (0, 0)})
HOLDS = {
    **{Op.LT: operator.lt, Op.LE: operator.le, Op.EQ: operator.eq},
    **{Op.NE: operator.ne, Op.GE: operator.ge, Op.GT: operator.gt},
}

rows = st.tuples(
    st.integers(0, 5),
    st.none() | st.integers(0, 1),
    st.sampled_from([None, 0.0, 1.5, -2.0, NAN]),
    st.sampled_from([None, "", "a", "b"]),
    st.none() | st.integers(0, 1),
)


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    order = draw(
        st.lists(
            st.tuples(st.sampled_from([TIME, REAL, WORD]), st.booleans()),
            max_size=2,
            unique_by=lambda one: one[0],
        )
    )
    is_ranked = draw(st.booleans())
    shown = [
        Shown(f"c{p}", TYPES[p], (p,)) for p in draw(st.lists(st.integers(0, 4), min_size=1, unique=True))
    ]
    if is_ranked:
        shown.append(Shown("rank", BIGINT, (), (0,)))
    return Ranking(
        draw(st.sampled_from(["ROW_NUMBER", "RANK", "DENSE_RANK"])),
        tuple(draw(st.lists(st.sampled_from([TIME, KEY, WORD]), max_size=2, unique=True))),
        tuple(order),
        draw(st.sampled_from([Op.LT, Op.LE, Op.EQ] if is_ranked else list(Op))),
        draw(st.integers(-1, 4)),
        tuple(shown),
        is_ranked,
    )


def defined(then: Ranking, bag: Mapping[Row, int]) -> Counter[Row]:
    """The answer over a bag: each row is compared with each other one."""
    parts: dict[Any, list[Row]] = {}
    for row, count in bag.items():
        parts.setdefault(tuple(row[p] for p in then.partition), []).extend([row] * count)
    found: Counter[Row] = Counter()
    for part in parts.values():
        ordered = sorted(part, key=_null_first)
        for position, descends in reversed(then.order):
            ordered.sort(key=lambda row, p=position: _null_first(row[p : p + 1]), reverse=descends)  # type: ignore[misc]
        keys = [tuple(row[p] for p, _ in then.order) for row in ordered]
        for index, row in enumerate(ordered):
            first = keys.index(keys[index])
            rank = {"ROW_NUMBER": index, "RANK": first}.get(then.function, len(set(keys[:first]))) + 1
            if HOLDS[then.op](rank, then.limit):
                found[tuple(row[s.outputs[0]] if s.outputs else rank for s in then.shown)] += 1
    return found


def _null_first(row: Sequence[Any]) -> Any:
    return [(value is not None, value if value is not None else 0) for value in row]


def made(then: Ranking, retracts: bool, times: Times = TIMES) -> Ranks:
    return Ranks(then, TYPES, times, retracts)


def added(total: Counter[Row], changes: Mapping[Row, int]) -> None:
    for row, count in changes.items():
        assert count
        total[row] += count


def resumed(one: Ranks, then: Ranking, retracts: bool, times: Times = TIMES) -> Ranks:
    text = json.dumps(one.dump())
    found = made(then, retracts, times)
    found.load(json.loads(text))
    assert json.dumps(found.dump()) == text
    assert found.stored_units == one.stored_units
    return found


@given(then=rankings(), bag=st.lists(st.tuples(rows, st.integers(1, 3)), max_size=10), data=st.data())
def test_rows_that_only_come(then: Ranking, bag: list[tuple[Row, int]], data: st.DataObject) -> None:
    """A history is cut between any two times; those of one batch come in any order."""
    cuts = sorted(data.draw(st.sets(st.integers(0, 5))))
    whole, parts, total = made(then, False), made(then, False), Counter[Row]()
    seen, every = Counter[Row](), Counter[Row]()
    for row, count in bag:
        every[row] += count
    for low, high in zip([-1, *cuts], [*cuts, 9], strict=True):
        batch = Counter({row: count for row, count in every.items() if low < row[TIME] <= high})
        seen.update(batch)
        added(total, parts.take([dict(batch)]))
        assert +total == total == defined(then, seen)
        parts = resumed(parts, then, False)
        number, each = ranked(then, len(TYPES), False)
        open_ = {tuple(row[p] for p in then.partition) for row in seen}
        assert parts.stored_units <= number * len(open_) + each * len(seen)
    assert {row: n for row, n in whole.take([every]).items()} == dict(+total)
    assert json.dumps(whole.dump()) == json.dumps(parts.dump())
    if TIME in then.partition and every:
        latest = max(row[TIME] for row in every)
        assert parts.stored_units <= sum(len(row) + 1 for row in every if row[TIME] == latest)


@given(
    then=rankings(),
    changes=st.lists(st.tuples(rows, st.integers(1, 3), st.integers(0, 3)), max_size=8),
    data=st.data(),
)
def test_rows_that_are_taken_back(
    then: Ranking, changes: list[tuple[Row, int, int]], data: st.DataObject
) -> None:
    came = [(row, count) for row, count, _ in changes]
    gone = [(row, -min(count, back)) for row, count, back in changes]
    cut = data.draw(st.integers(0, len(came)))
    steps = [came[:cut], [*came[cut:], *gone[:cut]], gone[cut:]]
    one, total, now = made(then, True, Times()), Counter[Row](), Counter[Row]()
    for step in steps:
        batch = Counter[Row]()
        for row, count in step:
            batch[row] += count
        for row, count in batch.items():
            now[row] += count
        added(total, one.take([batch]))
        assert {row: n for row, n in total.items() if n} == dict(defined(then, +now))
        one = resumed(one, then, True, Times())
    final = made(then, True, Times())
    final.take([dict(+now)])
    assert json.dumps(final.dump()) == json.dumps(one.dump())
    number, each = ranked(then, len(TYPES), True)
    assert one.stored_units <= each * len(+now) + number


def test_what_is_displaced_is_answered_once_and_forgotten() -> None:
    shown = (Shown("real", DOUBLE, (REAL,)),)
    one = made(Ranking("ROW_NUMBER", (), ((REAL, False),), Op.GT, 1, shown), False)
    assert one.take([{(0, 0, 2.0, "", 0): 1}]) == {}
    assert one.take([{(1, 0, 1.0, "", 0): 1, (1, 0, 3.0, "", 0): 2}]) == {(2.0,): 1, (3.0,): 2}
    assert one.stored_units == 6


def test_a_partition_is_dropped_when_its_time_is_over_and_rows_may_be_late() -> None:
    shown = (Shown("time", INT, (TIME,)), Shown("rest", INT, (REST,)))
    one = made(
        Ranking("ROW_NUMBER", (TIME,), ((REST, True),), Op.LE, 1, shown), False, Times({TIME: (0, 0)}, 2)
    )
    assert one.take([{(0, 0, 0.0, "", 1): 1}, {(2, 0, 0.0, "", 1): 1}]) == {(0, 1): 1, (2, 1): 1}
    assert one.take([{(0, 0, 0.0, "", 2): 1}]) == {(0, 1): -1, (0, 2): 1}
    assert one.stored_units == 12
    assert one.take([{(3, 0, 0.0, "", 2): 1}]) == {(3, 2): 1}
    assert [row[0] for row in one.dump()["rows"]] == [2, 3]


@pytest.mark.parametrize(
    ("op", "limit"), [(Op.LE, 0), (Op.LT, 1), (Op.EQ, 0), (Op.GE, 1), (Op.GT, 0), (Op.NE, 0)]
)
def test_nothing_is_kept_where_all_ranks_are_alike(op: Op, limit: int) -> None:
    one = made(Ranking("RANK", (KEY,), ((REAL, False),), op, limit, (Shown("key", INT, (KEY,)),)), False)
    found = one.take([{(0, 0, 0.0, "", 1): 2}])
    assert found == ({(0,): 2} if op in (Op.GE, Op.GT, Op.NE) else {})
    assert one.stored_units == 0
