"""Many queries over many streams in one evaluation: ``python -m benchmarks.load [--quick]``.

A registry of 500 queries over 50 streams: ten kinds of query (filters, groups, windows, ranks, guards, joins
in and out of order of time) over ten areas of five streams each, drawn from the number of the query alone.

1. *decided*: all 500, from their text to verdict and plan, in processor seconds; the peer only parses the
   same texts with sqlglot.
2. *evaluated*: all of them together over hourly partitions, with checkpoints, in this process; the peers are
   each query in an evaluation of its own (every so-manieth of them, scaled up), and DuckDB reading every
   column of every file once. The reader's own log says how often each byte of the files was read.
3. *memory*: the greatest resident memory of a fresh process over so many partitions, and over four times as
   many.
4. *DAGs*: Airflow parses ``dags/`` with this registry and with one of 5 queries, and what a run maps over.

Exit code 1 where an aim is missed: decided in 10 s, no byte of a stream read twice, memory at most 1.25
times, a parse below a tenth of the dag-processor's limit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.figures import PROCESSORS, begin

from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.tasks import embedded_engine

QUERIES, STREAMS, AREA = 500, 50, 5
# With so few queries a parse of the DAGs is compared.
FEW = 5
AIM_DECIDED, AIM_MEMORY, AIM_PARSED = 10.0, 1.25, 0.1
# Seconds after which a dag-processor gives a file up, by default.
LIMIT = 30.0
HOUR = 3_600_000_000
ROOT = Path(__file__).resolve().parents[1]
REGIONS = ["east", "north", "south", "west"]
KINDS = {
    "filter": "SELECT ts, device, amount FROM {a} WHERE amount > {high} AND region = '{region}'",
    "groups": "SELECT region, COUNT(*) AS n, SUM(amount) AS whole, MAX(amount) AS most FROM {a}"
    " WHERE amount > {low} GROUP BY region",
    "hours": "SELECT region, window(ts, '{minutes} minutes').start AS begun, AVG(amount) AS mean,"
    " COUNT(*) AS n FROM {a} WHERE amount > {low} GROUP BY region, window(ts, '{minutes} minutes')",
    "window": "SELECT a.device, a.amount, b.amount AS later FROM {a} a JOIN {b} b ON a.device = b.device"
    " WHERE b.ts >= a.ts AND b.ts <= a.ts + INTERVAL {minutes} MINUTES AND a.amount > {high}",
    "order": "SELECT a.region, a.kind FROM {a} a JOIN {b} b ON a.kind = b.kind WHERE a.ts <= b.ts"
    " AND a.amount > {high}",
    "rank": "SELECT region, device, amount FROM (SELECT region, device, amount, ROW_NUMBER() OVER"
    " (PARTITION BY region, window(ts, '1 hour').start ORDER BY amount DESC) AS place FROM {a}"
    " WHERE amount > {low}) WHERE place <= 3",
    "guard": "SELECT a.device, a.ts FROM {a} a WHERE a.amount > {high} AND NOT EXISTS (SELECT 1 FROM {b} b"
    " WHERE b.device = a.device AND b.ts >= a.ts AND b.ts <= a.ts + INTERVAL {minutes} MINUTES)",
    "extrema": "SELECT DISTINCT a.region FROM {a} a JOIN {b} b ON a.kind = b.kind"
    " WHERE a.amount + {low} < b.amount",
    "counts": "SELECT a.region, b.kind FROM {a} a JOIN {b} b ON a.kind = b.kind WHERE a.amount > {high}",
    "once": "SELECT DISTINCT a.region, b.kind FROM {a} a JOIN {b} b ON a.device = b.device"
    " WHERE b.ts BETWEEN a.ts AND a.ts + INTERVAL {minutes} MINUTES",
}


def name_of(stream: int) -> str:
    """The name of a stream: its area, and its number there."""
    return f"area{stream // AREA}_{stream % AREA}"


def catalog(folder: Path, streams: int = STREAMS) -> Catalog:
    """So many streams, with hourly histories below a folder."""
    return catalog_from_mapping({name_of(number): described(folder, number) for number in range(streams)})


def described(folder: Path, stream: int) -> dict[str, Any]:
    """A stream as catalogs say it."""
    return {
        "timestamp": "ts",
        "granularity": "second",
        "columns": {"ts": "timestamp", "device": "int", "kind": "int", "region": "string", "amount": "int"},
        "not_null": ["ts", "device", "kind", "region", "amount"],
        "domains": {"kind": {"min": 0, "max": 9}, "region": {"values": REGIONS}},
        "max_rows_per_timestamp": 50,
        "history": {"path": str(folder / name_of(stream)), "partition_by": "hour"},
    }


def registry(queries: int = QUERIES, streams: int = STREAMS) -> list[RegisteredQuery]:
    """So many bounded queries over so many streams, each drawn from its number alone."""
    found = []
    for number in range(queries):
        chance = np.random.default_rng([7, number])
        kind = list(KINDS)[number % len(KINDS)]
        first = int(chance.integers(streams))
        area = first // AREA * AREA
        size = min(AREA, streams - area)
        second = area + (first - area + 1 + int(chance.integers(max(size - 1, 1)))) % size
        sql = KINDS[kind].format(
            a=name_of(first),
            b=name_of(second),
            region=REGIONS[int(chance.integers(4))],
            low=int(chance.integers(10, 900)),
            high=int(chance.integers(950, 990)),
            minutes=int(chance.choice([5, 10, 15, 30])),
        )
        name = f"q{number:04}_{kind}"
        found.append(RegisteredQuery(name, sql, Path(f"{name}.sql")))
    return found


def arrive(folder: Path, hour: int, rows: int, streams: int = STREAMS) -> None:
    """Write an hour of so many rows of each stream."""
    for stream in range(streams):
        chance = np.random.default_rng([hour, stream])
        begun = (480_000 + hour) * HOUR
        moments = np.sort(chance.permutation(np.arange(max(rows, 3_600)))[:rows] % 3_600) * 1_000_000 + begun
        columns = {
            "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "device": chance.integers(0, 5_000, rows),
            "kind": chance.integers(0, 10, rows),
            "region": pa.array(np.array(REGIONS)[chance.integers(0, 4, rows)]),
            "amount": chance.integers(0, 1_000, rows),
        }
        file = folder / name_of(stream) / f"hour={hour:06}" / "part-00000.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), file)


def evaluate(
    queries: Sequence[RegisteredQuery], given: Catalog, home: Path, executor: LocalExecutor
) -> list[HistoryAnswer]:
    """Evaluate queries together, with checkpoints; an error is raised."""
    folders: dict[str, Any] = {"output": home / "answers", "checkpoints": str(home / "checkpoints")}
    found = evaluate_history(executor, queries, given, **folders)
    for answer in found:
        if answer.error is not None:
            raise answer.error
    return found


@contextmanager
def logged_reads() -> Iterator[Callable[[], dict[str, int]]]:
    """By file, how many bytes this process's tasks have read more than once; DuckDB's own log says so.

    The log is that of the connection which one task leaves to the next: of an executor in this process.
    """
    with embedded_engine.opened() as session:
        connection = session.connection
        connection.execute("CALL enable_logging('FileSystem', storage = 'memory')")

    def repeated() -> dict[str, int]:
        log = connection.execute("SELECT message FROM duckdb_logs WHERE type = 'FileSystem'").fetchall()
        read: dict[str, Counter[tuple[int, int]]] = {}
        for message in (json.loads(text) for (text,) in log):
            if message["op"] == "READ":
                at = int(message["pos"]), int(message["bytes"])
                read.setdefault(message["path"], Counter())[at] += 1
        return {path: sum((n - 1) * at[1] for at, n in own.items()) for path, own in read.items()}

    try:
        yield repeated
    finally:
        connection.execute("CALL disable_logging()")


def decided(queries: Sequence[RegisteredQuery], given: Catalog) -> tuple[float, float]:
    """The processor seconds from all texts to verdicts and plans, and those of only parsing them."""
    import sqlglot

    from streambound.history.prepare import draft

    begun = time.process_time()
    found = [draft(query.name, query.sql, given) for query in queries]
    ours = time.process_time() - begun
    assert all(one.evaluated for one in found)
    begun = time.process_time()
    for query in queries:
        sqlglot.parse_one(query.sql, read="spark")
    return ours, time.process_time() - begun


def scanned(folder: Path) -> float:
    """The seconds in which DuckDB reads every column of every file once, on one core."""
    files = sorted(map(str, folder.glob("area*/*/*.parquet")))
    with duckdb.connect(config={"threads": 1}) as connection:
        begun = time.perf_counter()
        for file in files:
            sums = "count(ts), sum(device), sum(kind), count(region), sum(amount)"
            connection.execute(f"SELECT {sums} FROM read_parquet(?)", [file]).fetchall()
        return time.perf_counter() - begun


def together(
    folder: Path, queries: Sequence[RegisteredQuery], streams: int, each: int
) -> tuple[float, float]:
    """The seconds of one evaluation of all, and of one for each query (every ``each``-th, scaled up)."""
    given, executor = catalog(folder, streams), LocalExecutor(1)
    begun = time.perf_counter()
    whole = {
        answer.query: answer.digest for answer in evaluate(queries, given, folder / "together", executor)
    }
    ours = time.perf_counter() - begun
    begun = time.perf_counter()
    for query in queries[::each]:
        (answer,) = evaluate([query], given, folder / "apart", executor)
        assert answer.digest == whole[query.name], query.name
    return ours, (time.perf_counter() - begun) * len(queries) / len(queries[::each])


def reads(folder: Path, queries: Sequence[RegisteredQuery], streams: int) -> tuple[int, int]:
    """Bytes of the files that were read once, and bytes that were read again, by one evaluation of all."""
    with logged_reads() as repeated:
        evaluate(queries, catalog(folder, streams), folder / "counted", LocalExecutor(1))
        found = {path: own for path, own in repeated().items() if Path(path).is_relative_to(folder)}
    files = {str(file) for file in folder.glob("area*/*/*.parquet")}
    assert files <= found.keys()
    return sum(os.stat(file).st_size for file in files), sum(found[file] for file in files)


MEMORY = """
import re, sys
from pathlib import Path
from benchmarks.load import catalog, evaluate, registry
from streambound.history.local import LocalExecutor
folder, home, queries, streams = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
evaluate(registry(queries, streams), catalog(folder, streams), home, LocalExecutor(1))
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def peak_mb(folder: Path, home: str, queries: int, streams: int) -> float:
    """The greatest resident memory of a fresh process that evaluates everything, in megabytes."""
    command = [sys.executable, "-c", MEMORY, str(folder), str(folder / home), str(queries), str(streams)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return int(done.stdout.split()[-1]) / 1024


PARSE = """
import sys, time
from airflow.dag_processing.dagbag import DagBag
begun = time.perf_counter()
bag = DagBag(sys.argv[1])
print(time.perf_counter() - begun, len(bag.dags), sum(len(dag.tasks) for dag in bag.dags.values()),
    len(bag.import_errors))
"""


def parsed(home: Path, queries: int, streams: int) -> tuple[float, int, int]:
    """The seconds in which Airflow parses ``dags/`` with so many queries registered; DAGs and tasks there."""
    import yaml

    folder = home / f"registry-{queries}"
    (folder / "queries").mkdir(parents=True)
    bodies = {name_of(number): described(folder, number) for number in range(streams)}
    (folder / "streams.yml").write_text(yaml.safe_dump({"streams": bodies}))
    for query in registry(queries, streams):
        (folder / "queries" / f"{query.name}.sql").write_text(query.sql)
    own = {
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        "STREAMBOUND_HOME": str(home),
        "STREAMBOUND_REGISTRY": str(folder),
    }
    command = [sys.executable, "-c", PARSE, str(ROOT / "dags")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **own})
    seconds, dags, tasks, errors = done.stdout.split()[-4:]
    assert errors == "0", done.stdout
    return float(seconds), int(dags), int(tasks)


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--queries", type=int, default=QUERIES, metavar="N")
    parser.add_argument("--streams", type=int, default=STREAMS, metavar="N")
    parser.add_argument("--hours", type=int, default=8, metavar="N", help="partitions that are evaluated")
    parser.add_argument("--rows", type=int, default=10_000, metavar="N", help="of each stream and hour")
    options, run = begin("load", parser, ["duckdb", "sqlglot"], queries=100, streams=10, hours=4, rows=2_000)
    number, streams, hours, rows = options.queries, options.streams, options.hours, options.rows
    queries = registry(number, streams)

    def add(
        case: str, here: float, unit: str, peer: str = "", there: float = 1, aim: float | None = None
    ) -> None:
        line = run.add(case, number, [here], unit, peer, [there] if peer else [], aim)
        beside = f"{line.peer_figure:,g} {unit}, {peer} | {line.ratio:.2f}" if peer else " | "
        print(
            f"| {case} | {line.figure:,g} {unit} | {beside} | {'' if aim is None else f'{aim:g}'} |",
            flush=True,
        )

    print(f"{number} queries, {streams} streams, {hours} hours of {rows:,} rows each, {os.cpu_count()} cores")
    print("| what | here | peer | here / peer | aim |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        ours, peer = decided(queries, catalog(folder, streams))
        add("decided", ours, PROCESSORS, "only parsed", peer)
        add("decided", ours, PROCESSORS, aim=AIM_DECIDED)
        few, more = folder / "few", folder / "more"
        for hour in range(hours * 4):
            arrive(more, hour, rows // 4, streams)
            if hour < hours:
                arrive(few, hour, rows, streams)
        ours, peer = together(few, queries, streams, max(number // 50, 1))
        add("evaluated together", ours, "s", "one by one", peer)
        add("evaluated together", ours, "s", "DuckDB reads each file once", scanned(few))
        once, again = reads(few, queries, streams)
        add("bytes read", once + again, "bytes", "in the files", once, 1)
        small, large = peak_mb(few, "small", number, streams), peak_mb(more, "large", number, streams)
        add(f"memory, {hours * 4} partitions", large, "MB", f"{hours} partitions", small, AIM_MEMORY)
        parses = {
            size: statistics.median(parsed(folder / f"{size}-{n}", size, streams)[0] for n in range(3))
            for size in (FEW, number)
        }
        add("DAGs parsed", parses[number], "s", f"{FEW} queries", parses[FEW])
        add("DAGs parsed", parses[number], "s", aim=AIM_PARSED * LIMIT)
        _, dags, tasks = parsed(folder / "counted", number, streams)
        print(f"{dags} DAGs of {tasks} tasks")
    return 0 if run.met else 1


if __name__ == "__main__":
    sys.exit(main())
