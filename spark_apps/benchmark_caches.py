"""Benchmark the caches of equijoins; the arguments of one call into streambound.spark.

Exit codes: 0 benchmarked (queries that are no equijoin are said to be so, and left out), 2 a query or its
input is invalid (the others are benchmarked, and the choices that stood still stand), 3 failed for an outside
cause such as a disk or Spark.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from streambound.approximate.nightly.defaults import DAYS, HELD_OUT, RUNS, SIZES
from streambound.errors import StorageError, StreamboundError
from streambound.spark.applications.cache_application import run_benchmark


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the application and return its exit code."""
    options = parser().parse_args(arguments)
    try:
        return run_benchmark(
            _listed(options.queries),
            streams=_listed(options.streams),
            sizes=_listed(options.sizes),
            policies=_listed(options.policies),
            days=options.days,
            held_out=options.held_out,
            runs=options.runs,
            last=options.last,
            summary=options.summary,
            run_id=options.run_id,
        )
    except StreamboundError as error:
        print(f"benchmark_caches: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"benchmark_caches: {StorageError(str(error))}", file=sys.stderr)
        return StorageError.exit_code


def _listed(text: str) -> list[str]:
    return [] if text in ("", "all") else [part.strip() for part in text.split(",")]


def parser() -> argparse.ArgumentParser:
    """The arguments; catalog and queries come from the registry (STREAMBOUND_REGISTRY)."""
    parser = argparse.ArgumentParser(prog="benchmark_caches", description=__doc__.split("\n\n")[0])
    parser.add_argument("--queries", default="all", metavar="A,B", help="names of registered queries, or all")
    parser.add_argument("--streams", default="all", metavar="A,B", help="only queries over these streams")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), metavar="K,...", help="tuples cached")
    parser.add_argument("--policies", default="all", metavar="A,B", help="policies that take part")
    parser.add_argument("--days", type=int, default=DAYS, help="partitions of history to look at")
    parser.add_argument("--held-out", type=int, default=HELD_OUT, help="of these, the last that are held out")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of policies that draw lots")
    parser.add_argument("--to", dest="last", metavar="PARTITION", help="last partition, as 2013-12-31")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="write what was found, as JSON")
    parser.add_argument("--run-id", default="", metavar="ID", help="the run that the summary names")
    return parser


if __name__ == "__main__":
    sys.exit(main())
