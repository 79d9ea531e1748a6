"""Numbers stand for a query's values: in their order, and each for one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.constraints.small import named, query
from tests.strategies import cases

from streambound.constraints.space import BOOLEANS, Space, domain_of
from streambound.query.catalog import catalog_from_mapping
from streambound.query.column_types import NAN, Family
from streambound.query.model import Constant, Domain, Query
from streambound.query.parse import parse

TYPES = ("int", "double", "string", "decimal(3,1)", "date", "timestamp", "boolean")


@given(st.one_of(*(cases((kind,)) for kind in TYPES), cases(("double", "int"))))
def test_numbers_keep_the_order_and_tell_values_apart(case: object) -> None:
    found = case.query  # type: ignore[attr-defined]
    assert isinstance(found, Query)
    space = Space(found)
    values = {
        (space.family(atom.attributes[0]), constant.value)
        for atom in found.where
        for constant in (getattr(atom, "right", None), *getattr(atom, "values", ()))
        if isinstance(constant, Constant) and constant.value is not None
    }
    for family, value in values:
        number = space.embed(family, value)
        assert space.value(family, number) == value
        assert number in space.constants(family)
    for (family, one), (other_family, other) in combinations(values, 2):
        if family is other_family:
            assert (one < other) is (space.embed(family, one) < space.embed(family, other))  # type: ignore[operator]
    for family in Family:
        assert space.constants(family) == sorted(set(space.constants(family)))


def test_numbers_are_scaled_by_the_common_denominator() -> None:
    space = Space(query("M.D > 0.5 AND F.A < 0.25 AND M.L > 1", tables="M, F"))
    assert space.scale == 20
    assert space.constants(Family.NUMBER) == [5, 10, 20, 60]
    assert [space.resolution(named(name)) for name in ("M.D", "F.A", "M.L")] == [2, None, 20]
    assert space.value(Family.NUMBER, 5) == Fraction(1, 4)
    assert space.mixed == {Family.NUMBER}


def test_strings_are_ranked() -> None:
    space = Space(query("M.K > 'b' AND M.K <> 'a'", tables="M"))
    assert [space.embed(Family.STRING, text) for text in "ab"] == [0, 1]
    assert space.resolution(named("M.K")) is None and space.mixed == frozenset()


def test_domains_are_declared_or_those_of_truth_values() -> None:
    found = query("M.F AND M.L > 0", tables="M")
    assert domain_of(found, named("M.F")) is BOOLEANS
    assert domain_of(found, named("M.L")) == Domain(values=(1, 3))
    assert domain_of(query("S.A > 0"), named("S.A")) is None


@pytest.mark.parametrize(
    ("where", "tables", "attribute", "listed"),
    [
        ("S.A IN (1, 5)", "S", "S.A", True),
        ("M.L > 0", "M", "M.L", True),
        ("M.F", "M", "M.F", True),
        ("S.A > 1 AND S.A < 5", "S", "S.A", False),
    ],
)
def test_enumerated_is_what_is_listed(where: str, tables: str, attribute: str, listed: bool) -> None:
    assert Space(query(where, tables=tables)).enumerated(named(attribute)) is listed


def test_attributes_of_a_family_are_mates() -> None:
    space = Space(query("X.ts < Y.ts AND X.A < 3", tables="X, Y"))
    assert space.mentioned == (named("X.A"), named("X.ts"), named("Y.ts"))
    assert space.family(named("X.ts")) is Family.TIME and space.family(named("X.A")) is Family.NUMBER
    assert space.mates(named("X.ts")) == (named("X.ts"), named("Y.ts")) == space.of_family(Family.TIME)
    assert space.mates(named("X.A")) == (named("X.A"),)


def test_values_of_static_columns_are_constants_but_for_nan() -> None:
    found = query("S.A < R.A", tables="S, R")
    space = Space(found, {named("R.A"): (3, 8)})
    assert space.ends(named("R.A")) == (3, 8) and space.constants(Family.NUMBER) == [3, 8]
    space = Space(found, {named("R.A"): (Fraction(1, 2), NAN)})
    assert space.ends(named("R.A")) == (Fraction(1, 2), None) and space.constants(Family.NUMBER) == [1]


def test_timestamps_stand_apart_by_the_granularity() -> None:
    body = {"columns": {"ts": "timestamp"}, "timestamp": "ts"}
    catalog = catalog_from_mapping(
        {"X": {**body, "granularity": "hour"}, "Y": body, "Z": {**body, "columns": {"ts": "int"}}}
    )
    space = Space(parse("SELECT 1 FROM X, Y, Z WHERE X.ts < Y.ts AND Z.ts > 3", catalog))
    assert space.tick(named("X.ts")) == space.resolution(named("X.ts")) == 3_600_000_000
    assert space.tick(named("Y.ts")) == space.tick(named("Z.ts")) == 1
