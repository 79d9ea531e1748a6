"""Declared numbers of different values: read, refused where they are none, and what they bound."""

from __future__ import annotations

import pytest

from streambound.compiler.report import check
from streambound.errors import CatalogError
from streambound.query.catalog import catalog_from_mapping


def body(**keys: object) -> dict[str, object]:
    return {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts", **keys}


@pytest.mark.parametrize(
    ("found", "words"),
    [(7, "cardinality is 7"), ({"C": 3}, "cardinality names C"), ({"A": 0}, "cardinality of A is 0")],
)
def test_what_is_no_number_of_values_is_refused(found: object, words: str) -> None:
    with pytest.raises(CatalogError) as caught:
        catalog_from_mapping({"S": body(cardinality=found)})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "verdict"),
    [
        ("SELECT DISTINCT A FROM S", "bounded"),
        ("SELECT DISTINCT B FROM S", "unbounded"),
        # What comes before a value of S.A waits for any.
        ("SELECT 1 FROM S, T WHERE S.A = T.A", "unbounded"),
        ("SELECT 1 FROM S, T WHERE S.A = T.A AND S.ts < T.ts", "bounded"),
        ("SELECT 1 FROM S, T WHERE S.A = T.A AND T.ts < S.ts", "unbounded"),
        ("SELECT DISTINCT T.A FROM S, T WHERE S.A = T.A AND S.ts < T.ts", "bounded"),
        ("SELECT DISTINCT 1 FROM S, T WHERE S.A < T.A AND S.B < T.B AND S.ts < T.ts", "bounded"),
    ],
)
def test_few_values_are_kept_of_what_is_declared(sql: str, verdict: str) -> None:
    report = check(sql, catalog_from_mapping({"S": body(cardinality={"A": 5}), "T": body()}), suggest=False)
    assert report.verdict == verdict
    assert verdict == "unbounded" or report.unplanned is not None or report.units is not None
