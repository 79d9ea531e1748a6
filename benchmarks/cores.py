"""Two cores against one: the same backfill of 64 partitions.

``python -m benchmarks.cores [--rows 100000 312500] [--rounds 3]`` draws S(ts, A, B) and T(ts, A, B) in 64
partitions of that many rows each (cached; the larger size is 20 million rows a stream, as in ``q5.py``), and
evaluates three queries (counts, extrema, segments of time) over all of them from the beginning, with
checkpoints, in a process (its Spark and all of its workers) that may run on one core and in one that may run
on two, in turn: the median of three times after one that does not count. For each size it prints the median
of the ratios within each round against the aim. Exit code 1 if the answers differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
from benchmarks.figures import Run, begin

from streambound import settings
from streambound.history.evaluate import evaluate_history
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.spark.executor import SparkExecutor
from streambound.spark.session import session

AIM = 1.6
PARTITIONS = 64
DAY = 86_400
QUERIES = {
    "counts": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 200",
    "extrema": "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.B AND S.A BETWEEN 1 AND 200",
    "segments": "SELECT S.A, T.A AS B FROM S, T WHERE S.ts > T.ts AND S.A > T.A AND S.A < 20"
    " AND T.A BETWEEN 1 AND 4",
}


def data(rows: int) -> Path:
    """The folder of both streams with that many rows a partition, drawn unless it is there."""
    folder = settings.home() / "bench" / f"cores-{rows}"
    done = folder / "done"
    if not done.exists():
        print(f"drawing S and T with {rows * PARTITIONS:,} rows each ...", flush=True)
        for number, stream in enumerate("ST"):
            for part in range(PARTITIONS):
                _draw(folder / stream / f"part={part:03}", number, part, rows)
        done.touch()
    return folder


def _draw(folder: Path, stream: int, part: int, rows: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT make_timestamp(({part * DAY} + i * {DAY} // {rows}) * 1000000) AS ts,
            (hash(i * 2 + {stream} + {part} * 1000003) % 5000)::INT AS A,
            (hash(i * 2 + {stream} + {part} * 1000033) % 100000)::INT AS B
            FROM range({rows}) r(i)) TO '{folder}/data.parquet' (FORMAT parquet)"""
        )


def catalog(folder: Path) -> Catalog:
    """Both streams with their histories in that folder."""
    columns = {"ts": "timestamp", "A": "int", "B": "int"}
    return catalog_from_mapping(
        {
            name: {
                "columns": columns,
                "timestamp": "ts",
                "history": {"path": str(folder / name), "partition_by": "part"},
            }
            for name in "ST"
        }
    )


def backfill(spark: Any, folder: Path) -> tuple[float, list[str | None]]:
    """Seconds of an evaluation from the beginning, and the digests of its answers."""
    queries = [RegisteredQuery(name, sql, Path(f"{name}.sql")) for name, sql in QUERIES.items()]
    with tempfile.TemporaryDirectory() as name:
        started = time.perf_counter()
        found = evaluate_history(
            SparkExecutor(spark),
            queries,
            catalog(folder),
            output=Path(name) / "answers",
            checkpoints=str(Path(name) / "state"),
        )
        seconds = time.perf_counter() - started
    for answer in found:
        if answer.error is not None:
            raise answer.error
    return seconds, [answer.digest for answer in found]


def measured(rows: int, cores: int) -> tuple[float, list[str | None]]:
    """The backfill in a process of its own that has so many cores."""
    command = [sys.executable, "-m", "benchmarks.cores", "--rows", str(rows), "--probe", str(cores)]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds, digests = json.loads(found.splitlines()[-1])
    return seconds, digests


def probe(folder: Path, cores: int) -> None:
    """Print the median of three backfills after one that does not count, and the digests of the answers."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    with session("cores", master=f"local[{cores}]", spark__log__level="ERROR") as spark:
        backfill(spark, folder)
        found = [backfill(spark, folder) for _ in range(3)]
        print(json.dumps(sorted(found)[1]))


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 312_500], help="of each partition")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--probe", type=int, help=argparse.SUPPRESS)
    options, run = begin("cores", parser, ["pyspark", "duckdb"], rows=[100_000], rounds=1)
    if options.probe:
        probe(data(options.rows[0]), options.probe)
        return 0
    same = [compared(rows, options.rounds, run) for rows in options.rows]
    return 0 if run.met and all(same) else 1


def compared(rows: int, rounds: int, run: Run) -> bool:
    """Print the comparison for partitions of so many rows; returns whether the answers are the same."""
    data(rows)
    times, seen = list[tuple[float, float]](), set[tuple[str | None, ...]]()
    print(f"2 x {PARTITIONS} partitions of {rows:,} rows, {os.cpu_count()} cores", flush=True)
    for _ in range(rounds):
        (one, first), (two, second) = measured(rows, 1), measured(rows, 2)
        seen |= {tuple(first), tuple(second)}
        times.append((one, two))
        print(f"one core {one:.2f} s, two cores {two:.2f} s: {one / two:.2f}x", flush=True)
    alone, both = map(list, zip(*times, strict=True))
    ratio = run.add("backfill on two cores", rows, both, "s", "one core", alone, round(1 / AIM, 3)).ratio
    print(f"one core / two cores: {1 / ratio:.2f}x, aim at least {AIM}x")
    print(f"answers: {'the same' if len(seen) == 1 else 'DIFFERENT'}", flush=True)
    return len(seen) == 1


if __name__ == "__main__":
    sys.exit(main())
