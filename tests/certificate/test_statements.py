"""Witnesses of statements with OR and UNION: built from a part, replayed on the whole."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.strategies import statements

from streambound.boundedness.statements import decide
from streambound.certificate.statements import proved, statement_witness
from streambound.certificate.verification import verify
from streambound.compiler.report import check
from streambound.errors import WitnessError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement
from streambound.query.statement import Statement

CATALOG = catalog_from_mapping(
    {
        "S": {"columns": {"A": "int", "B": "int"}, "not_null": ["A", "B"]},
        "T": {"columns": {"A": "int", "B": "int"}, "not_null": ["A", "B"]},
    }
)


@pytest.mark.parametrize("types", [("int",), ("double", "int", "string")], ids="-".join)
@given(data=st.data())
def test_every_unbounded_statement_has_a_witness(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(statements(types))
    assert isinstance(case.query, Statement)
    decision = decide(case.query)
    assume(not decision.verdict.bounded)
    if decision.verdict.reasons[0].code in ("disjunction", "union-member"):
        assume(proved(case.query, decision, 4) is not None)
    assert verify(case.statement, statement_witness(case.query, decision, 4)).holds, case.sql


@pytest.mark.parametrize(
    "sql",
    [
        # Alternatives that share matches: only a witness on the whole tells.
        "SELECT 1 FROM S, T WHERE S.A < T.A OR S.B < T.B",
        # A row of the second member hides one value of the first, not all of them.
        "SELECT A FROM S UNION SELECT 1 FROM S",
        "SELECT A FROM S UNION SELECT B FROM S",
    ],
)
def test_a_witness_decides_what_parts_leave_open(sql: str) -> None:
    assert decide(statement(sql, CATALOG)).verdict.outcome.value == "unknown"
    assert check(sql, CATALOG, suggest=False).verdict == "unbounded"


def test_what_another_member_answers_for_is_not_called_unbounded() -> None:
    # Which member has a match never shows: as soon as both streams have tuples, one of them has.
    where = ("S.A = T.A AND S.B < 5", "S.A <> T.A AND S.B < 5", "S.B >= 5 AND T.B < 5")
    sql = " UNION ".join(f"SELECT DISTINCT 1 FROM S, T WHERE {one}" for one in where)
    assert check(sql, CATALOG, suggest=False).verdict == "bounded"


def test_a_part_without_time_is_replayed_in_a_statement_with_time() -> None:
    dated = {"columns": {"A": "int", "at": "timestamp"}, "timestamp": "at"}
    catalog = catalog_from_mapping({"S": dated, "U": {"A": "int"}})
    found = statement("SELECT 1 FROM S UNION SELECT U.A FROM U WHERE U.A > 1", catalog)
    proof = statement_witness(found, decide(found), 3)
    assert verify(found, proof).holds
    assert all("ts" in event for slot in proof.slots for event in slot.optional)


def test_a_bounded_statement_has_no_witness() -> None:
    found = statement("SELECT A FROM S UNION ALL SELECT B FROM T", CATALOG)
    with pytest.raises(WitnessError, match="there is no witness: the query is bounded"):
        statement_witness(found, decide(found), 3)
