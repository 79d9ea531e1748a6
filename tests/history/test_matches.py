"""The join in arrays gives what the join of single representatives gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.spark.histories import plan_of
from tests.strategies import Case, cases, events, static

from streambound.evaluation.events import encode, encode_static
from streambound.history.matches import Matches
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from streambound.synopsis.answer import Joiner, Rep, representatives, static_rows
from streambound.synopsis.planner import plan as make_plan
from streambound.synopsis.state import fresh

MIXES = [("int",), ("int", "double", "decimal(3,1)"), ("string", "boolean", "int")]


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@settings(max_examples=settings.default.max_examples * 3 // 2)
@given(data=st.data())
def test_equal_to_the_joiner(types: tuple[str, ...], data: st.DataObject) -> None:
    case: Case = data.draw(cases(types))
    statics = data.draw(static(case))
    rows, plan = encode_static(case.statement, statics), plan_of(case, statics)
    assume(not plan.stateless and not plan.empty)
    tables = fresh(plan)
    for event in data.draw(events(case, 24)):
        name = event["stream"]
        tables[name].add(encode(case.query.occurrence(name).relation, event, "event"))
    sources = {a: representatives(t, t.counts or t.entries) for a, t in tables.items()}
    sources.update(static_rows(case.query, rows))
    scale = data.draw(st.sampled_from([1, 10**6, 10**30]))
    sources = {a: [replace(r, weight=r.weight * scale) for r in reps] for a, reps in sources.items()}
    found, expected = Matches(plan).counts(sources), Joiner(plan).counts(sources)
    assert found == expected, case.sql


def test_no_wrapping_where_products_pass_64_bits() -> None:
    catalog = catalog_from_mapping({name: {"A": "int"} for name in ("S", "T")})
    query = parse("SELECT S.A FROM S, T WHERE S.A = T.A AND S.A IN (1, 2)", catalog, "pairs")
    plan = make_plan(query)
    sources = {name: [Rep({"A": a}, 2**61 - a, 0) for a in (1, 2)] for name in ("S", "T")}
    assert Matches(plan).counts(sources) == {(a,): (2**61 - a) ** 2 for a in (1, 2)}


def test_many_pairs_with_several_comparisons() -> None:
    columns = {"A": "int", "B": "int", "C": "int"}
    bounded = {"domains": {name: {"min": 0, "max": 99} for name in columns}, "not_null": list(columns)}
    catalog = catalog_from_mapping({name: {"columns": columns, **bounded} for name in ("S", "T")})
    where = "S.A < T.A AND S.B >= T.B AND S.C <> T.C"
    plan = make_plan(parse(f"SELECT S.A FROM S, T WHERE {where}", catalog, "many"))
    numbers = np.random.default_rng(5).integers(0, 100, (2, 2_000, 3))
    sources = {
        name: [Rep(dict(zip(columns, row, strict=True)), 3, 0) for row in rows.tolist()]
        for name, rows in zip("ST", numbers, strict=True)
    }
    (a, b, c), (d, e, f) = (rows.T for rows in numbers)
    pairs = (a[:, None] < d) & (b[:, None] >= e) & (c[:, None] != f)
    expected = {(value,): int(pairs[a == value].sum()) * 9 for value in set(a.tolist())}
    assert Matches(plan).counts(sources) == {row: count for row, count in expected.items() if count}
