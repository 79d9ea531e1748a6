"""Ten years of 1,000 streams and 5,000 queries, simulated: ``python -m benchmarks.scale [--quick]``.

Measured in this process, of the ten kinds of query of ``benchmarks/load.py`` over an area of five streams:
processor seconds of a task and of the driver for a query and a partition; bytes of its summary, checkpoint
and answers; seconds of reading a partition of a stream, and of looking at one that is known. From these a
list scheduler simulates hours of partitions on so many cores:

* *backfill*: all ten years at once. Tasks compute up to ``AHEAD`` rounds ahead of the drivers.
* *an hour more*: one new partition of each stream, with ten years of checkpoints behind it; and what looking
  at these takes where partitions are days.

A driver takes in its partitions one after the other; of several shards each has a driver of its own and its
part of the queries. Printed is what each costs, what bounds it, and what breaks first, and it is drawn in
``docs/images/scale.svg``.
"""

from __future__ import annotations

import argparse
import heapq
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.load import AREA, KINDS, ROOT, arrive, catalog, evaluate, registry

from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.history.local import LocalExecutor
from streambound.history.schedule import AHEAD, SUMMARIES
from streambound.query.registry import RegisteredQuery
from streambound.storage.files import footers
from streambound.tasks.embedded_engine import STORED, opened
from streambound.tasks.summarise import Summary, Task, scanned

HOURS, STREAMS, QUERIES = 87_660, 1_000, 5_000
CORES, SHARDS = (10, 100, 1000), (1, 10, 100)
# Dollars, of a core with 4 GB of memory, rented by the hour.
PRICE = 0.05
# Simulated hours; what follows repeats them.
SIMULATED = 2_000


@dataclass(frozen=True)
class Measured:
    """Of a query and a partition (of a kind, or on average): processor seconds and bytes."""

    task: float
    driver: float
    summary: float
    state: float
    checkpoint: float
    answers: float


@dataclass(frozen=True)
class Simulated:
    """What some cores and drivers come to.

    ``backfill`` in seconds of the clock, of which all drivers together are busy for ``driver`` and cores for
    ``cores``; ``hour`` is how long after its end an hour is answered, ``by_day`` how long looking takes where
    partitions are days.
    """

    cores: int
    shards: int
    backfill: float
    driver: float
    tasks: float
    hour: float
    by_day: float

    @property
    def bound(self) -> str:
        """What the backfill waits for."""
        return "driver" if self.driver / self.shards > self.tasks / self.cores else "tasks"


class Timed(LocalExecutor):
    """Keeps what tasks took and what they made."""

    seconds = 0.0
    bytes = 0

    def summaries(self, *given: Any, **options: Any) -> list[Summary]:
        """The summaries, timed."""
        begun = time.process_time()
        found = super().summaries(*given, **options)
        self.seconds += time.process_time() - begun
        self.bytes += sum(len(summary.table or b"") for summary in found)
        return found


def measure(folder: Path, queries: Sequence[RegisteredQuery], hours: int) -> Measured:
    """What queries cost over an area, on average of a query and a partition; reading is not part of it."""
    given, home, executor = catalog(folder, AREA), folder / "home" / queries[0].name, Timed(1)
    begun = time.process_time()
    evaluate(queries, given, home, executor)
    whole, number = time.process_time() - begun, len(queries) * hours
    return Measured(
        task=executor.seconds / number,
        driver=(whole - executor.seconds) / number,
        summary=executor.bytes / number,
        state=state_bytes(home, queries) / len(queries),
        checkpoint=size(home / "checkpoints") / number,
        answers=size(home / "answers") / number,
    )


