"""State and memory as history grows: a bounded query over more and more partitions, each of the same size.

``python -m benchmarks.memory [--most 10000000] [--join 1000000]`` draws S(A) and T(A) in partitions of 50,000
rows each and evaluates the query, with checkpoints, in a fresh process for each length of history from 10^5
rows on. It prints the state in units and the peak memory (the kernel's high-water mark) of the driver's
Python process, of the largest Python worker, and of the JVM; and beside it the rows in the state store of
Spark's own streaming join of the same files (``numRowsTotal``), up to ``--join`` rows. Exit code 1 if
the units exceed the plan's, or the driver's memory grows.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.figures import Run, begin

from streambound.history.evaluate import evaluate_history
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.spark.executor import SparkExecutor
from streambound.spark.session import session

SQL = "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A > 10 AND S.A < 20"
LEAST = 100_000
ROWS = 50_000
VALUES = 31
# Of T few rows match, so that the join's answer, which Spark's own join gives pair by pair, stays small.
MATCHING = 1e-3
# The driver's memory at the greatest length against that at the least.
AIM = 1.25
SAMPLED_SECONDS = 0.1


@dataclass(frozen=True)
class Measured:
    """What one evaluation reached: seconds, units, answers, and megabytes of each kind of process.

    ``bound`` is the plan's, of units.
    """

    rows: int
    seconds: float
    units: int
    bound: int
    answers: int
    driver: float
    worker: float
    jvm: float


def arrive(folder: Path, partitions: int) -> None:
    """The first so many partitions of both streams, written if they are not there."""
    for part in range(partitions):
        for number, name in enumerate("ST"):
            file = folder / name / f"part={part:05}" / "data.parquet"
            if file.exists():
                continue
            file.parent.mkdir(parents=True)
            chance = np.random.default_rng([part, number])
            values = chance.integers(0, VALUES, ROWS)
            if name == "T":
                values = np.where(chance.random(ROWS) < MATCHING, values, 0)
            pq.write_table(pa.table({"A": values}), file)


def catalog(folder: Path) -> Catalog:
    """Both streams."""
    history = {name: {"path": str(folder / name), "partition_by": "part"} for name in "ST"}
    return catalog_from_mapping({n: {"columns": {"A": "int"}, "history": history[n]} for n in "ST"})


def high_water(pid: int | str) -> float:
    """Megabytes that a process has reached; 0 if it is gone."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def workers(jvm: int) -> list[int]:
    """The Python processes below a JVM."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text(encoding="utf-8")
        except OSError:
            continue
        parents[int(status.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found, size = {jvm}, 0
    while len(found) > size:
        size = len(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return [pid for pid in found if pid != jvm]


class Watched:
    """The most that any Python worker has reached, sampled until the end of the block."""

    def __init__(self, jvm: int) -> None:
        self.jvm, self.peak, self._done = jvm, 0.0, threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watched:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._done.wait(SAMPLED_SECONDS):
            self.peak = max([self.peak, *map(high_water, workers(self.jvm))])


def probe(folder: Path, partitions: int) -> None:
    """Evaluate the first partitions in this process, and print what was reached."""
    with tempfile.TemporaryDirectory() as name, session("memory", master="local[2]") as spark:
        jvm = int(spark.sparkContext._gateway.jvm.ProcessHandle.current().pid())
        started = time.perf_counter()
        with Watched(jvm) as watched:
            (answer,) = evaluate_history(
                SparkExecutor(spark),
                [RegisteredQuery("pairs", SQL, Path("pairs.sql"))],
                catalog(folder),
                last=f"{partitions - 1:05}",
                output=Path(name) / "answers",
                checkpoints=str(Path(name) / "state"),
            )
        seconds = time.perf_counter() - started
        if answer.error is not None:
            raise answer.error
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        units, bound, jvm_peak = answer.peak_units or 0, answer.units or 0, high_water(jvm)
    found = Measured(
        answer.rows_read, seconds, units, bound, answer.answer_count, own, watched.peak, jvm_peak
    )
    print(json.dumps(asdict(found)))


def measured(folder: Path, partitions: int) -> Measured:
    """The first partitions evaluated in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory", "--probe", str(partitions), "--data", str(folder)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Measured(**json.loads(told.splitlines()[-1]))


