"""An assignment is a model: it meets the query and the wish, and there is one if anything meets them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.constraints.small import met, named, query
from tests.strategies import cases, timed_cases

from streambound.constraints.assignment import Wish, assignment
from streambound.constraints.closure import Difference
from streambound.constraints.system import constraints_of, system
from streambound.query.model import Query

KINDS = [cases(types) for types in [("int",), ("double", "int"), ("string",), ("decimal(3,1)", "date")]]


@given(data=st.data())
def test_it_meets_every_condition_and_the_wish(data: st.DataObject) -> None:
    found = data.draw(st.one_of(*KINDS, timed_cases())).query
    assert isinstance(found, Query)
    facts = system(found)
    attributes = [*facts.space.mentioned, None]
    literal = st.builds(
        Difference,
        st.sampled_from(attributes),
        st.sampled_from(attributes),
        st.integers(-2, 2),
        st.booleans(),
    ).filter(lambda one: one.high != one.low and _comparable(facts, one))
    literals = data.draw(st.lists(literal, max_size=2)) if facts.space.mentioned else []
    wish = Wish(tuple(literals[:1]), tuple((one, one) for one in literals[1:]))
    numbers = assignment(facts, wish)
    assert (numbers is not None) is facts.satisfiable(wish.literals, wish.disjunctions)
    if numbers is None:
        return
    assert numbers.keys() == set(facts.space.mentioned)
    constraints, disjunctions = constraints_of(facts.space, found.where)
    assert all(met(one, numbers) for one in (*constraints, *wish.literals))
    assert all(met(one, numbers) or met(other, numbers) for one, other in (*disjunctions, *wish.disjunctions))
    for attribute, number in numbers.items():
        step = facts.space.resolution(attribute)
        assert step is None or number % step == 0


def _comparable(facts: Any, one: Difference) -> bool:
    return len({facts.space.family(a) for a in (one.high, one.low) if a is not None}) == 1


@pytest.mark.parametrize(("known", "values"), [("S.A", (1, 2)), ("T.D", (0, 1))])
def test_known_attributes_are_chosen_first(known: str, values: tuple[int, int]) -> None:
    numbers = assignment(system(query("S.A < T.D")), Wish(), [named(known)])
    assert numbers == {named("S.A"): values[0], named("T.D"): values[1]}


def test_there_is_none_of_what_contradicts() -> None:
    assert assignment(system(query("S.A < T.D AND T.D < S.A")), Wish()) is None
