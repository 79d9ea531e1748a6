"""Zones: together they are all values but the known ones, and no value is in two of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.constraints.small import met, named, query

from streambound.constraints.closure import Difference
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.constraints.zones import Zone, on_a_grid, zones
from streambound.query.column_types import Family

A, B = named("F.A"), named("F.B")


@given(st.lists(st.integers(-3, 3), max_size=3), st.fractions(-5, 5, max_denominator=4))
def test_a_value_that_is_not_known_is_in_one_zone(constants: list[int], value: Fraction) -> None:
    where = " AND ".join(f"F.A <> {one}" for one in constants)
    time = TimeOrder(system(query(where, "F.A", "F")))
    inside = [zone for zone in zones(time, A) if all(met(one, {A: value}) for one in zone.holds(A))]
    assert len(inside) == (0 if value in constants else 1)


@given(st.lists(st.integers(-3, 3), max_size=3), st.integers(-5, 5))
def test_between_constants_discrete_values_are_finitely_many(constants: list[int], value: int) -> None:
    where = " AND ".join(f"S.A <> {one}" for one in constants)
    time, attribute = TimeOrder(system(query(where, "S.A", "S"))), named("S.A")
    found = list(zones(time, attribute))
    inside = [zone for zone in found if all(met(one, {attribute: value}) for one in zone.holds(attribute))]
    outside = not constants or not min(constants) <= value <= max(constants)
    assert len(inside) == outside
    assert all(zone.open_above or zone.open_below for zone in found)


def test_where_a_finite_stream_can_cut_both_sides_come_first() -> None:
    time = TimeOrder(system(query("X.A = P.A", "X.A", "X, P")))
    attribute, unknown = named("X.A"), named("P.A")
    high, low, cut = zones(time, attribute)
    assert high.sides == ((unknown, True),) and high.open_above and not high.open_below
    assert low.sides == ((unknown, False),) and low.open_below and not low.open_above
    assert cut.cuts == (unknown,) and not cut.open_above and not cut.open_below


def test_static_values_are_on_one_side_or_cut() -> None:
    time = TimeOrder(system(query("F.K = R.A AND F.A > 0.5", "F.A", "F, R")))
    static, discrete = named("R.A"), named("F.K")
    high, low, *between = zones(time, A)
    assert (high.floor, high.ceiling, high.sides) == (1, None, ((static, True),))
    assert (low.floor, low.ceiling, low.sides) == (None, 1, ((static, False),))
    assert [(zone.floor, zone.ceiling) for zone in between] == [(None, 1), (1, None)]
    assert all(set(zone.cuts) == {static, discrete} for zone in between)


def test_a_cut_lies_below_or_above_and_sides_as_far_away_as_is_asked() -> None:
    zone = Zone(Family.NUMBER, 1, 5, ((named("R.A"), True), (named("R.B"), False)), (named("P.A"),))
    assert zone.between(A, B, 2) == [
        (Difference(named("P.A"), A, -2, True), Difference(B, named("P.A"), -2, True))
    ]
    assert zone.apart(A, B, 2) == [
        Difference(named("R.A"), A, -2, True),
        Difference(B, named("R.B"), -2, True),
    ]
    assert len(zone.holds(A)) == 4


@pytest.mark.parametrize(
    ("where", "grid"), [("F.A = F.K", True), ("F.A < F.K", False), ("F.A = F.B AND F.B = F.K", True)]
)
def test_what_always_equals_a_discrete_attribute_is_on_its_grid(where: str, grid: bool) -> None:
    facts = system(query(where, tables="F"))
    assert on_a_grid(facts, A) is grid and on_a_grid(facts, named("F.K"))
