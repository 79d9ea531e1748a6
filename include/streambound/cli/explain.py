"""``streambound explain``: what is kept of each stream, and why that is enough."""

from __future__ import annotations

import argparse
from typing import Any

from streambound.cli.options import command, exit_code


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "explain", _explain, "show what is kept of each stream, and why")
    parser.add_argument("query", metavar="QUERY", help="a registered query or a .sql file")


def _explain(options: argparse.Namespace) -> int:
    from streambound.cli.queries import one
    from streambound.compiler import check, compile
    from streambound.report.verdicts import plan_text, verdict_text

    query, catalog = one(options.query, options.catalog)
    report = check(query.sql, catalog, query.name)
    print(verdict_text(report, query.sql, whole=True))
    if report.verdict == "bounded":
        print(plan_text(compile(query.sql, catalog, query.name)))
    return exit_code([report.verdict])
