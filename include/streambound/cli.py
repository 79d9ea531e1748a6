"""The ``streambound`` command.

Exit codes: 0 done (``check``: all bounded), 1 done with findings (some query is unbounded or
unknown), 2 invalid input, 3 failed for an outside cause such as a disk or a cluster.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.errors import StorageError, StreamboundError

if TYPE_CHECKING:
    from streambound.compiler import Report
    from streambound.query.catalog import Catalog
    from streambound.query.corpus import CorpusLine
    from streambound.query.registry import RegisteredQuery

ENGINES = ("spark", "onepass", "reference")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; no user error ends in a traceback."""
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The name of a file need not be text: what no encoding holds is printed as an escape.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except StreamboundError as error:
        print(f"streambound: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader has gone, for instance head: nothing more to say, and nothing to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"streambound: {StorageError(str(error))}", file=sys.stderr)
        return StorageError.exit_code
    except KeyboardInterrupt:
        print("streambound: interrupted", file=sys.stderr)
        return 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="streambound", description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _check_parser(commands)
    _explain_parser(commands)
    _run_parser(commands)
    return parser


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Any:
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument(
        "--catalog", type=Path, metavar="FILE", help="stream catalog (default: the registry's)"
    )
    command.set_defaults(run=run)
    return command


def _check_parser(commands: Any) -> None:
    text = "decide whether queries can run in bounded memory"
    command = _command(commands, "check", _check, text)
    command.add_argument("paths", nargs="*", type=Path, metavar="PATH", help=".sql files or folders of them")
    command.add_argument("--corpus", type=Path, metavar="FILE", help="one query a line, as JSON")
    command.add_argument("--criterion", choices=("exact", "arasu", "schiff_ozcep"), default="exact")
    command.add_argument("--format", choices=("text", "json"), help="default: text; json with --corpus")


def _explain_parser(commands: Any) -> None:
    command = _command(commands, "explain", _explain, "show what is kept of each stream, and why")
    command.add_argument("query", metavar="QUERY", help="a registered query or a .sql file")


def _run_parser(commands: Any) -> None:
    command = _command(commands, "run", _run, "evaluate a bounded query over its history in one pass")
    command.add_argument("query", nargs="?", metavar="QUERY", help="a registered query or a .sql file")
    command.add_argument("--input", type=Path, metavar="DIR", help="folder of the streams' histories")
    command.add_argument("--output", type=Path, metavar="DIR", help="folder for the answers")
    command.add_argument("--engine", choices=ENGINES, default="spark")
    command.add_argument(
        "--from", dest="first", metavar="PARTITION", help="first partition, such as 2013-01-01"
    )
    command.add_argument("--to", dest="last", metavar="PARTITION", help="last partition")
    command.add_argument(
        "--corpus", type=Path, metavar="FILE", help="queries with their events, as JSON lines"
    )


def _check(options: argparse.Namespace) -> int:
    if options.corpus is not None:
        given = {
            "PATH": bool(options.paths),
            "--catalog": options.catalog is not None,
            "--format text": options.format == "text",
        }
        _refuse_ignored(given, "the queries and the streams are in its lines, and the output is JSON")
        return _exit_code(_print_json(_corpus_reports(options.corpus, options.criterion)))
    queries, catalog = _queries(options.paths, options.catalog)
    reports = _reports(queries, catalog, options.criterion)
    if options.format == "json":
        return _exit_code(_print_json(report for report, _ in reports))
    return _exit_code(_print_text(reports))


def _refuse_ignored(given: dict[str, bool], why: str) -> None:
    from streambound.errors import QueryError

    if ignored := [name for name, is_given in given.items() if is_given]:
        raise QueryError(
            f"{', '.join(ignored)} cannot be given with --corpus: {why}",
            fix=f"leave out {', '.join(ignored)}, or --corpus",
        )


def _queries(paths: list[Path], catalog_file: Path | None) -> tuple[tuple[RegisteredQuery, ...], Catalog]:
    from streambound import settings
    from streambound.errors import QueryError
    from streambound.query.catalog import load_catalog
    from streambound.query.registry import load_registry, read_queries

    if not paths and catalog_file is None:
        registry = load_registry(settings.registry())
        return registry.queries, registry.catalog
    catalog = load_catalog(catalog_file or settings.registry() / "streams.yml")
    queries = read_queries(paths or [settings.registry() / "queries"])
    if not queries:
        places = ", ".join(map(str, paths))
        raise QueryError(
            "there are no .sql files", subject=places, accepted="a .sql file or a folder of them"
        )
    return queries, catalog


def _reports(
    queries: Iterable[RegisteredQuery], catalog: Catalog, criterion: str
) -> Iterable[tuple[Report, str]]:
    from streambound.compiler import Report, check

    for query in queries:
        if query.error is not None:
            yield Report(query.name, "invalid", criterion, error=query.error), ""
        else:
            yield check(query.sql, catalog, query.name, criterion), query.sql


def _corpus_reports(path: Path, criterion: str) -> Iterable[Report]:
    from streambound.compiler import Report, check
    from streambound.query.corpus import read_corpus

    for line in read_corpus(path):
        if line.error is not None or line.catalog is None:
            yield Report(line.id, "invalid", criterion, error=line.error)
        else:
            yield check(line.sql, line.catalog, line.id, criterion)


def _print_json(reports: Iterable[Report]) -> Iterable[str]:
    for report in reports:
        print(json.dumps(report.to_json(), ensure_ascii=False))
        yield report.verdict


def _print_text(reports: Iterable[tuple[Report, str]]) -> Iterable[str]:
    from streambound.report.verdicts import verdict_text

    counts: dict[str, int] = {}
    for report, sql in reports:
        print(verdict_text(report, sql))
        counts[report.verdict] = counts.get(report.verdict, 0) + 1
        yield report.verdict
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))


