"""``streambound check``: decide whether queries can run in bounded memory."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.cli.options import (
    add_engine,
    add_text,
    asked_again,
    command,
    exit_code,
    refuse_ignored,
)
from streambound.errors import CatalogError, PlatformError, QueryError, StreamboundError
from streambound.examination.examiner import Examiner, NotDecided, Unanswered

if TYPE_CHECKING:
    from streambound.cli.queries import Chosen
    from streambound.query.catalog import NamedQuery

FORMATS = ("text", "json", "sarif")
# Seconds that a query may take to be decided; --timeout says otherwise.
TIMEOUT = 60.0
# Files for which another process is started: as many as are decided meanwhile.
SHARE = 50
# Queries that are not bounded of which suggestions are told as text: nobody reads more, and each takes some
# dozens of decisions.
SUGGESTED = 10
# Texts whose verdicts are kept for when they are asked for again.
REMEMBERED = 10_000


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
    parser.add_argument(
        "--watch", action="store_true", help="go on, and print what changes when files do; Ctrl-C ends it"
    )
    add_engine(parser)
    parser.add_argument("--criterion", choices=("exact", "arasu", "schiff_ozcep"), default="exact")
    parser.add_argument("--format", choices=FORMATS, help="default: text; json with --corpus")
    parser.add_argument(
        "--suggestions",
        type=_number,
        metavar="N",
        help=f"of the first N queries that are not bounded (default: {SUGGESTED} as text, else of all)",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"that each query may take; unknown past it (default: {TIMEOUT:g})",
    )


def seconds(text: str) -> float:
    """An option that limits a time."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    # A day: more than anyone waits, and no more than a clock of the system takes.
    if not 0 < number <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0 and at most 86,400")
    return number


