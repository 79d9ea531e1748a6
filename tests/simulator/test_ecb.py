"""ECBs: Lemma 1 and Corollary 1 against the closed forms of section 5 and Appendix O, and dominance."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.simulator import closed_forms as forms
from tests.simulator.dominance import dominated_subset, dominates, strongly_dominates, windowed

from streambound.approximate.models.distribution import Distribution, normal, uniform
from streambound.approximate.models.independent import Deterministic, Stationary, Trend
from streambound.approximate.models.markov import RandomWalk
from streambound.simulator.ecb import caching_ecb, joining_ecb

STEPS = 40
values = st.integers(-25, 25)
widths = st.integers(0, 8)


def history(now: int) -> np.ndarray:
    """Some history up to step ``now``; independent models do not look at it."""
    return np.zeros(now + 1, np.int64)


@given(known=st.lists(st.integers(0, 3), min_size=1, max_size=STEPS), value=st.integers(0, 3))
def test_known_sequences_5_1(known: list[int], value: int) -> None:
    model, future = Deterministic(np.array(known)), np.array(known[1:])
    steps = len(future)
    assert (joining_ecb([model], value, [history(0)], steps) == forms.known_joining(value, future)).all()
    assert (caching_ecb(model, value, history(0), steps) == forms.known_caching(value, future)).all()


@given(p=st.floats(0, 1), now=st.integers(0, 5))
def test_stationary_5_2(p: float, now: int) -> None:
    model = Stationary(Distribution(0, np.array([p, 1 - p])))
    assert joining_ecb([model], 0, [history(now)], STEPS) == pytest.approx(forms.stationary_joining(p, STEPS))
    assert caching_ecb(model, 0, history(now), STEPS) == pytest.approx(
        forms.stationary_caching(p, STEPS), abs=1e-12
    )


@given(value=values, now=st.integers(0, 9), width=widths)
def test_uniform_caching_5_3(value: int, now: int, width: int) -> None:
    assume(value <= now + width)
    found = caching_ecb(Trend(1, 0, uniform(width)), value, history(now), STEPS)
    assert found == pytest.approx(forms.uniform_caching(value, now, width, STEPS), abs=1e-12)


@given(value=values, now=st.integers(0, 9), narrow=widths, more=st.integers(1, 6))
def test_appendix_o(value: int, now: int, narrow: int, more: int) -> None:
    wide = narrow + more
    if value <= now + narrow:
        found = joining_ecb([Trend(1, 0, uniform(wide))], value, [history(now)], STEPS)
        assert found == pytest.approx(forms.uniform_joining_r(value, now, wide, STEPS), abs=1e-12)
    if value <= now + wide:
        found = joining_ecb([Trend(1, 0, uniform(narrow))], value, [history(now)], STEPS)
        assert found == pytest.approx(forms.uniform_joining_s(value, now, narrow, STEPS), abs=1e-12)


def test_appendix_o_as_printed_is_wrong() -> None:
    """S3's zero branch, printed up to v - (t0 + wR): there Lemma 1 already gives 1 / (2 wR + 1)."""
    value, now, narrow = 9, 0, 5
    found = joining_ecb([Trend(1, 0, uniform(narrow))], value, [history(now)], STEPS)
    printed_last_zero = value - (now + narrow)
    assert found[printed_last_zero - 1] == pytest.approx(1 / (2 * narrow + 1))
    assert found[printed_last_zero - 2] == 0


