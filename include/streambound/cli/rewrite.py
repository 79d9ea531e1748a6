"""``streambound rewrite``: SQL that keeps a query's bound on the engine that runs it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from streambound.cli.options import add_engine, add_text, asked_again, command
from streambound.engines import ENGINES
from streambound.errors import PlanError, QueryError

if TYPE_CHECKING:
    from streambound.compiler import Planned
    from streambound.rewrites.rewrite import Rewrite


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "rewrite", _rewrite, "print SQL that keeps the bound on an engine")
    parser.add_argument("query", metavar="QUERY", help="a registered query or a .sql file")
    add_engine(parser, "the engine that the SQL is for")
    parser.add_argument(
        "--as",
        dest="form",
        choices=("sql", "pyspark"),
        default="sql",
        help="pyspark (with --for spark): a program that runs the plan in transformWithState",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    add_text(parser)


def _rewrite(options: argparse.Namespace) -> int:
    from streambound.cli.queries import chosen
    from streambound.compiler import compile
    from streambound.engines.state import engine_for
    from streambound.rewrites.rewrite import rewrite
    from streambound.rewrites.targets import target

    named = chosen(options.query, options.catalog, options.dialect, options.chosen)
    query, around = named.query, named.around
    engine = engine_for(query.sql, options.engine, around.engine)
    if engine is None:
        raise QueryError("no engine is named", accepted=", ".join(ENGINES), fix="add --for ENGINE")
    to = target(engine.name)
    if options.form == "pyspark" and not to.program:
        raise QueryError(
            f"--as pyspark is a program of Spark's, and --for is {to.name}",
            accepted="--for spark",
            fix="leave out --as",
        )
    job = compile(query.sql, around.catalog, query.name, dialect=query.dialect, query=query.query)
    if options.form == "pyspark":
        return _print_program(job, options.format)
    made = rewrite(job, to, asked_again(options, options.query, options.chosen))
    print(json.dumps(made.to_json(), ensure_ascii=False) if options.format == "json" else _text(job, made))
    return 0 if made.sql is not None else 1


def _print_program(job: Planned, form: str) -> int:
    from streambound.rewrites.program import program

    text = refused = None
    try:
        text = program(job)
    except PlanError as error:
        refused = error.message
    document = {"query": job.name, "engine": "spark", "form": "pyspark", "program": text, "refused": refused}
    shown = f"# {job.name} for spark\n# not written: {refused}\n" if text is None else text
    sys.stdout.write(f"{json.dumps(document, ensure_ascii=False)}\n" if form == "json" else shown)
    return 0 if text is not None else 1


def _text(job: Planned, rewrite: Rewrite) -> str:
    """The SQL, with what is to be known of it as comments before."""
    lines = [f"{rewrite.query} for {rewrite.engine}"]
    if job.verdict.bounded:
        size = f"at most {job.units:,} units" if job.units is not None else job.units_formula or job.unplanned
        lines.append(f"needed: {size}")
    if rewrite.refused is not None:
        lines.append(f"not rewritten: {rewrite.refused}")
        lines += [f"instead: {text}" for text in rewrite.instead]
        return "\n".join(f"-- {line}" for line in lines)
    lines += [f"rules: {', '.join(rewrite.rules)}"] if rewrite.rules else []
    lines += [f"keeps {kept}" for kept in rewrite.kept]
    lines.append(rewrite.note)
    return "\n".join([*(f"-- {line}" for line in lines), str(rewrite.sql).strip()])
