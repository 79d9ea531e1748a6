"""What Spark's Python processes keep from task to task."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streambound.spark.workers import settle

pytestmark = pytest.mark.spark


def _frozen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import gc

    if "SETTLES" not in os.environ:
        # Other tests share the session: a process may have served them.
        os.environ["SETTLES"] = "from here on"
        gc.unfreeze()
        settle.cache_clear()
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"process": [os.getpid()], "objects": [gc.get_freeze_count()]})
    settle()


def test_what_is_loaded_is_collected_once_a_process(spark: SparkSession) -> None:
    frame = spark.range(0, 1, 1, 1).mapInArrow(_frozen, "process bigint, objects bigint")
    found: dict[int, list[int]] = {}
    while not (same := [counts for counts in found.values() if len(counts) > 2]):
        ((process, objects),) = frame.collect()
        found.setdefault(process, []).append(objects)
    first, *later = same[0]
    assert first < 1_000 < later[0] and len(set(later)) == 1
