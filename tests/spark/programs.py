"""Streaming programs in DataFrames as people write them, the same for classic sessions and for Spark Connect.

``python -m tests.spark.programs ADDRESS FILE NUMBER`` checks them on a Connect server, in a process of its
own: in one with a classic session Spark's functions are those of that session.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tests.spark.dataframes import Frames, lines, promises

import streambound.spark
from streambound.errors import StreamboundError
from streambound.spark.checking.install import StateWarning

Program = Callable[[Any, Any], Any]
PROGRAMS: dict[str, Program] = {}
PROMISES: dict[str, Any] = {"by_user": {"c": {"domains": {"user": {"min": 0, "max": 9}}}}}


def program(made: Program) -> Program:
    """A program: from a session and Spark's functions a DataFrame."""
    PROGRAMS[made.__name__] = made
    return made


def clicks(spark: Any, F: Any) -> Any:
    """Clicks: the user, and the event time with its watermark."""
    rate = spark.readStream.format("rate").load()
    named = rate.select(F.col("value").alias("user"), F.col("timestamp").alias("ts"))
    return named.withWatermark("ts", "10 minutes")


def shown(spark: Any, F: Any) -> Any:
    """Advertisements that were shown, by other words."""
    rate = spark.readStream.format("rate").load()
    return rate.selectExpr("value AS viewer", "timestamp AS at").withWatermark("at", "90 seconds")


@program
def attribution(spark: Any, F: Any) -> Any:
    """Two sources, watermarks, a join within time, duplicates dropped."""
    c, s = clicks(spark, F).alias("c"), shown(spark, F).alias("s")
    same = F.col("c.user") == F.col("s.viewer")
    near = F.expr("c.ts BETWEEN s.at AND s.at + INTERVAL 10 MINUTES")
    return c.join(s, same & near).dropDuplicates()


@program
def unbounded(spark: Any, F: Any) -> Any:
    """The same without time in the join."""
    c, s = clicks(spark, F).alias("c"), shown(spark, F).alias("s")
    return c.join(s, F.col("c.user") == F.col("s.viewer")).dropDuplicates()


@program
def by_user(spark: Any, F: Any) -> Any:
    """Keys whose columns alone are shown, which are few as is promised."""
    return clicks(spark, F).alias("c").dropDuplicates(["user"]).select("user")


@program
def by_key(spark: Any, F: Any) -> Any:
    """One row of each key, with its other columns."""
    return clicks(spark, F).dropDuplicates(["user"])


@program
def using(spark: Any, F: Any) -> Any:
    """A self-join over a name, columns renamed, added and dropped."""
    again = clicks(spark, F)
    left = again.withColumn("page", F.col("user") % 10).withColumnRenamed("ts", "first")
    right = again.withColumn("page", F.col("user") % 10).select("page", F.col("ts").alias("second"))
    near = F.expr("first BETWEEN second AND second + INTERVAL 1 HOUR")
    return left.join(right, ["page"]).where(near).drop("user").distinct()


@program
def taken_from(spark: Any, F: Any) -> Any:
    """Columns taken from the DataFrames themselves."""
    c, s = clicks(spark, F), shown(spark, F)
    near = (c.ts >= s.at) & (c["ts"] <= s["at"] + F.expr("INTERVAL 5 MINUTES"))
    found = c.join(s, (c.user == s.viewer) & near & c.user.between(1, 50) & ~c.user.isin(7, 8))
    return found.select(c.user, F.when(c.user > 10, "many").otherwise("few").alias("how"))


@program
def parsed(spark: Any, F: Any) -> Any:
    """A log of JSON, as a topic holds it."""
    raw = (
        spark.readStream.format("rate")
        .load()
        .select(F.col("value").cast("string").cast("binary").alias("value"))
    )
    schema = "user long, ts timestamp, device struct<os: string, version: int>"
    data = raw.select(F.from_json(F.col("value").cast("string"), schema).alias("data")).select("data.*")
    stamped = data.withWatermark("ts", "1 hour").select("user", "ts", "device.os")
    return stamped.where(F.col("os") == "linux").select("user", F.date_trunc("hour", "ts").alias("hour"))


@program
def viewed(spark: Any, F: Any) -> Any:
    """A statement over a view."""
    clicks(spark, F).createOrReplaceTempView("clicks")
    return spark.sql(
        "SELECT DISTINCT a.user FROM clicks a JOIN clicks b ON a.user = b.user"
        " AND a.ts BETWEEN b.ts - INTERVAL 5 MINUTES AND b.ts WHERE a.user BETWEEN 1 AND 9"
    )


@program
def view_itself(spark: Any, F: Any) -> Any:
    """A view as a DataFrame, with a filter and a computed column of its own."""
    clicks(spark, F).where("user > 3").selectExpr("user % 4 AS part", "ts").createOrReplaceTempView("parts")
    return spark.table("parts").select("part").distinct()


