"""Statements with OR, NOT, NULL and UNION against the definition, at every event."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import events, statements, static

from streambound.boundedness.statements import decide
from streambound.constraints.cases import cases, refined
from streambound.constraints.search import SearchLimit
from streambound.evaluation.events import batches, encode_static
from streambound.evaluation.reference import evaluate, reference
from streambound.evaluation.statement import statement_pass
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
    planned = sum(part.plan.units for parts in engine.blocks.values() for part in parts)
    assert engine.peak_units <= planned


@pytest.mark.parametrize("split", [cases, refined])
@given(data=st.data())
def test_the_parts_of_all_cases_have_the_matches_of_the_select(split: Any, data: st.DataObject) -> None:
    case = data.draw(statements(("int", "double")))
    assert isinstance(case.query, Statement)
    tuples = {o.relation.name: [] for o in case.query.occurrences}
    for batch in batches(case.statement, data.draw(events(case))):
        for name, rows in batch.tuples.items():
            tuples[name].extend(rows)
    tuples.update(encode_static(case.statement, data.draw(static(case))))
    for block in case.query.blocks:
        for selection in block.selections:
            try:
                parts = [part for found in split(selection, whole=True) for part in found.parts]
            except SearchLimit:
                continue
            alone = Statement(case.query.name, case.sql, (type(block)(block.ring, (selection,)),), ())
            together: Counter[Any] = Counter()
            for part in parts:
                together.update(evaluate(Statement.of(part), tuples))
            if block.ring.idempotent:
                together = Counter(dict.fromkeys(together, 1))
            assert together == evaluate(alone, tuples), case.sql
