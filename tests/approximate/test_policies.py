"""The contract of a policy: one function of a tuple's facts, for queries and for the simulator."""

from __future__ import annotations

import sys
from math import inf, nan
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.approximate.test_online import CHANCES, EVER, given_of, knowing
from tests.simulator.definitions import by_score, joined_streams

from streambound.approximate.kernels.candidate import Candidate, Facts, facts_of
from streambound.approximate.kernels.online import play
from streambound.approximate.nightly.benchmark import ALPHAS, contenders
from streambound.approximate.policies import POLICIES, Policy
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.errors import DataError
from streambound.simulator.contract import Memory
from streambound.simulator.policies import NAMED
from streambound.simulator.policies.by_worth import by_worth
from streambound.simulator.problems import Streams

numbers = st.floats(0, 1e6)
candidates = st.builds(Candidate, *[numbers] * 4, numbers | st.just(inf), *[numbers] * 2)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
class TestEveryPolicy:
    @given(candidate=candidates)
    def test_needs_no_fact_that_its_code_does_not_name(self, policy: Policy, candidate: Candidate) -> None:
        unasked = {fact: nan for fact, asked in policy.facts._asdict().items() if not asked}
        assert policy.worth(candidate) == policy.worth(candidate._replace(**unasked))

    @given(candidate=candidates)
    def test_is_above_what_nothing_can_join_any_more(self, policy: Policy, candidate: Candidate) -> None:
        assert policy.worth(candidate) >= 0

    def test_is_played_by_the_simulator(self, policy: Policy) -> None:
        assert NAMED[policy.name].joining is not None
        assert NAMED[policy.name].title == policy.leaves


def worth(candidate: Candidate) -> float:
    """Of no policy there is: how often a tuple was used in its time."""
    return (candidate.uses + 1.0) / (candidate.used - candidate.arrived + 1.0)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Policy:
    """A policy as its five steps add it: a module with a function, and a name."""
    module = ModuleType("streambound.approximate.policies.rate")
    module.worth = worth
    monkeypatch.setitem(sys.modules, module.__name__, module)
    policy = Policy("rate", "the least often used in its time", "tab:cyan", "*")
    monkeypatch.setitem(POLICIES, policy.name, policy)
    return policy


def test_a_new_policy_is_one_function_and_one_name(added: Policy) -> None:
    assert [each.policy for each in contenders(["fifo", "rate"])] == ["fifo", "rate"]
    assert SelectedPolicy("rate").policy == "rate" and not added.learned
    tuples = [(0, 0, 0), (0, 1, 1), (1, 0, 2), (0, 2, 3)]
    # The tuple of step 0 was used once in two steps, the others never, in none.
    played = play(given_of(tuples, -EVER, EVER), added.worth, 3, knowing(CHANCES))
    assert played.cached.tolist() == [1, 2, 3]


@given(given_=joined_streams(count=3, weighted=True, size=15), size=st.integers(1, 5))
def test_the_simulator_plays_the_same_function(given_: Streams, size: int) -> None:
    def score(stream: int, born: int, now: int, met: list[tuple[int, int]]) -> float:
        if given_.window is not None and now >= born + given_.window:
            return -1.0
        last = max([born, *(step for step, _ in met)])
        return worth(Candidate(born, last, sum(made for _, made in met), 0, 0, 0, 0))

    module = ModuleType("streambound.approximate.policies.rate")
    module.worth = worth
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)
        found = by_worth(Policy("rate", "", "", ""), given_, Memory(size))
    results, kept = by_score(given_, size, score)
    assert found.results.tolist() == results
    assert (found.kept_until == kept).all()


def test_what_a_policy_asks_for_decides_how_it_is_tried() -> None:
    assert facts_of(worth) == Facts(False, False, False, False)
    assert [each.alpha for each in contenders(["heeb"])] == list(ALPHAS)
    assert {name for name, policy in POLICIES.items() if policy.learned} == {"prob", "life", "heeb"}
    assert {name for name, policy in POLICIES.items() if policy.facts.lot} == {"rand"}


def test_an_unknown_policy_is_refused_where_it_is_named() -> None:
    with pytest.raises(DataError, match="the policy 'heb' is unknown"):
        contenders(["heb"])
