"""What one application costs before it has anything to do: ``python -m benchmarks.application``.

A fresh process evaluates one small query over a month of partitions on Spark, as a night's application does:
in turn with the archive of Java's classes (``spark.applications.class_archive``) and without. Printed are the
seconds by the clock and of all processors, and where they go: the imports, the session, the evaluation, the
end of Java. Exit code 1 if an aim is missed, 3 if there is no archive.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.figures import PROCESSORS, begin

from streambound.spark.session import CLASS_ARCHIVE, JAVA_OPTIONS, SHORT_LIVED

AIM_S, PARTITIONS, ROWS = 8.0, 31, 100
FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
WITHOUT = "without the archive of classes"
PHASES = ("imports", "session", "evaluation", "end")
PROGRAM = """
import json, os, resource, sys, time
from pathlib import Path
laps = [time.perf_counter()]
from streambound.history.evaluate import evaluate_history
from streambound.query.catalog import catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.spark.executor import SparkExecutor
from streambound.spark.session import end_java, session
folder = Path(sys.argv[1])
history = {"path": str(folder / "events"), "partition_by": "date"}
columns = {"at": "timestamp", "key": "int"}
catalog = catalog_from_mapping({"events": {"columns": columns, "timestamp": "at", "history": history}})
sql = "SELECT key, COUNT(*) AS n FROM events WHERE key < 9 AND key > 0 GROUP BY key"
query = RegisteredQuery("counts", sql, folder / "counts.sql")
laps.append(time.perf_counter())
with session("streambound benchmark", spark__log__level="OFF") as spark:
    laps.append(time.perf_counter())
    (answer,) = evaluate_history(SparkExecutor(spark), [query], catalog, output=folder / str(os.getpid()))
    assert answer.error is None, answer.error
    laps.append(time.perf_counter())
end_java()
laps.append(time.perf_counter())
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps([[b - a for a, b in zip(laps, laps[1:])], sum(u.ru_utime + u.ru_stime for u in used)]))
"""


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    options, run = begin("application", parser, ["pyspark"], rounds=1)
    if not CLASS_ARCHIVE.is_file():
        print(f"{CLASS_ARCHIVE} is not there: scripts/setup makes it", file=sys.stderr)
        return 3
    clocks: dict[str, list[float]] = {"": [], WITHOUT: []}
    processors: dict[str, list[float]] = {"": [], WITHOUT: []}
    phases: dict[str, list[list[float]]] = {"": [], WITHOUT: []}
    with tempfile.TemporaryDirectory() as name:
        _history(Path(name))
        for _ in range(options.rounds):
            for way, java in (("", {}), (WITHOUT, {JAVA_OPTIONS: SHORT_LIVED})):
                environment = {k: v for k, v in os.environ.items() if k != JAVA_OPTIONS} | java
                began = time.perf_counter()
                completed = subprocess.run(
                    [sys.executable, "-c", PROGRAM, name],
                    env={**environment, "STREAMBOUND_HOME": name},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    check=True,
                )
                clocks[way].append(time.perf_counter() - began)
                laps, used = json.loads(completed.stdout.splitlines()[-1])
                phases[way].append(laps)
                processors[way].append(used)
    for way in clocks:
        parts = ", ".join(
            f"{phase} {median(round_[i] for round_ in phases[way]):.1f}" for i, phase in enumerate(PHASES)
        )
        print(f"{way or 'with it':32} clock {median(clocks[way]):5.1f} s ({parts}),", end=" ")
        print(f"processors {median(processors[way]):5.1f} s")
    case = "one small query"
    run.add(case, PARTITIONS, clocks[""], "s", aim=AIM_S)
    run.add(case, PARTITIONS, clocks[""], "s", WITHOUT, clocks[WITHOUT], aim=1.0)
    run.add(case, PARTITIONS, processors[""], PROCESSORS, WITHOUT, processors[WITHOUT], aim=0.75)
    return 0 if run.met else 1


def _history(folder: Path) -> None:
    """A month of the stream, some rows a day."""
    for day in range(PARTITIONS):
        begins = FIRST + dt.timedelta(days=day)
        partition = folder / "events" / f"date={begins:%F}"
        partition.mkdir(parents=True)
        moments = [begins + dt.timedelta(minutes=row) for row in range(ROWS)]
        columns = {
            "at": pa.array(moments, pa.timestamp("us", "UTC")),
            "key": pa.array([row % 12 for row in range(ROWS)], pa.int32()),
        }
        pq.write_table(pa.table(columns), partition / "part-00000.parquet")


if __name__ == "__main__":
    sys.exit(main())
