"""The laws of rings, and that weights of rows merge in any order and grouping."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.query.ring import BOOLEANS, INTEGERS, Ring, Weight

RINGS = {INTEGERS: st.integers(-(10**40), 10**40), BOOLEANS: st.integers(0, 1)}
each_ring = pytest.mark.parametrize("ring", RINGS, ids=lambda ring: ring.name)


def three(ring: Ring) -> st.SearchStrategy[tuple[Weight, Weight, Weight]]:
    return st.tuples(*[RINGS[ring]] * 3)


@each_ring
@given(data=st.data())
def test_axioms_of_a_commutative_semiring(ring: Ring, data: st.DataObject) -> None:
    a, b, c = data.draw(three(ring))
    for combined, neutral in ((ring.add, ring.zero), (ring.multiply, ring.one)):
        assert combined(a, combined(b, c)) == combined(combined(a, b), c)
        assert combined(a, b) == combined(b, a)
        assert combined(a, neutral) == a
    assert ring.multiply(a, ring.add(b, c)) == ring.add(ring.multiply(a, b), ring.multiply(a, c))
    assert ring.multiply(a, ring.zero) == ring.zero


@each_ring
@given(data=st.data())
def test_idempotent_is_said_of_every_weight(ring: Ring, data: st.DataObject) -> None:
    weight = data.draw(RINGS[ring].filter(bool))
    assert (ring.add(weight, weight) == weight) is ring.idempotent


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_a_count_is_true_where_it_is_not_zero(counts: list[int]) -> None:
    """Tuples are held with their number: the Booleans are the image of the numbers, so both orders agree."""
    assert reduce(BOOLEANS.add, counts, BOOLEANS.zero) == bool(sum(counts))
    assert reduce(BOOLEANS.multiply, counts, BOOLEANS.one) == bool(reduce(INTEGERS.multiply, counts))


@each_ring
@given(data=st.data())
def test_totals_merge_in_any_order_and_grouping(ring: Ring, data: st.DataObject) -> None:
    weighted = data.draw(st.lists(st.tuples(st.sampled_from("abc"), RINGS[ring]), max_size=8))
    cut = data.draw(st.integers(0, len(weighted)))
    one, other = ring.total(weighted[:cut]), ring.total(weighted[cut:])
    whole = {key: reduce(ring.add, [w for k, w in weighted if k == key]) for key, _ in weighted}
    assert ring.total([*one.items(), *other.items()]) == whole
    assert ring.total([*other.items(), *one.items()]) == whole
    assert ring.total(data.draw(st.permutations(weighted))) == whole
