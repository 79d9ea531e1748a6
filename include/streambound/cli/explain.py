"""``streambound explain``: what is kept of each stream, and why that is enough."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from streambound.cli.options import add_engine, add_text, asked_again, command, exit_code
from streambound.errors import PlanError, StreamboundError

if TYPE_CHECKING:
    from streambound.compiler import Planned
    from streambound.query.model import Query


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "explain", _explain, "show what is kept of each stream, and why")
    parser.add_argument("query", metavar="QUERY", help="a registered query or a .sql file")
    add_text(parser)
    add_engine(parser, "with what that engine keeps of it as it is written, and how that grows")
    parser.add_argument("--steps", action="store_true", help="show the steps of Schiff & Özçep as well")


def _explain(options: argparse.Namespace) -> int:
    from streambound.cli.queries import chosen
    from streambound.compiler import CRITERIA, compile
    from streambound.compiler.report import invalid, on_engine, reported
    from streambound.report.verdicts import plan_text, verdict_text

    named = chosen(options.query, options.catalog, options.dialect, options.chosen)
    query, catalog = named.query, named.around.catalog
    said = asked_again(options, options.query, options.chosen)
    try:
        job = compile(query.sql, catalog, query.name, compared=True, dialect=query.dialect, query=query.query)
        report = replace(reported(job), engine=on_engine(job, options.engine, named.around.engine))
    except StreamboundError as error:
        report = invalid(query.name, CRITERIA[0], error)
        print(verdict_text(report, query.sql, whole=True))
        return exit_code([report.verdict])
    print(verdict_text(report, query.sql, whole=True, job=job, said=said))
    if report.verdict == "bounded":
        print(plan_text(job))
    if _in_memory(job):
        print(f"  in K tuples of memory it has a part of its answer: streambound run {said} --memory K")
    if options.steps:
        print(_published_steps(job.query))
    return exit_code([report.verdict])


def _in_memory(job: Planned) -> bool:
    """Whether a query runs in k tuples of memory where there are few."""
    from streambound.approximate.equijoin import cacheable
    from streambound.approximate.nightly.defaults import SIZES

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
