"""NOT means the same in every dialect, wherever it is written."""

from __future__ import annotations

import pytest

from streambound.query.catalog import catalog_from_mapping
from streambound.query.dialects.languages import LANGUAGES
from streambound.query.parse import read

CATALOG = catalog_from_mapping({"s": {"columns": {"a": "int", "b": "string"}}})
# Each with what it says in Spark SQL's own words, NOT before the whole.
PAIRS = (
    ("a IS NOT NULL", "NOT (a IS NULL)"),
    ("NOT a IS NULL", "NOT (a IS NULL)"),
    ("a NOT IN (1, 2)", "NOT (a IN (1, 2))"),
    ("a NOT BETWEEN 1 AND 2", "NOT (a BETWEEN 1 AND 2)"),
    ("a <> 1", "NOT (a = 1)"),
    ("NOT (a > 1 OR a IS NOT NULL)", "NOT (a > 1) AND a IS NULL"),
)


def _formula(condition: str, dialect: str) -> object:
    found = read(f"SELECT s.a AS a FROM s WHERE {condition}", CATALOG, dialect=dialect).statement
    return found.selections[0].formula


@pytest.mark.parametrize("dialect", sorted(LANGUAGES))
@pytest.mark.parametrize(("written", "meant"), PAIRS)
def test_not_is_read_alike(dialect: str, written: str, meant: str) -> None:
    assert _formula(written, dialect) == _formula(meant, "spark")
