"""The papers' theorems by name: each polynomial criterion against the enumeration of every branch.

``enumeration`` checks the conditions as written in every locally totally ordered branch;
``make properties`` runs these tests on thousands of random queries with named seeds.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.boundedness.test_theorems import each_mix
from tests.papers.enumeration import arasu_by_enumeration, schiff_ozcep_by_enumeration
from tests.strategies import cases, timed_cases

from streambound.papers import arasu, schiff_ozcep
from streambound.query.ring import BOOLEANS, INTEGERS, Ring

pytestmark = pytest.mark.theorem


@each_mix
@given(data=st.data())
def test_algorithm_b1_decides_arasu_theorem_4_3(types: tuple[str, ...], data: st.DataObject) -> None:
    _agrees_with_branches_of_arasu(data, types, INTEGERS)


@each_mix
@given(data=st.data())
def test_algorithm_b1_decides_arasu_theorem_5_3(types: tuple[str, ...], data: st.DataObject) -> None:
    _agrees_with_branches_of_arasu(data, types, BOOLEANS)


def _agrees_with_branches_of_arasu(data: st.DataObject, types: tuple[str, ...], ring: Ring) -> None:
    case = data.draw(cases(types, statics=False))
    query = replace(case.query, ring=ring)
    assume(arasu.applies(query))
    assert arasu.arasu(query).bounded is arasu_by_enumeration(query), case.sql


@each_mix
@given(data=st.data())
def test_schiff_ozcep_theorem_1(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(cases(types))
    query = replace(case.query, ring=INTEGERS)
    assert schiff_ozcep.schiff_ozcep(query).bounded is schiff_ozcep_by_enumeration(query), case.sql


@each_mix
@given(data=st.data())
def test_schiff_ozcep_theorem_2(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(cases(types))
    query = replace(case.query, ring=BOOLEANS)
    assert schiff_ozcep.schiff_ozcep(query).bounded is schiff_ozcep_by_enumeration(query), case.sql


@pytest.mark.parametrize("ring", [INTEGERS, BOOLEANS], ids=["theorem_1", "theorem_2"])
@given(data=st.data())
def test_schiff_ozcep_with_time(ring: Ring, data: st.DataObject) -> None:
    case = data.draw(timed_cases())
    query = replace(case.query, ring=ring)
    assume(schiff_ozcep.applies(query))
    assert schiff_ozcep.schiff_ozcep(query).bounded is schiff_ozcep_by_enumeration(query), case.sql
