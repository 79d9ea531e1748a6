"""One nightly partition added to histories of growing length: what a night costs, and what it depends on.

``python -m benchmarks.incremental [--lengths 8,32,128,365]`` draws a history of S(ts, A, B) and T(ts, A, B)
by day, evaluates it once with checkpoints, and then, in one warm Spark session, adds a day and evaluates
again, several times for each length, the lengths interleaved. The queries keep each kind of state: none,
counts, extrema, and partial matches in order of time.

It prints the seconds of a night by length, the median of their ratios to the shortest within each round, and
the seconds of evaluating everything anew. Exit code 1 if that ratio is above ``AIM`` at the greatest length,
or a night has read more than its day.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.figures import begin

from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.spark.executor import SparkExecutor
from streambound.spark.session import session

AIM = 1.5
ROWS = 20_000
FIRST = dt.date(2020, 1, 1)
QUERIES = {
    "filter": "SELECT A, B FROM S WHERE B > 99990",
    "counts": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 200",
    "extrema": "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.B AND S.A BETWEEN 1 AND 200",
    "in order of time": "SELECT S.A FROM S, T WHERE S.A = T.A AND S.ts > T.ts"
    " AND S.A BETWEEN 1 AND 20 AND S.B > 99900 AND T.B > 99900",
}


@dataclass
class History:
    """A history of some length, with its answers and checkpoints, and the seconds of its nights."""

    folder: Path
    length: int
    seconds: list[float] = field(default_factory=list)

    def catalog(self) -> Catalog:
        """S and T, by day."""
        columns = {"ts": "timestamp", "A": "int", "B": "int"}
        return catalog_from_mapping(
            {
                name: {
                    "columns": columns,
                    "timestamp": "ts",
                    "history": {"path": str(self.folder / name), "partition_by": "date"},
                }
                for name in ("S", "T")
            }
        )

    def arrive(self, number: int) -> None:
        """Write the day of that number."""
        day = FIRST + dt.timedelta(days=number)
        start = int(dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC).timestamp()) * 1_000_000
        for index, stream in enumerate("ST"):
            chance = np.random.default_rng([number, index])
            moments = np.sort(chance.integers(0, 86_400, ROWS)) * 1_000_000 + start
            columns = {
                "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
                "A": chance.integers(0, 5_000, ROWS),
                "B": chance.integers(0, 100_000, ROWS),
            }
            file = self.folder / stream / f"date={day}" / "part-00000.parquet"
            file.parent.mkdir(parents=True)
            pq.write_table(pa.table(columns), file)

    def night(self, spark: Any, **options: Any) -> list[HistoryAnswer]:
        """Evaluate what is there."""
        queries = [RegisteredQuery(name, sql, Path(f"{name}.sql")) for name, sql in QUERIES.items()]
        folders: dict[str, Any] = {
            "output": self.folder / "answers",
            "checkpoints": str(self.folder / "state"),
        }
        found = evaluate_history(SparkExecutor(spark), queries, self.catalog(), **folders, **options)
        for answer in found:
            if answer.error is not None:
                raise answer.error
        return found

    def add(self, spark: Any) -> int:
        """Add a day and evaluate it; the rows that were read, of all queries."""
        self.arrive(self.length + len(self.seconds))
        started = time.perf_counter()
        found = self.night(spark)
        self.seconds.append(time.perf_counter() - started)
        return sum(answer.rows_read for answer in found)


def prepared(spark: Any, root: Path, length: int) -> tuple[History, float]:
    """A history of that length, evaluated; and the seconds that this took."""
    history = History(root / str(length), length)
    for number in range(length):
        history.arrive(number)
    started = time.perf_counter()
    history.night(spark)
    return history, time.perf_counter() - started


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--lengths", default="8,32,128,365", metavar="N,N,...")
    parser.add_argument(
        "--nights", type=int, default=7, help="nights at each length, after one that does not count"
    )
    options, run = begin("incremental", parser, ["pyspark", "duckdb"], lengths="8,32", nights=3)
    lengths = sorted(int(text) for text in options.lengths.split(","))
    each = ROWS * (1 + 2 * (len(QUERIES) - 1))
    print(f"{len(QUERIES)} queries, {ROWS:,} rows a stream and day, {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as root, session("incremental") as spark:
        # What a session does once is no cost of a night.
        prepared(spark, Path(root) / "warm", lengths[0])
        made = [prepared(spark, Path(root), length) for length in lengths]
        read = {h.add(spark) for _ in range(options.nights + 1) for h, _ in made}
    # Within a round the machine is the same for all lengths.
    first = made[0][0].seconds[1:]
    for history, seconds in made:
        own, aim = history.seconds[1:], AIM if history.length == lengths[-1] else None
        night = run.add("one more day", history.length, own, "s", f"after {lengths[0]} days", first, aim)
        run.add("one more day", history.length, own, "s", "everything anew", [seconds] * len(own))
        spread = f"{min(history.seconds[1:]):.2f} to {max(history.seconds[1:]):.2f}"
        print(
            f"{history.length:5} days: a night {night.figure:.2f} s ({spread}), {night.ratio:.2f}x;"
            f" everything anew {seconds:.1f} s"
        )
    print(f"rows read each night: {', '.join(f'{n:,}' for n in sorted(read))}; those of one day: {each:,}")
    return 0 if run.met and read == {each} else 1


if __name__ == "__main__":
    sys.exit(main())
