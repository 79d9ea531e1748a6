"""Verdicts on OR and UNION: what is merged, what is split, what one part proves of the whole."""

from __future__ import annotations

import pytest

from streambound.compiler import check
from streambound.query.catalog import catalog_from_mapping

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
    assert check(sql, CATALOG).verdict == verdict


def test_units_of_a_product_are_two_counts() -> None:
    assert check("SELECT 1 FROM S, T WHERE S.A < T.A OR S.A >= T.A", CATALOG).units == 2


def test_too_many_cases_are_named() -> None:
    columns = {f"c{i}": "int" for i in range(16)}
    catalog = catalog_from_mapping({"S": columns, "T": columns})
    where = " AND ".join(f"(S.c{i} < 1 OR S.c{i + 1} > 4)" for i in range(0, 16, 2))
    report = check(f"SELECT DISTINCT S.c0 FROM S, T WHERE S.c0 < T.c0 AND {where}", catalog)
    assert (report.verdict, report.reasons[0].code) == ("unknown", "search-limit")
    assert "OR splits" in report.reasons[0].message
