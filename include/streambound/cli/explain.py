"""``streambound explain``: what is kept of each stream, and why that is enough."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from streambound.cli.options import add_text, command, exit_code
from streambound.errors import PlanError, StreamboundError

if TYPE_CHECKING:
    from streambound.compiler import Planned
    from streambound.query.model import Query


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "explain", _explain, "show what is kept of each stream, and why")
    parser.add_argument("query", metavar="QUERY", help="a registered query or a .sql file")
    add_text(parser)
    parser.add_argument("--steps", action="store_true", help="show the steps of Schiff & Özçep as well")


def _explain(options: argparse.Namespace) -> int:
    from streambound.cli.queries import registered_or_file
    from streambound.compiler import CRITERIA, compile, invalid, reported
    from streambound.report.verdicts import plan_text, verdict_text

    query, catalog = registered_or_file(options.query, options.catalog, options.dialect, options.chosen)
    try:
        job = compile(query.sql, catalog, query.name, compared=True, dialect=query.dialect, query=query.query)
    except StreamboundError as error:
        report = invalid(query.name, CRITERIA[0], error)
        print(verdict_text(report, query.sql, whole=True))
        return exit_code([report.verdict])
    report = reported(job)
    print(verdict_text(report, query.sql, whole=True))
    if report.verdict == "bounded":
        print(plan_text(job))
    if _in_memory(job):
        print(
            f"  in K tuples of memory it has a part of its answer: streambound run {options.query} --memory K"
        )
    if options.steps:
        print(_published_steps(job.query))
    return exit_code([report.verdict])


def _in_memory(job: Planned) -> bool:
    """Whether a query runs in k tuples of memory where there are few."""
    from streambound.approximate.equijoin import cacheable
    from streambound.approximate.nightly.offered import SIZES

    try:
        query = cacheable(job.statement, min(SIZES), job.verdict.bounded, job.units).query
    except PlanError:
        return False
    return all(o.relation.timestamp is not None for o in query.streams)


def _published_steps(simple: Query | None) -> str:
    from streambound.papers.procedure import procedure_text
    from streambound.query.model import NullTest

    if simple is None or any(isinstance(atom, NullTest) for atom in simple.where):
        return "Steps of Schiff & Özçep: their theorems speak of one SELECT without OR and NULL."
    return procedure_text(simple)
