"""Q5 of Arasu et al., duplicates preserved, over two large streams: the product against Spark itself.

``python -m benchmarks.q5 [--rows 20000000]`` draws S(A, B, C) and T(D, E) once (cached), then measures,
interleaved and warm, in one Spark session:

* the product: checked, planned, summarised in parallel, new answers of every partition written;
* the floor: Spark reads the columns that the query mentions and sums them;
* the expert: Spark SQL written by hand for the final answer: both streams filtered, clipped to the
  query's constants, grouped and counted, then the two small tables joined.

It prints medians of the ratios within each round against the aims, and the peak memory of the driver at
two sizes. Exit code 1 if the product's answer is not the expert's.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from benchmarks.figures import Run, begin

from streambound import settings
from streambound.demo.abstract import FOLDERS, Shape, generate
from streambound.history.evaluate import evaluate_history
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.spark.executor import SparkExecutor
from streambound.spark.session import session

SQL = "SELECT A FROM S, T WHERE B < D AND B < 120 AND D > 20 AND A > 10 AND A < 20"
AIMS = {"floor": 1.5, "expert": 0.8}
PEERS = {"floor": "Spark's scan alone", "expert": "Spark SQL by hand"}
PARTITIONS = 8


def data(rows: int) -> Path:
    """The folder of both streams with that many rows each, drawn unless it is there."""
    folder = settings.home() / "bench" / f"abstract-{rows}"
    done = folder / "done"
    if not done.exists():
        print(f"drawing S and T with {rows:,} rows each ...", flush=True)
        generate(folder, Shape(rows=rows, partitions=PARTITIONS, seed=5))
        done.touch()
    return folder


def catalog(folder: Path) -> Catalog:
    """S and T with their histories in that folder."""
    columns = {"S": {"A": "int", "B": "int", "C": "int"}, "T": {"D": "int", "E": "int"}}
    return catalog_from_mapping(
        {
            stream: {
                "columns": columns[stream],
                "history": {"path": str(folder / FOLDERS[stream]), "partition_by": "part"},
            }
            for stream in columns
        }
    )


@dataclass(frozen=True)
class Bench:
    """What is measured, over one session and one folder of data."""

    spark: Any
    folder: Path
    output: Path

    def product(self) -> dict[int, int]:
        query = RegisteredQuery("q5", SQL, Path("q5.sql"))
        (answer,) = evaluate_history(
            SparkExecutor(self.spark), [query], catalog(self.folder), output=self.output
        )
        if answer.error is not None:
            raise answer.error
        return self._written()

    def _written(self) -> dict[int, int]:
        total: dict[int, int] = {}
        for file in sorted((self.output / "q5").glob("part=*/*.parquet")):
            for row in pq.ParquetFile(file).read().to_pylist():
                total[row["A"]] = total.get(row["A"], 0) + int(row["count"])
        return total

    def floor(self) -> None:
        from pyspark.sql import functions as f

        s, t = self._streams()
        s.agg(f.sum("A"), f.sum("B")).crossJoin(t.agg(f.sum("D"))).collect()

    def expert(self) -> dict[int, int]:
        from pyspark.sql import functions as f

        s, t = self._streams()
        few = s.where("A > 10 AND A < 20 AND B < 120").groupBy("A", f.greatest("B", f.lit(20)).alias("B"))
        many = t.where("D > 20").groupBy(f.least("D", f.lit(120)).alias("D"))
        pairs = few.agg(f.count("*").alias("n")).join(many.agg(f.count("*").alias("m")), f.expr("B < D"))
        counts = pairs.groupBy("A").agg(f.expr("sum(cast(n AS decimal(19,0)) * m)").alias("count"))
        return {row["A"]: int(row["count"]) for row in counts.collect()}

    def _streams(self) -> tuple[Any, Any]:
        read = [self.spark.read.parquet(str(self.folder / FOLDERS[name])) for name in ("S", "T")]
        return read[0], read[1]


def timed(run: Callable[[], Any]) -> float:
    """Seconds that a call takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def measure(bench: Bench, rounds: int) -> dict[str, list[float]]:
    """Seconds of each way in each round, interleaved, after one round that does not count."""
    ways = {"product": bench.product, "floor": bench.floor, "expert": bench.expert}
    for way in ways.values():
        way()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            seconds[name].append(timed(way))
    return seconds


def report(seconds: dict[str, list[float]], rows: int, run: Run) -> None:
    """Print and write the medians and the ratios against the aims."""
    for name, found in seconds.items():
        print(f"{name:8} {statistics.median(found):7.2f} s  ({min(found):.2f} to {max(found):.2f})")
    for name, aim in AIMS.items():
        found = run.add("Q5", rows, seconds["product"], "s", PEERS[name], seconds[name], aim)
        print(f"product / {name}: {found.ratio:.2f}x, aim at most {aim}x")


def peak_memory(rows: int) -> dict[str, float]:
    """Megabytes that a fresh driver reaches: its Python process, and the JVM that also runs the tasks."""
    command = [sys.executable, "-m", "benchmarks.q5", "--rows", str(rows), "--probe"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(told.splitlines()[-1]))


def probe(rows: int) -> None:
    """Evaluate once, and print what this process and its JVM have reached."""
    with tempfile.TemporaryDirectory() as output, session("q5 memory") as spark:
        Bench(spark, data(rows), Path(output)).product()
        jvm = int(spark.sparkContext._gateway.jvm.ProcessHandle.current().pid())
        status = Path(f"/proc/{jvm}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+)", status)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"python": own, "jvm": int(found[1]) / 1024 if found else 0.0}))


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of each stream")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--probe", action="store_true", help=argparse.SUPPRESS)
    options, run = begin("q5", parser, ["pyspark", "duckdb"], rounds=3)
    if options.probe:
        probe(options.rows)
        return 0
    folder = data(options.rows)
    print(f"{options.rows:,} rows a stream, {PARTITIONS} partitions, {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as output, session("q5") as spark:
        bench = Bench(spark, folder, Path(output))
        seconds = measure(bench, options.rounds)
        same = bench.product() == bench.expert()
    report(seconds, options.rows, run)
    print(f"answers: {'the same' if same else 'DIFFERENT'}")
    # The quick form leaves memory to `memory.py`.
    for rows in () if options.quick else (options.rows // 10, options.rows):
        data(rows)
        peaks = peak_memory(rows)
        run.add("driver, Python", rows, [peaks["python"]], "MB")
        run.add("driver, JVM with the tasks", rows, [peaks["jvm"]], "MB")
        print(f"driver at {rows:,} rows: Python {peaks['python']:.0f} MB, JVM {peaks['jvm']:.0f} MB")
    return 0 if run.met and same else 1


if __name__ == "__main__":
    sys.exit(main())
