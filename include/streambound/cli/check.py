"""``streambound check``: decide whether queries can run in bounded memory."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.cli.options import add_text, command, exit_code, refuse_ignored
from streambound.errors import CatalogError, PlatformError, QueryError, StreamboundError
from streambound.examination.asking import Examiner, NotDecided, Unanswered

if TYPE_CHECKING:
    from streambound.query.catalog import NamedQuery

FORMATS = ("text", "json", "sarif")
# Seconds that a query may take to be decided; --timeout says otherwise.
TIMEOUT = 60.0


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    text = "decide whether queries can run in bounded memory"
    parser = command(commands, "check", _check, text)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help=".sql files or folders of them")
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="one query a line, as JSON")
    parser.add_argument("--dbt", type=Path, metavar="MANIFEST", help="a dbt project, by its manifest.json")
    parser.add_argument(
        "--select", nargs="+", metavar="MODEL", help="of a dbt project: NAME, tag:NAME or path:FOLDER"
    )
    add_text(parser)
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
    # The queries that it may name: name, text and dialect.
    queries: tuple[NamedQuery, ...] = ()
    # The file that a person wrote, and its text, where the text that is decided was made of it.
    written: tuple[str, str] | None = None
    # The outcomes that fail the check; None: all but bounded.
    errors: frozenset[str] | None = None


@dataclass(frozen=True)
class _Decided:
    """A verdict, what is printed of it, and the exit code that it asks for."""

    verdict: str
    formed: Any
    code: int


def _check(options: argparse.Namespace) -> int:
    if options.corpus is not None:
        given = {
            "PATH": bool(options.paths),
            "--catalog": options.catalog is not None,
            "--dialect": options.dialect is not None,
            "--query": options.chosen is not None,
            "--dbt": options.dbt is not None,
            "--select": options.select is not None,
            f"--format {options.format}": options.format in ("text", "sarif"),
        }
        refuse_ignored(given, "the queries and the streams are in its lines, and the output is JSON")
    _refuse_dbt(options)
    with Examiner() as examiner:
        # It makes itself ready while the queries are read.
        examiner.start()
        if options.corpus is not None:
            asked, form = _lines(options.corpus), "json"
        else:
            asked = _files(options)
            form = options.format or "text"
        decided = (found for one in asked for found in _decided(one, form, options, examiner))
        return max(_PRINTED[form](decided), default=0)


def _refuse_dbt(options: argparse.Namespace) -> None:
    given = {"PATH": options.paths, "--catalog": options.catalog, "--query": options.chosen}
    if options.dbt is not None and (ignored := [name for name, value in given.items() if value]):
        raise QueryError(
            f"{', '.join(ignored)} cannot be given with --dbt: the manifest has the models and their catalog",
            fix="choose models with --select, and say what dbt cannot in meta.streambound",
        )
    if options.select is not None and options.dbt is None:
        raise QueryError("--select chooses models of dbt", fix="give --dbt target/manifest.json as well")


def _files(options: argparse.Namespace) -> Iterator[_Asked]:
    from streambound.cli.queries import models, queries

    if options.dbt is not None:
        found = models(options.dbt, options.select or (), options.dialect)
    else:
        found = iter(queries(options.paths, options.catalog))
    for chosen in found:
        query, around = chosen.query, chosen.around
        named = around.mentions.of(query.sql)
        yield _Asked(
            query.name,
            query.sql,
            query.path,
            around.source((query.sql, *(one.sql for one in named))),
            query.error,
            options.dialect or query.dialect,
            around.catalog.default,
            options.chosen,
            named,
            _text(chosen.written),
            around.errors,
        )


def _text(written: Path | None) -> tuple[str, str] | None:
    """A file with its text; no text where it cannot be read."""
    try:
        return None if written is None else (str(written), written.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return str(written), ""


def _lines(path: Path) -> Iterator[_Asked]:
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
    question |= {"default": one.default, "queries": list(map(astuple, one.queries)), "written": one.written}
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
    yield _judged(one, form, answer["verdict"], answer["outcome"], answer["formed"])


def _judged(one: _Asked, form: str, verdict: str, outcome: str, formed: Any) -> _Decided:
    """An outcome as the project takes it: what is no error there is a note."""
    if one.errors is None or outcome in one.errors:
        return _Decided(verdict, formed, exit_code([verdict]))
    for result in formed if form == "sarif" else ():
        result["level"] = "note"
    return _Decided(verdict, formed, 0)


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
    found = formed(form, report, one.path, one.sql, one.written)
    return _judged(one, form, report.verdict, report.outcome, found)


def _print_json(decided: Iterable[_Decided]) -> Iterator[int]:
    for found in decided:
        print(json.dumps(found.formed, ensure_ascii=False))
        yield found.code


def _print_sarif(decided: Iterable[_Decided]) -> Iterable[int]:
    from streambound.report.sarif import sarif

    found = list(decided)
    log = sarif(result for one in found for result in one.formed)
    print(json.dumps(log, ensure_ascii=False, indent=2))
    return [one.code for one in found]


def _print_text(decided: Iterable[_Decided]) -> Iterator[int]:
    counts: dict[str, int] = {}
    for found in decided:
        print(found.formed)
        counts[found.verdict] = counts.get(found.verdict, 0) + 1
        yield found.code
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))


_PRINTED: dict[str, Callable[[Iterable[_Decided]], Iterable[int]]] = {
    "text": _print_text,
    "json": _print_json,
    "sarif": _print_sarif,
}
