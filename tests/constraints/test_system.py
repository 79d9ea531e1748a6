"""What a query's conditions imply, against brute force over small values."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.constraints.small import CATALOG, assignments, comparisons, met, named
from tests.constraints.small import query as made

from streambound.constraints.closure import Difference, at_least, at_most, below
from streambound.constraints.search import Budget, SearchLimit
from streambound.constraints.space import Space
from streambound.constraints.system import (
    System,
    conditions_of,
    constraints_of,
    contradicts,
    differences,
    finite,
    forced,
    shifted,
    system,
    unconstrained,
    within,
)
from streambound.evaluation.reference import evaluate
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Attribute, Op
from streambound.query.parse import parse
from streambound.query.statement import Statement

conditions = st.lists(
    st.one_of(
        st.builds(
            "{} {} {}".format,
            st.sampled_from(["S.A", "S.B", "T.D"]),
            st.sampled_from(["<", "<=", "=", "<>", ">"]),
            st.sampled_from(["S.A", "S.B", "T.D", "0", "1", "2"]),
        ),
        st.builds(
            "{} IN ({}, {})".format, st.sampled_from(["S.A", "T.D"]), st.integers(0, 3), st.integers(0, 3)
        ),
    ),
    max_size=6,
)


@given(conditions)
def test_satisfiable_agrees_with_brute_force(atoms: list[str]) -> None:
    domain = {"min": 0, "max": 3}
    catalog = catalog_from_mapping(
        {
            "S": {"columns": {"A": "int", "B": "int"}, "domains": {"A": domain, "B": domain}},
            "T": {"columns": {"D": "int"}, "domains": {"D": domain}},
        }
    )
    where = f" WHERE {' AND '.join(atoms)}" if atoms else ""
    query = parse(f"SELECT S.A, S.B, T.D FROM S, T{where}", catalog)
    every = {
        "S": [{"A": a, "B": b} for a, b in product(range(4), repeat=2)],
        "T": [{"D": d} for d in range(4)],
    }
    assert system(query).satisfiable() is bool(evaluate(Statement.of(query), every))


COLUMNS = [named(name) for name in ("S.A", "S.B", "T.D")]
atoms_of_three = st.lists(comparisons(["S.A", "S.B", "T.D"], ["0", "1", "2"]), max_size=4)
bounds = st.builds(
    Difference, st.sampled_from([*COLUMNS, None]), st.sampled_from([*COLUMNS, None]), st.integers(-2, 2)
).filter(lambda one: one.high != one.low)
INSIDE = " AND ".join(f"{a} BETWEEN 0 AND 3" for a in COLUMNS)


@given(atoms_of_three, st.lists(bounds, max_size=2), st.lists(st.tuples(bounds, bounds), max_size=2))
def test_what_is_asked_beside_a_query_is_met_with_it(
    atoms: list[str], extra: list[Difference], choices: list[tuple[Difference, Difference]]
) -> None:
    facts = system(made(" AND ".join([INSIDE, *atoms]), "S.A, S.B, T.D"))
    models = _models(facts)
    asked = [
        values
        for values in models
        if all(met(one, values) for one in extra)
        and all(met(one, values) or met(other, values) for one, other in choices)
    ]
    assert facts.satisfiable(extra, choices) is bool(asked)
    # What was found for one question answers the next one no differently.
    assert facts.satisfiable() is bool(models)
    assert facts.satisfiable(extra) is any(all(met(one, values) for one in extra) for values in models)


@given(atoms_of_three)
def test_forced_choices_are_made_and_no_model_is_lost(atoms: list[str]) -> None:
    facts = system(made(" AND ".join([INSIDE, *atoms]), "S.A, S.B, T.D"))
    known = forced(facts)
    assert _models(known) == _models(facts)
    for disjunction in known.disjunctions if known.closure is not None else ():
        assert all(known.closure.assume([option]) is not None for option in disjunction)


def _models(facts: System) -> list[dict[Attribute, object]]:
    """The values of 0 to 3 that meet the conditions as they are: not closed, and no choice made."""
    constraints, disjunctions = constraints_of(facts.space, facts.query.where)
    if facts.closure is None:
        return []
    return [
        values
        for values in assignments(COLUMNS, range(4))
        if all(met(one, values) for one in constraints)
        and all(met(one, values) or met(other, values) for one, other in (*disjunctions, *facts.disjunctions))
    ]


@given(st.sampled_from(list(Op)), st.integers(-2, 2), st.integers(-3, 3), st.integers(-3, 3))
def test_an_operator_as_difference_bounds(op: Op, offset: int, left: int, right: int) -> None:
    one, other = named("X.ts"), named("Y.ts")
    values = {one: left, other: right}
    true = {"<": left < right + offset, "<=": left <= right + offset, "=": left == right + offset}
    expected = {**true, ">=": not true["<"], ">": not true["<="], "<>": True}[op.value]
    assert all(met(bound, values) for bound in shifted(one, op, other, offset)) is expected
    assert differences(one, op, other) == shifted(one, op, other, 0)


def test_conditions_are_those_of_the_text_and_constraints_have_domains_too() -> None:
    query = made("M.L > 1 AND M.L IN (1, 2, 3) AND M.L <> 2", tables="M")
    space, attribute = Space(query), named("M.L")
    constraints, disjunctions = conditions_of(space, query.where)
    assert constraints == [at_least(attribute, 1, strict=True), at_least(attribute, 1), at_most(attribute, 3)]
    assert disjunctions == [(at_most(attribute, 2, strict=True), at_least(attribute, 2, strict=True))]
    further, declared = constraints_of(space, ())
    assert further == [at_least(attribute, 1), at_most(attribute, 3)]
    assert declared == [(at_most(attribute, 1), at_least(attribute, 3))]
    assert unconstrained(space).upper(attribute) is None


def test_ticks_count_from_0_and_static_values_are_bounds() -> None:
    facts = system(made("X.ts < 9", tables="X"))
    assert facts.closure is not None and facts.closure.lower(named("X.ts")) == (0, False)
    facts = system(made("S.A < R.A", tables="S, R"), {named("R.A"): (2, 7)})
    assert facts.closure is not None and facts.closure.upper(named("S.A")) == (6, False)


@pytest.mark.parametrize(
    ("where", "attribute", "few"),
    [
        ("S.A > 1 AND S.A < 9", "S.A", True),
        ("S.A > 1", "S.A", False),
        ("F.A > 1 AND F.A < 9", "F.A", False),
        ("F.A >= 1 AND F.A <= 1", "F.A", True),
        ("F.A IN (0.5, 1)", "F.A", True),
        ("F.A < F.K AND F.K < 3", "F.K", False),
    ],
)
def test_finite_is_what_constants_leave_few_values(where: str, attribute: str, few: bool) -> None:
    query = parse(f"SELECT 1 FROM {attribute[0]} WHERE {where}", CATALOG)
    facts = system(query)
    assert facts.closure is not None
    assert finite(facts.space, facts.closure, named(attribute)) is few


def test_further_atoms_have_their_place_and_hold_nothing() -> None:
    further = made("S.A > 5 AND T.D < 7").where
    facts = within(made("S.B < 3"), further)
    assert set(facts.space.mentioned) == set(COLUMNS)
    assert facts.closure is not None and facts.closure.lower(named("S.A")) is None
    assert facts.closure.upper(named("S.B")) == (2, False)


@pytest.mark.parametrize(
    ("where", "never"),
    [
        ("N.A IS NULL AND N.A < 3", True),
        ("1 = 2", True),
        ("N.A IS NULL AND N.B < 3", False),
        # Comparisons that contradict each other are for the closure to see.
        ("N.A < 3 AND N.A > 3", False),
    ],
)
def test_contradictions_that_need_no_closure(where: str, never: bool) -> None:
    query = made(where, tables="N")
    assert contradicts(query) is never
    assert (system(query).closure is None) is (never or where.startswith("N.A < 3 AND"))


def test_questions_about_one_query_share_a_limit() -> None:
    facts = system(made("S.A <> S.B AND S.A BETWEEN 0 AND 1 AND S.B BETWEEN 0 AND 1", tables="S"))
    vars(facts)["budget"] = Budget(0)
    part = facts.parts[facts.space.family(named("S.A"))]
    part.possible = None
    part.settled.clear()
    with pytest.raises(SearchLimit):
        facts.satisfiable()
    # Nobody knows yet; with more steps it is known.
    assert part.possible is None
    assert part.consistent(Budget(100)) and part.possible
    assert part.satisfiable((below(named("S.A"), named("S.B")),), (), Budget(100))
