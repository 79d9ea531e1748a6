"""Statements over all that the grammar has, as histories: the answers of the definition."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.beyond import beyond
from tests.statements import compared, wrong

from streambound.history.local import LocalExecutor


@pytest.mark.parametrize("first", [0, 10**6])
def test_a_sample_of_statements(first: int) -> None:
    found = compared(LocalExecutor(1), 12, first)
    assert found["with answers"] >= 4 and found["unbounded"] and found["unknown"]


NEAR = "s0.ts <= s1.ts + INTERVAL 1 SECOND"
SOUGHT = "EXISTS (SELECT 1 FROM S t0 WHERE s0.B <= t0.B AND s0.ts = t0.ts + INTERVAL 1 SECOND)"


@pytest.mark.parametrize("number", ["AVG(s0.A)", "SUM(s1.B)", "SUM(s0.A * s1.B)", "STDDEV_POP(s1.B)"])
@pytest.mark.parametrize(
    "source",
    [
        f"FROM S s0, S s1 WHERE {NEAR} AND {SOUGHT}",
        f"FROM S s0, S s1 WHERE {NEAR} AND NOT {SOUGHT}",
        "FROM S s0 LEFT JOIN S s1 ON s1.ts BETWEEN s0.ts AND s0.ts + INTERVAL 1 SECOND",
        "FROM S s0 ASOF JOIN S s1 ON s0.K = s1.K AND s0.ts > s1.ts",
    ],
)
def test_sums_over_rows_that_are_joined_in_parts(source: str, number: str) -> None:
    """Each part of the rows weighs what it has of the columns that are added up."""
    line = replace(beyond(1973).line, sql=f"SELECT s0.K AS k, {number} AS n {source} GROUP BY s0.K")
    fault, answered = wrong(LocalExecutor(1), line)
    assert not fault and answered