@program
def view_filtered(spark: Any, F: Any) -> Any:
    """A view with a filter below a watermark, of columns that it does not show."""
    shown(spark, F).where("viewer < 100").createOrReplaceTempView("seen")
    return spark.sql("SELECT at FROM seen WHERE viewer > 50")


@program
def given(spark: Any, F: Any) -> Any:
    """A statement that is given a DataFrame and a value."""
    text = "SELECT DISTINCT user FROM {clicks} WHERE user BETWEEN :low AND 5"
    return spark.sql(text, args={"low": 1}, clicks=clicks(spark, F))


@program
def windows(spark: Any, F: Any) -> Any:
    """The windows themselves: a part of one is no column by itself."""
    return clicks(spark, F).withColumn("w", F.window("ts", "10 minutes")).select("w.start").distinct()


@program
def no_watermark(spark: Any, F: Any) -> Any:
    """One side without a watermark."""
    rate = spark.readStream.format("rate").load().alias("r")
    near = F.expr("c.user = r.value AND c.ts BETWEEN r.timestamp AND r.timestamp + INTERVAL 1 HOUR")
    return clicks(spark, F).alias("c").join(rate, near).select("user")


@program
def united(spark: Any, F: Any) -> Any:
    """Two streams as one."""
    other = shown(spark, F).select(F.col("at").alias("ts"), F.col("viewer").alias("user"))
    return clicks(spark, F).unionByName(other).distinct()


@program
def enriched(spark: Any, F: Any) -> Any:
    """A stream and a table."""
    names = spark.createDataFrame([(1, "x")], "k INT, v STRING").alias("names")
    return clicks(spark, F).alias("c").join(names, F.col("c.user") == F.col("names.k")).select("user", "v")


@program
def counted(spark: Any, F: Any) -> Any:
    """Counts by window."""
    return clicks(spark, F).groupBy(F.window("ts", "10 minutes", "5 minutes"), "user").count()


@program
def outer(spark: Any, F: Any) -> Any:
    """Rows without a partner."""
    c, s = clicks(spark, F).alias("c"), shown(spark, F).alias("s")
    return c.join(
        s, F.expr("c.user = s.viewer AND c.ts BETWEEN s.at AND s.at + INTERVAL 1 HOUR"), "left_outer"
    )


@program
def within(spark: Any, F: Any) -> Any:
    """Duplicates within the watermark."""
    return clicks(spark, F).dropDuplicatesWithinWatermark(["user"])


@program
def within_all(spark: Any, F: Any) -> Any:
    """Whole rows, of which the time is a part."""
    return clicks(spark, F).where("user < 5").dropDuplicatesWithinWatermark().select("user")


@program
def newest(spark: Any, F: Any) -> Any:
    """The last three of each page."""
    from pyspark.sql import Window

    paged = clicks(spark, F).withColumn("page", F.col("user") % 4)
    order = Window.partitionBy("page").orderBy(F.col("ts").desc())
    return paged.withColumn("rank", F.row_number().over(order)).where("rank <= 3").select("page", "ts")


@program
def moving(spark: Any, F: Any) -> Any:
    """Sums over rows, over all rows so far, and over all of a page."""
    from pyspark.sql import Window

    paged = clicks(spark, F).withColumn("page", F.col("user") % 4)
    page = Window.partitionBy("page")
    return paged.select(
        "ts",
        F.sum("page").over(page.orderBy("ts").rowsBetween(-3, 0)).alias("few"),
        F.max("page").over(page.orderBy("ts")).alias("so_far"),
        F.lag("page", 2).over(page.orderBy("ts")).alias("before"),
    )


@program
def moving_text(spark: Any, F: Any) -> Any:
    """A sum over a stretch of time, as text."""
    over = "sum(user) OVER (PARTITION BY user % 4 ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING"
    return clicks(spark, F).selectExpr("ts", f"{over} AND CURRENT ROW) AS total")


@program
def cubed(spark: Any, F: Any) -> Any:
    """Counts of every combination of two keys, and which one it is."""
    paged = clicks(spark, F).withColumn("page", F.col("user") % 4).withColumn("half", F.col("user") % 2)
    return paged.cube("page", "half").agg(F.count("*").alias("n"), F.grouping_id().alias("of"))


@program
def rolled(spark: Any, F: Any) -> Any:
    """Counts by window, and of each window by user."""
    return clicks(spark, F).rollup(F.window("ts", "10 minutes"), "user").count()


@program
def chosen_sets(spark: Any, F: Any) -> Any:
    """Counts by sets of keys that are chosen, of a view."""
    clicks(spark, F).createOrReplaceTempView("chosen")
    return spark.sql(
        "SELECT user % 4 AS page, COUNT(*) AS n FROM chosen GROUP BY GROUPING SETS ((user % 4), ())"
    )


