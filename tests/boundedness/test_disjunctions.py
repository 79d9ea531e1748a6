"""Verdicts on OR and UNION: what is merged, what is split, what one part proves of the whole."""

from __future__ import annotations

import pytest

from streambound.boundedness.unions import disjunctions
from streambound.compiler.report import check
from streambound.constraints.closure import Closure
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement

CATALOG = catalog_from_mapping(
    {
        "S": {"columns": {"A": "int", "B": "int", "C": "int"}, "not_null": ["A", "B", "C"]},
        "T": {"columns": {"A": "int", "B": "int"}, "not_null": ["A", "B"]},
        "N": {"A": "int"},
        "X": {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"},
        "Y": {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"},
    }
)


@pytest.mark.parametrize(
    ("sql", "verdict"),
    [
        # Complementary parts are merged before anything is split.
        ("SELECT 1 FROM S, T WHERE S.A < T.A OR S.A = T.A OR S.A > T.A", "bounded"),
        ("SELECT 1 FROM S, T WHERE S.A < T.A AND S.B < T.B OR S.A < T.A AND S.B >= T.B", "unbounded"),
        ("SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A AND S.B < T.B OR S.A < T.A AND S.B >= T.B", "bounded"),
        ("SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A OR S.A > T.A", "bounded"),
        ("SELECT 1 FROM X, Y WHERE X.ts < Y.ts + 3 OR X.ts >= Y.ts + 3", "bounded"),
        ("SELECT X.A FROM X, Y WHERE X.A = Y.A AND (X.ts < Y.ts OR X.ts <= Y.ts + 5)", "unbounded"),
        # OR on one stream splits into filters.
        ("SELECT S.A FROM S, T WHERE S.A = T.A AND (S.A = 1 OR S.A BETWEEN 3 AND 5)", "bounded"),
        ("SELECT S.A FROM S, T WHERE S.A = T.A AND (S.A = 1 OR S.B > 7)", "unbounded"),
        ("SELECT S.A FROM S WHERE S.A = 1 OR S.B > 7", "bounded"),
        ("SELECT DISTINCT A FROM N WHERE A IS NULL OR A = 3", "bounded"),
        ("SELECT DISTINCT A FROM N WHERE A IS NOT NULL", "unbounded"),
        ("SELECT DISTINCT A FROM N WHERE A IS NULL AND A > 3", "bounded"),
        # Constants decide comparisons in each zone: one alternative is left there.
        ("SELECT 1 FROM S, T WHERE S.A < 5 AND T.A > 5 AND (S.A < T.A OR S.B < T.B)", "bounded"),
        # The one that is not bounded is alone on the tuples that pass its filters.
        ("SELECT 1 FROM S, T WHERE S.C = 1 AND S.A < T.A OR S.C = 2 AND S.B = 4", "unbounded"),
        # Members of a union with the same FROM and SELECT are one SELECT with OR.
        ("SELECT 1 FROM S, T WHERE S.A < T.A UNION ALL SELECT 1 FROM S, T WHERE S.A >= T.A", "bounded"),
        ("SELECT 1 FROM S x, T WHERE x.A < T.A UNION ALL SELECT 1 FROM T, S WHERE S.A >= T.A", "bounded"),
        ("SELECT 1 FROM S, T WHERE S.A < T.A UNION SELECT 1 FROM S, T WHERE S.A >= T.A", "bounded"),
        ("SELECT A FROM S UNION ALL SELECT A FROM S, T WHERE S.A = 1", "invalid"),
        ("SELECT A FROM S UNION ALL SELECT S.A FROM S, T WHERE S.A = 1", "bounded"),
        ("SELECT A FROM S UNION ALL SELECT DISTINCT A FROM N WHERE A BETWEEN 1 AND 3", "bounded"),
        ("SELECT A FROM S UNION ALL SELECT DISTINCT A FROM N", "unbounded"),
        ("SELECT 1 FROM S, T WHERE S.A = T.A UNION SELECT B FROM S WHERE B = 2", "unbounded"),
        # A member whose rows another gives as well adds nothing to a duplicate-free union.
        ("SELECT 1 FROM S, T WHERE S.A = T.A UNION SELECT 1 FROM S", "bounded"),
        (
            "SELECT 1 FROM S, T WHERE S.A = T.A AND T.B > 7 UNION SELECT 1 FROM T x WHERE x.B > 6",
            "bounded",
        ),
        ("SELECT 1 FROM S, T WHERE S.A = T.A UNION SELECT 1 FROM S WHERE S.A > 0", "unbounded"),
        ("SELECT 1 FROM S, T WHERE S.A = T.A UNION ALL SELECT 1 FROM S", "unbounded"),
    ],
)
def test_verdicts(sql: str, verdict: str) -> None:
    assert check(sql, CATALOG, suggest=False).verdict == verdict


def test_units_of_a_product_are_two_counts() -> None:
    assert check("SELECT 1 FROM S, T WHERE S.A < T.A OR S.A >= T.A", CATALOG, suggest=False).units == 2


def test_too_many_cases_are_named() -> None:
    columns = [f"c{i}" for i in range(24)]
    catalog = catalog_from_mapping({"S": dict.fromkeys(columns, "int"), "T": {"c0": "int"}})
    where = " AND ".join(f"(S.c{i} < 1 OR S.c{i + 1} > 4)" for i in range(0, 24, 2))
    sql = f"SELECT DISTINCT {{}} FROM S, T WHERE S.c0 < T.c0 AND {where}"
    # All columns count: each is projected.
    report = check(sql.format(", ".join(f"S.{c}" for c in columns)), catalog, suggest=False)
    assert (report.verdict, report.reasons[0].code) == ("unknown", "search-limit")
    assert "OR splits" in report.reasons[0].message
    # None counts but for one: the others only have to have some values.
    assert check(sql.format("S.c0"), catalog, suggest=False).verdict == "unbounded"
    assert check(sql.format("1"), catalog, suggest=False).verdict == "bounded"


@pytest.mark.parametrize("word", ["", "DISTINCT "])
@pytest.mark.parametrize("columns", [12, 30])
def test_a_filter_on_one_tuple_takes_no_case_for_each_of_its_alternatives(
    columns: int, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    assume = Closure.assume
    monkeypatch.setattr(Closure, "assume", lambda *given: (made.append(1), assume(*given))[1])
    names = [f"C{i}" for i in range(columns)]
    catalog = catalog_from_mapping({name: dict.fromkeys(names, "int") for name in "ST"})
    either = " OR ".join(f"S.{c} = {i}" for i, c in enumerate(names))
    sql = f"SELECT {word}1 FROM S, T WHERE S.C0 < T.C0 AND ({either})"
    report = check(sql, catalog, suggest=False)
    assert report.verdict == ("bounded" if word else "unbounded")
    assert len(made) < 100 * columns


def test_filters_of_parts_are_compared_once_for_each_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    moved = disjunctions.renamed_atom
    monkeypatch.setattr(disjunctions, "renamed_atom", lambda *given: (made.append(1), moved(*given))[1])
    catalog = catalog_from_mapping({"T": {"A": "double", "B": "double"}})
    sql = (
        "SELECT x.A FROM T y, T x WHERE y.B BETWEEN -1 AND 1 AND y.A > x.A AND"
        " ((x.A <> 0.5 AND y.B < x.A) OR (x.A < y.B AND x.B > y.B))"
    )
    decision = disjunctions.decide(statement(sql, catalog, "q"))
    # Of the pairs of 146 parts most have the same few filters.
    assert len(made) < 20 * len(decision.parts)


def test_what_a_bag_keeps_in_too_many_parts_is_bounded_without_a_plan() -> None:
    names = [f"C{i}" for i in range(12)]
    catalog = catalog_from_mapping({name: dict.fromkeys(names, "int") for name in "ST"})
    either = " OR ".join(f"S.{c} = {i}" for i, c in enumerate(names))
    report = check(
        f"SELECT 1 FROM S, T WHERE S.C0 < T.C0 AND S.C0 > 0 AND T.C0 < 9 AND ({either})",
        catalog,
        suggest=False,
    )
    assert (report.verdict, report.units) == ("bounded", None)
    assert report.unplanned is not None and "parts" in report.unplanned


@pytest.mark.parametrize("word", ["", "DISTINCT "])
def test_filters_of_many_parts_that_hold_together_are_told_apart_by_their_columns(word: str) -> None:
    # A disjunction of filters on one tuple, in conjunction with 60 others, and one beside a comparison.
    catalog = catalog_from_mapping({name: {"A": "int", "B": "int", "C": "int"} for name in "ST"})
    many = " AND ".join(f"(S.B = {i} OR S.C > {i})" for i in range(60))
    sql = f"SELECT {word}1 FROM S, T WHERE (S.A < T.A OR S.B = 1 OR S.C = 2 OR S.B IS NULL) AND {many}"
    assert check(sql, catalog, suggest=False).verdict == ("bounded" if word else "unbounded")
