"""What Spark and Flink keep of bounded queries as they are written, rewritten, and run live by streambound.

Both streams grow step by step; after each step every engine has read the same rows. State is rows of Spark's
state store (``numRowsTotal``), bytes of a full checkpoint of Flink's, and units of ours. What was measured is
kept in a file, a line each, and is not measured again unless its statement is another one.
``python -m benchmarks.engines [--quick] [--only NAME ...] [--results FILE]``; Flink runs where ``make flink``
has put it.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.figures import Run, begin
from benchmarks.states import STEPS, Line, Measured, add, read, table

from streambound.compiler import Planned, compile
from streambound.compiler.report import on_engine
from streambound.errors import StreamboundError
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.model import History
from streambound.rewrites.rewrite import Rewrite, rewrite
from streambound.spark.live.query import configured, live
from streambound.spark.session import session

FLINK = Path(__file__).parents[1] / "var" / "flink" / "bin" / "python"
# What the quick form measures: an equality and an order.
FEW = ["both, DISTINCT"]
WATERMARK = "5 seconds"
RANGE = "S.A > 10 AND S.A < 20"
QUERIES = {
    "bag": "SELECT S.A FROM S JOIN T ON S.A = T.D WHERE S.A > 10 AND T.D < 20",
    "DISTINCT": "SELECT DISTINCT S.A FROM S JOIN T ON S.A = T.D WHERE S.A > 10 AND T.D < 20",
    "inequality, DISTINCT": f"SELECT DISTINCT S.A FROM S, T WHERE S.B < T.E AND {RANGE}",
    "both, DISTINCT": f"SELECT DISTINCT S.A FROM S JOIN T ON S.A = T.D AND S.B < T.E WHERE {RANGE}",
    "inequality, bag": f"SELECT S.A FROM S, T WHERE S.B5 < T.D5 AND S.B5 < 120 AND T.D5 > 20 AND {RANGE}",
    "order in time, bag": f"SELECT S.A FROM S JOIN T ON S.A = T.D WHERE S.ts > T.ts AND {RANGE}",
    "order in time, DISTINCT": "SELECT DISTINCT S.A FROM S JOIN T ON S.A = T.D"
    f" WHERE S.ts > T.ts AND {RANGE}",
    "within an hour": "SELECT S.id, T.id AS tid FROM S JOIN T ON S.K = T.K"
    " WHERE S.ts >= T.ts AND S.ts <= T.ts + INTERVAL '1' HOUR",
    "bag with its id": "SELECT S.id, S.A FROM S JOIN T ON S.A = T.D WHERE S.A > 10 AND T.D < 20",
    "groups of any key": "SELECT S.id, COUNT(*) AS n FROM S GROUP BY S.id",
    "groups of a bounded key": "SELECT S.A, COUNT(*) AS n, MAX(S.B) AS most FROM S"
    f" WHERE {RANGE} GROUP BY S.A",
    "groups over a join": f"SELECT S.A, COUNT(*) AS n FROM S JOIN T ON S.A = T.D WHERE {RANGE} GROUP BY S.A",
    "groups by the minute": "SELECT date_trunc('MINUTE', S.ts) AS m, COUNT(*) AS n FROM S"
    " GROUP BY date_trunc('MINUTE', S.ts)",
    "top 5": "SELECT A, B FROM (SELECT A, B, ROW_NUMBER() OVER (PARTITION BY A ORDER BY B DESC) AS r FROM S"
    f" WHERE {RANGE.replace('S.', '')}) AS q WHERE r <= 5",
    "duplicates": "SELECT DISTINCT id, ts FROM S",
}
# Flink has no date_trunc: FLOOR says the same.
FLINK_TEXT = {
    "groups by the minute": "SELECT FLOOR(S.ts TO MINUTE) AS m, COUNT(*) AS n FROM S"
    " GROUP BY FLOOR(S.ts TO MINUTE)"
}
COLUMNS = {"S": ("id", "A", "B", "B5", "K"), "T": ("id", "D", "E", "D5", "K")}
BEGIN = dt.datetime(2026, 1, 1)


def predicted(job: Planned, engine: str, made: Rewrite | None) -> str:
    """How the state grows: by the plan of a rewrite, or (None) by the rules of the engine as written."""
    if made is None:
        found = on_engine(job, engine)
        return "unknown" if found is None else found.growth.value
    return "refused" if made.sql is None else "constant"


def rows_of(name: str, start: int, end: int) -> dict[str, Any]:
    """The rows of a stream: one a second, half of them within the bounds of the queries."""
    r = np.random.default_rng([start, name == "T"])
    number = end - start
    near = r.integers(11, 15, number) if name == "S" else r.integers(15, 20, number)
    key = np.where(
        r.random(number) < 0.5, np.where(r.random(number) < 0.9, near, r.integers(11, 20, number)), 0
    )
    key = np.where(key == 0, r.integers(1_000, 1_000_000, number), key)
    far = r.integers(-1_000_000, 0, number) if name == "S" else r.integers(200, 1_000_000, number)
    clipped = np.where(r.random(number) < 0.5, far, r.integers(0, 200, number))
    values = (
        np.arange(start, end),
        key,
        r.integers(0, 1_000_000, number),
        clipped,
        r.integers(0, 10_000, number),
    )
    found: dict[str, Any] = dict(zip(COLUMNS[name], values, strict=True))
    found["ts"] = [BEGIN + dt.timedelta(seconds=s) for s in range(start, end)]
    return found


def write(folder: Path, steps: Sequence[int]) -> None:
    """A file of each stream and step, as JSON and as Parquet."""
    for name in COLUMNS:
        for form in ("json", "parquet"):
            (folder / form / name).mkdir(parents=True)
        for step, (start, end) in enumerate(zip((0, *steps), steps, strict=False)):
            table = pa.table(rows_of(name, start, end))
            stamps = pa.timestamp("us", "UTC")
            table = table.set_column(5, "ts", table.column("ts").cast(pa.timestamp("us")).cast(stamps))
            pq.write_table(table, folder / "parquet" / name / f"{step:04}.parquet")
            lines = (json.dumps({**row, "ts": str(row["ts"])[:19]}) for row in table.to_pylist())
            (folder / "json" / name / f"{step:04}.json").write_text("".join(f"{line}\n" for line in lines))


def catalog_in(folder: Path) -> Catalog:
    """The streams, each with its folder."""
    kinds = {
        name: {
            "columns": {**dict.fromkeys(columns, "int"), "ts": "timestamp"},
            "timestamp": "ts",
            "not_null": columns,
        }
        for name, columns in COLUMNS.items()
    }
    made = catalog_from_mapping(
        {name: {**body, "not_null": list(body["not_null"])} for name, body in kinds.items()}
    )
    histories = (replace(r, history=History(str(folder / r.name), None)) for r in made.relations)
    return Catalog(tuple(histories))


def arrived(source: Path, target: Path, step: int, form: str) -> None:
    """Link the files of a step into a folder that is followed."""
    for name in COLUMNS:
        (target / name).mkdir(parents=True, exist_ok=True)
        file = f"{step:04}.{form}"
        (target / name / file).hardlink_to(source / form / name / file)


def on_spark(spark: Any, folder: Path, source: Path, steps: int, one: Measured) -> None:
    """Run a statement as Spark's own streaming query, in update mode, or else in append mode."""
    assert one.sql is not None
    for mode in ("update", "append"):
        one.states, one.seconds = [], []
        work = folder / mode
        try:
            for step in range(steps):
                arrived(source, work, step, "parquet")
                begun = time.monotonic()
                one.states.append(_taken(spark, one.sql, work, mode))
                one.seconds.append(round(time.monotonic() - begun, 1))
            one.error = ""
            return
        except Exception as error:
            # What update mode says is the reason; append mode only adds that it asks for more.
            one.error = (
                one.error or str(error).strip().splitlines()[0].split("terminated with exception: ")[-1]
            )


