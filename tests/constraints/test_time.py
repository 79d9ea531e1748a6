"""The time preorder: by example, as a preorder, and against whether gaps without end are possible."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from tests.constraints.small import named, query
from tests.strategies import Case, timed_cases

from streambound.constraints.closure import Closure, Difference, below
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.query.model import Query

# More than all offsets and constants that are drawn together.
FAR = 1_000


def order(where: str, tables: str = "X, Y, Z") -> TimeOrder:
    return TimeOrder(system(query(where, tables=tables)))


@given(timed_cases())
def test_a_stream_precedes_another_unless_it_can_come_any_time_later(case: Case) -> None:
    assert isinstance(case.query, Query)
    facts = system(case.query)
    assume(facts.satisfiable())
    time = TimeOrder(facts)
    assert {o.alias for o in case.query.streams} >= set(time.infinite)
    for early in time.infinite:
        for late in time.infinite:
            if early in time.stamps and late in time.stamps and early != late:
                later = facts.satisfiable([Difference(time.stamps[late], time.stamps[early], -FAR)])
                assert time.precedes(early, late) is not later
    for alias in time.stamps:
        ends = not facts.satisfiable([Difference(None, time.stamps[alias], -FAR)])
        assert (alias in time.finite) is ends


@given(timed_cases())
def test_it_is_a_preorder_and_composites_are_its_classes(case: Case) -> None:
    assert isinstance(case.query, Query)
    facts = system(case.query)
    assume(facts.satisfiable())
    time = TimeOrder(facts)
    streams = time.infinite
    assert sorted(a for composite in time.composites for a in composite) == sorted(streams)
    for one in streams:
        assert one in time.down(one) and time.precedes(one, one)
        assert time.completes(one) is (time.down(one) == set(streams))
        for other in streams:
            assert (other in time.down(one)) is time.precedes(other, one)
            assert time.precedes(other, one) is (time.down(other) <= time.down(one))
            assert time.together(one, other) is any(
                {one, other} <= composite for composite in time.composites
            )


@pytest.mark.parametrize(
    ("where", "composites", "complete"),
    [
        ("X.ts < Y.ts AND Y.ts <= Z.ts", "X Y Z", "Z"),
        ("X.ts <= Y.ts + 2 AND Y.ts <= X.ts + 2", "XY Z", ""),
        ("X.ts = Y.ts AND Y.ts < Z.ts + 5", "XY Z", "Z"),
        ("X.ts <> Y.ts", "X Y Z", ""),
        ("X.ts < 9 AND Y.ts < Z.ts", "Y Z", "Z"),
    ],
)
def test_composites(where: str, composites: str, complete: str) -> None:
    time = order(where)
    assert [sorted(one) for one in time.composites] == [list(names) for names in composites.split()]
    assert [alias for alias in time.infinite if time.completes(alias)] == list(complete)


def test_streams_are_finite_that_are_declared_so_or_end_with_one_that_is() -> None:
    time = order("X.ts <= P.ts + 3 AND Y.ts < 9", "X, Y, Z, P")
    assert time.finite == {"X", "Y", "P"} and time.infinite == ("Z",)
    assert time.precedes("P", "Z") and not time.precedes("Z", "P")
    assert time.stamps == {alias: named(f"{alias}.ts") for alias in "XYP"}


def test_a_split_stands_for_the_comparisons_of_the_query() -> None:
    facts = system(query("X.ts <> Y.ts", tables="X, Y"))
    assert facts.closure is not None
    split: Closure | None = facts.closure.assume([below(named("X.ts"), named("Y.ts"))])
    assert TimeOrder(facts, split).precedes("X", "Y") and not TimeOrder(facts).precedes("X", "Y")
    assert TimeOrder(facts, split).closure is split and TimeOrder(facts).closure is facts.closure
