"""``streambound run``: evaluate a bounded query over its history in one pass."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.cli import live, relations
from streambound.cli.options import add_text, command, refuse_file, refuse_ignored
from streambound.errors import PlanError, QueryError, UnsupportedError
from streambound.query.modes import MODES

if TYPE_CHECKING:
    from streambound.history.evaluations.k_memory import Memory
    from streambound.history.executor import Executor
    from streambound.query.catalog import Catalog
    from streambound.query.parse.corpus import CorpusLine
    from streambound.query.registry import RegisteredQuery

# The engines that evaluate partitions, keep checkpoints and write answers; the others print them.
EXECUTORS = ("spark", "local")
ENGINES = (*EXECUTORS, "onepass", "reference")
# What to do with what is decided and has no plan, or no values here.
ELSEWHERE = "a stream processor runs it; streambound explain says what it has to keep"
BY_DEFINITION = "--engine reference evaluates small inputs by the definition"


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "run", _run, "evaluate a bounded query over its history in one pass")
    parser.add_argument("query", nargs="?", metavar="QUERY", help="a registered query or a .sql file")
    add_text(parser)
    parser.add_argument("--input", type=Path, metavar="DIR", help="folder of the streams' histories")
    parser.add_argument("--output", type=Path, metavar="DIR", help="folder for the answers")
    parser.add_argument("--engine", choices=ENGINES, default="spark")
    parser.add_argument(
        "--mode",
        choices=MODES,
        help="changes (default): answers are taken back; final: each row once, when nothing takes it back",
    )
    parser.add_argument(
        "--from", dest="first", metavar="PARTITION", help="first partition, such as 2013-01-01"
    )
    parser.add_argument("--to", dest="last", metavar="PARTITION", help="last partition")
    parser.add_argument("--memory", type=int, metavar="K", help="evaluate an equijoin in K tuples of memory")
    parser.add_argument("--policy", metavar="NAME", help="for --memory, instead of what was benchmarked")
    parser.add_argument(
        "--recompute", action="store_true", help="evaluate everything, whatever is checkpointed"
    )
    live.add_options(parser)
    relations.add_option(parser)
    parser.add_argument(
        "--corpus", type=Path, metavar="FILE", help="queries with their events, as JSON lines"
    )


def _run(options: argparse.Namespace) -> int:
    live.refuse_options(options)
    relations.refuse_options(options)
    _refuse_mode(options)
    if options.corpus is not None:
        given = {
            "QUERY": options.query is not None,
            "--catalog": options.catalog is not None,
            "--dialect": options.dialect is not None,
            "--query": options.chosen is not None,
            "--input": options.input is not None,
            "--output": options.output is not None,
            "--from": options.first is not None,
            "--to": options.last is not None,
            "--recompute": options.recompute,
            "--memory": options.memory is not None,
            "--policy": options.policy is not None,
            "--live": options.live,
            "--relations": options.relations is not None,
        }
        refuse_ignored(given, "queries, streams and events are in its lines, and answers are printed")
        return _run_corpus(options.corpus, options.engine, options.mode)
    if options.query is None:
        raise QueryError("no query is named", accepted="QUERY, or --corpus FILE")
    from streambound.cli.queries import registered_or_file

    query, catalog = registered_or_file(options.query, options.catalog, options.dialect, options.chosen)
    query = replace(query, mode=options.mode)
    refuse_file("--output", options.output)
    _refuse_memory(options)
    if options.relations is not None:
        return relations.run_relations(query, catalog, options)
    if options.live:
        _use_input(options.input)
        return live.run_live(query, catalog, options)
    _refuse_recompute(options)
    if options.engine in EXECUTORS:
        return _run_history(query, catalog, options)
    return _run_in_order(query, catalog, options)


def _refuse_recompute(options: argparse.Namespace) -> None:
    alone = {
        "--engine": options.engine not in EXECUTORS,
        "--input": options.input,
        "--output": options.output,
    }
    if options.recompute and (given := [name for name, is_given in alone.items() if is_given]):
        raise QueryError(
            f"--recompute cannot be given with {', '.join(given)}: no checkpoints are kept then",
            fix="leave out --recompute: everything is evaluated",
        )


def _refuse_mode(options: argparse.Namespace) -> None:
    if options.mode is not None and options.relations is not None:
        raise QueryError("--mode is not for --relations: nothing comes later", fix="leave out --mode")


def _refuse_memory(options: argparse.Namespace) -> None:
    if options.policy is not None and options.memory is None:
        raise QueryError("--policy says how a memory is kept", fix="give --memory K as well")
    given = {"--live": options.live, "--relations": options.relations is not None}
    if options.memory is not None and (refused := [name for name, is_given in given.items() if is_given]):
        raise QueryError(f"--memory is not for {', '.join(refused)}", fix="evaluate the history alone")
    if options.memory is not None and options.engine not in EXECUTORS:
        accepted = " or ".join(f"--engine {name}" for name in EXECUTORS)
        raise QueryError(f"--memory is not for --engine {options.engine}", accepted=accepted)


def _run_corpus(path: Path, engine: str, mode: str | None) -> int:
    from streambound.query.parse.corpus import queries_of, read_corpus

    lines = chain.from_iterable(map(queries_of, read_corpus(path)))
    exit_codes = [0]
    for document, code in _corpus_answers(lines, engine, mode):
        print(json.dumps(document, ensure_ascii=False), flush=True)
        exit_codes.append(code)
    return max(exit_codes)


def _corpus_answers(
    lines: Iterable[CorpusLine], engine: str, mode: str | None
) -> Iterable[tuple[dict[str, Any], int]]:
    if engine not in EXECUTORS:
        from streambound.evaluation.corpus import run_line

        yield from (run_line(line, engine, mode) for line in lines)
        return
    from streambound.history.corpus import run_corpus

    with _executor(engine, "streambound run --corpus") as executor:
        yield from run_corpus(executor, lines, mode)


def _executor(engine: str, name: str) -> AbstractContextManager[Executor]:
    """What summarises partitions under an engine; Spark shows the name in its pages and logs."""
    if engine == "local":
        from streambound.history.local import local_executor

        return local_executor()
    from streambound.spark.executor import spark_executor

    return spark_executor(name)


def _run_history(query: RegisteredQuery, catalog: Catalog, options: argparse.Namespace) -> int:
    from streambound.history.evaluate import evaluate_history
    from streambound.history.prepare import draft_of, require_fitting
    from streambound.storage.partitions import PartitionRange, choose_partitions

    _use_input(options.input)
    memory = None if options.memory is None else _memory(query, options)
    # Of histories and answers that lie elsewhere no checkpoints are kept.
    checkpoints = None if options.input else settings.checkpoints_of(options.output)
    if options.engine == "spark":
        from streambound.spark.session import require_installed

        require_installed()
    chosen = PartitionRange(options.first, options.last)
    # Before Spark starts, which takes a while.
    draft = draft_of(query, catalog, memory)
    require_fitting(draft, lambda relation: choose_partitions(relation, chosen))
    with _executor(options.engine, f"streambound run {query.name}") as executor:
        (answer,) = evaluate_history(
            executor,
            [draft],
            catalog,
            first=options.first,
            last=options.last,
            output=options.output,
            checkpoints=checkpoints,
            recompute=options.recompute,
            memory=None if memory is None else {query.name: memory},
            progress=_print_answer,
        )
    if answer.error is not None:
        raise answer.error
    if draft.exactly is not None:
        _print_answer(f"{query.name}: {draft.exactly}, and --memory made no difference")
    if answer.evaluated:
        _print_answer(
            f"{query.name}: {_where_answers_are((options.output or settings.answers_root()) / query.name)}"
        )
    print(json.dumps(answer.to_json(), ensure_ascii=False))
    if not answer.evaluated:
        print(
            f"streambound: {query.name} is {answer.verdict}\n"
            "  fix: streambound check shows edits; --memory K keeps what it can of an equijoin in K tuples",
            file=sys.stderr,
        )
        return 2
    return 0


def _where_answers_are(folder: Path) -> str:
    """Where a reader finds the answers."""
    from streambound.history.answer import whole_answer
    from streambound.projects.project import near

    total = whole_answer(folder)
    whole = "" if total is None else f", as a whole in {total.name}"
    return f"the answers are in {near(folder)}{whole}"


def _memory(query: RegisteredQuery, options: argparse.Namespace) -> Memory:
    from streambound.approximate.nightly.night import read
    from streambound.approximate.selected_policy import SelectedPolicy
    from streambound.history.evaluations.k_memory import Memory

    if options.memory < 1:
        raise QueryError(f"--memory is {options.memory}", accepted="a number of tuples, 1 or more")
    selected_policy = (
        None if options.policy is None else SelectedPolicy(options.policy, why="chosen by --policy")
    )
    return Memory(options.memory, read(settings.caches_root(), query.name), selected_policy)


def _print_answer(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _run_in_order(query: RegisteredQuery, catalog: Catalog, options: argparse.Namespace) -> int:
    from streambound.compiler import parsed
    from streambound.evaluation.corpus import defined_document, document, with_initial
    from streambound.evaluation.events import answers
    from streambound.evaluation.flow import statement_pass
    from streambound.evaluation.history import history_batches, static_history
    from streambound.evaluation.output import write_document

    _use_input(options.input)
    read = parsed(query.sql, catalog, query.name, query.dialect, query.query)
    statement = read.statement.in_mode(query.mode)
    by_definition = options.engine == "reference"
    if (why := statement.undefined if by_definition else statement.unevaluated) is not None:
        raise UnsupportedError(why, subject=query.name, fix=ELSEWHERE)
    batches = history_batches(statement, options.first, options.last, _print_answer)
    static = static_history(statement)
    if by_definition:
        outcome = defined_document(statement, batches, static)
    else:
        try:
            evaluation = statement_pass(statement, static)
        except PlanError as error:
            raise PlanError(error.message, subject=query.name, fix=error.fix or BY_DEFINITION) from None
        outcome = document(query.name, evaluation.run(batches), lambda: evaluation.peak_units)
        outcome = with_initial(outcome, answers(statement, None, evaluation.initial))
    if options.output is not None:
        outcome = write_document(outcome, options.output)
    print(json.dumps(outcome, ensure_ascii=False))
    return 0


def _use_input(folder: Path | None) -> None:
    if folder is not None:
        os.environ["STREAMBOUND_STREAMS"] = str(folder.resolve())
