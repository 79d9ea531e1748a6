"""State as the input grows: a bounded query run live, and Spark's own streaming join of the same streams.

After each step both have answered the same input, equally often; printed are the rows of their states
(Spark's ``numRowsTotal``).
``python -m benchmarks.live_state [--steps N] [--rows N]``
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.figures import begin

from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.model import History
from streambound.spark.live.query import configured, live
from streambound.spark.session import session

SQL = "SELECT S.A FROM S, T WHERE S.A = T.A AND S.A > 10 AND S.A < 20"
VALUES = 31


@dataclass(frozen=True)
class Named:
    """A query by name."""

    name: str
    sql: str


@dataclass(frozen=True)
class Measured:
    """After a step: rows that arrived so far, and rows of state."""

    rows: int
    ours: int
    units: int
    spark: int


def catalog_in(folder: Path) -> Catalog:
    """Two streams with a folder each."""
    made = catalog_from_mapping({name: {"A": "int"} for name in "ST"})
    for name in "ST":
        (folder / name).mkdir()
    return Catalog(tuple(replace(r, history=History(str(folder / r.name), None)) for r in made.relations))


def arrive(folder: Path, step: int, rows: int) -> None:
    """A file of each stream."""
    for number, name in enumerate("ST"):
        values = np.random.default_rng([step, number]).integers(0, VALUES, rows)
        pq.write_table(pa.table({"A": values}), folder / name / f"{step:04}.parquet")


def joined(spark: Any, folder: Path) -> Callable[[], tuple[int, int]]:
    """Spark's own streaming join; each call takes in what is there: (rows of state, new answers)."""
    from pyspark.sql import functions as f

    def started() -> tuple[int, int]:
        found = []
        sides = [spark.readStream.schema("A bigint").parquet(str(folder / name)) for name in "ST"]
        frame = sides[0].join(sides[1], "A").where((f.col("A") > 10) & (f.col("A") < 20))
        writer = frame.writeStream.foreachBatch(lambda batch, _: found.append(batch.count()))
        query = writer.option("checkpointLocation", str(folder / "_join")).trigger(availableNow=True).start()
        query.awaitTermination()
        state = query.lastProgress["stateOperators"][0]["numRowsTotal"]
        return int(state), sum(found)

    return started


def measured(steps: int, rows: int) -> list[Measured]:
    """Both queries over an input that grows."""
    with (
        tempfile.TemporaryDirectory() as name,
        session("live_state", master="local[2]", spark__log__level="ERROR") as spark,
    ):
        folder, done, answers = Path(name), list[Measured](), 0
        catalog, join = catalog_in(folder), joined(spark, folder)
        print("rows of both streams | ours: rows of state (units) | Spark's join: rows of state")
        for step in range(steps):
            arrive(folder, step, rows)
            ours = live(spark, Named("pairs", SQL), catalog, output=folder / "live")
            with configured(spark, lambda: False):
                state, new = join()
            answers += new
            assert ours.answer_count == answers, (ours.answer_count, answers)
            one = Measured(2 * rows * (step + 1), ours.state_rows or 0, ours.units, state)
            print(f"{one.rows:>20,} | {one.ours:>20,} ({one.units}) | {one.spark:>20,}", flush=True)
            done.append(one)
        return done


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rows", type=int, default=2_000, help="of each stream and step")
    options, run = begin("live_state", parser, ["pyspark"], steps=3)
    found = measured(options.steps, options.rows)
    for one in found:
        run.add("equality", one.rows, [one.ours], "rows of state", "Spark's own streaming join", [one.spark])
    first, last = found[0], found[-1]
    print(
        f"input x {last.rows / first.rows:.1f}: ours x {last.ours / first.ours:.1f}, Spark's join x", end=" "
    )
    print(f"{last.spark / first.spark:.1f}; Spark's join / ours {last.spark / last.ours:.0f}")


if __name__ == "__main__":
    main()
