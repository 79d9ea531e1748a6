"""Theorem 1: a caching problem is the joining problem of its transformed streams."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulator.definitions import joining_referee, traces
from tests.simulator.reduction import reduced_to_joining, supplied
from tests.simulator.test_caching_policies import memory

from streambound.simulator.policies import ALL
from streambound.simulator.problems import References, references

CACHING = [policy for policy in ALL if policy.caching is not None]


def test_the_example_of_section_2() -> None:
    found = reduced_to_joining(references(["a", "b", "a", "c", "a"]))
    pairs = [[divmod(int(found.values[key]), 6) for key in row] for row in found.arrivals]
    assert pairs == [
        [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)],
        [(0, 1), (1, 1), (0, 2), (2, 1), (0, 3)],
    ]


@pytest.mark.theorem
@pytest.mark.parametrize("policy", CACHING, ids=lambda policy: policy.name)
@given(trace=traces(size=40), size=st.integers(0, 6), bypass=st.booleans(), seed=st.integers(0, 3))
def test_theorem_1_hits_are_join_results(
    policy, trace: References, size: int, bypass: bool, seed: int
) -> None:
    decided = policy.caching(trace, memory(trace, size, bypass, seed))
    joined = supplied(trace, decided)
    joining_referee(reduced_to_joining(trace), size, joined)
    assert (joined.results == decided.hits).all()
