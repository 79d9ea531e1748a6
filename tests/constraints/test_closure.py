"""Closure against brute force over small values."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from streambound.constraints.closure import Closure, Difference, at_least, at_most
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


def holds(constraint: Difference, values: dict[Attribute | None, int]) -> bool:
    gap = values[constraint.high] - values[constraint.low]
    return gap < constraint.by if constraint.strict else gap <= constraint.by


def models(constraints: list[Difference]) -> list[dict[Attribute | None, int]]:
    found = [dict(zip([*ATTRIBUTES, None], [*v, 0], strict=True)) for v in product(VALUES, repeat=3)]
    return [m for m in found if all(holds(c, m) for c in constraints)]


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