@given(data=st.data(), now=st.integers(0, 9), narrow=widths, more=st.integers(1, 6))
def test_dominance_between_r2_and_s2(data: st.DataObject, now: int, narrow: int, more: int) -> None:
    wide = narrow + more
    of_r = data.draw(st.integers(now - wide + 1, now + narrow))
    of_s = data.draw(st.integers(now - narrow + 1, now + narrow + 1))
    x = forms.uniform_joining_r(of_r, now, wide, STEPS)
    y = forms.uniform_joining_s(of_s, now, narrow, STEPS)
    # Both as fractions of whole numbers, so that equal ones are equal.
    said = (of_s - now + narrow) * (2 * wide + 1) >= (of_r - now + wide) * (2 * narrow + 1)
    assert dominates(y + 1e-12, x) == said
    assert forms.s2_dominates_r2(of_s, of_r, now, narrow, wide) == said or abs(y[-1] - x[-1]) < 1e-12
    # As printed, x would dominate y where its total is larger; at the first step it is behind.
    assert not dominates(x, y)


@given(data=st.data(), deviation=st.floats(0.5, 3), width=st.integers(1, 8), now=st.integers(0, 5))
def test_left_of_a_normal_trend_the_nearer_dominates_5_4(
    data: st.DataObject, deviation: float, width: int, now: int
) -> None:
    model = Trend(1, 0, normal(deviation, width))
    near = data.draw(st.integers(now - width - 3, now + 1))
    far = data.draw(st.integers(near - 9, near - 1))
    one, other = (joining_ecb([model], value, [history(now)], STEPS) for value in (near, far))
    assert dominates(one, other)
    # Strongly only where the noise, which is bounded, still reaches the nearer one.
    assert strongly_dominates(one, other) == (near > now - width)


@given(drift=st.just(0), deviation=st.floats(0.5, 2), position=values, data=st.data())
def test_driftless_walk_5_5(drift: int, deviation: float, position: int, data: st.DataObject) -> None:
    model, past = RandomWalk(drift, normal(deviation)), [np.array([position])]
    found = data.draw(st.lists(st.integers(position - 9, position + 9), min_size=2, max_size=5, unique=True))
    ranked = [found[at] for at in forms.walk_order(np.array(found), position)]
    for make in (lambda v: joining_ecb([model], v, past, 15), lambda v: caching_ecb(model, v, past[0], 15)):
        ecbs = [make(value) for value in ranked]
        for better, worse in pairwise(ecbs):
            # Equal distances tie; the printed strict inequality would not let them.
            assert dominates(better + 1e-12, worse)


@given(
    counts=st.lists(st.integers(1, 9), min_size=2, max_size=6),
    now=st.integers(0, 5),
    left=st.integers(-1, 9),
    value=st.integers(0, 5),
)
def test_windowed_is_the_minimum_of_section_7(counts: list[int], now: int, left: int, value: int) -> None:
    model = Stationary(Distribution(0, np.array(counts) / sum(counts)))
    plain = joining_ecb([model], value, [history(now)], 8)
    expected = np.minimum(plain, plain[min(left, 8) - 1]) if left > 0 else np.zeros(8)
    assert (windowed(plain, left) == expected).all()


def test_benefits_of_partners_add_up() -> None:
    models = [Stationary(Distribution(0, np.array([0.25, 0.75]))), Stationary(uniform(0))]
    assert joining_ecb(models, 0, [history(0)] * 2, 3).tolist() == [1.25, 2.5, 3.75]


@given(
    ecbs=st.lists(
        st.lists(st.integers(0, 2), min_size=2, max_size=3).map(lambda g: np.cumsum(g[:2])),
        min_size=1,
        max_size=6,
    ),
    most=st.integers(0, 6),
)
def test_corollary_2_a_largest_dominated_subset(ecbs: list[np.ndarray], most: int) -> None:
    def dominated(chosen: tuple[int, ...]) -> bool:
        rest = set(range(len(ecbs))) - set(chosen)
        return all(dominates(ecbs[u], ecbs[v]) for u in rest for v in chosen)

    found = dominated_subset(ecbs, most)
    assert dominated(tuple(found)) and len(found) <= most
    sizes = [
        count
        for count in range(min(most, len(ecbs)) + 1)
        if any(dominated(chosen) for chosen in combinations(range(len(ecbs)), count))
    ]
    assert len(found) == max(sizes)
