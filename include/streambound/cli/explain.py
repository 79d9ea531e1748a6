"""``streambound explain``: what is kept of each stream, and why that is enough."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from streambound.cli.options import command, exit_code

if TYPE_CHECKING:
    from streambound.query.catalog import Catalog


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "explain", _explain, "show what is kept of each stream, and why")
    parser.add_argument("query", metavar="QUERY", help="a registered query or a .sql file")
    parser.add_argument("--steps", action="store_true", help="show the steps of Schiff & Özçep as well")


def _explain(options: argparse.Namespace) -> int:
    from streambound.cli.queries import one
    from streambound.compiler import check, compile
    from streambound.report.verdicts import plan_text, verdict_text

    query, catalog = one(options.query, options.catalog)
    report = check(query.sql, catalog, query.name)
    print(verdict_text(report, query.sql, whole=True))
    if report.verdict == "bounded":
        print(plan_text(compile(query.sql, catalog, query.name)))
    if options.steps and report.verdict != "invalid":
        print(_steps(query.sql, catalog, query.name))
    return exit_code([report.verdict])


def _steps(sql: str, catalog: Catalog, name: str) -> str:
    from streambound.query.model import NullTest
    from streambound.query.parse import statement
    from streambound.report.steps import steps_text

    simple = statement(sql, catalog, name).simple
    if simple is None or any(isinstance(atom, NullTest) for atom in simple.where):
        return "Steps of Schiff & Özçep: their theorems speak of one SELECT without OR and NULL."
    return steps_text(simple)
