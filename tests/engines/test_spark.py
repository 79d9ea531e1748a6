"""Spark: what the model says of queries, beside what Spark does with them: growth, and refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.beyond import KINDS, beyond
from tests.engines.cases import in_every_mode, on
from tests.spark.dataframes import expressible

import streambound.spark
from streambound.engines.model import Fact, Growth
from streambound.query.model import RelationKind
from streambound.query.parse.corpus import CorpusLine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RANGE = "S.ts BETWEEN T.ts AND T.ts + INTERVAL '10' SECOND"
WINDOW = "window(ts, '10 seconds')"
MODES = ("append", "update", "complete")
# Of each kind of operator, alone and above another.
QUERIES = {
    "join": "SELECT S.id FROM S JOIN T ON S.A = T.D",
    "interval": f"SELECT S.id FROM S JOIN T ON S.A = T.D AND {RANGE}",
    "one side": "SELECT S.id FROM S JOIN T ON S.A = T.D AND S.ts > T.ts",
    "plain range": "SELECT U.id FROM U JOIN V ON U.A = V.D"
    " AND U.ts BETWEEN V.ts AND V.ts + INTERVAL '10' SECOND",
    "time equality": "SELECT S.id FROM S JOIN T ON S.ts = T.ts",
    "no equality": "SELECT S.id FROM S JOIN T ON S.A < T.D",
    "left": "SELECT S.id FROM S LEFT JOIN T ON S.A = T.D",
    "left interval": f"SELECT S.id FROM S LEFT JOIN T ON S.A = T.D AND {RANGE}",
    "full interval": f"SELECT S.id FROM S FULL JOIN T ON S.A = T.D AND {RANGE}",
    "static": "SELECT S.id FROM S JOIN R ON S.A = R.k",
    "stream left static": "SELECT S.id FROM S LEFT JOIN R ON S.A = R.k",
    "static left stream": "SELECT S.id FROM R LEFT JOIN S ON S.A = R.k",
    "semi": "SELECT id FROM S WHERE A IN (SELECT D FROM T)",
    "anti": "SELECT id FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE S.A = T.D)",
    "semi join": "SELECT S.id FROM S LEFT SEMI JOIN T ON S.A = T.D",
    "semi join, range": f"SELECT S.id FROM S LEFT SEMI JOIN T ON S.A = T.D AND {RANGE}",
    "anti join": f"SELECT S.id FROM S LEFT ANTI JOIN T ON S.A = T.D AND {RANGE}",
    "semi static": "SELECT id FROM S WHERE A IN (SELECT k FROM R)",
    "distinct": "SELECT DISTINCT A FROM S",
    "distinct ids": "SELECT DISTINCT id FROM S",
    "distinct times": "SELECT DISTINCT id, ts FROM S",
    "group": "SELECT A, COUNT(*) FROM S GROUP BY A",
    "group ids": "SELECT id, COUNT(*) FROM S GROUP BY id",
    "all rows": "SELECT COUNT(*) FROM S",
    "window": f"SELECT {WINDOW} AS w, A, COUNT(*) FROM S GROUP BY {WINDOW}, A",
    "by time": "SELECT ts, COUNT(*) FROM S GROUP BY ts",
    "truncated": "SELECT date_trunc('minute', ts), COUNT(*) FROM S GROUP BY date_trunc('minute', ts)",
    "session": "SELECT session_window(ts, '2 seconds') AS w, A, COUNT(*) FROM S"
    " GROUP BY session_window(ts, '2 seconds'), A",
    "count distinct": "SELECT A, COUNT(DISTINCT id) FROM S GROUP BY A",
    "list": "SELECT A, collect_list(id) FROM S GROUP BY A",
    "group of groups": "SELECT n, COUNT(*) FROM (SELECT A, COUNT(*) AS n FROM S GROUP BY A) x GROUP BY n",
    "join of groups": "SELECT x.n FROM (SELECT A, COUNT(*) AS n FROM S GROUP BY A) x JOIN T ON x.A = T.D",
    "join of distinct": "SELECT x.A FROM (SELECT DISTINCT A FROM S) x JOIN T ON x.A = T.D",
    "group of distinct": "SELECT COUNT(*) FROM (SELECT DISTINCT A FROM S) x",
    "distinct of groups": "SELECT DISTINCT n FROM (SELECT A, COUNT(*) AS n FROM S GROUP BY A) x",
    "distinct windows": f"SELECT DISTINCT {WINDOW} AS w FROM S",
    "join of windows": f"SELECT a.w FROM (SELECT {WINDOW} AS w, COUNT(*) AS c FROM S GROUP BY {WINDOW}) a"
    f" JOIN (SELECT {WINDOW} AS w, COUNT(*) AS c FROM T GROUP BY {WINDOW}) b ON a.w = b.w",
    "join, distinct": "SELECT DISTINCT S.A FROM S JOIN T ON S.A = T.D",
    "interval, group": f"SELECT S.A, COUNT(*) FROM S JOIN T ON S.A = T.D AND {RANGE} GROUP BY S.A",
    "top": "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY A ORDER BY B) AS n FROM S) x"
    " WHERE n <= 2",
    "over": "SELECT id, SUM(B) OVER (PARTITION BY A ORDER BY ts) AS s FROM S",
    "order": "SELECT id FROM S ORDER BY B",
    "order of groups": "SELECT A, COUNT(*) AS n FROM S GROUP BY A ORDER BY n",
    "order, limit": "SELECT id FROM S ORDER BY B LIMIT 3",
    "limit": "SELECT id FROM S LIMIT 3",
    "union all": "SELECT id FROM S UNION ALL SELECT id FROM T",
    "union": "SELECT A FROM S UNION SELECT D FROM T",
}
# What is measured of: those of which the model says each growth, of each operator.
MEASURED = (*("join", "interval", "distinct", "distinct times", "group ids", "list", "join, distinct"),)
BATCHES, SIZE = 2, 60
# Half as much again: what a batch holds open at its end differs by a few rows.
SLACK = 1.5


COLUMNS = {"S": "id int, A int, B int, ts timestamp", "T": "id int, D int, E int, ts timestamp"}
# U and V are the same without an event time.
LIKE = {"S": "S", "T": "T", "U": "S", "V": "T"}


@dataclass(frozen=True)
class Streams:
    """Folders of files, a minute each, and where queries keep their state."""

    spark: SparkSession
    folder: Path

    def show(self, rows: bool) -> None:
        """Make the streams views, with their rows or before any: what is refused mostly is so without."""
        for name, like in LIKE.items():
            path = self.folder / (name if rows else f"{name} before its rows")
            stream = self.spark.readStream.schema(COLUMNS[like]).option("maxFilesPerTrigger", 1)
            frame = stream.json(str(path))
            if name == like:
                frame = frame.withWatermark("ts", "0 seconds")
            frame.createOrReplaceTempView(name)

    def start(self, frame: Any, mode: str) -> Any:
        """Start a query that ends with what there is; it may be refused."""
        path = self.folder / f"checkpoint-{len(list(self.folder.iterdir()))}"
        writer = frame.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
        return writer.option("checkpointLocation", str(path)).start()


@pytest.fixture(scope="module")
def streams(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    folder = tmp_path_factory.mktemp("streams")
    for name, like in LIKE.items():
        (folder / f"{name} before its rows").mkdir()
        (folder / name).mkdir()
        for batch in range(BATCHES):
            rows = (_row(like, batch, n) for n in range(SIZE))
            (folder / name / f"{batch}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.createDataFrame([(1, 1)], "k int, v int").createOrReplaceTempView("R")
    yield Streams(spark, folder)
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    for name in (*LIKE, "R"):
        spark.catalog.dropTempView(name)


def _row(like: str, batch: int, n: int) -> dict[str, Any]:
    number = batch * SIZE + n
    values = {"A": n % 5, "B": n % 7} if like == "S" else {"D": n % 5, "E": n % 7}
    # A minute each, one row a second.
    return {"id": number, **values, "ts": f"2026-01-01T00:{batch:02d}:{n:02d}"}


@pytest.mark.parametrize(
    "name",
    # Every second in the ordinary run, all in ``make live``.
    [pytest.param(name, marks=[pytest.mark.heavy] * (at % 2)) for at, name in enumerate(QUERIES)],
)
def test_what_is_refused_is_what_spark_refuses(name: str, streams: Streams) -> None:
    sql, late = QUERIES[name], name == "no equality"
    streams.show(rows=late)
    for mode, found in in_every_mode("spark", sql).items():
        errors = [held.rule.error for held in found.operators if held.rule is not None and held.rule.error]
        raised = _raised(streams, sql, mode, wait=late)
        assert (raised is None) == (not errors), (mode, raised, errors)
        assert raised is None or any(raised in error for error in errors), (mode, raised, errors)


def _random_lines() -> Iterator[CorpusLine]:
    """Statements that Spark reads, without what is simplified before the model sees it (docs/engines.md)."""
    kinds = [kind for kind in KINDS if kind != "outer joins"]
    for seed in range(60):
        line = beyond(seed, *kinds).line
        assert line.catalog is not None
        versioned = any(one.kind is RelationKind.VERSIONED for one in line.catalog.relations)
        if expressible(line) and not versioned and "GROUPING SETS" not in line.sql:
            yield line


def test_random_statements_are_refused_where_spark_refuses_them(streams: Streams) -> None:
    compared = 0
    for line in islice(_random_lines(), 7):
        assert line.catalog is not None
        for one in line.catalog.relations:
            columns = ", ".join(f"`{column.name}` {column.type.name}" for column in one.columns)
            path = streams.folder / f"{line.id} {one.name}"
            path.mkdir()
            frame = streams.spark.readStream.schema(columns).json(str(path))
            if one.timestamp is not None:
                frame = frame.withWatermark(one.timestamp, "0 seconds")
            frame.createOrReplaceTempView(one.name)
        for mode, found in in_every_mode("spark", line.sql, catalog=line.catalog).items():
            errors = [
                held.rule.error for held in found.operators if held.rule is not None and held.rule.error
            ]
            raised = _raised(streams, line.sql, mode, wait=False)
            # What comes with the first batch only does not come without rows.
            early = [error for error in errors if "STREAM_FAILED" not in error]
            if raised is None or ("PARSE" not in raised and "DISTINCT_WINDOW" not in raised):
                compared += 1
                assert (raised is None) == (not early), (line.sql, mode, raised, errors)
    assert compared > 9


def _raised(streams: Streams, sql: str, mode: str, wait: bool) -> str | None:
    """The class and condition of Spark's error; None if the query starts."""
    from pyspark.errors import PySparkException

    try:
        query = streams.start(streams.spark.sql(sql), mode)
    except PySparkException as error:
        return f"{type(error).__name__} {error.getCondition()}"
    try:
        if wait:
            query.awaitTermination()
    except PySparkException as error:
        return f"{type(error).__name__} {error.getCondition()}"
    finally:
        query.stop()
    return None


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.heavy] * (at % 2)) for at, name in enumerate(MEASURED)]
)
def test_the_growth_is_what_is_measured(name: str, streams: Streams) -> None:
    streams.show(rows=True)
    found = on("spark", QUERIES[name])
    query = streams.start(streams.spark.sql(QUERIES[name]), str(found.mode).split()[-1])
    query.awaitTermination()
    progress = [one for one in query.recentProgress if one.numInputRows > 0]
    first, last = progress[0], progress[-1]
    rows = (
        sum(one.numRowsTotal for one in first.stateOperators),
        sum(o.numRowsTotal for o in last.stateOperators),
    )
    size = (
        sum(o.memoryUsedBytes for o in first.stateOperators),
        sum(o.memoryUsedBytes for o in last.stateOperators),
    )
    # No more than the keys that come, of which nobody has promised that there are few.
    repeated = found.growth is Growth.KEYS and name == "distinct"
    grows = found.growth is not Growth.CONSTANT and not repeated
    if name == "list":
        # The number of rows stays: what a value holds grows.
        assert rows[0] == rows[1] and size[1] > SLACK * size[0]
    else:
        assert (rows[1] > SLACK * rows[0]) == grows, (found.growth, rows)


