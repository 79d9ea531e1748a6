"""A chain of three streams in time: the product against Spark's scan of the same columns.

``python -m benchmarks.timed_chain [--rows 10000000]`` draws S, T and U (cached), timestamps to the second,
then measures, interleaved and warm, in one Spark session:

* the product: checked, planned, partitions summarised in parallel, new answers of every partition written;
* the floor: Spark reads the columns that the query mentions and aggregates them.

It prints the median of the ratios within each round against the aim. Exit code 1 if the answer is not that of
SQL written by hand for it (as-of joins and running sums in DuckDB).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
from benchmarks.figures import begin

from streambound import settings
from streambound.history.evaluate import evaluate_history
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.spark.executor import SparkExecutor
from streambound.spark.session import session

SQL = (
    "SELECT S.A, T.A AS B FROM S, T, U "
    "WHERE S.ts > T.ts AND T.ts > U.ts AND S.A > T.A AND T.A > 0 AND T.A < 5"
)
STREAMS = ("S", "T", "U")
AIM = 4.0
PARTITIONS = 8
DAY = 86_400


def data(rows: int, partitions: int = PARTITIONS) -> Path:
    """The folder of the three streams with that many rows each, drawn unless it is there."""
    folder = settings.home() / "bench" / f"chain-{rows}-{partitions}"
    done = folder / "done"
    if not done.exists():
        print(f"drawing S, T and U with {rows:,} rows each ...", flush=True)
        for stream in STREAMS:
            for part in range(partitions):
                _draw(folder / stream / f"part={part:03}", stream, part, rows // partitions)
        done.touch()
    return folder


def _draw(folder: Path, stream: str, part: int, rows: int) -> None:
    """A day of a stream: as many rows at each second, with values from 0 to 9."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT make_timestamp(({part * DAY} + i * {DAY} // {rows}) * 1000000) AS ts,
            (hash(i * 8 + {STREAMS.index(stream)} + {part} * 1000003) % 10)::INT AS A
            FROM range({rows}) r(i)) TO '{folder}/data.parquet' (FORMAT parquet)"""
        )


def catalog(folder: Path) -> Catalog:
    """The streams with their histories in that folder."""
    return catalog_from_mapping(
        {
            stream: {
                "columns": {"ts": "timestamp", "A": "int"},
                "timestamp": "ts",
                "history": {"path": str(folder / stream), "partition_by": "part"},
            }
            for stream in STREAMS
        }
    )


@dataclass(frozen=True)
class Bench:
    """What is measured, over one session and one folder of data."""

    spark: Any
    folder: Path
    output: Path

    def product(self) -> None:
        query = RegisteredQuery("chain", SQL, Path("chain.sql"))
        (answer,) = evaluate_history(
            SparkExecutor(self.spark), [query], catalog(self.folder), output=self.output
        )
        if answer.error is not None:
            raise answer.error

    def written(self) -> dict[tuple[int, int], int]:
        """The answers that the product has written, added up."""
        total: dict[tuple[int, int], int] = {}
        for file in sorted((self.output / "chain").glob("part=*/*.parquet")):
            for row in pq.ParquetFile(file).read().to_pylist():
                key = (row["A"], row["B"])
                total[key] = total.get(key, 0) + int(row["count"])
        return total

    def floor(self) -> None:
        from pyspark.sql import functions as f

        read = [self.spark.read.parquet(str(self.folder / name)) for name in STREAMS]
        one, *others = (frame.agg(f.max("ts").alias(f"m{i}"), f.sum("A")) for i, frame in enumerate(read))
        for other in others:
            one = one.crossJoin(other)
        one.collect()


def by_hand(folder: Path) -> dict[tuple[int, int], int]:
    """The answer by SQL for this one query."""
    files = {name: f"read_parquet('{folder}/{name}/*/*.parquet')" for name in STREAMS}
    with duckdb.connect() as connection:
        rows = connection.execute(
            f"""WITH u AS (SELECT ts, sum(count(*)) OVER (ORDER BY ts) AS n FROM {files["U"]} GROUP BY ts),
            t AS (SELECT ts, A, count(*) AS n FROM {files["T"]} WHERE A > 0 AND A < 5 GROUP BY ts, A),
            tu AS (SELECT t.ts, t.A, t.n * u.n AS n FROM t ASOF JOIN u ON t.ts > u.ts),
            kept AS (SELECT ts, A, sum(n::HUGEINT) OVER (PARTITION BY A ORDER BY ts) AS n FROM tu),
            s AS (SELECT s.ts, s.A, b.A AS B, count(*) AS n FROM {files["S"]} s, range(1, 5) b(A)
                WHERE s.A > b.A GROUP BY ALL)
            SELECT s.A, s.B, sum(s.n * kept.n::HUGEINT) FROM s ASOF JOIN kept
                ON s.B = kept.A AND s.ts > kept.ts GROUP BY ALL"""
        ).fetchall()
    return {(int(a), int(b)): int(n) for a, b, n in rows}


def timed(run: Callable[[], Any]) -> float:
    """Seconds that a call takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def measure(bench: Bench, rounds: int) -> list[tuple[float, float]]:
    """Seconds of the product and of the floor in each round, after one round that does not count."""
    ways = (bench.product, bench.floor)
    for way in ways:
        way()
    return [(timed(ways[0]), timed(ways[1])) for _ in range(rounds)]


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of each stream")
    parser.add_argument("--rounds", type=int, default=7)
    options, run = begin("timed_chain", parser, ["pyspark", "duckdb"], rounds=3)
    folder = data(options.rows)
    print(f"3 x {options.rows:,} rows, {PARTITIONS} partitions, {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as output, session("timed chain") as spark:
        bench = Bench(spark, folder, Path(output))
        seconds = measure(bench, options.rounds)
        same = bench.written() == by_hand(folder)
    for name, found in zip(("product", "floor"), zip(*seconds, strict=True), strict=True):
        print(f"{name:8} {statistics.median(found):7.2f} s  ({min(found):.2f} to {max(found):.2f})")
    product, floor = map(list, zip(*seconds, strict=True))
    found = run.add("chain in time", options.rows, product, "s", "Spark's scan alone", floor, AIM)
    print(f"product / floor: {found.ratio:.2f}x, aim at most {AIM}x")
    print(f"answers: {'the same' if same else 'DIFFERENT'}")
    return 0 if run.met and same else 1


if __name__ == "__main__":
    sys.exit(main())
