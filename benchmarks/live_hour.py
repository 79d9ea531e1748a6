"""An hour of files, live: ``python -m benchmarks.live_hour [--quick]``.

Two streams with a file each ten seconds, 360 of each (``--quick``: 60), are taken in one of each a
micro-batch, as fast as they can be: a join within five minutes and a bag in order of time. The resident
memory of the driver's Python process, of the Python workers and of the JVM is read after each micro-batch;
printed is the median of the last quarter beside that of the second. A Java heap grows to its limit whatever
lies in it, so its ratio has no aim. Exit code 1 if the driver's or the workers' is above ``AIM``.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.figures import begin
from benchmarks.memory import workers

from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.model import History
from streambound.query.registry import RegisteredQuery
from streambound.spark.live.query import Pace, live
from streambound.spark.session import session

AIM = 1.25
SECONDS, ROWS = 10, 500
BEGINNING = 1_700_000_000_000_000
QUERIES = {
    "within five minutes": "SELECT o.id, p.country FROM orders o JOIN payments p"
    " ON o.id = p.id AND p.at >= o.at AND p.at <= o.at + INTERVAL '5' MINUTES",
    "in order of time": "SELECT o.country FROM orders o JOIN payments p ON o.country = p.country"
    " AND o.at < p.at WHERE o.country BETWEEN 0 AND 40",
}


def catalog_in(folder: Path) -> Catalog:
    """Two streams with a folder each."""
    columns = {"at": "timestamp", "id": "int", "country": "int"}
    stream = {"columns": columns, "timestamp": "at", "max_rows_per_timestamp": 1_000}
    made = catalog_from_mapping({name: stream for name in ("orders", "payments")})
    return Catalog(tuple(replace(r, history=History(str(folder / r.name), None)) for r in made.relations))


def arrive(folder: Path, files: int) -> None:
    """So many files of each stream, of ten seconds each."""
    for number, name in enumerate(("orders", "payments")):
        (folder / name).mkdir(parents=True)
        for file in range(files):
            chance = np.random.default_rng([file, number])
            moments = np.sort(chance.integers(0, SECONDS * 1_000, ROWS)) * 1_000
            moments += BEGINNING + file * SECONDS * 1_000_000
            columns = {
                "at": pa.array(moments, pa.timestamp("us", tz="UTC")),
                "id": chance.integers(0, 20_000, ROWS),
                "country": chance.integers(0, 41, ROWS),
            }
            pq.write_table(pa.table(columns), folder / name / f"{file:05}.parquet")


def resident(pid: int) -> float:
    """Megabytes of a process; 0 if it is gone."""
    try:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--files", type=int, default=360, metavar="N", help="of each stream, of ten seconds each"
    )
    options, run = begin("live_hour", parser, ["pyspark"], files=60)
    files = options.files
    print(f"{files} files of each stream, {ROWS} rows each, {os.cpu_count()} cores")
    print("| query | process | second quarter | last quarter | last / second | aim |\n|" + "---|" * 6)
    with tempfile.TemporaryDirectory() as root, session("hour", master="local[2]") as spark:
        machine: Any = spark._jvm
        jvm = int(machine.java.lang.ProcessHandle.current().pid())
        for number, (name, sql) in enumerate(QUERIES.items()):
            folder, samples = Path(root) / str(number), list[tuple[float, float, float]]()
            arrive(folder, files)

            def sample(_: str, found: list[tuple[float, float, float]] = samples) -> None:
                beside = max((resident(pid) for pid in workers(jvm)), default=0.0)
                found.append((resident(os.getpid()), beside, resident(jvm)))

            query, pace = RegisteredQuery("q", sql, Path("q.sql")), Pace(files=1)
            begun = time.perf_counter()
            answer = live(spark, query, catalog_in(folder), output=folder / "out", pace=pace, progress=sample)
            taken = time.perf_counter() - begun
            quarter = len(samples) // 4
            for position, process in enumerate(("driver", "largest Python worker", "JVM")):
                early, late = (
                    median(one[position] for one in own)
                    for own in (samples[quarter : 2 * quarter], samples[3 * quarter :])
                )
                aim = None if process == "JVM" else AIM
                line = run.add(f"{name}: {process}", files, [late], "MB", "the second quarter", [early], aim)
                shown = "" if aim is None else f"{aim:g}"
                print(f"| {name} | {process} | {early:.0f} MB | {late:.0f} MB | {line.ratio:.2f} | {shown} |")
            told = f"{answer.epochs} micro-batches in {taken:.0f} s, {answer.answer_count:,} answers"
            print(f"{name}: {told}, {answer.units} units now, {answer.peak_units} at most", flush=True)
    return 0 if run.met else 1


if __name__ == "__main__":
    sys.exit(main())
