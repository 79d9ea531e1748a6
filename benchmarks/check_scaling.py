"""How the time to check a query grows: ``python -m benchmarks.check_scaling``.

Random satisfiable queries, with and without DISTINCT and time conditions, grow in one of three sizes:
streams, columns of a stream, constants. What is timed goes from SQL to verdict, published verdicts and plan,
without suggestions, in seconds of the processor. The peer is the method of the papers' theorems: the
enumeration of every locally totally ordered branch. Printed are the medians, the exponent fitted on a
logarithmic scale (polynomial: time ~ size^exponent), and check / peer. Aim: 6 streams x 8 columns with 10
constants within one second at worst. Exit code 1 if it is missed.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import statistics
import sys
import time
from dataclasses import dataclass, replace

from benchmarks.figures import PROCESSORS, Run, begin

from streambound.compiler import compile
from streambound.constraints.system import system
from streambound.papers.branches import BranchLimit, lto_branches
from streambound.papers.references import References
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.parse import parse

AIM_S = 1.0
# The peer's steps before it is given up.
PEER_LIMIT = 20_000
PEER_NAME = "enumeration of branches"


@dataclass(frozen=True)
class Size:
    """The size of a query."""

    streams: int = 6
    columns: int = 8
    constants: int = 10


GROWING = {
    "streams": [replace(Size(), streams=n) for n in (2, 3, 4, 6, 8, 12)],
    "columns": [replace(Size(), columns=n) for n in (2, 4, 6, 8, 12, 16)],
    "constants": [replace(Size(), constants=n) for n in (2, 5, 10, 20, 40)],
}
# The peer starts from what it can do at all.
PEER = {"streams": [Size(n, 4, 3) for n in range(1, 7)], "columns": [Size(2, n, 3) for n in range(1, 9)]}


def query(size: Size, seed: int) -> tuple[str, Catalog]:
    """A query that a hidden assignment satisfies; every column is compared."""
    chance = random.Random(seed)
    kind, timed = ("int", "double")[seed % 2], seed % 4 > 1
    names = [f"S{i}" for i in range(size.streams)]
    columns = [f"C{i}" for i in range(size.columns)]
    body = {"columns": {**dict.fromkeys(columns, kind), "ts": "int"}, "timestamp": "ts"}
    everything = [f"{name}.{column}" for name, column in itertools.product(names, columns)]
    known = [10 * i for i in range(size.constants)]
    hidden = {a: chance.randint(-20, known[-1] + 20) for a in everything}
    atoms = [_related(chance, a, hidden[a], str(c), c) for a in everything for c in [chance.choice(known)]]
    for one in everything if len(everything) > 1 else []:
        other = chance.choice([a for a in everything if a != one])
        if chance.random() < 0.5:
            atoms.append(_related(chance, one, hidden[one], other, hidden[other]))
    stamps = {f"{name}.ts": chance.randint(0, 9) for name in names}
    for one, other in itertools.pairwise(stamps) if timed else []:
        atoms.append(_related(chance, one, stamps[one], other, stamps[other]))
    word = "DISTINCT " if seed % 8 > 3 else ""
    sql = f"SELECT {word}1 FROM {', '.join(names)} WHERE {' AND '.join(atoms)}"
    return sql, catalog_from_mapping(dict.fromkeys(names, body))


def _related(chance: random.Random, left: str, one: int, right: str, other: int) -> str:
    ops = ["<", "<=", "<>"] if one < other else [">", ">=", "<>"] if one > other else ["=", "<=", ">="]
    return (
        f"{left} {chance.choice(ops[:2])} {right}" if chance.random() < 0.9 else f"{left} {ops[-1]} {right}"
    )


def seconds(size: Size, rounds: int) -> list[float]:
    """The time of checking some random queries of a size."""
    found = []
    for seed in range(rounds):
        sql, catalog = query(size, seed)
        started = time.process_time()
        compile(sql, catalog, compared=True)
        found.append(time.process_time() - started)
    return found


def peer_seconds(size: Size, rounds: int) -> list[float]:
    """The time of looking at every branch of some random queries; infinite past the limit."""
    found = []
    for seed in range(0, 8 * rounds, 8):
        sql, catalog = query(size, seed)
        started = time.process_time()
        parsed = parse(sql, catalog)
        facts, streams = system(parsed), {o.alias: o.alias for o in parsed.streams}
        try:
            for branch in lto_branches(facts, limit=PEER_LIMIT):
                References(facts.space, branch, streams).equalities_bounded()
        except BranchLimit:
            found.append(math.inf)
            continue
        found.append(time.process_time() - started)
    return found


def exponent(sizes: list[int], times: list[float]) -> float:
    """The slope of a straight line through the points on logarithmic axes."""
    xs, ys = [math.log(s) for s in sizes], [math.log(t) for t in times]
    return statistics.linear_regression(xs, ys).slope


def measured(rounds: int, run: Run) -> None:
    """Print and write, for each size that grows, the medians, and those of the peer at its sizes."""
    for name, sizes in GROWING.items():
        values = [getattr(size, name) for size in sizes]
        times = [statistics.median(seconds(size, rounds)) for size in sizes]
        for value, took in zip(values, times, strict=True):
            run.add(name, value, [took], PROCESSORS)
        print(f"{name:10} {', '.join(f'{v}: {1000 * t:.0f} ms' for v, t in zip(values, times, strict=True))}")
        print(f"{'':10} fitted exponent {exponent(values, times):.1f}", flush=True)
        for size in PEER.get(name, []):
            value, peer = getattr(size, name), statistics.median(peer_seconds(size, 5))
            if peer == math.inf:
                print(f"{'':10} {PEER_NAME}: given up at {value}")
                break
            ours = statistics.median(seconds(size, rounds))
            found = run.add(f"{name}, small", value, [ours], PROCESSORS, PEER_NAME, [peer])
            print(f"{'':10} {PEER_NAME} at {value}: {1000 * peer:.0f} ms, check / it {found.ratio:.3g}")


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--worst-of", type=int, default=200)
    options, run = begin("check_scaling", parser, rounds=4, worst_of=20)
    measured(options.rounds, run)
    worst = seconds(Size(), options.worst_of)
    print(
        f"6 streams x 8 columns, 10 constants, {len(worst)} queries:"
        f" median {1000 * statistics.median(worst):.0f} ms, worst {1000 * max(worst):.0f} ms"
    )
    run.add("6 x 8 columns, 10 constants, median", len(worst), [statistics.median(worst)], PROCESSORS)
    run.add("6 x 8 columns, 10 constants, slowest", len(worst), [max(worst)], PROCESSORS, aim=AIM_S)
    return 0 if run.met else 1


if __name__ == "__main__":
    sys.exit(main())