def joined(spark: Any, folder: Path, partitions: int) -> tuple[int, int]:
    """Spark's own streaming join of the first partitions: (rows of state, answers)."""
    from pyspark.sql import functions as f

    found: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        for stream in "ST":
            (path / stream).mkdir()
            for part in range(partitions):
                os.link(
                    folder / stream / f"part={part:05}" / "data.parquet", path / stream / f"{part}.parquet"
                )
        sides = [spark.readStream.schema("A bigint").parquet(str(path / stream)) for stream in "ST"]
        frame = sides[0].join(sides[1], "A").where((f.col("A") > 10) & (f.col("A") < 20))
        writer = frame.writeStream.foreachBatch(lambda batch, _: found.append(batch.count()))
        query = writer.option("checkpointLocation", str(path / "state")).trigger(availableNow=True).start()
        query.awaitTermination()
        state = int(query.lastProgress["stateOperators"][0]["numRowsTotal"])
    return state, sum(found)


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--most", type=int, default=10_000_000, help="rows of the longest history")
    parser.add_argument("--join", type=int, default=1_000_000, help="rows up to which Spark's join is run")
    parser.add_argument("--probe", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    options, run = begin("memory", parser, ["pyspark", "duckdb"], most=1_000_000, join=100_000)
    if options.probe:
        probe(options.data, options.probe)
        return 0
    lengths = [LEAST * 10**i for i in range(10) if LEAST * 10**i <= options.most]
    folder = Path(tempfile.mkdtemp(prefix="memory-"))
    try:
        return compared(folder, lengths, options.join, run)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compared(folder: Path, lengths: list[int], most_joined: int, run: Run) -> int:
    """Measure, print and write; the exit code."""
    found = list[Measured]()
    for rows in lengths:
        arrive(folder, rows // (2 * ROWS))
        one = measured(folder, rows // (2 * ROWS))
        found.append(one)
        first, since = found[0], f"at {LEAST:,} rows"
        run.add("units", one.rows, [one.units], "units", "the plan's bound", [one.bound], 1.0)
        run.add("driver, Python", one.rows, [one.driver], "MB", since, [first.driver], AIM)
        run.add("largest Python worker", one.rows, [one.worker], "MB", since, [first.worker])
        run.add("JVM with the tasks", one.rows, [one.jvm], "MB", since, [first.jvm])
        told = f"driver {one.driver:.0f} MB, largest worker {one.worker:.0f} MB, JVM {one.jvm:.0f} MB"
        print(
            f"{one.rows:>12,} rows: {one.units} units of at most {one.bound}, {told}; {one.seconds:.1f} s",
            flush=True,
        )
    with session("memory", master="local[2]", spark__log__level="ERROR") as spark:
        for one in (one for one in found if one.rows <= most_joined):
            state, answers = joined(spark, folder, one.rows // (2 * ROWS))
            assert answers == one.answers, (answers, one.answers)
            run.add("state", one.rows, [one.units], "units or rows", "Spark's own streaming join", [state])
            print(f"{one.rows:>12,} rows: Spark's own join holds {state:,} rows; equal answers", flush=True)
    last, growth = found[-1], found[-1].driver / found[0].driver
    flat = all(one.units <= one.bound for one in found) and growth <= AIM
    print(
        f"rows x {last.rows / first.rows:.0f}: units x {last.units / first.units:.2f}, driver x {growth:.2f},"
        f" largest worker x {last.worker / first.worker:.2f}: {'flat' if flat else 'GROWN'}"
    )
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
