"""Satisfiability against brute force over small values."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from streambound.constraints.system import system
from streambound.evaluation.reference import evaluate
from streambound.query.catalog import catalog_from_mapping
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
