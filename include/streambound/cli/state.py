"""``streambound state``: the checkpoints of a query, and whether the next evaluation can rely on them."""

from __future__ import annotations

import argparse
import json
from typing import Any

from streambound import settings
from streambound.cli.options import command


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "state", _state, "show the checkpoints of a query")
    parser.add_argument("query", metavar="QUERY", help="a registered query or a .sql file")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def _state(options: argparse.Namespace) -> int:
    from streambound.checkpoint.inspection import inspect
    from streambound.checkpoint.table import CheckpointTable, address_of
    from streambound.cli.queries import one
    from streambound.report.checkpoints import checkpoints_text
    from streambound.spark.fingerprints import fingerprint_and_files

    query, catalog = one(options.query, options.catalog)
    fingerprint, files = fingerprint_and_files(query.name, query.sql, catalog)
    table = CheckpointTable(address_of(settings.checkpoints(), query.name), query.name)
    found = inspect(table, fingerprint, files, settings.answers_root() / query.name)
    if options.format == "json":
        for line in found.to_json():
            print(json.dumps(line, ensure_ascii=False))
    else:
        print(checkpoints_text(found))
    return 0 if found.sound else 1
