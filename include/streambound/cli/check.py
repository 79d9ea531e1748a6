"""``streambound check``: decide whether queries can run in bounded memory."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streambound.cli.options import add_dialect, command, exit_code, refuse_ignored
from streambound.errors import CatalogError, PlatformError, StreamboundError
from streambound.examination.asking import Examiner, NotDecided, Unanswered

FORMATS = ("text", "json", "sarif")
# Seconds that a query may take to be decided; --timeout says otherwise.
TIMEOUT = 60.0


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    text = "decide whether queries can run in bounded memory"
    parser = command(commands, "check", _check, text)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help=".sql files or folders of them")
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="one query a line, as JSON")
    add_dialect(parser)
    parser.add_argument("--criterion", choices=("exact", "arasu", "schiff_ozcep"), default="exact")
    parser.add_argument("--format", choices=FORMATS, help="default: text; json with --corpus")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"that each query may take; unknown past it (default: {TIMEOUT:g})",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    # A day: more than anyone waits, and no more than a clock of the system takes.
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0 and at most 86,400")
    return seconds


@dataclass(frozen=True)
class _Asked:
    """A query, the file that it is in, and its catalog: a file, or the streams of a line of a corpus."""

    name: str
    sql: str
    path: Path
    catalog: str | Mapping[str, Any]
    error: StreamboundError | None
    dialect: str | None = None
    # Whether nobody named the catalog.
    default: bool = False
    # Which query of a text of several.
    query: str | None = None


# A verdict, and what is printed of it.
_Decided = tuple[str, Any]


def _check(options: argparse.Namespace) -> int:
    if options.corpus is not None:
        given = {
            "PATH": bool(options.paths),
            "--catalog": options.catalog is not None,
            "--dialect": options.dialect is not None,
            f"--format {options.format}": options.format in ("text", "sarif"),
        }
        refuse_ignored(given, "the queries and the streams are in its lines, and the output is JSON")
    with Examiner() as examiner:
        # It makes itself ready while the queries are read.
        examiner.start()
        if options.corpus is not None:
            asked, form = _corpus_lines(options.corpus), "json"
        else:
            asked = _files(options.paths, options.catalog, options.dialect)
            form = options.format or "text"
        decided = (found for one in asked for found in _decided(one, form, options, examiner))
        return exit_code(_PRINTED[form](decided))


def _files(paths: list[Path], catalog_file: Path | None, dialect: str | None) -> Iterator[_Asked]:
    from streambound.cli.queries import queries

    found, catalog = queries(paths, catalog_file)
    source: str | Mapping[str, Any] = catalog.source if catalog.relations else {}
    for query in found:
        yield _Asked(query.name, query.sql, query.path, source, query.error, dialect, catalog.default)


def _corpus_lines(path: Path) -> Iterator[_Asked]:
    from streambound.query.corpus import read_corpus

    for line in read_corpus(path):
        yield _Asked(line.id, line.sql, path, line.streams, line.error, line.dialect)


def _decided(one: _Asked, form: str, options: argparse.Namespace, examiner: Examiner) -> Iterator[_Decided]:
    """The verdict on a query, or on each of a text; unknown if it is not decided in time."""
    if one.error is not None:
        yield _undecided(one, form, options.criterion, one.error)
        return
    question = {"sql": one.sql, "name": one.name, "catalog": one.catalog, "criterion": options.criterion}
    question |= {"dialect": one.dialect, "query": one.query, "form": form, "path": str(one.path)}
    question["default"] = one.default
    try:
        found = examiner.ask(question, options.timeout)
    except NotDecided as error:
        yield _undecided(one, form, options.criterion, error)
        return
    except Unanswered as error:
        raise PlatformError(str(error), subject=one.name, fix="run it again") from None
    if "defect" in found:
        raise RuntimeError(found["defect"]["traceback"])
    if "refused" in found:
        # The catalog was read before: it has been changed, or is gone.
        raise CatalogError(found["refused"]["message"])
    answer = found["answer"]
    if "queries" in answer:
        for name in answer["queries"]:
            yield from _decided(replace(one, query=name), form, options, examiner)
        return
    yield answer["verdict"], answer["formed"]


def _undecided(one: _Asked, form: str, criterion: str, error: StreamboundError | NotDecided) -> _Decided:
    from streambound.boundedness.verdict import Reason
    from streambound.compiler import Report
    from streambound.examination.forms import formed

    name = one.name if one.query is None else f"{one.name}/{one.query}"
    if isinstance(error, StreamboundError):
        report = Report(name, "invalid", criterion, error=error)
    else:
        fix = "; --timeout SECONDS gives it more time" if error.code == "too-slow" else ""
        report = Report(name, "unknown", criterion, reasons=(Reason("search-limit", error.message + fix),))
    return report.verdict, formed(form, report, one.path, one.sql)


def _print_json(decided: Iterable[_Decided]) -> Iterator[str]:
    for verdict, found in decided:
        print(json.dumps(found, ensure_ascii=False))
        yield verdict


def _print_sarif(decided: Iterable[_Decided]) -> Iterable[str]:
    from streambound.report.sarif import sarif

    found = list(decided)
    log = sarif(result for _, results in found for result in results)
    print(json.dumps(log, ensure_ascii=False, indent=2))
    return [verdict for verdict, _ in found]


def _print_text(decided: Iterable[_Decided]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for verdict, text in decided:
        print(text)
        counts[verdict] = counts.get(verdict, 0) + 1
        yield verdict
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))


_PRINTED: dict[str, Callable[[Iterable[_Decided]], Iterable[str]]] = {
    "text": _print_text,
    "json": _print_json,
    "sarif": _print_sarif,
}
