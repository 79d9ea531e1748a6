"""How long one query of Table 1 takes to check in a warm process: ``python -m benchmarks.check_latency``.

Every query of Table 1, both projections, from SQL text to verdict and plan, and with the suggestions for an
unbounded one. Aims: median below 10 ms; with suggestions, every query's median below 500 ms. Exit code 1 if
one is missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial

import sqlglot
from benchmarks.figures import PROCESSORS, Run, begin

from streambound.compiler.report import check
from streambound.query.catalog import Catalog, catalog_from_mapping

AIM_MS, SUGGESTING_AIM_MS = 10.0, 500.0
WHERE = {
    "Q1": "A > 10",
    "Q2": "S.A = T.D",
    "Q3": "S.A = T.D AND S.A > 10 AND T.D < 20",
    "Q4": "S.B < T.D AND S.A > 10 AND S.A < 20",
    "Q5": "S.B < T.D AND S.B < 120 AND T.D > 20 AND S.A > 10 AND S.A < 20",
    "Q6": "S.B > T.D AND S.B > T.E AND S.A = 10",
    "Q7": "S.A < T.D AND S.B < T.E AND S.A > 10 AND S.A < 20",
    "Q8": "S.B < T.D AND S.C < T.E AND S.A > 10 AND S.A < 20",
    "Q9": "S.B < T.D AND S.C < T.E AND S.A > 10 AND S.A < 20 AND S.B < T.E AND S.C < 100 AND T.D > 50",
}


def table_1() -> dict[str, str]:
    """The SQL of the 18 cells."""
    return {
        f"{name} {kind or 'ALL'}": f"SELECT {kind} S.A FROM {'S' if name == 'Q1' else 'S, T'} WHERE {where}"
        for name, where in WHERE.items()
        for kind in ("", "DISTINCT")
    }


def milliseconds(
    work: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """The time that each of some rounds takes."""
    found = []
    for _ in range(rounds):
        started = clock()
        work()
        found.append((clock() - started) * 1000)
    return found


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    options, run = begin("check_latency", parser, ["sqlglot"], rounds=5)
    catalog = catalog_from_mapping({"S": dict.fromkeys("ABC", "int"), "T": dict.fromkeys("DE", "int")})
    queries = table_1()
    for sql in queries.values():
        check(sql, catalog)
    for suggest in (False, True):
        _report(queries, catalog, options.rounds, suggest, run)
    return 0 if run.met else 1


def _report(queries: dict[str, str], catalog: Catalog, rounds: int, suggest: bool, run: Run) -> None:
    """Print and write the times; the peer is the SQL parser alone."""
    works = {name: partial(check, sql, catalog, suggest=suggest) for name, sql in queries.items()}
    found = {name: milliseconds(work, rounds) for name, work in works.items()}
    print("with suggestions" if suggest else "verdict and plan")
    for name, times in found.items():
        print(f"  {name:12} median {statistics.median(times):6.2f} ms, longest {max(times):6.2f} ms")
    every = [value for times in found.values() for value in times]
    median, slowest = statistics.median(every), max(statistics.median(times) for times in found.values())
    print(
        f"  all: median {median:.2f} ms, slowest query's median {slowest:.2f} ms, longest {max(every):.2f} ms"
    )
    if suggest:
        run.add("slowest of Table 1, with suggestions", 1, [slowest], "ms", aim=SUGGESTING_AIM_MS)
        return
    parsers = [partial(sqlglot.parse_one, sql) for sql in queries.values()]
    ours, theirs = (_processor(every, rounds) for every in (works.values(), parsers))
    run.add("Table 1", len(queries), [median], "ms", aim=AIM_MS)
    run.add("slowest of Table 1", 1, [slowest], "ms")
    run.add("Table 1", len(queries), ours, PROCESSORS, "sqlglot parses it", theirs)


def _processor(works: Iterable[Callable[[], object]], rounds: int) -> list[float]:
    """The median of all works in each round, in seconds of the processor."""
    every = [milliseconds(work, rounds, time.process_time) for work in works]
    return [statistics.median(times) / 1000 for times in zip(*every, strict=True)]


if __name__ == "__main__":
    sys.exit(main())