def _taken(spark: Any, sql: str, work: Path, mode: str) -> int:
    for name, columns in COLUMNS.items():
        schema = ", ".join(f"{column} bigint" for column in columns) + ", ts timestamp"
        frame = spark.readStream.schema(schema).parquet(str(work / name))
        frame.withWatermark("ts", WATERMARK).createOrReplaceTempView(name)
    writer = spark.sql(sql).writeStream.outputMode(mode).format("noop")
    query = writer.option("checkpointLocation", str(work / "_state")).trigger(availableNow=True).start()
    query.awaitTermination()
    return sum(int(operator["numRowsTotal"]) for operator in query.lastProgress["stateOperators"])


@dataclass(frozen=True)
class Named:
    """A query by name."""

    name: str
    sql: str


def ours(spark: Any, folder: Path, source: Path, steps: int, limit: float, one: Measured) -> None:
    """Run a query live, as ``streambound run --live --available-now`` does."""
    assert one.sql is not None
    catalog = catalog_in(folder / "in")
    try:
        for step in range(steps):
            arrived(source, folder / "in", step, "parquet")
            begun = time.monotonic()
            found = live(spark, Named("query", one.sql), catalog, output=folder / "live")
            one.states.append(found.units)
            one.seconds.append(round(time.monotonic() - begun, 1))
            if one.seconds[-1] > limit:
                one.error = f"stopped after a step of {one.seconds[-1]:.0f} s"
                return
    except StreamboundError as error:
        one.error = error.message


