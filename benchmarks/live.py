"""One large micro-batch: a live query, and Spark's own streaming join of the same streams.

Both take in a micro-batch of few rows and one of many, in fresh folders and a warm session; what the further
rows cost is the difference. Spark's own answers of the interval join are compared with ours; for the bag in
order of time it has no state that ends, so DuckDB answers it.
``python -m benchmarks.live [--rows N] [--rounds N]``
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.figures import begin

from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.model import History
from streambound.spark.live.query import configured, live
from streambound.spark.session import session

FEW = 500
COUNTRIES = 41
DAY = 86_400_000_000
BEGINNING = 1_700_000_000_000_000
WITHIN = (
    "SELECT o.id, p.country FROM orders o JOIN payments p"
    " ON o.id = p.id AND p.at >= o.at AND p.at <= o.at + INTERVAL '1' HOUR"
)
IN_ORDER = (
    "SELECT o.country FROM orders o JOIN payments p ON o.country = p.country AND o.at < p.at"
    f" WHERE o.country BETWEEN 0 AND {COUNTRIES - 1}"
)
WAYS = ("within an hour", "the same, Spark's own", "in order of time")
AIM_ROWS_A_SECOND = 50_000


@dataclass(frozen=True)
class Named:
    """A query by name."""

    name: str
    sql: str


def catalog_in(folder: Path) -> Catalog:
    """Two streams with a folder each."""
    columns = {"at": "timestamp", "id": "int", "country": "int"}
    stream = {"columns": columns, "timestamp": "at", "max_rows_per_timestamp": 1_000}
    made = catalog_from_mapping({name: stream for name in ("orders", "payments")})
    return Catalog(tuple(replace(r, history=History(str(folder / r.name), None)) for r in made.relations))


def arrive(folder: Path, rows: int) -> None:
    """A file of each stream: a day of ``rows`` rows."""
    for number, name in enumerate(("orders", "payments")):
        random = np.random.default_rng([rows, number])
        moments = np.sort(random.integers(0, DAY // 1_000, rows)) * 1_000 + BEGINNING
        columns = {
            "at": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "id": random.integers(0, rows, rows),
            "country": random.integers(0, COUNTRIES, rows),
        }
        (folder / name).mkdir(parents=True)
        pq.write_table(pa.table(columns), folder / name / "0.parquet")


def spark_join(spark: Any, folder: Path) -> int:
    """The number of answers of Spark's own interval join with watermarks; one micro-batch."""
    from pyspark.sql import functions as f

    found: list[int] = []
    sides = [
        spark.readStream.schema("at timestamp, id bigint, country bigint")
        .parquet(str(folder / name))
        .withWatermark("at", "0 seconds")
        .alias(name)
        for name in ("orders", "payments")
    ]
    near = f.expr("payments.at >= orders.at AND payments.at <= orders.at + INTERVAL 1 HOUR")
    frame = (
        sides[0]
        .join(sides[1], near & f.expr("orders.id = payments.id"))
        .select("orders.id", "payments.country")
    )
    writer = frame.writeStream.foreachBatch(lambda batch, _: found.append(batch.count()))
    query = writer.option("checkpointLocation", str(folder / "_join")).trigger(availableNow=True).start()
    query.awaitTermination()
    return sum(found)


def in_duckdb(folder: Path) -> int:
    """The number of answers of the bag in order of time."""
    sql = IN_ORDER.replace("SELECT o.country", "SELECT count(*)")
    sql = sql.replace("orders o", f"'{folder}/orders/0.parquet' o")
    sql = sql.replace("payments p", f"'{folder}/payments/0.parquet' p")
    ((found,),) = duckdb.connect().execute(sql).fetchall()
    return int(found)


def seconds(take: Callable[[Path], int], rows: int) -> tuple[float, int, int]:
    """The seconds of a micro-batch of ``rows`` rows a stream, its answers, and those that are right."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arrive(folder, rows)
        begun = time.perf_counter()
        answers = take(folder)
        return time.perf_counter() - begun, answers, in_duckdb(folder)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=47_500, help="of each stream")
    parser.add_argument("--rounds", type=int, default=3)
    options, run = begin("live", parser, ["pyspark"], rounds=1)
    with session("live", master="local[2]", spark__log__level="ERROR") as spark:

        def ours(sql: str) -> Callable[[Path], int]:
            query = Named("one", sql)
            return lambda folder: live(spark, query, catalog_in(folder), output=folder / "out").answer_count

        def peer(folder: Path) -> int:
            with configured(spark, lambda: False):
                return spark_join(spark, folder)

        ways = dict(zip(WAYS, (ours(WITHIN), peer, ours(IN_ORDER)), strict=True))
        more: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(options.rounds + 1):
            answers = {}
            for way, take in ways.items():
                few, _, _ = seconds(take, FEW)
                many, answers[way], right = seconds(take, options.rows)
                if number:
                    more[way].append(many - few)
                print(f"round {number}: {way}: {few:.1f} s and {many:.1f} s", flush=True)
            assert answers[WAYS[0]] == answers[WAYS[1]], answers
            assert answers[WAYS[2]] == right, (answers, right)
    rows = 2 * (options.rows - FEW)
    for way, found in more.items():
        print(f"{way}: {rows:,} further rows in {median(found):.2f} s: {rows / median(found):,.0f} a second")
    within, own, in_order = more.values()
    found = run.add(WAYS[0], rows, within, "s", "Spark's own streaming join", own)
    print(f"product / Spark's own: {found.ratio:.2f}")
    for way, seconds_of in ((WAYS[0], within), (WAYS[2], in_order)):
        run.add(way, rows, seconds_of, "s", aim=rows / AIM_ROWS_A_SECOND)
    return 0 if run.met else 1


if __name__ == "__main__":
    sys.exit(main())
