"""A sweep on Spark counts what a local one counts, in the same order."""

from __future__ import annotations

import pytest

from streambound.simulator.experiments.on_spark import swept_on_spark
from streambound.simulator.experiments.sweep import Task, swept

pytestmark = pytest.mark.spark


def test_spark_counts_what_threads_count(spark) -> None:
    tasks = [Task("joined", config, run, None, (3, 6), 300) for config in ("roof", "walk") for run in (0, 1)]
    # First, so that the kernels are compiled once, and Spark's workers load them.
    expected = swept(tasks)
    told: list[tuple[int, int]] = []
    found = swept_on_spark(spark, tasks, lambda done, of: told.append((done, of)))
    assert found == expected
    assert told[-1] == (4, 4)
    assert swept_on_spark(spark, []) == []
