"""Statements over all that the grammar has, as histories: the answers of the definition."""

from __future__ import annotations

import pytest
from tests.statements import compared

from streambound.history.local import LocalExecutor


@pytest.mark.parametrize("first", [0, 10**6])
def test_a_sample_of_statements(first: int) -> None:
    found = compared(LocalExecutor(1), 12, first)
    assert found["with answers"] >= 4 and found["unbounded"] and found["unknown"]
