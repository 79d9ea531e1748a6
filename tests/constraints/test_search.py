"""Searching among choices against brute force, and its limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.constraints.small import assignments, met, named

from streambound.constraints.closure import Closure, Difference, at_least, at_most, below
from streambound.constraints.search import (
    Budget,
    SearchLimit,
    all_made,
    consistent,
    made,
    resolved,
    search,
)

A, B, C = ATTRIBUTES = [named(name) for name in ("S.A", "S.B", "S.C")]
differences = st.builds(
    Difference,
    st.sampled_from([*ATTRIBUTES, None]),
    st.sampled_from([*ATTRIBUTES, None]),
    st.integers(-2, 2),
    st.booleans(),
).filter(lambda one: one.high != one.low)
choices = st.lists(st.tuples(differences, differences), max_size=4)
INSIDE = [bound for a in ATTRIBUTES for bound in (at_least(a, 0), at_most(a, 3))]
DIFFERENT = [(below(one, other), below(other, one)) for one, other in ((A, B), (A, C), (B, C))]


@given(choices)
def test_a_way_is_found_if_values_make_every_choice(found: list[tuple[Difference, Difference]]) -> None:
    start = Closure.over(dict.fromkeys(ATTRIBUTES, 1)).assume(INSIDE)
    assert start is not None
    models = [
        values
        for values in assignments(ATTRIBUTES, range(4))
        if all(met(one, values) or met(other, values) for one, other in found)
    ]
    assert consistent(start, found) is bool(models)
    taken = search(start, found, Budget(1000))
    assert (taken is not None) is bool(models)
    within = resolved(start, tuple(found))
    assert (within is not None) is bool(models)
    if taken is None or within is None:
        return
    assert all_made(start, found, taken) == within
    for disjunction in found:
        assert made(within, disjunction)
    # Between bounds on all sides every choice can fail, so that what was taken makes all of them.
    for values in assignments(ATTRIBUTES, range(4)):
        assert not all(met(one, values) for one in taken) or values in models


@given(choices)
def test_between_dense_values_it_searches_as_between_fine_integers(
    found: list[tuple[Difference, Difference]],
) -> None:
    dense = Closure.over(dict.fromkeys(ATTRIBUTES)).assume(INSIDE)
    fine = Closure.over(dict.fromkeys(ATTRIBUTES, 1)).assume(
        [Difference(one.high, one.low, 8 * one.by, one.strict) for one in INSIDE]
    )
    assert dense is not None and fine is not None
    finer = [
        tuple(Difference(d.high, d.low, 8 * d.by, d.strict) for d in disjunction) for disjunction in found
    ]
    assert consistent(dense, found) is consistent(fine, finer)  # type: ignore[arg-type]


def test_made_is_what_one_option_of_is_implied() -> None:
    closure = Closure.over(dict.fromkeys(ATTRIBUTES, 1)).assume([below(A, B)])
    assert closure is not None
    assert made(closure, DIFFERENT[0]) and not made(closure, DIFFERENT[1])


def test_an_unbounded_difference_takes_no_search() -> None:
    start = Closure.over(dict.fromkeys(ATTRIBUTES, 1))
    assert search(start, DIFFERENT, Budget(1)) == []


def test_no_step_is_taken_past_the_limit() -> None:
    steps = Budget(2)
    steps.take()
    steps.take()
    with pytest.raises(SearchLimit):
        steps.take()
    two = Closure.over(dict.fromkeys(ATTRIBUTES, 1)).assume(
        [bound for a in ATTRIBUTES for bound in (at_least(a, 0), at_most(a, 1))]
    )
    assert two is not None
    # Three values of two are not all different, which takes more than one step to see.
    assert search(two, DIFFERENT, Budget(100)) is None
    with pytest.raises(SearchLimit):
        search(two, DIFFERENT, Budget(1))
