"""Nested columns by their paths."""

from __future__ import annotations

import pytest

from streambound.compiler.report import check
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read

CATALOG = catalog_from_mapping(
    {
        "orders": {
            "columns": {
                "id": "int",
                "ts": "timestamp",
                "user": "struct<id: bigint, geo: struct<city: string, at: array<double>>>",
            },
            "timestamp": "ts",
        },
        "pays": {"columns": {"id": "int", "by": "ROW<user_id BIGINT NOT NULL, how STRING>"}},
        "flat": {"columns": {"id": "int", "uid": "bigint", "city": "string"}},
    }
)


@pytest.mark.parametrize(
    ("sql", "flat"),
    [
        ("SELECT DISTINCT o.user.id FROM orders o", "SELECT DISTINCT o.uid FROM flat o"),
        ("SELECT user.id FROM orders WHERE user.id > 3", "SELECT uid FROM flat WHERE uid > 3"),
        (
            "SELECT DISTINCT o.user.id FROM orders o WHERE o.user.id BETWEEN 1 AND 5",
            "SELECT DISTINCT o.uid FROM flat o WHERE o.uid BETWEEN 1 AND 5",
        ),
        (
            "SELECT 1 AS one FROM orders o, pays p WHERE o.user.id = p.BY.user_id",
            "SELECT 1 AS one FROM flat o, flat p WHERE o.uid = p.uid",
        ),
        (
            "SELECT DISTINCT User.Geo.City AS c FROM orders WHERE user.geo.city IN ('a', 'b')",
            "SELECT DISTINCT city AS c FROM flat WHERE city IN ('a', 'b')",
        ),
        (
            "WITH w AS (SELECT o.user.id AS uid FROM orders o) SELECT DISTINCT uid FROM w",
            "SELECT DISTINCT uid FROM flat",
        ),
    ],
)
def test_a_path_is_a_column(sql: str, flat: str) -> None:
    found, plain = (check(text, CATALOG, suggest=False) for text in (sql, flat))
    assert found.error is None, found.error
    assert found.verdict == plain.verdict and found.verdict in ("bounded", "unbounded")
    assert [r.code for r in found.reasons] == [r.code for r in plain.reasons]
    assert found.verdict == "unbounded" or "nested column" in str(found.unplanned)


@pytest.mark.parametrize("path", ["user", "user.geo", "user.geo.at", "user.nothing", "user.geo.nothing.more"])
def test_what_ends_at_no_value_takes_any(path: str) -> None:
    for owner in ("", "o."):
        assert check(f"SELECT {owner}{path} FROM orders o", CATALOG).verdict == "bounded"
        assert check(f"SELECT DISTINCT {owner}{path} FROM orders o", CATALOG).verdict == "unbounded"


def test_a_path_is_a_column_in_a_sub_query_too() -> None:
    sql = "SELECT o.id FROM orders o WHERE {} EXISTS (SELECT 1 FROM pays p WHERE p.by.user_id = o.user.id)"
    assert check(sql.format("o.id = 1 AND"), CATALOG).verdict == "unbounded"
    assert check(sql.format("o.id = 1 AND o.user.id IN (1, 2) AND"), CATALOG).verdict == "bounded"


def test_what_holds_a_path_is_not_free_of_it() -> None:
    # A row of few users may still have any user.
    sql = "SELECT DISTINCT o.user FROM orders o WHERE o.user.id = 3"
    assert check(sql, CATALOG).verdict == "unknown"


def test_all_columns_are_those_of_the_catalog() -> None:
    found = read("SELECT * FROM orders o WHERE o.user.id > 3", CATALOG).statement
    assert [name for name, _ in found.outputs] == ["id", "ts", "user"]


def test_a_reason_stands_at_the_whole_path() -> None:
    found = check("SELECT DISTINCT o.user.id FROM orders o", CATALOG)
    place = found.reasons[0].place
    assert place is not None and (place.column, place.length) == (17, len("o.user.id"))
    assert "user.id" in found.reasons[0].message
