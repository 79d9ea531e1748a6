"""Statements with OR, NOT, NULL and UNION against the definition, at every event."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import events, statements, static

from streambound.boundedness.statements import decide
from streambound.evaluation.events import batches, encode_static
from streambound.evaluation.flow import statement_pass
from streambound.evaluation.reference import reference
from streambound.query.statement import Statement

MIXES = [("int",), ("double", "int"), ("string", "boolean"), ("date", "decimal(3,1)")]


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@given(data=st.data())
def test_one_pass_over_statements_equals_the_reference(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(statements(types))
    assert isinstance(case.query, Statement)
    assume(decide(case.query).verdict.bounded)
    rows = encode_static(case.statement, data.draw(static(case)))
    arriving = list(batches(case.statement, data.draw(events(case))))
    engine = statement_pass(case.query, rows)
    assert list(engine.run(arriving)) == list(reference(case.statement, arriving, rows)), case.sql
    assert engine.max_units is not None and engine.peak_units <= engine.max_units
