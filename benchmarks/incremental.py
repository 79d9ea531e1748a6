"""One nightly partition added to histories of growing length: what a night costs, and what it depends on.

``python benchmarks/incremental.py [--lengths 8,32,128,365]`` draws a history of S(ts, A, B) and T(ts, A, B)
by day, evaluates it once with checkpoints, and then, in one warm Spark session, adds a day and evaluates
again, several times for each length, the lengths interleaved. The queries keep each kind of state: none,
counts, extrema, and partial matches in order of time.

It prints the seconds of a night by length, the median of their ratios to the shortest within each round, and
the seconds of evaluating everything anew, and draws them in ``incremental.svg``. Exit code 1 if that ratio is
above ``AIM`` at the greatest length, or a night has read more than its day.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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
        places: dict[str, Any] = {
            "output": self.folder / "answers",
            "checkpoints": str(self.folder / "state"),
        }
        found = evaluate_history(SparkExecutor(spark), queries, self.catalog(), **places, **options)
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


def draw(lengths: list[int], nights: list[float], whole: list[float], file: Path) -> None:
    """Both kinds of seconds by length, as a picture."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot, ticker

    # Equal pictures have equal bytes.
    matplotlib.rcParams["svg.hashsalt"] = "streambound"
    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.plot(lengths, whole, "o--", color="#999999", label="everything anew")
    axes.plot(lengths, nights, "o-", color="#1f77b4", label="one more day")
    axes.set(xscale="log", yscale="log", xlabel="days of history", ylabel="seconds")
    axes.set_xticks(lengths, [str(length) for length in lengths], minor=False)
    axes.minorticks_off()
    # Down to a tenth, so that what is flat does not look steep.
    axes.set_ylim(bottom=0.1)
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.legend(frameon=False)
    figure.savefig(file, metadata={"Date": None})


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--lengths", default="8,32,128,365", metavar="N,N,...")
    parser.add_argument(
        "--nights", type=int, default=7, help="nights at each length, after one that does not count"
    )
    parser.add_argument("--picture", type=Path, default=Path(__file__).with_name("incremental.svg"))
    options = parser.parse_args()
    lengths = sorted(int(text) for text in options.lengths.split(","))
    each = ROWS * (1 + 2 * (len(QUERIES) - 1))
    print(f"{len(QUERIES)} queries, {ROWS:,} rows a stream and day, {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as root, session("incremental") as spark:
        # What a session does once is no cost of a night.
        prepared(spark, Path(root) / "warm", lengths[0])
        made = [prepared(spark, Path(root), length) for length in lengths]
        read = {h.add(spark) for _ in range(options.nights + 1) for h, _ in made}
    nights = [statistics.median(history.seconds[1:]) for history, _ in made]
    whole = [seconds for _, seconds in made]
    # Within a round the machine is the same for all lengths.
    ratios = [
        statistics.median(
            own / least for own, least in zip(h.seconds[1:], made[0][0].seconds[1:], strict=True)
        )
        for h, _ in made
    ]
    for (history, seconds), night, ratio in zip(made, nights, ratios, strict=True):
        spread = f"{min(history.seconds[1:]):.2f} to {max(history.seconds[1:]):.2f}"
        print(
            f"{history.length:5} days: a night {night:.2f} s ({spread}), {ratio:.2f}x;"
            f" everything anew {seconds:.1f} s"
        )
    draw(lengths, nights, whole, options.picture)
    fits = ratios[-1] <= AIM and read == {each}
    told = "met" if fits else "MISSED"
    print(f"{lengths[-1]} days / {lengths[0]} days: {ratios[-1]:.2f}x, aim at most {AIM}x: {told}")
    print(f"rows read each night: {', '.join(f'{n:,}' for n in sorted(read))}; those of one day: {each:,}")
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
