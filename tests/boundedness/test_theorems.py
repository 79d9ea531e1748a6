"""The theorems by name: the polynomial criterion against the enumeration of every branch.

``enumeration`` checks the conditions as written in every locally totally ordered branch;
``make properties`` runs these tests on thousands of random queries with named seeds.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.boundedness.enumeration import bounded_by_enumeration
from tests.boundedness.queries import self_joins, wide_cases
from tests.strategies import cases, timed_cases

from streambound.boundedness.criterion.exact import COMPOSITES_DECIDED, exact
from streambound.boundedness.criterion.folding import folded
from streambound.boundedness.criterion.verdict import Outcome
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.query.ring import BOOLEANS, INTEGERS, Ring

MIXES = [
    ("int",),
    ("double",),
    ("int", "double", "decimal(3,1)"),
    ("string", "boolean"),
    ("date", "int"),
    ("timestamp",),
]

pytestmark = pytest.mark.theorem
each_mix = pytest.mark.parametrize("types", MIXES, ids="-".join)


@each_mix
@given(data=st.data())
def test_theorem_a(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(cases(types, statics=False))
    query = replace(case.query, ring=INTEGERS)
    assert exact(query).bounded is bounded_by_enumeration(query), case.sql


@each_mix
@given(data=st.data())
def test_theorems_b1_and_b2(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(cases(types, statics=False))
    query = replace(case.query, ring=BOOLEANS)
    assert exact(query).bounded is bounded_by_enumeration(query), case.sql


@given(data=st.data())
def test_theorem_a_with_time(data: st.DataObject) -> None:
    case = data.draw(timed_cases())
    query = replace(case.query, ring=INTEGERS)
    assert exact(query).bounded is bounded_by_enumeration(query), case.sql


@given(data=st.data())
def test_theorems_b1_and_b2_with_time(data: st.DataObject) -> None:
    case = data.draw(timed_cases())
    query = replace(case.query, ring=BOOLEANS)
    assert exact(query).bounded is bounded_by_enumeration(query), case.sql


@pytest.mark.parametrize("ring", [INTEGERS, BOOLEANS], ids=["theorem_a", "theorems_b1_and_b2"])
@given(data=st.data())
def test_five_and_six_streams(ring: Ring, data: st.DataObject) -> None:
    case = data.draw(wide_cases())
    query = replace(case.query, ring=ring)
    verdict = exact(query)
    if verdict.outcome is Outcome.UNKNOWN:
        # Only Theorem B2 leaves a question open, and only past five composites.
        assert verdict.reasons[0].code == "open-question" and ring.idempotent
        assert len(TimeOrder(system(query)).composites) > COMPOSITES_DECIDED
        assert bounded_by_enumeration(query), case.sql
    else:
        assert verdict.bounded is bounded_by_enumeration(query), case.sql


@given(data=st.data())
def test_theorem_a_with_self_joins(data: st.DataObject) -> None:
    case = data.draw(self_joins())
    query = replace(case.query, ring=INTEGERS)
    assert exact(query).bounded is bounded_by_enumeration(query), case.sql


@given(data=st.data())
def test_theorem_b2_with_self_joins(data: st.DataObject) -> None:
    case = data.draw(self_joins())
    query = replace(case.query, ring=BOOLEANS)
    verdict = exact(query)
    # Once nothing folds any more, "bounded" is sound; "unbounded" may be unknown.
    assert verdict.bounded is bounded_by_enumeration(folded(query)), case.sql


@each_mix
@given(data=st.data())
def test_no_untimed_query_without_self_joins_is_unknown(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(cases(types))
    assert exact(case.query).outcome in (Outcome.BOUNDED, Outcome.UNBOUNDED), case.sql
