"""Comparisons that a large enough value meets are no part of a proof."""

from __future__ import annotations

import pytest

from streambound.boundedness.unions.vacuous import without_vacuous
from streambound.compiler.report import check
from streambound.query.catalog import catalog_from_mapping
from streambound.query.formula import atoms_of
from streambound.query.parse import read

CATALOG = catalog_from_mapping(
    {
        "S": {"columns": {"A": "int", "till": "timestamp", "ts": "timestamp"}, "timestamp": "ts"},
        "T": {
            "columns": {"A": "int", "B": "int", "C": "int", "ts": "timestamp"},
            "timestamp": "ts",
            "domains": {"C": {"max": 9}},
        },
    }
)


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("T.ts <= S.till AND S.A = T.A", 1),
        ("S.A < T.B AND S.A = T.A", 1),
        # A column that occurs elsewhere, has a bound on that side, or is equal to another.
        ("S.A < T.B AND T.B < 7 AND S.A = T.A", 3),
        ("S.A < T.C AND S.A = T.A", 2),
        ("S.A > T.C AND S.A = T.A", 1),
        ("S.A = T.B AND S.A < T.A", 1),
        ("S.A < T.B OR S.A = T.A", 2),
    ],
)
def test_what_is_left(where: str, left: int) -> None:
    found = without_vacuous(read(f"SELECT S.ts FROM S, T WHERE {where}", CATALOG).statement)
    assert sum(1 for s in found.selections for _ in atoms_of(s.formula)) == left


def test_a_timestamp_beside_an_ordinary_column_is_one() -> None:
    sql = "SELECT S.A FROM S, T WHERE S.A = T.A AND T.ts BETWEEN S.ts AND S.till"
    assert check(sql, CATALOG, suggest=False).verdict == "unbounded"
    near = f"{sql} AND T.ts <= S.ts + INTERVAL 1 HOUR"
    assert check(near, CATALOG, suggest=False).verdict == "bounded"
