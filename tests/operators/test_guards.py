"""Guards: the changes add up to the rows that pass, over all that came, however; what is kept ends."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.operators.joining.guards import Guards
from streambound.operators.rows.operator import Row
from streambound.plan.conditions import test_of as holding
from streambound.plan.flow import Guarded, Range, Sought, Times
from streambound.query.column_types import parse_type
from streambound.query.formula import Formula, all_of, any_of
from streambound.query.model import Attribute, Constant, Filter, Join, NullTest, Op

INT = parse_type("int")
TIME, KEY, VALUE = range(3)
OUTER = {Attribute("S", name): p for p, name in enumerate(("ts", "K", "A"))}
INNER = {Attribute("T", name): p for p, name in enumerate(("ts", "K", "B"))}
S, T = list(OUTER), list(INNER)

values = st.sampled_from([0, 1, 2, None])


@st.composite
def formulas(draw: st.DrawFn) -> Formula:
    """Comparisons of times, keys and values, tests of one side, and OR."""

    def atom() -> Formula:
        kind = draw(st.sampled_from(["time", "time", "key", "value", "test", "null"]))
        op = draw(st.sampled_from(list(Op)))
        if kind == "time":
            return Join(S[TIME], op, T[TIME], offset=draw(st.integers(-2, 2)))
        if kind == "key":
            return Join(T[KEY], Op.EQ, S[KEY])
        if kind == "value":
            return Join(S[draw(st.sampled_from([KEY, VALUE]))], op, T[draw(st.sampled_from([KEY, VALUE]))])
        side = draw(st.sampled_from([*S[1:], *T[1:]]))
        if kind == "null":
            return NullTest(side, draw(st.booleans()))
        return Filter(side, op, Constant(1, "1", INT))

    parts = [atom() for _ in range(draw(st.sampled_from([0, 1, 1, 2])))]
    if not parts or draw(st.integers(0, 3)) == 0:
        parts.append(any_of([atom(), all_of([atom() for _ in range(draw(st.integers(1, 2)))])]))
    return all_of(parts)


@st.composite
def guards(draw: st.DrawFn) -> Guarded:
    sought = [
        Sought(draw(formulas()), draw(st.booleans()), OUTER, INNER)
        for _ in range(draw(st.sampled_from([1, 1, 2])))
    ]
    shown = draw(st.sampled_from([(KEY,), (VALUE, TIME), ()]))
    return Guarded(shown, tuple(sought), draw(st.booleans()))


# What arrives, and how late: the number of the input, and a row.
Arrivals = list[tuple[int, Row]]


@st.composite
def arrivals(draw: st.DrawFn, inputs: int, delay: int) -> Arrivals:
    some = st.tuples(
        st.integers(0, inputs),
        st.tuples(st.integers(0, 5), values, values),
        st.integers(0, delay),
    )
    found = draw(st.lists(some, max_size=20))
    return [(n, row) for n, row, late in sorted(found, key=lambda one: one[1][TIME] + one[2])]


def passing(operation: Guarded, arrived: Arrivals) -> Counter[Row]:
    """The rows that pass, by what the guards say."""
    found: Counter[Row] = Counter()
    for number, row in arrived:
        if number == 0 and all(_passes(n, one, row, arrived) for n, one in enumerate(operation.sought, 1)):
            found[tuple(row[p] for p in operation.shown)] += 1
    return found


def _passes(number: int, one: Sought, row: Row, arrived: Arrivals) -> bool:
    columns = {**OUTER, **{a: p + len(OUTER) for a, p in INNER.items()}}
    holds = holding(one.formula, columns)
    return one.negated is not any(holds((*row, *other)) for n, other in arrived if n == number)


def same(operation: Guarded, changes: Counter[Row], arrived: Arrivals) -> bool:
    """Whether changes add up to the rows that pass; of distinct ones, however often."""
    now = {row: n for row, n in changes.items() if n}
    if not operation.distinct:
        return now == passing(operation, arrived)
    return set(now) == set(passing(operation, arrived)) and min(now.values(), default=1) > 0


def inputs_of(operation: Guarded, some: Arrivals) -> list[Counter[Row]]:
    return [Counter(row for n, row in some if n == i) for i in range(len(operation.sought) + 1)]


def operator(operation: Guarded, delay: int = 0) -> Guards:
    return Guards(operation, [Times({TIME: (0, 0)}, delay)] * (len(operation.sought) + 1))


def cut(arrived: Arrivals, positions: Sequence[int]) -> Iterator[Arrivals]:
    # Mostly one by one: then all that can be forgotten early is.
    every = range(len(arrived)) if len(positions) < 3 else positions
    ends = [*sorted(p % (len(arrived) + 1) for p in every), len(arrived)]
    for start, end in zip([0, *ends], ends, strict=False):
        yield arrived[start:end]


@given(
    data=st.data(),
    operation=guards(),
    delay=st.integers(0, 2),
    places=st.lists(st.integers(0, 20), max_size=4),
)
def test_the_changes_add_up_however_rows_come_and_equal_rows_leave_equal_states(
    data: st.DataObject, operation: Guarded, delay: int, places: list[int]
) -> None:
    arrived = data.draw(arrivals(len(operation.sought), delay))
    whole = operator(operation, delay)
    assert same(operation, Counter(whole.take(inputs_of(operation, arrived))), arrived)
    kept, total, seen = operator(operation, delay), Counter[Row](), list[Any]()
    for some in cut(arrived, places):
        seen += some
        changes = kept.take(inputs_of(operation, some))
        assert all(changes.values())
        total.update(changes)
        assert same(operation, total, seen)
        again = operator(operation, delay)
        again.load(json.loads(json.dumps(kept.dump())))
        assert (again.dump(), again.stored_units) == (kept.dump(), kept.stored_units)
        kept = again
    assert json.dumps(kept.dump()) == json.dumps(whole.dump())
    assert kept.stored_units == whole.stored_units


def time(op: Op, offset: int = 0) -> Join:
    return Join(S[TIME], op, T[TIME], offset=offset)


SAME = Join(S[KEY], Op.EQ, T[KEY])


@pytest.mark.parametrize(
    ("formula", "negated", "rows", "units"),
    [
        # Within three ticks either way: what is older is gone.
        (all_of([SAME, time(Op.LE, 3), time(Op.GE, -3)]), True, 100, 30),
        # Only earlier tuples count: each row is settled when time goes on, and of a key the first is kept.
        (all_of([SAME, time(Op.GE)]), True, 100, 30),
        # Rows wait for a later tuple: told apart by what they show and the key.
        (all_of([SAME, time(Op.LE)]), False, 100, 40),
        # The greatest B of all earlier tuples stands for them.
        (all_of([Join(S[VALUE], Op.LT, T[VALUE]), time(Op.GT)]), False, 100, 6),
        # A key that no tuple has: nothing waits for it.
        (all_of([SAME, time(Op.LT)]), True, 100, 40),
    ],
)
def test_what_is_kept_does_not_grow(formula: Formula, negated: bool, rows: int, units: int) -> None:
    ranges = {KEY: Range(0, 2)}
    sought = Sought(formula, negated, OUTER, INNER, ranges, ranges)
    found = operator(Guarded((KEY,), (sought,)))
    peak = 0
    for moment in range(rows):
        row = (moment, moment % 5, moment)
        found.take([{row: 1}, {row: 1}])
        peak = max(peak, found.stored_units)
    assert peak <= units


def test_a_row_is_not_settled_while_tuples_of_its_last_time_may_come() -> None:
    kept = operator(Guarded((KEY,), (Sought(time(Op.GT, -2), True, OUTER, INNER),)))
    assert kept.take([{(3, 7, 0): 1, (4, 8, 0): 1}, {}]) == {(7,): 1, (8,): 1}
    assert kept.take([{}, {(4, 0, 0): 1}]) == {(7,): -1, (8,): -1}


def test_of_equal_times_any_order_is_the_same_and_a_match_takes_a_row_back() -> None:
    sought = Sought(all_of([SAME, time(Op.LE, 0)]), True, OUTER, INNER)
    kept = operator(Guarded((KEY, VALUE), (sought,)))
    assert kept.take([{(1, 7, 5): 2}, {}]) == {(7, 5): 2}
    assert kept.take([{}, {(0, 7, None): 1}]) == {}
    assert kept.take([{(1, 7, 5): 1}, {(1, 7, None): 1}]) == {(7, 5): -2}
    assert kept.take([{(2, 7, 5): 1}, {}]) == {(7, 5): 1}
