"""The process that decides and draws queries: one line of JSON in, one line of JSON out."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from streambound.compiler import Planned, compile
from streambound.compiler.report import invalid, on_engine, reported
from streambound.engines import of_dialect
from streambound.errors import StreamboundError
from streambound.examination.examiner import READY, TOO_COMPLEX
from streambound.examination.formats import formed
from streambound.examination.unknown import with_further
from streambound.query.catalog import Catalog, NamedQuery, catalog_from_mapping, load_catalog
from streambound.query.parse import named_queries, read, read_script

MEMORY_BYTES = 2 << 30
# The last characters of a traceback, which say where it was.
TRACEBACK = 20_000


def examined(question: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict on a query in the form that is asked for.

    ``uncached`` says why no cache answers a part of the query; None if one does.

    Args:
        question: ``sql``, ``name``, ``criterion``, ``catalog`` (a file, or its ``streams``), perhaps
            ``dialect``, ``default`` (nobody named the catalog), ``queries`` (name, text and dialect of
            those that it may name), ``suggest`` (are variants wanted), ``engine`` and ``otherwise`` (what
            keeps it, whatever the text says, and if it says nothing), and for all but a page ``form``,
            ``path`` and perhaps ``written`` and ``said`` (see ``formats``). Of a text of several ``query``
            says which.

    Returns:
        ``verdict``, ``outcome`` and ``formed``; of a text of several their names, ``queries``; for a page
        what ``check --format json`` prints, and ``shown``: the same as markup.

    Raises:
        StreamboundError: the catalog cannot be read.
    """
    queries = tuple(NamedQuery(*item) for item in question.get("queries", ()))
    catalog = replace(_catalog(question["catalog"]), default=question.get("default", False), queries=queries)
    sql, name, criterion = question["sql"], question["name"], question["criterion"]
    dialect, chosen = question.get("dialect"), question.get("query")
    if "form" in question and chosen is None:
        (chosen, *rest) = named_queries(sql, catalog, dialect)
        if rest:
            return {"queries": [chosen, *rest]}
    name = name if chosen is None else f"{name}/{chosen}"
    job: Planned | None = None
    try:
        job = compile(sql, catalog, name, criterion, compared=True, dialect=dialect, query=chosen)
        # A page shows what the engine of a text's own dialect keeps.
        otherwise = question.get("otherwise") or (None if "form" in question else of_dialect(job.dialect))
        on = on_engine(job, question.get("engine"), otherwise)
        report = replace(reported(job, suggest=question.get("suggest", True)), engine=on)
    except StreamboundError as error:
        # Where what was decided was made of another text, places are told of that.
        if not question.get("written"):
            error = with_further(error, sql, lambda text: read(text, catalog, name, dialect, chosen))
        report = invalid(name, criterion, error)
    if "form" in question:
        span = job.span if job is not None else _span(sql, catalog, dialect, chosen)
        written = question.get("written")
        report_text = formed(
            question["form"], report, Path(question["path"]), sql, job, span, written, question.get("said")
        )
        return {"verdict": report.verdict, "outcome": report.outcome, "formed": report_text}
    # Loaded here: the lint draws no page, and where it is installed alone there is nothing to draw with.
    from streambound.report.editor import marks
    from streambound.report.engine import answers
    from streambound.report.pages import published_table, sql_markup

    marked = report.reasons if report.error is None else (report.error,)
    replies = [answer._asdict() for answer in answers(report, job)]
    shown: dict[str, Any] = {"sql": sql_markup(sql, marked), "answers": replies}
    shown["marks"] = marks(report, sql, (0, len(sql)) if job is None else job.span)
    if job is not None:
        shown["published"] = published_table(report)
        shown |= _drawn(job)
        return {**report.to_json(), "uncached": _uncached(job), "shown": shown}
    return {**report.to_json(), "shown": shown}


def _span(sql: str, catalog: Catalog, dialect: str | None, query: str | None) -> tuple[int, int] | None:
    """Where the statement of a query stands in its text; None where it cannot be told."""
    try:
        return read_script(sql, catalog, dialect=dialect).chosen(query).span
    except StreamboundError:
        return None


def _uncached(job: Planned) -> str | None:
    """Why a query cannot be evaluated in k tuples, or need not be; None if it can.

    What a benchmark of caches refuses, but without the packages that it runs with.
    """
    from streambound.approximate.equijoin import cacheable
    from streambound.approximate.nightly.defaults import SIZES

    try:
        join = cacheable(job.statement, min(SIZES), job.verdict.bounded, job.units)
    except StreamboundError as error:
        return error.message
    untimed = [
        occurrence.relation.name for occurrence in join.query.streams if occurrence.relation.timestamp is None
    ]
    return f"stream {untimed[0]} declares no application timestamp" if untimed else None


def _drawn(job: Planned) -> dict[str, Any]:
    """The plan of a bounded query; of another the witness, or why none was found."""
    from streambound.report.pages import plan_picture, witness_story
    from streambound.report.verdicts import plan_text

    if job.verdict.bounded:
        return {"plan": plan_picture(job), "plan_text": plan_text(job)}
    return {"story": witness_story(job).markup()}


def _catalog(given: str | Mapping[str, Any]) -> Catalog:
    if not isinstance(given, str):
        return catalog_from_mapping(given) if given else Catalog(())
    # The content, because a file's time tells no two changes of a moment apart.
    return _loaded(given, Path(given).read_bytes())


@lru_cache(maxsize=8)
def _loaded(path: str, content: bytes) -> Catalog:
    return load_catalog(Path(path))


def _answer(question: Mapping[str, Any]) -> str:
    """What is answered, in one line: ``answer``, ``refused``, or ``defect`` where it is our own fault."""
    try:
        return json.dumps({"answer": examined(question)})
    except StreamboundError as error:
        body = {"code": error.code, "message": error.one_line(), "exit_code": error.exit_code}
    except (RecursionError, MemoryError):
        body = {"code": "too-complex", "message": TOO_COMPLEX}
    except Exception as error:
        # Not typed: no text may bring that about. Told by the asker, where people look for a log.
        defect = {"error": type(error).__name__, "traceback": traceback.format_exc()[-TRACEBACK:]}
        return json.dumps({"defect": defect})
    return json.dumps({"refused": body})


def main() -> None:
    """Answer questions until the asker is gone."""
    # Loaded here: who calls ``examined`` in a browser has neither.
    import resource
    import signal

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    print(READY, file=answers, flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        # The asker's clock ends this process; where the asker itself is gone, the system's does.
        signal.alarm(int(question["seconds"]) + 2)
        os.chdir(question["folder"])
        print(_answer(question), file=answers, flush=True)
        signal.alarm(0)


if __name__ == "__main__":
    main()
