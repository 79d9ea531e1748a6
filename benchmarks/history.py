"""Every kind of query over history, beside Spark SQL, DuckDB and Polars, written by hand for each.

``python -m benchmarks.history [--rows 1000000 10000000] [--kinds window union ...] [--rounds 3]`` draws two
streams (cached): orders, and payments of most of them within an hour, on clocks of milliseconds, in 16
partitions. It then measures, interleaved and warm, in one Spark session:

* the product: checked, planned, partitions summarised, new answers of every partition written;
* Spark SQL, DuckDB and Polars: one statement for the whole answer, written to Parquet.

It prints a table of medians and of the ratios within rounds, and how the product grows with the rows. Exit
code 1 if an answer differs. An evaluation in k tuples has a part of the answer; the peers give all of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from benchmarks import history_polars
from benchmarks.figures import begin

from streambound import settings
from streambound.history.evaluate import evaluate_history
from streambound.history.evaluations.k_memory import Memory
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.spark.executor import SparkExecutor
from streambound.spark.session import session

PARTITIONS = 16
SPAN = 31 * 86_400_000 // PARTITIONS
START = "2025-01-01 00:00:00"
COUNTRIES = 20
PRICES = 1_000
KEPT = 10_000
# How much longer ten times the rows may take.
GROWTH_AIM = 10.5
PEERS = ("Spark SQL", "DuckDB", "Polars")
VERSIONS = ("pyspark", "duckdb", "polars")
# What the quick form measures.
FEW = ["filter", "bag", "order", "offset", "window", "union", "grouped", "windowed group"]


@dataclass(frozen=True)
class Kind:
    """A query, and the same by hand; ``o`` and ``p`` are the tables, and the answer has a column ``count``.

    ``spark`` is given where its SQL is not also that of DuckDB; ``memory`` is how many tuples are kept;
    ``aim`` is the greatest product / Spark SQL.
    """

    sql: str
    duckdb: str
    spark: str | None = None
    memory: int | None = None
    aim: float | None = None


def _ordered(late: str) -> tuple[str, str]:
    """The number of pairs by country with ``o.ts <= late`` (of p), for DuckDB and for Spark."""
    by_duckdb = f"""
        WITH late AS (SELECT country, {late} AS ts, count(*) AS n FROM p GROUP BY ALL),
        early AS (SELECT country, ts, sum(count(*)) OVER (PARTITION BY country ORDER BY ts) AS n
            FROM o GROUP BY country, ts)
        SELECT country, sum(late.n * early.n) AS count FROM late ASOF JOIN early
        USING (country, ts) GROUP BY country"""
    by_spark = f"""
        WITH marked AS (SELECT country, ts, 1 AS early, 0 AS late FROM o
            UNION ALL SELECT country, {late}, 0, 1 FROM p),
        running AS (SELECT country, late, sum(early) OVER (PARTITION BY country ORDER BY ts) AS n FROM marked)
        SELECT country, sum(n) AS count FROM running WHERE late = 1 GROUP BY country HAVING sum(n) > 0"""
    return by_duckdb, by_spark


KINDS = {
    "filter": Kind(
        "SELECT o.id, o.amount FROM o WHERE o.amount > 990",
        "SELECT id, amount, count(*) AS count FROM o WHERE amount > 990 GROUP BY ALL",
        "SELECT id, amount, count(*) AS count FROM o WHERE amount > 990 GROUP BY id, amount",
    ),
    "bag": Kind(
        "SELECT o.country FROM o, p WHERE o.country = p.country AND o.amount < p.amount",
        """WITH a AS (SELECT country, amount, count(*) AS n FROM o GROUP BY country, amount),
        b AS (SELECT country, amount, count(*) AS n FROM p GROUP BY country, amount)
        SELECT a.country, sum(a.n * b.n) AS count FROM a JOIN b
        ON a.country = b.country AND a.amount < b.amount GROUP BY a.country""",
    ),
    "distinct": Kind(
        "SELECT DISTINCT o.country FROM o, p WHERE o.country = p.country AND o.id < p.id",
        """SELECT a.country, 1 AS count FROM (SELECT country, min(id) AS id FROM o GROUP BY country) a
        JOIN (SELECT country, max(id) AS id FROM p GROUP BY country) b
        ON a.country = b.country AND a.id < b.id""",
    ),
    "order": Kind(
        "SELECT o.country FROM o, p WHERE o.country = p.country AND o.ts <= p.ts",
        *_ordered("ts"),
    ),
    "order distinct": Kind(
        "SELECT DISTINCT o.country FROM o, p WHERE o.country = p.country AND o.ts < p.ts",
        """SELECT a.country, 1 AS count FROM (SELECT country, min(ts) AS ts FROM o GROUP BY country) a
        JOIN (SELECT country, max(ts) AS ts FROM p GROUP BY country) b
        ON a.country = b.country AND a.ts < b.ts""",
        aim=1.5,
    ),
    "offset": Kind(
        "SELECT o.country FROM o, p WHERE o.country = p.country AND o.ts <= p.ts + INTERVAL 5 MINUTES",
        *_ordered("ts + INTERVAL 5 MINUTES"),
        aim=1.5,
    ),
    "window": Kind(
        """SELECT o.id, o.amount, p.amount AS paid FROM o, p
        WHERE o.id = p.id AND p.ts >= o.ts AND p.ts <= o.ts + INTERVAL 1 HOUR""",
        """SELECT o.id, o.amount, p.amount AS paid, count(*) AS count FROM o JOIN p
        ON o.id = p.id AND p.ts >= o.ts AND p.ts <= o.ts + INTERVAL 1 HOUR
        GROUP BY o.id, o.amount, p.amount""",
        aim=1.0,
    ),
    "window distinct": Kind(
        """SELECT DISTINCT o.country, p.amount FROM o, p
        WHERE o.id = p.id AND p.ts >= o.ts AND p.ts <= o.ts + INTERVAL 1 HOUR""",
        """SELECT DISTINCT o.country, p.amount, 1 AS count FROM o JOIN p
        ON o.id = p.id AND p.ts >= o.ts AND p.ts <= o.ts + INTERVAL 1 HOUR""",
        aim=1.5,
    ),
    "union": Kind(
        "SELECT o.id, o.ts FROM o UNION SELECT p.id, p.ts FROM p",
        "SELECT id, ts, 1 AS count FROM (SELECT id, ts FROM o UNION SELECT id, ts FROM p)",
        aim=1.5,
    ),
    "end": Kind(
        "SELECT p.country, o.amount FROM o, p WHERE o.id = p.id AND o.ts < TIMESTAMP '2025-01-01 01:00:00'",
        """SELECT p.country, o.amount, count(*) AS count FROM o JOIN p ON o.id = p.id
        WHERE o.ts < TIMESTAMP '2025-01-01 01:00:00' GROUP BY p.country, o.amount""",
    ),
    "self-join": Kind(
        "SELECT a.country FROM o a, o b WHERE a.country = b.country AND a.amount < b.amount",
        """WITH a AS (SELECT country, amount, count(*) AS n FROM o GROUP BY country, amount)
        SELECT a.country, sum(a.n * b.n) AS count FROM a JOIN a b
        ON a.country = b.country AND a.amount < b.amount GROUP BY a.country""",
    ),
    "grouped": Kind(
        """SELECT o.country, COUNT(*) AS number, SUM(o.amount) AS whole, AVG(o.amount) AS mean,
        MIN(o.id) AS first, MAX(o.id) AS last FROM o GROUP BY o.country""",
        """SELECT country, count(*) AS number, sum(amount)::BIGINT AS whole, avg(amount) AS mean,
        min(id) AS first, max(id) AS last, 1 AS count FROM o GROUP BY country""",
        """SELECT country, count(*) AS number, sum(amount) AS whole, avg(amount) AS mean,
        min(id) AS first, max(id) AS last, 1 AS count FROM o GROUP BY country""",
        aim=1.5,
    ),
    "windowed group": Kind(
        """SELECT o.country, window(o.ts, '1 hour').start AS ts, COUNT(*) AS number, SUM(o.amount) AS whole
        FROM o GROUP BY o.country, (window(o.ts, '1 hour'))""",
        """SELECT country, date_trunc('hour', ts) AS ts, count(*) AS number, sum(amount)::BIGINT AS whole,
        1 AS count FROM o GROUP BY ALL""",
        """SELECT country, date_trunc('hour', ts) AS ts, count(*) AS number, sum(amount) AS whole, 1 AS count
        FROM o GROUP BY country, date_trunc('hour', ts)""",
        aim=1.5,
    ),
    "top-n": Kind(
        """SELECT country, id, amount FROM (SELECT o.country, o.id, o.amount, ROW_NUMBER() OVER
        (PARTITION BY o.country ORDER BY o.amount DESC, o.id) AS place FROM o) q WHERE place <= 3""",
        """SELECT country, id, amount, 1 AS count FROM (SELECT country, id, amount, row_number() OVER
        (PARTITION BY country ORDER BY amount DESC, id) AS place FROM o) WHERE place <= 3""",
    ),
    "k tuples": Kind(
        "SELECT o.id, p.amount FROM o, p WHERE o.id = p.id",
        "SELECT o.id, p.amount, count(*) AS count FROM o JOIN p ON o.id = p.id GROUP BY o.id, p.amount",
        memory=KEPT,
    ),
}


def data(rows: int) -> Path:
    """The folder of the two streams with that many rows each, drawn unless it is there."""
    folder = settings.home() / "bench" / f"orders-{rows}"
    if not (folder / "done").exists():
        print(f"drawing o and p with {rows:,} rows each ...", flush=True)
        with duckdb.connect() as connection:
            for part in range(PARTITIONS):
                _draw(connection, folder, part, rows // PARTITIONS)
        (folder / "done").touch()
    return folder


def _draw(connection: duckdb.DuckDBPyConnection, folder: Path, part: int, rows: int) -> None:
    """A partition of both streams; three of four payments are of an order of the half hour before."""
    start = f"epoch_ms(TIMESTAMP '{START}') + {part * SPAN}"
    near = rows * 1_800_000 // SPAN + 1
    draws = {
        "o": f"SELECT i, {part * rows} + i AS id",
        "p": f"""SELECT i, greatest(0, CASE WHEN hash(i * 3) % 4 < 3
            THEN {part * rows} + i - hash(i * 5) % {near}
            ELSE hash(i * 7 + {part}) % {(part + 1) * rows} END)::BIGINT AS id""",
    }
    for number, (stream, draw) in enumerate(draws.items()):
        target = folder / stream / f"part={part:03}"
        target.mkdir(parents=True, exist_ok=True)
        connection.execute(
            f"""COPY (WITH drawn AS ({draw} FROM range({rows}) r(i))
            SELECT id, make_timestamp(({start} + i * {SPAN} // {rows}) * 1000) AS ts,
            (hash(i + {number} + {part} * 1000003) % {COUNTRIES})::INT AS country,
            (hash(i * 11 + {number} + {part} * 1000003) % {PRICES})::INT AS amount FROM drawn ORDER BY ts)
            TO '{target}/data.parquet' (FORMAT parquet)"""
        )


def catalog(folder: Path) -> Catalog:
    """The streams with their histories in that folder."""
    domains = {"country": {"min": 0, "max": COUNTRIES - 1}, "amount": {"min": 0, "max": PRICES - 1}}
    columns = {"id": "bigint", "ts": "timestamp", "country": "int", "amount": "int"}
    return catalog_from_mapping(
        {
            stream: {
                "columns": columns,
                "timestamp": "ts",
                "granularity": "millisecond",
                "domains": domains,
                "not_null": ["id", "country", "amount"],
                "history": {"path": str(folder / stream), "partition_by": "part"},
            }
            for stream in ("o", "p")
        }
    )


@dataclass(frozen=True)
class Bench:
    """The four ways for one kind of query, over one session and one folder of data."""

    spark: Any
    folder: Path
    output: Path
    name: str

    @property
    def kind(self) -> Kind:
        return KINDS[self.name]

    def product(self) -> None:
        query = RegisteredQuery("q", self.kind.sql, Path("q.sql"))
        memory = {} if self.kind.memory is None else {"q": Memory(self.kind.memory)}
        (answer,) = evaluate_history(
            SparkExecutor(self.spark),
            [query],
            catalog(self.folder),
            output=self.output / "product",
            memory=memory,
        )
        if answer.error is not None:
            raise answer.error

    def by_spark(self) -> None:
        for stream in ("o", "p"):
            read = self.spark.read.parquet(str(self.folder / stream))
            read.drop("part").createOrReplaceTempView(stream)
        found = self.spark.sql(self.kind.spark or self.kind.duckdb)
        found.write.mode("overwrite").parquet(str(self.output / "spark"))

    def by_duckdb(self) -> None:
        with duckdb.connect() as connection:
            for stream in ("o", "p"):
                connection.execute(
                    f"CREATE VIEW {stream} AS SELECT id, ts, country, amount "
                    f"FROM read_parquet('{self.folder}/{stream}/*/*.parquet')"
                )
            connection.execute(
                f"COPY ({self.kind.duckdb}) TO '{self.output}/duckdb.parquet' (FORMAT parquet)"
            )

    def by_polars(self) -> None:
        history_polars.answer(self.name, self.folder, self.output / "polars.parquet")

    def differing(self) -> int:
        """How many rows of the answers differ; in k tuples, how many are not in the whole answer so often."""
        with duckdb.connect() as connection:
            files = {
                "product": f"{self.output}/product/q/part=*/*.parquet",
                "spark": f"{self.output}/spark/*.parquet",
                "duckdb": f"{self.output}/duckdb.parquet",
                "polars": f"{self.output}/polars.parquet",
            }
            for table, path in files.items():
                read = f"read_parquet('{path}', hive_partitioning = false)"
                columns = [row[0] for row in connection.execute(f"DESCRIBE FROM {read}").fetchall()]
                keys = ", ".join(
                    f"{column}::TIMESTAMP AS {column}" if column == "ts" else column
                    for column in columns[:-1]
                )
                connection.execute(
                    f"CREATE TABLE {table} AS SELECT {keys}, sum(count)::HUGEINT AS n "
                    f"FROM {read} GROUP BY ALL HAVING sum(count) <> 0"
                )
            extra = "(SELECT count(*) FROM (FROM {} EXCEPT FROM {}))"
            whole = ["spark", "polars", *(["product"] if self.kind.memory is None else [])]
            parts = [extra.format(*pair) for way in whole for pair in (("duckdb", way), (way, "duckdb"))]
            if self.kind.memory is not None:
                # A part of the answer: no row that is not in it.
                rows = "SELECT COLUMNS(* EXCLUDE (n)) FROM"
                parts.append(f"(SELECT count(*) FROM ({rows} product EXCEPT {rows} duckdb))")
            found = connection.execute(f"SELECT {' + '.join(parts)}").fetchone()
        assert found is not None
        return int(found[0])


def timed(run: Callable[[], Any]) -> float:
    """Seconds that a call takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def measure(bench: Bench, rounds: int) -> list[tuple[float, ...]]:
    """Seconds of the four ways in each round, after one round that does not count."""
    ways = (bench.product, bench.by_spark, bench.by_duckdb, bench.by_polars)
    for way in ways:
        way()
    return [tuple(timed(way) for way in ways) for _ in range(rounds)]


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[1_000_000, 10_000_000], help="rows of each stream"
    )
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--rounds", type=int, default=3)
    options, run = begin("history", parser, VERSIONS, rows=[1_000_000], rounds=1, kinds=FEW)
    print(
        f"{PARTITIONS} partitions, {os.cpu_count()} cores; median seconds, ratios within rounds", flush=True
    )
    columns = ("kind", "rows", "product", *PEERS, *(f"/ {peer}" for peer in PEERS), "growth", "answers")
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|", flush=True)
    wrong = False
    folders = {rows: data(rows) for rows in options.rows}
    with session("every kind of query over history") as spark:
        for name in options.kinds:
            before: tuple[int, list[float]] | None = None
            for rows, folder in folders.items():
                with tempfile.TemporaryDirectory() as output:
                    bench = Bench(spark, folder, Path(output), name)
                    product, *others = map(list, zip(*measure(bench, options.rounds), strict=True))
                    differing = bench.differing()
                aims = (KINDS[name].aim, None, None)
                lines = [
                    run.add(name, rows, product, "s", peer, seconds, aim)
                    for peer, seconds, aim in zip(PEERS, others, aims, strict=True)
                ]
                growth = ""
                if before is not None:
                    aim = GROWTH_AIM if rows == 10 * before[0] else None
                    grown = run.add(name, rows, product, "s", f"{before[0]:,} rows", before[1], aim)
                    growth = f"x{grown.ratio:.1f} for x{rows / before[0]:g}"
                before, wrong = (rows, product), wrong or bool(differing)
                times = [f"{s:.2f}" for s in (lines[0].figure, *(one.peer_figure for one in lines))]
                ratios = [f"{one.ratio:.2f}" for one in lines]
                answers = f"{differing} DIFFER" if differing else "the same"
                cells = (name, f"{rows:,}", *times, *ratios, growth, answers)
                print(f"| {' | '.join(cells)} |", flush=True)
    return 0 if run.met and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
