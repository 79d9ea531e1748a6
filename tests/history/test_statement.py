"""Statements with OR and UNION, and streams that end, over partitions: the answers of the definition.

Groups: random statements; timestamps; streams that end; nights.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.spark import histories
from tests.spark.histories import Registered
from tests.spark.moments import Rows, cut, expected, last_boundary, write, write_statics
from tests.spark.nights import from_scratch, left, night
from tests.strategies import Case, events, statements, static, timed_events

from streambound.boundedness.statements import decide
from streambound.errors import PlanError
from streambound.evaluation.events import Encoded, encode_static
from streambound.evaluation.flow import statement_pass
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.plan.tables.statement import planned_parts
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement
from streambound.query.statement import Statement
from streambound.tasks.plans import statement_plan

TIMED = {n: {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts"} for n in "STU"}
# Each with a part of every kind: tables, timed, nothing kept, ending; bags and sets; rows that are forgotten.
UNITED = [
    "SELECT A FROM S WHERE A > 0 UNION ALL SELECT B FROM T WHERE B > 0 AND B <= 3",
    "SELECT S.B FROM S, T WHERE S.ts < T.ts AND S.B = T.B AND S.B IN (0, 1) UNION ALL SELECT A FROM S",
    "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A > 0 AND S.A < 3 UNION SELECT B FROM T WHERE B IN (1, 2)",
    "SELECT S.A FROM S, T WHERE S.ts < T.ts AND S.A IN (1, 2) UNION SELECT B FROM T WHERE B IN (1, 2)",
    "SELECT S.ts FROM S, T WHERE T.ts <= S.ts UNION SELECT S.ts FROM S, U WHERE U.ts <= S.ts + 3",
    "SELECT DISTINCT S.A FROM S, T WHERE (S.ts < T.ts OR S.B = 1) AND S.A BETWEEN 0 AND 1",
    "SELECT S.A FROM S, T WHERE T.ts < 4 AND S.A = T.A UNION ALL SELECT B FROM U",
    "SELECT S.A FROM S, T WHERE T.ts < 4 AND S.A = T.A AND S.A < 3 AND S.A > -2"
    " UNION SELECT S.A FROM S, T WHERE S.ts < T.ts AND S.A IN (0, 1, 3)",
]
ENDING = [
    "SELECT S.A FROM S, T WHERE T.ts < 4",
    "SELECT S.A, T.B FROM S, T WHERE T.ts < 4 AND S.A = T.A AND T.ts <= S.ts - 2",
    "SELECT DISTINCT S.A FROM S, T WHERE T.ts < 4 AND S.A = T.A",
    "SELECT DISTINCT 1 FROM S, T, U WHERE T.ts <= 4 AND S.A < T.A AND T.A < U.A",
    "SELECT U.A FROM S, T, U WHERE T.ts <= 3 AND S.ts < U.ts AND T.ts + 1 < S.ts AND S.A = T.A",
    "SELECT DISTINCT S.A FROM S WHERE S.ts < 5",
    "SELECT DISTINCT S.A, x.A FROM S, S x WHERE S.ts < 5 AND x.A = S.A",
]
MIXES = [("int",), ("double", "int"), ("string", "boolean"), ("date", "decimal(3,1)", "timestamp")]


def timed_case(sql: str) -> Case:
    catalog = catalog_from_mapping(TIMED)
    return Case(TIMED, sql, catalog, statement(sql, catalog))


def planned(case: Case, statics: dict[str, list[Encoded]]) -> Statement:
    """The statement; the test is abandoned if it has no plan (tests/evaluation holds when)."""
    assert isinstance(case.query, Statement)
    assume(decide(case.query).verdict.bounded)
    try:
        statement_pass(case.query, statics)
    except PlanError:
        assume(False)
    return case.query


def agrees(case: Case, parts: list[Rows], statics: dict[str, Rows]) -> None:
    """The answers of each partition are those of the definition."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        catalog = write_statics(case, statics, folder)
        for number, part in enumerate(parts):
            write(case, number, part, folder)
        (answer,) = evaluate_history(
            LocalExecutor(1), [Registered("q", case.sql)], catalog, output=folder / "out"
        )
        assert answer.error is None, answer.error
        found = histories.read_answers(folder / "out" / "q", case.query)
    wanted = expected(case, parts, encode_static(case.statement, statics))
    assert found == wanted, case.sql
    total = sum(found.values(), type(next(iter(found.values())))()) if found else {}
    assert (answer.answer_rows, answer.answer_count) == (len(total), sum(total.values()))
    assert answer.peak_units is not None and (answer.units is None or answer.peak_units <= answer.units)


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_random_statements(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(statements(types))
    statics = data.draw(static(case))
    planned(case, encode_static(case.statement, statics))
    parts = [data.draw(events(case, 8)) for _ in range(data.draw(st.integers(1, 4)))]
    agrees(case, parts, statics)


@pytest.mark.parametrize("sql", [*UNITED, *ENDING])
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_timestamps(sql: str, data: st.DataObject) -> None:
    case = timed_case(sql)
    agrees(case, cut(data, data.draw(timed_events(case))), {})


@pytest.mark.parametrize("sql", [UNITED[1], UNITED[4], UNITED[7], ENDING[1], ENDING[4]])
@settings(max_examples=settings.default.max_examples // 8)
@given(data=st.data())
def test_any_cut_into_partitions_and_nights(sql: str, data: st.DataObject) -> None:
    """Each night a partition; the answers and boundaries are those of one evaluation, whatever the cut."""
    case, query = timed_case(sql), Registered("q", sql)
    rows = data.draw(timed_events(case))
    boundaries = []
    for parts in (cut(data, rows), cut(data, rows)):
        with TemporaryDirectory() as name:
            folder = Path(name)
            catalog = histories.placed(case.catalog, folder)
            for number, part in enumerate(parts):
                write(case, number, part, folder)
                answer = night([query], catalog, folder / "nightly")["q"]
                assert answer.error is None, answer.error
            assert answer.started_after == (str(number - 1) if number else None)
            assert left(folder / "nightly", "q") == from_scratch([query], catalog, folder / "whole")["q"]
            boundaries.append(last_boundary(folder / "nightly"))
    assert boundaries[0] == boundaries[1], sql


def row(stream: str, ts: int, a: int = 1) -> dict[str, Any]:
    return {"stream": stream, "A": a, "B": 0, "ts": ts}


def test_a_row_is_remembered_through_the_last_moment_at_which_another_part_may_have_it() -> None:
    """At 3 the second part has the row of 0 again, when the first has taken in a tuple of 3 as well."""
    rows = [row("S", 0), row("T", 0), row("S", 3), row("U", 3)]
    for parts in ([rows], [rows[:2], rows[2:]]):
        agrees(timed_case(UNITED[4]), parts, {})


@pytest.mark.parametrize(
    "operator, other, value",
    [
        ("ALL", "B", 0),
        ("ALL", "B", 2**60 + 1),
        ("ALL", "B", None),
        ("ALL", "C", Decimal("0.026")),
        ("ALL", "7", 0),
        ("", "7", 0),
    ],
)
def test_what_is_left_of_a_union_has_the_columns_of_the_whole(operator: str, other: str, value: Any) -> None:
    """Names are the first SELECT's and types are common to all, though only the second can have rows."""
    mapping = {"S": {"columns": {"A": "double", "B": "bigint", "C": "decimal(18,3)"}}}
    sql = f"SELECT A FROM S WHERE A > 1 AND A < 0 UNION {operator} SELECT {other} FROM S WHERE A IN (1, 2)"
    catalog = catalog_from_mapping(mapping)
    case = Case(mapping, sql, catalog, statement(sql, catalog))
    given = {"B": None, "C": None, other: value}
    agrees(case, [[{"stream": "S", "A": 1.0, "B": given["B"], "C": given["C"]}], []], {})


def test_other_columns_are_another_answer() -> None:
    """The names are those of a SELECT that has no part: the answers so far have others."""
    catalog = catalog_from_mapping({"S": {"columns": {"A": "double", "B": "int", "C": "int"}}})
    texts = [
        "SELECT A FROM S WHERE A > 1 AND A < 0 UNION ALL SELECT B FROM S WHERE A IN (1, 2)",
        "SELECT A AS X FROM S WHERE A > 1 AND A < 0 UNION ALL SELECT B FROM S WHERE A IN (1, 2)",
        "SELECT C FROM S WHERE A > 1 AND A < 0 UNION ALL SELECT B FROM S WHERE A IN (1, 2)",
        "SELECT B AS C FROM S WHERE A IN (1, 2)",
    ]
    found = [statement(sql, catalog) for sql in texts]
    plans = [statement_plan(one, planned_parts(decide(one).parts)) for one in found]
    fingerprints = [plan.fingerprint({}) for plan in plans]
    assert len(set(fingerprints[:3])) == 3


def test_a_changed_partition_of_one_part_is_evaluated_again(tmp_path: Path) -> None:
    case = timed_case(UNITED[1])
    query = Registered("q", case.sql)
    catalog = histories.placed(case.catalog, tmp_path)
    for number, rows in enumerate([[row("S", 1)], [row("S", 4)], [row("T", 5)]]):
        write(case, number, rows, tmp_path)
        night([query], catalog, tmp_path / "nightly")
    write(case, 1, [row("S", 4), row("S", 4, a=2)], tmp_path)
    answer = night([query], catalog, tmp_path / "nightly")["q"]
    assert (answer.started_after, answer.read_partitions, answer.answer_count) == ("0", ("1",), 6)
    assert left(tmp_path / "nightly", "q") == from_scratch([query], catalog, tmp_path / "whole")["q"]


def test_the_parts_of_a_statement_share_the_order_of_time(tmp_path: Path) -> None:
    case = timed_case(UNITED[4])
    write(case, 0, [row("S", 2), row("T", 5)], tmp_path)
    write(case, 1, [row("U", 3)], tmp_path)
    catalog = histories.placed(case.catalog, tmp_path)
    found = night([Registered("q", case.sql)], catalog, tmp_path / "home")["q"]
    assert "partition 1 of U has a row of 3, but the partitions before it reach 5" in str(found.error)


def test_a_statement_without_answers(tmp_path: Path) -> None:
    case = timed_case("SELECT A FROM S WHERE A > 2 AND A < 1 UNION SELECT B FROM T WHERE B <> B")
    write(case, 0, [row("S", 2)], tmp_path)
    catalog = histories.placed(case.catalog, tmp_path)
    found = night([Registered("q", case.sql)], catalog, tmp_path / "home")["q"]
    assert (found.error, found.answer_count, found.peak_units) == (None, 0, 0)
