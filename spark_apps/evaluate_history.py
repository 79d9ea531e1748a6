"""Evaluate registered queries over their histories; the arguments of one call into streambound.spark.

Exit codes: 0 evaluated (queries that are not bounded are said to be so, and left out), 2 a query or its
input is invalid (the others are evaluated), 3 failed for an outside cause such as a disk or Spark.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from streambound import settings
from streambound.errors import DataError, StorageError, StreamboundError
from streambound.query.registry import load_registry
from streambound.spark.history import evaluate_history
from streambound.spark.session import session
from streambound.spark.walk import HistoryAnswer


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the application and return its exit code."""
    options = parser().parse_args(arguments)
    try:
        return run(options)
    except StreamboundError as error:
        print(f"evaluate_history: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"evaluate_history: {StorageError(str(error))}", file=sys.stderr)
        return StorageError.exit_code


def parser() -> argparse.ArgumentParser:
    """The arguments; catalog and queries come from the registry (STREAMBOUND_REGISTRY)."""
    found = argparse.ArgumentParser(prog="evaluate_history", description=__doc__.split("\n\n")[0])
    found.add_argument("--queries", default="all", metavar="A,B", help="names of registered queries, or all")
    found.add_argument("--from", dest="first", metavar="PARTITION", help="first partition, as 2013-01-01")
    found.add_argument("--to", dest="last", metavar="PARTITION", help="last partition, included")
    found.add_argument("--exclude", type=Path, metavar="FILE", help="JSON: {stream: {partition: reason}}")
    found.add_argument("--output", type=Path, metavar="DIR", help="folder of the answers")
    found.add_argument("--summary", type=Path, metavar="FILE", help="write what was done, as JSON")
    found.add_argument("--run-id", default="", metavar="ID", help="the run that the summary names")
    return found


def run(options: argparse.Namespace) -> int:
    """Evaluate, report and say how it went.

    Raises:
        StreamboundError: nothing could be evaluated.
    """
    registry = load_registry(settings.registry())
    names = [] if options.queries in ("", "all") else options.queries.split(",")
    queries = registry.chosen(name.strip() for name in names)
    excluded = read_excluded(options.exclude)
    with session("streambound evaluate_history") as spark:
        answers = evaluate_history(
            spark,
            queries,
            registry.catalog,
            first=options.first or None,
            last=options.last or None,
            excluded=excluded,
            output=options.output,
            progress=lambda message: print(message, flush=True),
        )
    if options.summary is not None:
        write_json(options.summary, {"run_id": options.run_id, "answers": [a.to_json() for a in answers]})
    return exit_code(answers)


def exit_code(answers: Sequence[HistoryAnswer]) -> int:
    """0, or the largest code of an error; each error is printed."""
    errors = [answer.error for answer in answers if answer.error is not None]
    for error in errors:
        print(f"evaluate_history: {error}", file=sys.stderr)
    return max((error.exit_code for error in errors), default=0)


def read_excluded(path: Path | None) -> Mapping[str, Mapping[str, str]]:
    """The partitions to keep out, and why.

    Raises:
        DataError: the file is no such JSON.
    """
    if path is None:
        return {}
    accepted = '{"departures": {"2013-01-02": "rows outside the day"}}'
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {error}", subject=str(path), accepted=accepted) from None
    reasons = found.values() if isinstance(found, dict) else [None]
    if not all(isinstance(r, dict) and all(isinstance(v, str) for v in r.values()) for r in reasons):
        raise DataError("not a mapping of streams to partitions", subject=str(path), accepted=accepted)
    return dict(found)


def write_json(path: Path, body: Mapping[str, object]) -> None:
    """Write a JSON file in one step."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(draft, path)


if __name__ == "__main__":
    sys.exit(main())
