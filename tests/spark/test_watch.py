"""What Spark keeps of a query that runs, beside what was predicted of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.engines.cases import on

import streambound.spark
from streambound.errors import QueryError
from streambound.spark.checking.check import Checked
from streambound.spark.checking.watch import BYTES, MOST, NEEDED, ROWS, Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RANGE = "SELECT S.id FROM S JOIN T ON S.A = T.D AND S.ts BETWEEN T.ts AND T.ts + INTERVAL '1' HOUR"
COUNTED = "SELECT A, COUNT(*) FROM S WHERE A BETWEEN 1 AND 3 GROUP BY A"
GROWING = "SELECT id, COUNT(*) FROM S GROUP BY id"


def watched(sql: str, **limits: Any) -> Watch:
    return Watch(Checked("q", "bounded", "exact", engine=on("spark", sql)), **limits)


def batch(arrived: int | None, rows: int, size: int) -> Mapping[str, Any]:
    operator = {"operatorName": "stateStoreSave", "numRowsTotal": rows, "memoryUsedBytes": size}
    sources = [{"numInputRows": 100}]
    return {"numInputRows": arrived, "stateOperators": [operator], "sources": sources}


def test_a_running_query_is_compared_with_what_was_predicted(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "0.json").write_text("".join(f"{json.dumps({'A': n % 5})}\n" for n in range(20)))
    rows = spark.readStream.schema("A int").json(str(tmp_path / "rows"))
    frame = rows.where("A BETWEEN 1 AND 3").groupBy("A").count()
    writer = frame.writeStream.format("noop").outputMode("update").queryName("counts")
    query = writer.option("checkpointLocation", str(tmp_path / "state")).start()
    metrics: dict[tuple[str, str], float] = {}
    try:
        watch = streambound.spark.watch(
            query, gauge=lambda name, value, labels: metrics.update({(name, labels["operator"]): value})
        )
        query.processAllAvailable()
        # The listener may not have heard of it yet.
        watch.observe(query.recentProgress[0])
        watch.remove()
    finally:
        query.stop()
    assert watch.predicted is not None and watch.predicted.most == 3
    assert (watch.state.rows, watch.warnings) == (3, [])
    assert (metrics[ROWS, "stateStoreSave"], metrics[MOST, "all"]) == (3, 3)
    # A key and a count each.
    assert metrics[NEEDED, "all"] == watch.checked.units == 6
    assert metrics[BYTES, "stateStoreSave"] == watch.state.bytes > 0


@pytest.mark.parametrize(
    ("sql", "batches", "warned"),
    [
        # What is predicted by number.
        (COUNTED, [(100, 3, 500)], None),
        (COUNTED, [(100, 3, 500), (100, 4, 600)], "more rows than the 3 that were predicted"),
        # What should stay the same, once it is full.
        (RANGE, [(100, 100, 500), (100, 200, 1000), (200, 210, 1000), (400, 200, 1000)], None),
        (RANGE, [(100, 100, 500), (100, 200, 1000), (200, 400, 2000)], "its rows grow"),
        (RANGE, [(None, 5, 500), (None, 5, 1000), (200, 5, 2000)], "its bytes grow"),
        # What was predicted to grow may.
        (GROWING, [(100, 100, 500), (100, 200, 1000), (200, 400, 2000), (400, 800, 4000)], None),
    ],
)
def test_state_that_passes_what_was_predicted_is_told(
    sql: str, batches: list[tuple[int | None, int, int]], warned: str | None
) -> None:
    watch = watched(sql)
    for one in batches:
        watch.observe(batch(*one))
    assert len(watch.warnings) == (warned is not None)
    assert warned is None or warned in watch.warnings[0]


def test_limits_of_ones_own_are_kept_watch_on() -> None:
    watch = watched(GROWING, most_rows=10, most_bytes=1000)
    for _ in range(2):
        watch.observe(batch(100, 20, 2000))
    assert watch.warnings == [
        "its state has more rows than the 10 that were predicted",
        "its state has more bytes than 1,000",
    ]


def test_only_a_query_that_runs_is_watched() -> None:
    with pytest.raises(QueryError, match="found 7"):
        streambound.spark.watch(7)
