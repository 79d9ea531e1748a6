"""Whoever summarises partitions, Spark or this machine: the same bytes, and either goes on from the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.history.kinds import KINDS, MEMORY, SQL, arrive, placed
from tests.spark.nights import from_scratch, left, night

from streambound.history.executor import Executor
from streambound.history.local import LocalExecutor
from streambound.spark.executor import SparkExecutor

pytestmark = pytest.mark.spark
# So many partitions there are at the end of each night.
NIGHTS = (3, 4, 6)


def test_either_goes_on_from_the_other(spark: Any, tmp_path: Path) -> None:
    # From what this machine left, and this machine from what Spark left; the next test begins with Spark.
    order: list[Executor] = [LocalExecutor(1), SparkExecutor(spark)]
    there = 0
    for number, parts in enumerate(NIGHTS):
        for part in range(there, parts):
            arrive(tmp_path, part)
        found = night(KINDS, placed(tmp_path), tmp_path / "home", order[number % 2], memory=MEMORY)
        assert {name: a.error for name, a in found.items()} == dict.fromkeys(SQL)
        new = tuple(str(part) for part in range(there, parts))
        assert {answer.read_partitions for answer in found.values()} == {new}
        there = parts
    expected = from_scratch(KINDS, placed(tmp_path), tmp_path / "whole", memory=MEMORY)
    for name in SQL:
        assert left(tmp_path / "home", name) == expected[name], name


@pytest.mark.heavy
def test_one_evaluation_leaves_the_same_bytes(spark: Any, tmp_path: Path) -> None:
    for part in range(NIGHTS[-1]):
        arrive(tmp_path, part)
    for home, executor in (("spark", SparkExecutor(spark)), ("local", LocalExecutor(1))):
        night(KINDS, placed(tmp_path), tmp_path / home, executor, memory=MEMORY)
    for name in SQL:
        assert left(tmp_path / "spark", name) == left(tmp_path / "local", name), name