def size(folder: Path) -> int:
    """The bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def state_bytes(home: Path, queries: Sequence[RegisteredQuery]) -> int:
    """The bytes of the newest state of each query, added up."""
    found = 0
    for query in queries:
        table = CheckpointTable(address_of(str(home / "checkpoints"), query.name), query.name)
        newest = max(table.rows)
        found += len(table.load([newest])[newest].state or b"")
    return found


def reading(folder: Path) -> float:
    """The seconds of reading one partition of a stream into a table, checked, without any query."""
    (relation, *_), rounds = catalog(folder, AREA).relations, 5
    files = sorted(str(file) for file in (folder / relation.name).glob("*/*.parquet"))
    columns = sorted(column.name for column in relation.own)
    with opened() as session:
        begun = time.process_time()
        for _ in range(rounds):
            for file in files:
                task = Task(relation.name, "", (file,), 0, frozenset())
                head = footers(relation, columns, (file,))
                with scanned(session, STORED, relation, columns, [(task, head)], passes=2):
                    pass
        return (time.process_time() - begun) / len(files) / rounds


@dataclass(frozen=True)
class Fixed:
    """Processor seconds of reading a partition of a stream; of beginning with a query in a run; of looking at
    one of its partitions that is known."""

    reading: float
    beginning: float
    looking: float


def simulate(
    one: Measured, fixed: Fixed, cores: int, shards: int, hours: int, streams: int, queries: int
) -> Simulated:
    """List scheduling: each task goes to the core that is free first, each shard of an hour to its driver.

    An hour has a task for each area; its duration is drawn around the measured mean, as is the drivers'.
    """
    areas, chance = streams // AREA, np.random.default_rng(5)
    mean = AREA * fixed.reading + queries / areas * one.task
    own = queries / shards * one.driver
    # Rounds are some hours, as many as the driver's memory may hold.
    together = max(1, SUMMARIES * shards // (2 * queries))
    ahead = together * (AHEAD + 1)
    simulated = min(hours, SIMULATED)
    free = [0.0] * cores
    drivers, ends = [0.0] * shards, list[float]()
    first = 0.0
    for hour in range(simulated):
        # Tasks wait until there is room for what they make.
        begin = ends[hour - ahead] if hour >= ahead else 0.0
        done = 0.0
        for duration in mean * chance.uniform(0.8, 1.2, areas):
            end = max(heapq.heappop(free), begin) + duration
            heapq.heappush(free, end)
            done = max(done, end)
        takes = own * chance.uniform(0.9, 1.1, shards)
        drivers = [max(at, done) + take for at, take in zip(drivers, takes, strict=True)]
        ends.append(max(drivers))
        first = first or ends[0]
    looking, by_day = (queries / shards * (fixed.beginning + n * fixed.looking) for n in (hours, hours / 24))
    return Simulated(
        cores,
        shards,
        backfill=ends[-1] * hours / simulated,
        driver=queries * one.driver * hours,
        tasks=mean * areas * hours,
        hour=looking + first,
        by_day=by_day,
    )


def looking(folder: Path, hours: int) -> tuple[float, float]:
    """The seconds of beginning with a query that has nothing to read, and of each known partition more."""
    queries, found = registry(len(KINDS), AREA)[:2], list[float]()
    for length in (hours, hours * 5):
        path = folder / f"long-{length}"
        for hour in range(length):
            arrive(path, hour, 20, AREA)
        given = catalog(path, AREA)
        evaluate(queries, given, path / "home", LocalExecutor(1))
        rounds = []
        for _ in range(3):
            begun = time.process_time()
            evaluate(queries, given, path / "home", LocalExecutor(1))
            rounds.append(time.process_time() - begun)
        found.append(min(rounds) / len(queries))
    slope = (found[1] - found[0]) / (hours * 4)
    return found[0] - slope * hours, slope


def averaged(each: Sequence[Measured]) -> Measured:
    """The mean over kinds, of which a registry has equally many."""
    names = [field.name for field in fields(Measured)]
    return Measured(**{name: float(np.mean([getattr(one, name) for one in each])) for name in names})


def units(number: float, names: Sequence[tuple[float, str]]) -> str:
    """A number in the greatest unit that it has at least one of."""
    size, name = next(((size, name) for size, name in names if number >= size), names[-1])
    return f"{number / size:,.1f} {name}"


BYTES = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")]
SPANS = [(86_400 * 365.25, "years"), (86_400, "days"), (3_600, "h"), (60, "min"), (1, "s"), (1e-3, "ms")]


def draw(found: Sequence[Simulated], file: Path) -> None:
    """The backfill by cores and shards, and how long after its end an hour is answered."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    # Equal pictures have equal bytes.
    matplotlib.rcParams["svg.hashsalt"] = "streambound"
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    colours = ["#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd"]
    for colour, shards in zip(colours, sorted({one.shards for one in found}), strict=False):
        own = [one for one in found if one.shards == shards]
        cores = [one.cores for one in own]
        label = f"{shards} driver{'s' if shards > 1 else ''}"
        left.plot(cores, [one.backfill / 86_400 for one in own], "o-", color=colour, label=label)
    floor = [min(one.tasks / one.cores for one in found if one.cores == c) / 86_400 for c in cores]
    left.plot(cores, floor, "--", color="#999999", label="tasks alone")
    drivers = sorted({one.shards for one in found})
    most = {one.shards: one for one in found if one.cores == max(cores)}
    right.plot(drivers, [most[d].hour / 60 for d in drivers], "o-", color="#d62728", label="an hour more")
    label = "a day more, partitions of days: looking"
    right.plot(drivers, [most[d].by_day / 60 for d in drivers], "s-", color="#17becf", label=label)
    right.axhline(60, color="#999999", linestyle="--", label="the next hour ends")
    left.set(title="ten years at once", xlabel="cores", ylabel="days")
    right.set(title="after ten years", xlabel="drivers", ylabel="minutes")
    for axes, ticks in ((left, cores), (right, drivers)):
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks], minor=False)
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(file, metadata={"Date": None})