def _number(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return int(text)


@dataclass(frozen=True)
class Request:
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
    # The engine that is meant where the text names none.
    engine: str | None = None


@dataclass(frozen=True)
class Decided:
    """A verdict, what is printed of it, and the exit code that it asks for."""

    verdict: str
    formed: Any
    code: int
    # Whether ways to make it bounded were looked for, if it is not.
    suggested: bool = True

    @property
    def open(self) -> bool:
        """Whether there may be ways to make it bounded."""
        return self.verdict in ("unbounded", "unknown")


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
    if options.watch:
        from streambound.cli.watch import watch

        return watch(options)
    with Examiner() as examiner:
        # It makes itself ready while the queries are read.
        examiner.start()
        if options.corpus is not None:
            requests, form = _corpus_lines(options.corpus), "json"
        else:
            requests = files(options)
            form = options.format or "text"
        return max(_PRINTED[form](_all_decided(requests, form, options, examiner)), default=0)


def _refuse_dbt(options: argparse.Namespace) -> None:
    given = {"PATH": options.paths, "--catalog": options.catalog, "--query": options.chosen}
    if options.dbt is not None and (ignored := [name for name, value in given.items() if value]):
        raise QueryError(
            f"{', '.join(ignored)} cannot be given with --dbt: the manifest has the models and their catalog",
            fix="choose models with --select, and say what dbt cannot in meta.streambound",
        )
    if options.select is not None and options.dbt is None:
        raise QueryError("--select chooses models of dbt", fix="give --dbt target/manifest.json as well")


def files(options: argparse.Namespace) -> Iterator[Request]:
    """The queries of files and folders, of the project, or the registered ones.

    Raises:
        StreamboundError: no catalog, or no .sql file in the paths.
    """
    from streambound.cli.queries import models, queries

    if options.dbt is not None:
        paths = models(options.dbt, options.select or (), options.dialect)
    else:
        paths = iter(queries(options.paths, options.catalog))
    yield from (asked_of(chosen, options) for chosen in paths)


def asked_of(chosen: Chosen, options: argparse.Namespace) -> Request:
    """A query as it is decided."""
    query, around = chosen.query, chosen.around
    named = around.mentions.of(query.sql)
    return Request(
        query.name,
        query.sql,
        query.path,
        around.source((query.sql, *(named_query.sql for named_query in named))),
        query.error,
        options.dialect or query.dialect,
        around.catalog.default,
        options.chosen,
        named,
        _file_with_text(chosen.written),
        around.errors,
        around.engine,
    )


def _file_with_text(written: Path | None) -> tuple[str, str] | None:
    """A file with its text; no text where it cannot be read."""
    try:
        return None if written is None else (str(written), written.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return str(written), ""


def _corpus_lines(path: Path) -> Iterator[Request]:
    from streambound.query.parse.corpus import read_corpus

    for line in read_corpus(path):
        yield Request(line.id, line.sql, path, line.streams, line.error, line.dialect)


def _all_decided(
    requests: Iterable[Request], form: str, options: argparse.Namespace, examiner: Examiner
) -> Iterator[Decided]:
    """The verdicts in order; many files are shared among as many processes as there are processors."""
    listed = list(requests) if options.corpus is None else ()
    processes = min(len(os.sched_getaffinity(0)), len(listed) // SHARE)
    most = options.suggestions
    if most is None:
        most = SUGGESTED if form == "text" else math.inf
    if processes < 2:
        for item in listed or requests:
            for decision in decided(item, form, options, examiner, suggest=most > 0):
                most -= decision.open
                yield decision
        return
    # Loaded here: one file needs no threads.
    from concurrent.futures import ThreadPoolExecutor
    from queue import SimpleQueue

    examiners = [examiner, *(Examiner() for _ in range(processes - 1))]
    free: SimpleQueue[Examiner] = SimpleQueue()
    for each in examiners:
        free.put(each)

    def answered(item: Request, suggest: bool) -> list[Decided]:
        mine = free.get()
        try:
            return list(decided(item, form, options, mine, suggest))
        finally:
            free.put(mine)

    threads = ThreadPoolExecutor(processes)
    try:
        whole = most >= len(listed)
        for item, several in zip(listed, threads.map(answered, listed, repeat(whole)), strict=True):
            # Which ones are the first that are not bounded is known only now.
            again = not whole and most > 0 and any(part.open for part in several)
            for decision in answered(item, True) if again else several:
                most -= decision.open
                yield decision
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for each in examiners:
            each.interrupt()
        threads.shutdown()
        for each in examiners:
            each.end()


def decided(
    request: Request, form: str, options: argparse.Namespace, examiner: Examiner, suggest: bool = True
) -> Iterator[Decided]:
    """The verdict on a query, or on each of a text; unknown if it is not decided in time.

    Args:
        suggest: with ways to make it bounded, if it is not.
    """
    if request.error is not None:
        yield _undecided(request, form, options.criterion, request.error)
        return
    question = {
        "sql": request.sql,
        "name": request.name,
        "catalog": request.catalog,
        "criterion": options.criterion,
    }
    question |= {"dialect": request.dialect, "query": request.query, "form": form, "path": str(request.path)}
    question |= {"suggest": suggest, "engine": options.engine, "otherwise": request.engine}
    question |= {
        "default": request.default,
        "queries": list(map(astuple, request.queries)),
        "written": request.written,
    }
    if request.written is None:
        question["said"] = asked_again(options, str(request.path), request.query)
    try:
        reply = examiner.ask(question, options.timeout)
    except NotDecided as error:
        yield _undecided(request, form, options.criterion, error)
        return
    except Unanswered as error:
        raise PlatformError(str(error), subject=request.name, fix="run it again") from None
    if "defect" in reply:
        raise RuntimeError(reply["defect"]["traceback"])
    if "refused" in reply:
        if reply["refused"]["code"] == PlatformError.code:
            raise PlatformError(reply["refused"]["message"])
        # The catalog was read before: it has been changed, or is gone.
        raise CatalogError(reply["refused"]["message"])
    answer = reply["answer"]
    if "queries" in answer:
        for name in answer["queries"]:
            yield from decided(replace(request, query=name), form, options, examiner, suggest)
        return
    judged = _judged(request, form, answer["verdict"], answer["outcome"], answer["formed"])
    yield replace(judged, suggested=suggest)


def _judged(request: Request, form: str, verdict: str, outcome: str, formed: Any) -> Decided:
    """An outcome as the project takes it: what is no error there is a note."""
    if request.errors is None or outcome in request.errors:
        return Decided(verdict, formed, exit_code([verdict]))
    for result in formed if form == "sarif" else ():
        result["level"] = "note"
    return Decided(verdict, formed, 0)


def _undecided(request: Request, form: str, criterion: str, error: StreamboundError | NotDecided) -> Decided:
    from streambound.boundedness.criterion.verdict import Reason
    from streambound.compiler.report import Report
    from streambound.examination.formats import formed

    name = request.name if request.query is None else f"{request.name}/{request.query}"
    if isinstance(error, StreamboundError):
        report = Report(name, "invalid", criterion, error=error)
    else:
        fix = "; --timeout SECONDS gives it more time" if error.code == "too-slow" else ""
        report = Report(name, "unknown", criterion, reasons=(Reason("search-limit", error.message + fix),))
    text = formed(form, report, request.path, request.sql, written=request.written)
    return _judged(request, form, report.verdict, report.outcome, text)


class Again:
    """Decisions in a form, of which none is made twice while the query and its catalog are the same."""

    def __init__(self, form: str, options: argparse.Namespace, examiner: Examiner) -> None:
        self._form, self._options, self._examiner = form, options, examiner
        self._made: dict[tuple[str, bytes], tuple[Decided, ...]] = {}

    def __call__(self, request: Request) -> tuple[Decided, ...]:
        """The verdicts on the queries of a text."""
        content = Path(request.catalog).read_bytes() if isinstance(request.catalog, str) else b""
        key = repr(request), content
        if key not in self._made:
            made = tuple(decided(request, self._form, self._options, self._examiner))
            if len(self._made) == REMEMBERED:
                del self._made[next(iter(self._made))]
            self._made[key] = made
        return self._made[key]


def _print_json(decided: Iterable[Decided]) -> Iterator[int]:
    for decision in decided:
        print(json.dumps(decision.formed, ensure_ascii=False))
        yield decision.code


def _print_sarif(decided: Iterable[Decided]) -> Iterable[int]:
    from streambound.report.sarif import sarif

    decisions = list(decided)
    log = sarif(result for decision in decisions for result in decision.formed)
    print(json.dumps(log, ensure_ascii=False, indent=2))
    return [decision.code for decision in decisions]


def _print_text(decided: Iterable[Decided]) -> Iterator[int]:
    counts: dict[str, int] = {}
    left = 0
    for decision in decided:
        print(decision.formed)
        counts[decision.verdict] = counts.get(decision.verdict, 0) + 1
        left += decision.open and not decision.suggested
        yield decision.code
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))
    if left:
        print(f"without suggestions: {left} that came later; --suggestions N tells them of the first N")


_PRINTED: dict[str, Callable[[Iterable[Decided]], Iterable[int]]] = {
    "text": _print_text,
    "json": _print_json,
    "sarif": _print_sarif,
}
