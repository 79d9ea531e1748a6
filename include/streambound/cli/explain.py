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
    if report.verdict == "unbounded" and _fits_memory(query.sql, catalog, query.name):
        print(
            f"  in K tuples of memory it has a part of its answer: streambound run {options.query} --memory K"
        )
    if options.steps and report.verdict != "invalid":
        print(_steps(query.sql, catalog, query.name))
    return exit_code([report.verdict])


def _fits_memory(sql: str, catalog: Catalog, name: str) -> bool:
    """Whether an unbounded query runs in k tuples of memory."""
    from streambound.approximate.equijoin import equijoin
    from streambound.errors import PlanError
    from streambound.query.parse import statement

    try:
        query = equijoin(statement(sql, catalog, name)).query
    except PlanError:
        return False
    return all(o.relation.timestamp is not None for o in query.streams)


def _steps(sql: str, catalog: Catalog, name: str) -> str:
    from streambound.papers.steps import steps_text
    from streambound.query.model import NullTest
    from streambound.query.parse import statement

    simple = statement(sql, catalog, name).simple
    if simple is None or any(isinstance(atom, NullTest) for atom in simple.where):
        return "Steps of Schiff & Özçep: their theorems speak of one SELECT without OR and NULL."
    return steps_text(simple)
