"""Statements over all that the grammar has on Spark: the answers of the definition, all in one session."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from tests.history.test_grammar import compared, planned

from streambound.spark.executor import SparkExecutor


@pytest.mark.heavy
@pytest.mark.spark
def test_many_statements(spark: Any) -> None:
    lines = list(islice(planned(), 500))
    print(compared(SparkExecutor(spark), lines), "of", len(lines), "statements have answers")