def statements(only: Sequence[str]) -> Iterator[Measured]:
    """The queries in every form, with what is predicted; without a statement where there is none."""
    catalog = catalog_in(Path("/nowhere"))
    for name in only:
        job = compile(QUERIES[name], catalog, name)
        for engine, unit in (("Flink", "bytes"), ("Spark", "rows")):
            text = FLINK_TEXT.get(name, job.sql) if engine == "Flink" else job.sql
            yield Measured(name, f"{engine}, as written", unit, predicted(job, engine.lower(), None), text)
            made = rewrite(job, engine.lower())
            if made.rules or made.refused:
                said = predicted(job, engine.lower(), made)
                yield Measured(name, f"{engine}, rewritten", unit, said, made.sql, error=made.refused or "")
        bounded = "constant" if job.verdict.bounded else "refused"
        yield Measured(name, "streambound live", "units", bounded, job.sql)


def known(path: Path, steps: Sequence[int], limit: float) -> dict[tuple[str, str, str], Measured]:
    """What was measured with these steps, by query, form and statement; not what took longer than a limit
    that was less than this one.
    """
    every = [
        line.measured
        for line in read(path)
        if line.steps == tuple(steps)
        and not (line.measured.states and line.measured.error and line.limit < limit)
    ]
    return {(one.query, one.form, one.sql or ""): one for one in every}


def measured(only: Sequence[str], steps: Sequence[int], limit: float, run: Run) -> list[Measured]:
    """Every query in every form: from the file of results, or now."""
    every, before = [*statements(only)], known(run.file, steps, limit)
    left = []
    for one in every:
        if found := before.get((one.query, one.form, one.sql or "")):
            one.states, one.seconds, one.error = found.states, found.seconds, found.error
        else:
            left.append(one)

    def done(one: Measured) -> None:
        add(run.file, Line(one, tuple(steps), limit, run.stamp))
        print(told(one), flush=True)

    # A rewrite that is refused has no statement to run.
    for one in (one for one in left if one.sql is None):
        done(one)
    left = [one for one in left if one.sql is not None]
    if left:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, steps)
            flink([one for one in left if one.unit == "bytes"], folder, steps, limit, done)
            _with_spark([one for one in left if one.unit != "bytes"], folder, len(steps), limit, done)
    return every


def _with_spark(
    left: Sequence[Measured], folder: Path, steps: int, limit: float, done: Callable[[Measured], None]
) -> None:
    with session("engines", master="local[2]", spark__log__level="OFF") as spark:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        for number, one in enumerate(left):
            if one.unit == "rows":
                on_spark(spark, folder / str(number), folder, steps, one)
            else:
                with configured(spark, lambda: False):
                    ours(spark, folder / str(number), folder, steps, limit, one)
            done(one)


def flink(
    left: Sequence[Measured],
    folder: Path,
    steps: Sequence[int],
    limit: float,
    done: Callable[[Measured], None],
) -> None:
    """The same on Flink, in its own environment."""
    if not left:
        return
    if not FLINK.exists():
        print(f"Flink is left out: {FLINK} is not there (make flink)")
        return
    tables = {
        name: {"columns": {**dict.fromkeys(columns, "BIGINT"), "ts": "TIMESTAMP(3)"}, "time": "ts"}
        for name, columns in COLUMNS.items()
    }
    given = {
        "folder": str(folder / "json"),
        "tables": tables,
        "steps": [*steps],
        "limit": limit,
        "queries": {f"{one.query}/{one.form}": one.sql for one in left},
    }
    script = Path(__file__).with_name("flink") / "state.py"
    with subprocess.Popen(
        [FLINK, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None and running.stdout is not None
        running.stdin.write(json.dumps(given))
        running.stdin.close()
        for line in running.stdout:
            if not line.startswith('{"query"'):
                continue
            told_of = json.loads(line)
            one = next(one for one in left if f"{one.query}/{one.form}" == told_of["query"])
            one.states, one.seconds = told_of.get("bytes", []), told_of.get("seconds", [])
            one.error = told_of.get("error", "")
            done(one)


def told(one: Measured) -> str:
    """A line of the table."""
    states = " | ".join(f"{state:,}" for state in one.states) or one.error[:80]
    seconds = f"{one.seconds[-1]:.1f} s" if one.seconds else ""
    error = f" ({one.error[:60]})" if one.error and one.states else ""
    said = f"{one.growth} (predicted {one.predicted})"
    return f"| {one.query} | {one.form} | {states}{error} | {one.unit} | {said} | {seconds} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=QUERIES, default=list(QUERIES), metavar="NAME")
    parser.add_argument("--limit", type=float, default=180.0, metavar="SECONDS", help="of one step")
    options, run = begin("engines", parser, ["pyspark"], only=FEW)
    found = measured(options.only, STEPS[run.form], options.limit, run)
    print("\n".join(table(found)))
    wrong = [one for one in found if not one.right]
    for one in wrong:
        print(f"not as predicted: {told(one)}")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
