"""The state of a plan: never more than ``max_units``, and not far from it on streams that provoke it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.spark.histories import compact_pass
from tests.strategies import VALUES, Case, cases

from streambound.boundedness.criterion.exact import exact
from streambound.evaluation.events import batches
from streambound.evaluation.reference import reference
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from streambound.query.statement import Statement

pytestmark = pytest.mark.theorem


@st.composite
def provoking(draw: st.DrawFn, case: Case) -> list[dict[str, Any]]:
    """Every combination of values just inside and outside each constant, in some order: the worst state."""
    rows = []
    for occurrence in case.query.streams:
        columns = case.columns(occurrence.relation.name)
        choices = [_allowed(case, occurrence.relation.name, name, kind) for name, kind in columns.items()]
        for values in product(*choices):
            rows.append({"stream": occurrence.relation.name, **dict(zip(columns, values, strict=True))})
    return draw(st.permutations(rows))


def _allowed(case: Case, relation: str, column: str, kind: str) -> list[Any]:
    domain = case.streams[relation].get("domains", {}).get(column, {})
    listed = domain.get("values", VALUES[kind])
    return [v for v in listed if domain.get("min", v) <= v <= domain.get("max", v)]


@pytest.mark.parametrize(
    "types", [("int",), ("double",), ("string", "boolean"), ("date", "int")], ids="-".join
)
@given(data=st.data())
def test_peak_state_is_at_most_units_on_provoking_streams(
    types: tuple[str, ...], data: st.DataObject
) -> None:
    case = data.draw(cases(types, statics=False))
    assume(exact(case.query).bounded)
    engine = compact_pass(case.query, {})
    for _ in engine.run(batches(case.statement, data.draw(provoking(case)))):
        assert engine.peak_units <= engine.plan.max_units, case.sql


@given(data=st.data())
def test_answers_are_the_references_on_provoking_streams(data: st.DataObject) -> None:
    case = data.draw(cases(("int",), statics=False))
    assume(exact(case.query).bounded)
    arriving = list(batches(case.statement, data.draw(provoking(case))[:24]))
    engine = compact_pass(case.query, {})
    assert list(engine.run(arriving)) == list(reference(case.statement, arriving, {})), case.sql


CATALOG = {"S": dict.fromkeys("ABC", "int"), "T": dict.fromkeys("DE", "int")}
SIMPLE = [
    "SELECT S.A FROM S, T WHERE S.A = T.D AND S.A > 10 AND T.D < 20",
    "SELECT DISTINCT S.A FROM S, T WHERE S.A = T.D AND S.A > 10 AND T.D < 20",
    "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.A > 10 AND S.A < 20",
    "SELECT S.A FROM S, T WHERE S.B < T.D AND S.B < 30 AND T.D > 20 AND S.A > 10 AND S.A < 14",
    "SELECT DISTINCT S.A FROM S, T WHERE S.B > T.D AND S.B > T.E AND S.A = 10",
    "SELECT 1 FROM S, T WHERE S.A <= T.D AND S.A BETWEEN 0 AND 9 AND T.D BETWEEN 0 AND 9",
    "SELECT DISTINCT 1 FROM S, T WHERE S.A <> T.D",
]


@pytest.mark.parametrize("sql", SIMPLE)
def test_units_are_reached_or_nearly(sql: str) -> None:
    query = parse(sql, catalog_from_mapping(CATALOG))
    named = {a.column for a in query.mentioned}
    rows = []
    for name, columns in CATALOG.items():
        ranges = [range(-2, 34) if c in named else [0] for c in columns]
        own = [dict(zip(columns, values, strict=True)) for values in product(*ranges)]
        rows += [{"stream": name, **row} for row in own]
    engine = compact_pass(query, {})
    for _ in engine.run(batches(Statement.of(query), rows)):
        pass
    assert 0.9 * engine.plan.max_units <= engine.peak_units <= engine.plan.max_units
