"""Closure against brute force over small values."""

from __future__ import annotations

from itertools import product

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.constraints.small import met

from streambound.constraints.closure import Closure, Difference, at_least, at_most, below
from streambound.query.model import Attribute

ATTRIBUTES = [Attribute("S", name) for name in "ABC"]
VALUES = range(-3, 4)
INSIDE = [*(at_least(a, -3) for a in ATTRIBUTES), *(at_most(a, 3) for a in ATTRIBUTES)]

differences = st.builds(
    Difference,
    high=st.sampled_from([*ATTRIBUTES, None]),
    low=st.sampled_from([*ATTRIBUTES, None]),
    by=st.integers(-2, 2),
    strict=st.booleans(),
).filter(lambda d: d.high != d.low)


def models(constraints: list[Difference]) -> list[dict[Attribute | None, int]]:
    found = [dict(zip([*ATTRIBUTES, None], [*v, 0], strict=True)) for v in product(VALUES, repeat=3)]
    return [m for m in found if all(met(c, m) for c in constraints)]


@given(st.lists(differences, max_size=6))
def test_integer_closure_is_exact(constraints: list[Difference]) -> None:
    closure = Closure.over(dict.fromkeys(ATTRIBUTES, 1)).assume([*INSIDE, *constraints])
    found = models(constraints)
    assert (closure is not None) is bool(found)
    if closure is None:
        return
    for high, low in product([*ATTRIBUTES, None], repeat=2):
        assert closure.bound(high, low) == (max(m[high] - m[low] for m in found), False)


@given(st.lists(differences, max_size=6), st.randoms())
def test_the_order_of_constraints_does_not_matter(constraints: list[Difference], random: st.randoms) -> None:
    shuffled = list(constraints)
    random.shuffle(shuffled)
    one = Closure.over({ATTRIBUTES[0]: 1, ATTRIBUTES[1]: None, ATTRIBUTES[2]: 2}).assume(constraints)
    other = Closure.over({ATTRIBUTES[0]: 1, ATTRIBUTES[1]: None, ATTRIBUTES[2]: 2}).assume(shuffled)
    assert (one is None) is (other is None)
    assert one is None or other is None or one.matrix == other.matrix


@given(st.lists(differences, max_size=5))
def test_dense_closure_contradicts_only_on_a_strict_cycle(constraints: list[Difference]) -> None:
    dense = Closure.over(dict.fromkeys(ATTRIBUTES)).assume(constraints)
    # Eighths are fine enough for cycles of at most four nodes: each strict step costs one of them.
    doubled = [Difference(c.high, c.low, 8 * c.by - c.strict, False) for c in constraints]
    integer = Closure.over(dict.fromkeys(ATTRIBUTES, 1)).assume(doubled)
    assert (dense is None) is (integer is None)


@given(st.lists(differences, max_size=6), differences)
def test_what_it_says_of_two_attributes_is_what_all_models_say(
    constraints: list[Difference], one: Difference
) -> None:
    closure = Closure.over(dict.fromkeys(ATTRIBUTES, 1)).assume([*INSIDE, *constraints])
    assume(closure is not None)
    assert closure is not None
    found = models(constraints)
    # A strict bound of integers is one that is a unit tighter, which is how it is asked for.
    asked = Difference(one.high, one.low, one.by - one.strict)
    assert closure.implies(asked) is all(met(one, m) for m in found)
    assert closure.allows(one) is closure.admits([one]) is any(met(one, m) for m in found)
    assert closure.allows(one) is (closure.assume([one]) is not None)
    assert not closure.free(one.high, one.low) and Closure.over({ATTRIBUTES[0]: 1}).free(ATTRIBUTES[0], None)
    for a, b in product(ATTRIBUTES, repeat=2):
        assert closure.orders(a, b) is all(m[a] <= m[b] for m in found)
        assert closure.equates(a, b) is all(m[a] == m[b] for m in found)
    for a in ATTRIBUTES:
        assert closure.upper(a) == (max(m[a] for m in found), False)
        assert closure.lower(a) == (min(m[a] for m in found), False)


@given(st.lists(differences, max_size=6), st.sets(st.sampled_from(ATTRIBUTES)), st.integers(1, 5))
def test_a_part_and_finer_units_say_the_same(
    constraints: list[Difference], some: set[Attribute], factor: int
) -> None:
    closure = Closure.over({ATTRIBUTES[0]: 1, ATTRIBUTES[1]: None, ATTRIBUTES[2]: 2}).assume(constraints)
    assume(closure is not None)
    assert closure is not None
    part, finer = closure.among(some), closure.scaled(factor)
    assert part.index.keys() == {None, *some}
    for high, low in product([None, *some], repeat=2):
        bound = closure.bound(high, low)
        assert part.bound(high, low) == bound
        assert finer.bound(high, low) == (None if bound is None else (factor * bound[0], bound[1]))
        assert finer.strict_steps(high, low) == closure.strict_steps(high, low)
        assert closure.free(high, low) is (None in (bound, closure.bound(low, high)))


def test_steps_that_mix_round_again() -> None:
    even, odd, dense = ATTRIBUTES
    closure = Closure.over({even: 2, odd: 1, dense: None})
    assert closure.mixed and not closure.among([even]).mixed
    assert [closure.dense(node) for node in (even, dense, None)] == [False, True, True]
    found = closure.assume([below(even, odd), at_most(odd, 4), below(dense, even)])
    assert found is not None
    assert found.upper(even) == (2, False) and found.upper(dense) == (2, True)
    assert found.strict_steps(dense, even) == 1 and found.strict_steps(even, None) == 0
    # Of these alone neither contradicts; the dense one between two even ones does.
    between = [at_least(even, 0, strict=True), at_most(even, 2, strict=True)]
    assert closure.assume(between) is None and not closure.admits(between)


@given(st.lists(differences, max_size=6), st.permutations([1, 2, 3]))
def test_no_model_is_lost_where_steps_mix(constraints: list[Difference], steps: list[int]) -> None:
    by_attribute = dict(zip(ATTRIBUTES, steps, strict=True))
    closure = Closure.over(by_attribute).assume([*INSIDE, *constraints])
    found = [m for m in models(constraints) if all(m[a] % step == 0 for a, step in by_attribute.items())]
    for high, low in product([*ATTRIBUTES, None], repeat=2) if found else ():
        assert closure is not None
        bound = closure.bound(high, low)
        assert bound is not None and max(m[high] - m[low] for m in found) <= bound[0]


def test_a_bound_has_its_place() -> None:
    closure = Closure.over({ATTRIBUTES[0]: 1})
    i, j, value = closure.bound_of(at_most(ATTRIBUTES[0], 3, strict=True))
    found = closure.assume([at_most(ATTRIBUTES[0], 3, strict=True)])
    assert found is not None and (i, j) == (1, 0)
    assert found.matrix[i][j] == value and found.upper(ATTRIBUTES[0]) == (2, False)