def _frame(streams: Streams, name: str) -> Any:
    """What a DataFrame has that SQL has not, or otherwise."""
    s, t = (streams.spark.table(one).alias(one.lower()) for one in ("S", "T"))
    from pyspark.sql import functions as F

    same = F.expr("s.A = t.D")
    near = F.expr("s.A = t.D AND s.ts BETWEEN t.ts AND t.ts + INTERVAL 10 SECONDS")
    if name.startswith(("left_semi", "left_anti")):
        kind, _, ranged = name.partition(", ")
        return s.join(t, near if ranged else same, kind)
    within = {"ids": ["A"], "ids and times": ["A", "ts"]}
    if name == "within":
        return s.dropDuplicatesWithinWatermark(["A"])
    return s.dropDuplicates(within[name])


@pytest.mark.parametrize(
    ("name", "growth"),
    [
        ("left_semi", Growth.REFUSED),
        ("left_semi, range", Growth.CONSTANT),
        ("left_anti", Growth.REFUSED),
        ("left_anti, range", Growth.REFUSED),
        ("ids", Growth.KEYS),
        ("ids and times", Growth.CONSTANT),
        ("within", Growth.CONSTANT),
    ],
)
def test_a_dataframe_is_refused_where_spark_refuses_it(name: str, growth: Growth, streams: Streams) -> None:
    from pyspark.errors import PySparkException

    streams.show(rows=False)
    frame = _frame(streams, name)
    found = streambound.spark.check(frame, suggest=False).engine
    assert found is not None and found.growth is growth
    try:
        streams.start(frame, str(found.mode).split()[-1]).stop()
    except PySparkException as error:
        (told,) = (held.what for held in found.operators)
        assert f"{type(error).__name__} {error.getCondition()}" in told
    else:
        assert growth is not Growth.REFUSED


def test_dropped_duplicates_are_an_operator_of_their_own(streams: Streams) -> None:
    streams.show(rows=False)
    streams.start(streams.spark.table("S").select("A").dropDuplicates(), "append").awaitTermination()
    modes = in_every_mode("spark", QUERIES["distinct"], Fact.DEDUPLICATION)
    assert [modes[mode].growth for mode in MODES] == [Growth.KEYS, Growth.KEYS, Growth.REFUSED]
    timed = in_every_mode("spark", QUERIES["distinct times"], Fact.DEDUPLICATION)
    assert timed["append"].growth is Growth.CONSTANT