@program
def exploded(spark: Any, F: Any) -> Any:
    """Rows of the parts of a text, joined with another stream."""
    parts = F.split(F.col("user").cast("string"), "1")
    made = clicks(spark, F).select("ts", F.explode(parts).alias("part")).where("part <> ''").alias("m")
    near = F.expr("m.part = CAST(s.viewer AS STRING) AND m.ts BETWEEN s.at AND s.at + INTERVAL 1 HOUR")
    return made.join(shown(spark, F).alias("s"), near).select("m.part", "s.at")


@program
def exploded_outer(spark: Any, F: Any) -> Any:
    """Each part once, those of rows without any included."""
    parts = F.split(F.col("user").cast("string"), "1")
    return clicks(spark, F).withColumn("part", F.explode_outer(parts)).select("part").distinct()


@program
def function(spark: Any, F: Any) -> Any:
    """A function of Python in a filter."""
    robot = F.udf(lambda user: user % 2 == 0, "boolean")
    return clicks(spark, F).where(robot("user"))


@program
def chance(spark: Any, F: Any) -> Any:
    """A function of Python that answers another value each time."""
    return clicks(spark, F).select(F.udf(lambda user: user, "long").asNondeterministic()("user"))


@program
def state(spark: Any, F: Any) -> Any:
    """State by code."""

    def sessions(key: Any, frames: Any, state: Any) -> Iterator[Any]:
        yield from frames

    grouped = clicks(spark, F).groupBy("user")
    return grouped.applyInPandasWithState(sessions, "user LONG", "n LONG", "append", "NoTimeout")


@program
def mapped(spark: Any, F: Any) -> Any:
    """Rows by code, and an aggregate of them."""

    def doubled(frames: Any) -> Iterator[Any]:
        yield from frames

    return clicks(spark, F).mapInPandas(doubled, "user LONG").groupBy("user").count()


def report(spark: Any, F: Any, name: str) -> Any:
    """The verdict on a program."""
    return streambound.spark.check(PROGRAMS[name](spark, F), name, PROMISES.get(name))


def start(frame: Any) -> Any:
    """The program as a query that writes to nowhere."""
    return frame.writeStream.format("noop").queryName("job").start()


def _refused_mode(spark: Any) -> str:
    try:
        streambound.spark.install(spark, on="refused")
    except StreamboundError as error:
        return str(error)
    return ""


def installed(spark: Any, F: Any, checkpoints: str) -> dict[str, Any]:
    """What ``install`` makes of starting programs."""
    spark.conf.set("spark.sql.streaming.checkpointLocation", checkpoints)
    told: dict[str, Any] = {}
    found = streambound.spark.install(spark, on="refuse")
    streambound.spark.install(spark, on="refuse")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            start(PROGRAMS["unbounded"](spark, F))
        except StreamboundError as error:
            told["refused"] = str(error)
        told["running"] = len(spark.streams.active)
        query = start(PROGRAMS["attribution"](spark, F))
        told["started"] = query.name
        told["of the query"] = str(streambound.spark.check(query))
        query.stop()
        told["silent"] = [str(one.message) for one in heard if issubclass(one.category, StateWarning)]
        query = start(PROGRAMS["chance"](spark, F))
        query.stop()
        told["of another mode"] = _refused_mode(spark)
        told["warned"] = [str(one.message) for one in heard if issubclass(one.category, StateWarning)]
    found.remove()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        query = start(PROGRAMS["unbounded"](spark, F))
        query.stop()
        told["removed"] = [str(one.message) for one in heard if issubclass(one.category, StateWarning)]
    return told


def drawn(spark: Any, F: Any, number: int, folder: Path) -> list[tuple[str, str, int | None]]:
    """Random statements as DataFrames: the seed, the verdict, the units."""
    frames = Frames(spark, F, folder)
    found = []
    for line in islice(lines(), number):
        one = streambound.spark.check(frames.of(line), line.id, promises(line), suggest=False)
        found.append((line.id, one.verdict, one.units))
    return found


def told(spark: Any, F: Any, folder: Path, number: int) -> dict[str, Any]:
    """All that is checked on Spark Connect, as JSON."""
    found = {name: report(spark, F, name) for name in PROGRAMS}
    said = {name: {**one.to_json(), "sql": one.sql, "text": str(one)} for name, one in found.items()}
    return {
        "reports": said,
        "installed": installed(spark, F, str(folder / "checkpoints")),
        "drawn": drawn(spark, F, number, folder),
    }


if __name__ == "__main__":
    from pyspark.sql import SparkSession, functions

    address, target, drawn_lines = sys.argv[1:4]
    session = SparkSession.builder.remote(address).getOrCreate()
    answer = told(session, functions, Path(target).parent, int(drawn_lines))
    Path(target).write_text(json.dumps(answer))
    session.stop()
