"""Witnesses: every query that is called unbounded has one, and the definition tells its prefixes apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.grammar import statement_line
from tests.strategies import VALUES, cases, timed_cases

from streambound import settings
from streambound.boundedness.criterion.exact import exact
from streambound.boundedness.criterion.verdict import Outcome
from streambound.boundedness.statements import decide
from streambound.certificate.statements import statement_witness
from streambound.certificate.verification import definition
from streambound.certificate.witness import SIZE_LIMIT, Judge, verified, verify, witness
from streambound.errors import WitnessError
from streambound.evaluation.events import batches
from streambound.projects.registry import load_registry
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Query
from streambound.query.parse import parse, statement
from streambound.query.statement import Statement

SIZE = 4
CORPUS = Path(__file__).parents[1] / "corpus"
LINES = [
    line
    for name in ("untimed", "timed")
    for line in map(json.loads, (CORPUS / f"{name}.jsonl").read_text().splitlines())
    if line["expected"]["verdict"] == "unbounded"
]
REGISTRY = load_registry(settings.project_root() / "include" / "registry")
REGISTERED = [statement(found.sql, REGISTRY.catalog, found.name) for found in REGISTRY.queries]
TYPES = [("int",), ("double",), ("string",), ("int", "double", "decimal(3,1)"), tuple(VALUES)]


def replayed(query: Query) -> None:
    found = witness(query, SIZE)
    assert found.size == SIZE
    assert verify(Statement.of(query), found).told_apart == 2**SIZE


@pytest.mark.theorem
@pytest.mark.parametrize("types", TYPES, ids="-".join)
@given(data=st.data())
def test_unbounded_queries_witness_verifies_for_n_4(types: tuple[str, ...], data: st.DataObject) -> None:
    query = data.draw(cases(types)).query
    if exact(query).outcome is Outcome.UNBOUNDED:
        replayed(query)


@pytest.mark.theorem
@given(data=st.data())
def test_unbounded_queries_with_time_witness_verifies_for_n_4(data: st.DataObject) -> None:
    query = data.draw(timed_cases()).query
    if exact(query).outcome is Outcome.UNBOUNDED:
        replayed(query)


def test_unbounded_conjunctions_of_the_grammar() -> None:
    found = 0
    for line in map(statement_line, range(100)):
        assert line.catalog is not None
        query = statement(line.sql, line.catalog, line.id).simple
        if query is not None and exact(query).outcome is Outcome.UNBOUNDED:
            replayed(query)
            found += 1
    assert found > 5


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["id"])
def test_the_corpus(line: dict[str, Any]) -> None:
    replayed(parse(line["sql"], catalog_from_mapping(line["streams"]), line["id"]))


@pytest.mark.parametrize("asked", REGISTERED, ids=lambda asked: asked.name)
def test_registered_queries(asked: Statement) -> None:
    decision = decide(asked)
    if decision.verdict.outcome is Outcome.UNBOUNDED:
        assert verify(asked, statement_witness(asked, decision, SIZE)).told_apart == 2**SIZE
        return
    with pytest.raises(WitnessError, match="there is no witness: the query is bounded"):
        statement_witness(asked, decision, SIZE)


def relation(**columns: str) -> dict[str, Any]:
    return {"columns": {**columns, "ts": "int"}, "timestamp": "ts"}


TIMED = {name: relation(A="int", B="int") for name in "STUV"}
DATED = {"columns": {"A": "int", "at": "timestamp"}, "timestamp": "at", "granularity": "minute"}
CLOCKED = {"S": DATED, "T": DATED, "U": {"columns": {"A": "int"}}}
BEFORE = {**CLOCKED, "D": {**DATED, "kind": "finite"}}
ORDERS = {
    "S": {"columns": {"A": "int", "B": "int", "N": "int"}, "not_null": ["N"], "domains": {"N": {"min": 7}}},
    "T": {"A": "int", "B": "int"},
    "F": {"columns": {"A": "int", "B": "int"}, "kind": "finite"},
    "R": {"columns": {"A": "int", "B": "int"}, "kind": "static"},
}
REALS = {
    "S": {"A": "double", "B": "double"},
    "T": {"A": "double", "B": "double"},
    "U": {"N": "int"},
    "F": {"columns": {"A": "double"}, "kind": "finite"},
    "R": {"columns": {"A": "double"}, "kind": "static"},
}
WORDS = {"S": {"A": "string"}, "T": {"A": "string"}}
CENTS = {"S": {"A": "decimal(3,1)"}, "T": {"A": "decimal(3,1)"}}
HAND = [
    # Schiff & Özçep, Theorem 2 is not sound: pairs that trade one against the other.
    (
        "SELECT DISTINCT 1 FROM T, U, S, V WHERE U.ts < T.ts AND T.ts < S.ts AND T.ts < V.ts"
        " AND T.B < S.A AND U.B < V.A AND T.B > 0 AND U.B > 0 AND S.A > 0 AND V.A > 0",
        TIMED,
    ),
    ("SELECT S.A FROM S, T WHERE S.A = T.A AND S.ts <= T.ts + 5", TIMED),
    ("SELECT DISTINCT T.ts FROM S, T WHERE S.ts > T.ts", TIMED),
    ("SELECT T.ts FROM S, T WHERE S.ts > T.ts + 3 AND T.ts > 20", TIMED),
    ("SELECT DISTINCT S.A FROM S, T WHERE T.ts < 9 AND S.A >= T.A AND S.A <= T.B", TIMED),
    ("SELECT DISTINCT S.A FROM S, T WHERE S.ts <> T.ts AND S.ts <= T.ts + 5 AND T.ts <= S.ts + 5", TIMED),
    ("SELECT 1 FROM S, T WHERE S.A < T.A AND S.at <= T.at + INTERVAL 10 MINUTES", CLOCKED),
    ("SELECT DISTINCT U.A FROM S, U WHERE S.at > TIMESTAMP '2026-01-01 00:00:00'", CLOCKED),
    # A stream whose time no condition mentions comes after those that end, wherever they do.
    ("SELECT DISTINCT T.A FROM U, T WHERE U.ts = 100", TIMED),
    ("SELECT DISTINCT T.A FROM U, T, S WHERE U.ts BETWEEN 90 AND 100 AND S.ts < 1000", TIMED),
    ("SELECT DISTINCT T.A FROM S, T WHERE S.at < TIMESTAMP '2026-01-01 00:00:30'", CLOCKED),
    ("SELECT DISTINCT U.A FROM S, U, T WHERE S.at = TIMESTAMP '2026-01-01 00:00:00'", CLOCKED),
    ("SELECT DISTINCT U.A FROM S, U, D WHERE S.at < TIMESTAMP '1960-01-01 00:00:00' AND D.A > 1", BEFORE),
    ("SELECT DISTINCT T.A FROM T, S, D WHERE S.at < T.at", BEFORE),
    # Self-joins, duplicate-preserving.
    ("SELECT 1 FROM S x, S y WHERE x.A = y.A", ORDERS),
    ("SELECT 1 FROM S x, S y WHERE x.A < y.A", ORDERS),
    ("SELECT 1 FROM S x, S y WHERE x.A <= y.A", ORDERS),
    ("SELECT 1 FROM S x, S y WHERE x.A <> y.A", ORDERS),
    ("SELECT 1 FROM S x, S y WHERE x.A < y.B", ORDERS),
    ("SELECT 1 FROM S x, S y WHERE x.A < y.B AND y.A < x.B", ORDERS),
    ("SELECT x.A FROM S x, S y", ORDERS),
    ("SELECT x.A FROM S x, S y WHERE x.B = 1 AND y.B = 2", ORDERS),
    ("SELECT 1 FROM S x, S y WHERE x.A < y.A AND x.ts < y.ts", TIMED),
    ("SELECT 1 FROM S x, S y, T WHERE x.A < T.A AND y.A > T.A", ORDERS),
    # And duplicate-eliminating, where they fold or where filters keep them apart.
    ("SELECT DISTINCT x.A FROM S x, S y WHERE x.B = y.B AND x.A = y.A", ORDERS),
    ("SELECT DISTINCT 1 FROM S x, S y WHERE x.A = y.A AND x.B = 1 AND y.B = 2", ORDERS),
    # Finite streams and static relations: values not known yet cut the zones, at any distance.
    ("SELECT DISTINCT S.A FROM S, F WHERE S.A > F.A AND S.A < F.B", ORDERS),
    ("SELECT 1 FROM S, T, F WHERE S.A > F.A AND S.A < T.A AND T.A < F.B", ORDERS),
    ("SELECT 1 FROM S, T, R WHERE S.A > R.A AND S.A < T.A AND R.B = 5", ORDERS),
    ("SELECT 1 FROM S, T, R WHERE S.A > R.A AND S.A < T.A AND T.A < 2 AND R.A >= 1", REALS),
    ("SELECT DISTINCT S.A FROM S, F, R WHERE S.A > R.A AND S.A < F.A AND F.A < 1 AND R.A > 0", REALS),
    # A finite column in the zone of dense ones, and intervals that no value of another type separates.
    ("SELECT 1 FROM S, T, U WHERE S.A < T.A AND S.A > 0 AND T.A < 5 AND U.N BETWEEN 1 AND 3", REALS),
    ("SELECT 1 FROM S, T, U WHERE S.A < T.A AND S.A > U.N AND T.A < 5 AND U.N BETWEEN 1 AND 3", REALS),
    # Nested pairs in one zone; pairs in two zones.
    ("SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A AND S.B < T.B", ORDERS),
    ("SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A AND S.B < T.B AND S.A > 9 AND T.A > 9 AND T.B < 3", ORDERS),
    ("SELECT 1 FROM S, T WHERE S.A < T.A AND S.A > 'a' AND T.A < 'b'", WORDS),
    ("SELECT 1 FROM S, T WHERE S.A < T.A AND S.A > 'a' AND T.A < 'ab'", WORDS),
    ("SELECT 1 FROM S, T WHERE S.A <> T.A AND T.A <> S.A AND S.A < 'B'", WORDS),
    ("SELECT 1 FROM S, T WHERE S.A < T.A AND S.A > 98.5", CENTS),
]


@pytest.mark.parametrize(("sql", "streams"), HAND, ids=[sql for sql, _ in HAND])
def test_each_construction(sql: str, streams: dict[str, Any]) -> None:
    query = parse(sql, catalog_from_mapping(streams))
    assert exact(query).outcome is Outcome.UNBOUNDED
    replayed(query)


def test_the_rows_of_static_relations_come_with_each_slot() -> None:
    query = parse("SELECT 1 FROM S, T, R WHERE S.A > R.A AND S.A < T.A", catalog_from_mapping(ORDERS))
    slots = witness(query, 2).to_json()
    assert [list(slot) for slot in slots] == [["query", "slot", "fixed", "optional", "suffix", "static"]] * 2
    assert slots[0]["static"]["R"][0]["A"] < slots[0]["optional"][0]["A"]


def test_columns_that_no_condition_names_hold_what_the_catalog_allows() -> None:
    query = parse("SELECT DISTINCT S.A FROM S", catalog_from_mapping(ORDERS))
    assert witness(query, 1).slots[0].optional == ({"stream": "S", "A": 1, "B": None, "N": 7},)


def test_events_are_in_time_order_and_suffixes_come_last() -> None:
    sql = "SELECT 1 FROM S, T WHERE S.A < T.A AND S.at <= T.at + INTERVAL 10 MINUTES"
    query = parse(sql, catalog_from_mapping(CLOCKED))
    found, asked = witness(query, 3), Statement.of(query)
    for k in range(3):
        whole = list(batches(asked, found.events(asked, range(3), k)))
        assert len(whole) == 4


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_every_size_verifies(size: int) -> None:
    query = parse("SELECT 1 FROM S, T WHERE S.A <> T.A", catalog_from_mapping(ORDERS))
    assert verify(Statement.of(query), witness(query, size)).told_apart == 2**size


def test_a_large_witness_is_built() -> None:
    query = parse("SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A AND S.B < T.B", catalog_from_mapping(ORDERS))
    assert witness(query, 1_000).size == 1_000


@pytest.mark.parametrize("size", [0, -1, SIZE_LIMIT + 1])
def test_sizes_outside_the_limit_are_refused(size: int) -> None:
    query = parse("SELECT DISTINCT S.A FROM S", catalog_from_mapping(ORDERS))
    with pytest.raises(WitnessError, match="size of a witness is"):
        witness(query, size)


def test_a_type_with_too_few_values_is_named_by_the_size_that_does_not_fit() -> None:
    query = parse("SELECT 1 FROM S, T WHERE S.A < T.A AND S.A > 98.5", catalog_from_mapping(CENTS))
    with pytest.raises(WitnessError, match="no room for a witness of size 40"):
        witness(query, 40)


def test_a_statement_can_judge_the_witness_of_its_part() -> None:
    # Together with S.A >= T.A the comparison is a plain product, which counts.
    catalog = catalog_from_mapping(ORDERS)
    part = parse("SELECT 1 FROM S, T WHERE S.A < T.A", catalog)
    product = parse("SELECT 1 FROM S, T", catalog)
    assert verified(part, 3) is not None
    assert verified(part, 3, Judge(definition(Statement.of(product)), dated=False)) is None
