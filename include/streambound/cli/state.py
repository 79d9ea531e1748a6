"""``streambound state``: the checkpoints of a query, and whether the next evaluation can rely on them."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from streambound import settings
from streambound.cli.options import add_text, command


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "state", _state, "show the checkpoints of a query")
    parser.add_argument("query", metavar="QUERY", help="a registered query or a .sql file")
    add_text(parser)
    parser.add_argument(
        "--verify",
        action="store_true",
        help="read all answer files; damaged ones are computed by the next run",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")


def _state(options: argparse.Namespace) -> int:
    from streambound.checkpoint.inspection import inspect
    from streambound.checkpoint.owner import unsettle
    from streambound.checkpoint.table import CheckpointTable, address_of
    from streambound.cli.queries import registered_or_file
    from streambound.history.inspection.fingerprints import grounds
    from streambound.report.checkpoints import checkpoints_text

    query, catalog = registered_or_file(options.query, options.catalog, options.dialect, options.chosen)
    now = grounds(query, catalog)
    answers = settings.answers_root() / query.name
    with _still(answers) if options.verify else nullcontext():
        table = CheckpointTable(address_of(settings.checkpoints(), query.name), query.name)
        file_of = partial(now.answer_file, answers)
        inspection = inspect(table, now.fingerprint, now.files, answers, file_of, options.verify)
        if options.verify and inspection.damaged:
            # Of a file that looks untouched the next run would not know.
            unsettle(answers, inspection.damaged)
    if options.format == "json":
        for line in inspection.to_json():
            print(json.dumps(line, ensure_ascii=False))
    else:
        print(checkpoints_text(inspection))
    return 0 if inspection.sound else 1


def _still(answers: Path) -> AbstractContextManager[None]:
    """While no run changes the answers of a query."""
    from streambound.checkpoint.lock import alone

    waits = f"streambound: a run is evaluating {answers.name}; waiting for its end"
    return alone(answers, partial(print, waits, file=sys.stderr, flush=True))
