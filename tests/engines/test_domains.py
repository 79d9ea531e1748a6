"""Which columns have a finite domain after filters, and how many rows they leave: held against DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.cases import on

from streambound.compiler import parsed
from streambound.engines.operators import operators
from streambound.query.catalog import catalog_from_mapping

CATALOG = catalog_from_mapping({"S": {"columns": {"A": "int", "B": "int"}, "not_null": ["B"]}})
# Constants lie in 0..4: a column of which a value near an end of this passes has no finite domain.
ENDS = (-4, 8)
NEAR = {-4, -3, 7, 8}

columns, constants = st.sampled_from("AB"), st.integers(0, 4)
compared = st.tuples(columns, st.sampled_from(["<", "<=", "=", ">=", ">", "<>"]), constants).map(
    lambda one: f"{one[0]} {one[1]} {one[2]}"
)
listed = st.tuples(columns, st.lists(constants, min_size=1, max_size=3)).map(
    lambda one: f"{one[0]} IN ({', '.join(map(str, one[1]))})"
)
atoms = compared | listed | st.sampled_from(["A < B", "A = B", "A >= B", "A IS NULL", "A IS NOT NULL"])
either = st.tuples(atoms, atoms).map(lambda two: f"({' OR '.join(two)})")
conditions = st.lists(atoms | either, min_size=1, max_size=4).map(" AND ".join)


@pytest.fixture(scope="module")
def rows() -> Iterator[duckdb.DuckDBPyConnection]:
    """All rows of small values, NULL among those of A."""
    with duckdb.connect() as connection:
        values = f"range({ENDS[0]}, {ENDS[1] + 1})"
        every = f"SELECT range AS A FROM {values} UNION ALL SELECT NULL"
        connection.execute(f"CREATE TABLE S AS SELECT A, range AS B FROM ({every}), {values}")
        yield connection


@given(conditions)
def test_what_filters_leave(rows: duckdb.DuckDBPyConnection, condition: str) -> None:
    sql = f"SELECT DISTINCT A, B FROM S WHERE {condition}"
    found = rows.execute(sql).fetchall()
    *_, distinct = operators(parsed(sql, CATALOG, dialect="spark").statement)
    (side,) = distinct.inputs
    ends = {name for name, at in (("S.A", 0), ("S.B", 1)) if {row[at] for row in found} & NEAR}
    assert ends <= set(side.free)
    # What conditions on one column alone leave is known exactly; a choice between columns may be finer.
    if " OR " not in condition and found:
        assert set(side.free) == ends
    assert side.most is None or len(found) <= side.most


@pytest.mark.parametrize(
    ("condition", "growth"),
    [
        ("S.A BETWEEN 1 AND 9", "constant"),
        ("S.A BETWEEN 1 AND 9 OR S.A = 40", "constant"),
        ("S.A BETWEEN 1 AND 9 OR S.B = 40", "keys"),
        ("T.D IN (1, 2, 3)", "constant"),
        ("T.D IN (1, 2, 3) AND S.B > 1", "constant"),
        ("S.A > 1 AND T.D < 9", "constant"),
        # What an inequality of two streams implies is inferred by none.
        ("S.B < T.E AND T.E < 9 AND S.B > 1 AND S.A < S.B AND S.A > 1", "rows"),
    ],
)
def test_what_reaches_a_join(condition: str, growth: str) -> None:
    found = on("flink", f"SELECT S.A FROM S JOIN T ON S.A = T.D WHERE {condition}", "flink")
    assert [one.growth.value for one in found.operators] == [growth]