def _exit_code(verdicts: Iterable[str]) -> int:
    seen = set(verdicts)
    return 2 if "invalid" in seen else 1 if seen - {"bounded"} else 0


def _one(name: str, catalog_file: Path | None) -> tuple[RegisteredQuery, Catalog]:
    from streambound import settings
    from streambound.query.catalog import load_catalog
    from streambound.query.registry import load_registry, read_query

    if name.endswith(".sql"):
        query = read_query(Path(name))
        catalog = load_catalog(catalog_file or settings.registry() / "streams.yml")
    else:
        registry = load_registry(settings.registry())
        (query,) = registry.chosen([name])
        catalog = load_catalog(catalog_file) if catalog_file else registry.catalog
    if query.error is not None:
        raise query.error
    return query, catalog


def _explain(options: argparse.Namespace) -> int:
    from streambound.compiler import check, compile
    from streambound.report.verdicts import plan_text, verdict_text

    query, catalog = _one(options.query, options.catalog)
    report = check(query.sql, catalog, query.name)
    print(verdict_text(report, query.sql))
    if report.verdict == "bounded":
        print(plan_text(compile(query.sql, catalog, query.name)))
    return _exit_code([report.verdict])


def _run(options: argparse.Namespace) -> int:
    from streambound.errors import QueryError

    if options.corpus is not None:
        given = {
            "QUERY": options.query is not None,
            "--catalog": options.catalog is not None,
            "--input": options.input is not None,
            "--output": options.output is not None,
            "--from": options.first is not None,
            "--to": options.last is not None,
        }
        _refuse_ignored(given, "queries, streams and events are in its lines, and answers are printed")
        return _run_corpus(options.corpus, options.engine)
    if options.query is None:
        raise QueryError("no query is named", accepted="QUERY, or --corpus FILE")
    query, catalog = _one(options.query, options.catalog)
    _refuse_file(options.output)
    if options.engine == "spark":
        return _run_spark(query, catalog, options)
    return _run_local(query, catalog, options)


def _refuse_file(output: Path | None) -> None:
    from streambound.errors import DataError

    # Before anything is evaluated: that can take hours.
    for place in () if output is None else (output, *output.parents):
        if os.path.exists(place) and not os.path.isdir(place):
            raise DataError(
                f"--output: {place} is a file", accepted="a folder; it is made if need be", fix="name another"
            )


def _run_corpus(path: Path, engine: str) -> int:
    from streambound.query.corpus import read_corpus

    codes = [0]
    for found, code in _corpus_answers(read_corpus(path), engine):
        print(json.dumps(found, ensure_ascii=False), flush=True)
        codes.append(code)
    return max(codes)


def _corpus_answers(lines: Iterable[CorpusLine], engine: str) -> Iterable[tuple[dict[str, Any], int]]:
    if engine != "spark":
        from streambound.evaluation.corpus import run_line

        yield from (run_line(line, engine) for line in lines)
        return
    from streambound.spark.corpus import run_corpus
    from streambound.spark.session import session

    with session("streambound run --corpus") as spark:
        yield from run_corpus(spark, lines)


def _run_spark(query: RegisteredQuery, catalog: Catalog, options: argparse.Namespace) -> int:
    from streambound.spark.history import evaluate_history
    from streambound.spark.session import session

    _use_input(options.input)
    with session(f"streambound run {query.name}") as spark:
        (answer,) = evaluate_history(
            spark,
            [query],
            catalog,
            first=options.first,
            last=options.last,
            output=options.output,
            progress=_tell,
        )
    if answer.error is not None:
        raise answer.error
    print(json.dumps(answer.to_json(), ensure_ascii=False))
    if not answer.evaluated:
        print(f"streambound: {query.name} is {answer.verdict}; see streambound check", file=sys.stderr)
        return 2
    return 0


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _run_local(query: RegisteredQuery, catalog: Catalog, options: argparse.Namespace) -> int:
    from streambound.compiler import compile
    from streambound.evaluation.corpus import document
    from streambound.evaluation.history import history_batches, static_history
    from streambound.evaluation.onepass import OnePass
    from streambound.evaluation.output import write_document
    from streambound.evaluation.reference import reference

    _use_input(options.input)
    job = compile(query.sql, catalog, query.name)
    assert job.query is not None
    batches = history_batches(job.query, options.first, options.last, _tell)
    static = static_history(job.query)
    if options.engine == "reference":
        found = document(query.name, reference(job.query, batches, static), lambda: None)
    else:
        evaluation = OnePass(job.query, static)
        found = document(query.name, evaluation.run(batches), lambda: evaluation.peak_units)
    if options.output is not None:
        found = write_document(found, options.output)
    print(json.dumps(found, ensure_ascii=False))
    return 0


def _use_input(folder: Path | None) -> None:
    if folder is not None:
        os.environ["STREAMBOUND_STREAMS"] = str(folder.resolve())
