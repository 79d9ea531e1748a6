"""As-of joins: the rows with the last tuples before them, or the first after, however these came; what is
kept is these, or the rows that wait.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.operators.joining.versions import LastVersions
from streambound.operators.joining.waiting import NextVersions
from streambound.operators.rows.operator import Row
from streambound.plan.conditions import test_of as holding
from streambound.plan.flow import LookedUp, Range, Times
from streambound.query.formula import ALWAYS
from streambound.query.model import Attribute, Join, NullTest, Op

TIME, KEY, VALUE = range(3)
ROW = {Attribute("S", name): p for p, name in enumerate(("ts", "K", "A"))}
TUPLE = {Attribute("T", name): p for p, name in enumerate(("ts", "K", "B"))}
S, T = list(ROW), list(TUPLE)
WHOLE = {**ROW, **{a: p + len(ROW) for a, p in TUPLE.items()}}

values = st.none() | st.integers(0, 2)
rows = st.tuples(st.integers(0, 9), values, values)


@st.composite
def joins(draw: st.DrawFn) -> LookedUp:
    beyond = NullTest(T[VALUE], draw(st.booleans())) if draw(st.booleans()) else ALWAYS
    where = Join(S[VALUE], draw(st.sampled_from(list(Op))), T[VALUE]) if draw(st.booleans()) else ALWAYS
    tolerance, ahead = draw(st.none() | st.integers(0, 4)), draw(st.booleans())
    return LookedUp(
        keys=((KEY, KEY),) if draw(st.booleans()) else (),
        ranges=(Range(),),
        left=TIME,
        right=TIME,
        strict=draw(st.booleans()),
        tolerance=tolerance,
        outer_join=draw(st.booleans()),
        where=where,
        outer=ROW,
        inner=TUPLE,
        kept=(TIME, KEY, VALUE),
        formula=beyond,
        columns=WHOLE,
        shown=(VALUE, len(ROW) + VALUE, len(ROW) + TIME),
        ahead=ahead,
        timely=ahead and tolerance is not None,
    )


def found(join: LookedUp, some: list[Row], tuples: list[Row]) -> Counter[Row]:
    """The rows with the last tuples before them, or the first after them."""
    answer: Counter[Row] = Counter()
    nearest = min if join.ahead else max
    for row in some:
        fitting = [t for t in tuples if _fits(join, row, t)]
        last = [t for t in fitting if t[TIME] == nearest(one[TIME] for one in fitting)]
        for one in last or ([(None,) * len(TUPLE)] if join.outer_join else []):
            whole = (*row, *one)
            if holding(join.formula, WHOLE)(whole):
                answer[tuple(whole[p] for p in join.shown)] += 1
    return answer


def _fits(join: LookedUp, row: Row, one: Row) -> bool:
    equal = all(row[a] is not None and row[a] == one[b] for a, b in join.keys)
    first, second = (row, one) if join.ahead else (one, row)
    near = join.tolerance is None or second[TIME] - first[TIME] <= join.tolerance
    before = first[TIME] < second[TIME] if join.strict else first[TIME] <= second[TIME]
    return equal and near and before and holding(join.where, WHOLE)((*row, *one))


def operator(join: LookedUp, delay: int = 0) -> LastVersions | NextVersions:
    join = LookedUp(**{**vars(join), "ranges": join.ranges[: len(join.keys)]})
    return (
        NextVersions(join)
        if join.ahead
        else LastVersions(join, [Times({TIME: (0, 0)}, delay), Times({TIME: (0, 0)})])
    )


@given(
    join=joins(),
    some=st.lists(st.tuples(rows, st.integers(0, 2)), max_size=8),
    tuples=st.lists(rows, max_size=8),
    late=st.booleans(),
    ends=st.sets(st.integers(0, 11)),
)
def test_the_changes_add_up_however_rows_come_and_equal_rows_leave_equal_states(
    join: LookedUp, some: list[tuple[Row, int]], tuples: list[Row], late: bool, ends: set[int]
) -> None:
    # What comes late would need what was before.
    delay = 2 if late and not join.ahead else 0
    coming = [(row[TIME] + min(by, delay), 0, row) for row, by in some] + [(t[TIME], 1, t) for t in tuples]
    whole = operator(join, delay)
    answer = whole.take([Counter(row for _, n, row in coming if n == number) for number in (0, 1)])
    assert answer == dict(found(join, [row for row, _ in some], tuples))
    kept, total, last = operator(join, delay), Counter[Row](), -1
    for end in [*sorted(ends), 99]:
        now = [(n, row) for at, n, row in coming if last < at <= end]
        last = end
        changes = kept.take([Counter(row for n, row in now if n == number) for number in (0, 1)])
        assert all(n > 0 for n in changes.values()) or (join.ahead and join.outer_join)
        total.update(changes)
        again = operator(join, delay)
        again.load(json.loads(json.dumps(kept.dump())))
        assert (again.dump(), again.stored_units) == (kept.dump(), kept.stored_units)
        kept = again
    assert {row: n for row, n in total.items() if n} == answer
    assert json.dumps(kept.dump()) == json.dumps(whole.dump())
    assert kept.stored_units == whole.stored_units


@pytest.mark.parametrize(("tolerance", "keys", "units"), [(None, 3, 15), (4, 100, 30)])
def test_of_each_key_the_last_tuple_is_kept_or_those_within_the_tolerance(
    tolerance: int | None, keys: int, units: int
) -> None:
    join = LookedUp(
        keys=((KEY, KEY),),
        ranges=(Range(),),
        left=TIME,
        right=TIME,
        strict=False,
        tolerance=tolerance,
        outer_join=False,
        where=ALWAYS,
        outer={},
        inner={},
        kept=(TIME, KEY, VALUE),
        formula=ALWAYS,
        columns={},
        shown=(VALUE,),
    )
    kept, peak = operator(join), 0
    for moment in range(200):
        one: dict[Row, Any] = {(moment, moment % keys, moment): 1}
        kept.take([one, one])
        peak = max(peak, kept.stored_units)
    assert peak <= units
