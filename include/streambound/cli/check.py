"""``streambound check``: decide whether queries can run in bounded memory."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.cli.options import command, exit_code, refuse_ignored

if TYPE_CHECKING:
    from streambound.compiler import Report
    from streambound.query.catalog import Catalog
    from streambound.query.registry import RegisteredQuery

FORMATS = ("text", "json", "sarif")


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    text = "decide whether queries can run in bounded memory"
    parser = command(commands, "check", _check, text)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help=".sql files or folders of them")
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="one query a line, as JSON")
    parser.add_argument("--criterion", choices=("exact", "arasu", "schiff_ozcep"), default="exact")
    parser.add_argument("--format", choices=FORMATS, help="default: text; json with --corpus")


def _check(options: argparse.Namespace) -> int:
    if options.corpus is not None:
        given = {
            "PATH": bool(options.paths),
            "--catalog": options.catalog is not None,
            f"--format {options.format}": options.format in ("text", "sarif"),
        }
        refuse_ignored(given, "the queries and the streams are in its lines, and the output is JSON")
        return exit_code(_print_json(_corpus_reports(options.corpus, options.criterion)))
    from streambound.cli.queries import queries

    found, catalog = queries(options.paths, options.catalog)
    reports = _reports(found, catalog, options.criterion)
    if options.format == "json":
        return exit_code(_print_json(report for report, _ in reports))
    if options.format == "sarif":
        return exit_code(_print_sarif(reports))
    return exit_code(_print_text(reports))


def _reports(
    queries: Iterable[RegisteredQuery], catalog: Catalog, criterion: str
) -> Iterable[tuple[Report, RegisteredQuery]]:
    from streambound.compiler import Report, check

    for query in queries:
        if query.error is not None:
            yield Report(query.name, "invalid", criterion, error=query.error), query
        else:
            yield check(query.sql, catalog, query.name, criterion), query


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


def _print_sarif(reports: Iterable[tuple[Report, RegisteredQuery]]) -> Iterable[str]:
    from streambound.report.sarif import Checked, sarif

    found = [Checked(report, query.path, query.sql) for report, query in reports]
    print(json.dumps(sarif(found), ensure_ascii=False, indent=2))
    return [one.report.verdict for one in found]


def _print_text(reports: Iterable[tuple[Report, RegisteredQuery]]) -> Iterable[str]:
    from streambound.report.verdicts import verdict_text

    counts: dict[str, int] = {}
    for report, query in reports:
        print(verdict_text(report, query.sql))
        counts[report.verdict] = counts.get(report.verdict, 0) + 1
        yield report.verdict
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))
