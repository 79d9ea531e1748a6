"""Evaluate registered queries over their histories; the arguments of one call into streambound.spark.

Exit codes: 0 evaluated (queries that are not bounded are said to be so, and left out), 2 a query or its
input is invalid (the others are evaluated), 3 failed for an outside cause such as a disk or Spark.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from streambound.errors import StorageError, StreamboundError
from streambound.history.shards import shard_of
from streambound.spark.applications.application import run_application


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the application and return its exit code."""
    options = parser().parse_args(arguments)
    try:
        return run_application(
            [] if options.queries in ("", "all") else options.queries.split(","),
            first=options.first,
            last=options.last,
            exclude=options.exclude,
            output=options.output,
            summary=options.summary,
            run_id=options.run_id,
            recompute=options.recompute,
            publish=not options.checkpoints_only,
            shard=None if options.shard is None else shard_of(options.shard),
        )
    except StreamboundError as error:
        print(f"evaluate_history: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"evaluate_history: {StorageError(str(error))}", file=sys.stderr)
        return StorageError.exit_code


def parser() -> argparse.ArgumentParser:
    """The arguments; catalog and queries come from the registry (STREAMBOUND_REGISTRY)."""
    parser = argparse.ArgumentParser(prog="evaluate_history", description=__doc__.split("\n\n")[0])
    parser.add_argument("--queries", default="all", metavar="A,B", help="names of registered queries, or all")
    parser.add_argument("--from", dest="first", metavar="PARTITION", help="first partition, as 2013-01-01")
    parser.add_argument("--to", dest="last", metavar="PARTITION", help="last partition, included")
    parser.add_argument("--exclude", type=Path, metavar="FILE", help="JSON: {stream: {partition: reason}}")
    parser.add_argument("--output", type=Path, metavar="DIR", help="folder of the answers")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="write what was done, as JSON")
    parser.add_argument("--run-id", default="", metavar="ID", help="the run that the summary names")
    parser.add_argument("--recompute", action="store_true", help="evaluate all, whatever is checkpointed")
    parser.add_argument("--checkpoints-only", action="store_true", help="leave published answers as they are")
    parser.add_argument("--shard", metavar="K/N", help="the K-th of N parts of the queries: N drivers")
    return parser


if __name__ == "__main__":
    sys.exit(main())