def main() -> int:
    """Measure, simulate and print; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer partitions and rows are measured")
    parser.add_argument("--rows", type=int, default=10_000, metavar="N", help="of each stream and hour")
    parser.add_argument("--price", type=float, default=PRICE, help="dollars a core and hour")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "scale.svg")
    options = parser.parse_args()
    hours, rows = (3, min(options.rows, 2_000)) if options.quick else (6, options.rows)
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        for hour in range(hours):
            arrive(folder, hour, rows, AREA)
        queries, each = registry(len(KINDS) * 4, AREA), list[Measured]()
        print(f"{hours} hours of {AREA} streams, {rows:,} rows each, {os.cpu_count()} cores")
        print("| of a query and partition | task | driver | summary | state | checkpoint | answers |")
        print("|---" * 7 + "|")
        for kind in KINDS:
            own = [query for query in queries if query.name.endswith(f"_{kind}")]
            one = measure(folder, own, hours)
            each.append(one)
            seconds = " | ".join(units(s, SPANS) for s in (one.task, one.driver))
            sizes = (one.summary, one.state, one.checkpoint, one.answers)
            print(f"| {kind} | {seconds} | {' | '.join(units(size, BYTES) for size in sizes)} |", flush=True)
        fixed = Fixed(reading(folder), *looking(folder, 5 if options.quick else 20))
    one = averaged(each)
    print(f"reading a partition of a stream: {units(fixed.reading, SPANS)};", end=" ")
    print(f"of each query of a run: {units(fixed.beginning, SPANS)} to begin,", end=" ")
    print(f"{units(fixed.looking, SPANS)} for a partition that is known")
    about = (HOURS, STREAMS, QUERIES)
    found = [simulate(one, fixed, cores, shards, *about) for shards in SHARDS for cores in CORES]
    print(f"{HOURS:,} hours, {STREAMS:,} streams, {QUERIES:,} queries; {options.price:g} dollars a core hour")
    print(
        "| drivers | cores | ten years | bound by | drivers busy | dollars | an hour more | looking, by day |"
    )
    print("|---" * 8 + "|")
    for run in found:
        dollars = (run.cores + run.shards) * run.backfill / 3_600 * options.price
        cells = [units(run.backfill, SPANS), run.bound, f"{run.driver / run.shards / run.backfill:.0%}"]
        cells += [f"{dollars:,.0f}", units(run.hour, SPANS), units(run.by_day, SPANS)]
        print(f"| {run.shards} | {run.cores:,} | {' | '.join(cells)} |")
    first, whole = found[0], QUERIES * HOURS
    fraction = first.driver / (first.driver + first.tasks)
    alone = f"the driver {units(first.driver, SPANS)}, all tasks {units(first.tasks, SPANS)}"
    print(f"on one core {alone}: the driver's share is {fraction:.0%}")
    held = f"state {units(one.state * QUERIES, BYTES)}, checkpoints {units(one.checkpoint * whole, BYTES)}"
    print(f"{held}, answers {units(one.answers * whole, BYTES)} in up to {whole:,} files")
    print(f"peak of summaries in a driver: {units((AHEAD + 1) * SUMMARIES * one.summary, BYTES)}")
    draw(found, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
