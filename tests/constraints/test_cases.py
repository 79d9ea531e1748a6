"""OR taken apart: the parts have the matches of the SELECT, and what need not be split is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.constraints.small import query, selection
from tests.strategies import events, statements, static

from streambound.compiler.report import check
from streambound.constraints.cases import CASE_LIMIT, cases, refined, self_joined
from streambound.constraints.search import SearchLimit
from streambound.evaluation.events import batches, encode_static
from streambound.evaluation.reference import evaluate
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Query
from streambound.query.parse import statement
from streambound.query.statement import Statement


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

    def answer(parts: Iterable[Query], distinct: bool) -> Counter[Any]:
        rows: Counter[Any] = sum((evaluate(Statement.of(part), tuples) for part in parts), Counter())
        return Counter(dict.fromkeys(rows, 1)) if distinct else rows

    for block in case.query.blocks:
        for one in block.selections:
            try:
                every, some = split(one, whole=True), split(one)
            except SearchLimit:
                continue
            alone = evaluate(
                Statement(case.query.name, case.sql, (type(block)(block.ring, (one,)),), ()), tuples
            )
            assert (
                answer((part for found in every for part in found.parts), block.ring.idempotent) == alone
            ), case.sql
            # To decide, one way of meeting the conditions on idle columns stands for all.
            fewer, more = (
                answer((part for found in some for part in parts(found)), True)
                for parts in (attrgetter("parts"), attrgetter("relaxed"))
            )
            assert fewer.keys() <= alone.keys() <= more.keys(), case.sql


@pytest.mark.parametrize(
    ("where", "parts"),
    [
        # What is one conjunction is not split.
        ("S.A < T.D OR S.A >= T.D", [1]),
        ("S.A < T.D OR S.A = T.D", [1]),
        ("S.A < T.D OR S.B < T.E", [2]),
        # Conditions on single tuples are cases.
        ("S.A < T.D AND (S.A < 1 OR S.A > 4)", [1, 1]),
        ("S.A < S.B AND S.A > S.B OR S.A < T.D", [1]),
        ("S.A < S.A", []),
    ],
)
def test_cases_and_their_parts(where: str, parts: list[int]) -> None:
    found = cases(selection(where, "DISTINCT 1"))
    assert [len(case.parts) for case in found] == parts
    assert [case.exact for case in found] == [number == 1 for number in parts]


def test_an_idle_column_is_met_in_one_way_unless_every_match_counts() -> None:
    one = selection("S.A < T.D AND (S.B < 1 OR S.B > 4)")
    (case,) = cases(one)
    assert len(case.parts) == len(case.relaxed) == 1
    assert len(case.parts[0].where) == 1 + len(case.relaxed[0].where)
    assert len(cases(one, whole=True)) == 2


def test_zones_tell_more_cases_apart() -> None:
    one = selection("S.A < T.D AND S.A > 3 OR S.B < T.D AND T.D < 3", "DISTINCT 1")
    split = refined(one)
    assert len(split) >= len(cases(one)) and all(case.exact for case in split)


def test_too_many_cases_are_refused() -> None:
    columns = [f"c{i}" for i in range(24)]
    catalog = catalog_from_mapping({"S": dict.fromkeys(columns, "int"), "T": {"c0": "int"}})
    pairs = [f"(S.c{i} < 1 OR S.c{i + 1} > 4)" for i in range(0, 24, 2)]
    every = ", ".join(f"S.{c}" for c in columns)
    few, many = (
        selection(" AND ".join(["S.c0 < T.c0", *pairs[:number]]), f"DISTINCT {every}", "S, T", catalog)
        for number in (2, 12)
    )
    assert 0 < len(cases(few)) <= CASE_LIMIT
    with pytest.raises(SearchLimit):
        cases(many)


def test_self_joined_is_what_has_a_relation_twice() -> None:
    assert self_joined(query("", tables="S, S x")) and not self_joined(query("", tables="S, T"))


@pytest.mark.parametrize(
    "more", ["y.B BETWEEN 3 AND 2", "y.B > 1.5", "x.A > 7 AND (y.A < 8 AND y.A > 9 OR y.B = -3)"]
)
def test_an_alternative_that_never_holds_splits_nothing(more: str) -> None:
    catalog = catalog_from_mapping(
        {"T": {"columns": {"A": "double", "B": "double", "ts": "int"}, "timestamp": "ts"}}
    )
    sql = (
        "SELECT x.A, x.A FROM T y, T x WHERE y.B BETWEEN -1 AND 1 AND y.A > x.A AND"
        " ((x.A <> 0.5 AND y.B < x.A) OR (x.A < y.B AND x.B > y.B){})"
    )
    plain, same = (statement(sql.format(tail), catalog, "q").selections[0] for tail in ("", f" OR ({more})"))
    assert len(refined(same)) == len(refined(plain)) > 100
    assert check(sql.format(f" OR ({more})"), catalog, suggest=False).verdict == "unbounded"
