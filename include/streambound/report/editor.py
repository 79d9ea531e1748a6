"""A report as an editor shows it: marks in the text, edits of it, and what is said where the pointer rests.

Places are offsets in the text, in characters. Errors and unbounded queries are errors, unknown ones warnings;
of a bounded query nothing is marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from streambound.compiler import Planned
from streambound.compiler.report import Report
from streambound.errors import Location, QueryError, StreamboundError, UnsupportedError
from streambound.report.code_pages import address
from streambound.report.suggestions import cost_text, declaring_lines
from streambound.report.verdicts import plan_text, verdict_text

_BACKTICKS = re.compile("`+")
# What Markdown would take for its own in a cell of a table.
_MARKED = re.compile(r"[\\`*_|<>\[\]&~#]")

Object = dict[str, Any]


def marked(
    report: Report,
    sql: str,
    span: tuple[int, int],
    job: Planned | None = None,
    said: str | None = None,
) -> Object:
    """What an editor shows of one query.

    Args:
        sql: the whole text.
        span: where the query's statement stands in it.
        job: the query as it was compiled; None if it cannot be read.
        said: see ``examination.formats.formed``.

    Returns:
        ``query``, ``verdict``, ``span``, ``marks`` (``code``, ``message``, ``span``, perhaps ``page``),
        ``fixes`` (``title`` and the whole ``sql``) and ``hover`` in Markdown.
    """
    fixes = [
        {"title": f"{suggestion.change}: {cost_text(suggestion.size)}", "sql": suggestion.whole}
        for suggestion in report.suggestions
        if suggestion.whole is not None
    ]
    # What an engine keeps stands in a table below.
    text = verdict_text(replace(report, engine=None), "")
    if job is not None and report.verdict == "bounded":
        text = f"{text}\n{plan_text(job)}"
    table = "".join(
        f"\n\n{line}" if not n else f"\n{line}" for n, line in enumerate(_answers(report, job, said))
    )
    body: Object = {"query": report.query, "verdict": report.verdict, "span": [*span]}
    marked = {"marks": marks(report, sql, span), "fixes": fixes}
    return {**body, **marked, "hover": _fenced(text) + table}


def marks(report: Report, sql: str, span: tuple[int, int]) -> list[Object]:
    """What is marked in a text: ``code``, ``message``, ``span``, and ``page`` if its address is known.

    Args:
        span: where the query's statement stands in the text.
    """
    return [
        {"code": code, "message": message, "span": _span(sql, location, span), "page": address(code)}
        for code, message, location in _findings(report)
    ]


def _answers(report: Report, job: Planned | None, said: str | None) -> Iterator[str]:
    """The table of what is needed, kept and could be, in Markdown."""
    if report.engine is None:
        return
    from streambound.report.engine import answers

    yield from ("| | state |", "|---|---|")
    for answer in answers(report, job, said):
        yield f"| {_cell(answer.question)} | {_cell(answer.answer)} |"
        if answer.sql:
            yield f"\n{_fenced(answer.sql, 'sql')}"
    yield from (f"\n{_cell(note)}" for note in report.engine.notes)


def _cell(text: str) -> str:
    return _MARKED.sub(lambda match: "\\" + match[0], text).replace("\n", " ")


def _findings(report: Report) -> Iterator[tuple[str, str, Location | None]]:
    if isinstance(report.error, UnsupportedError):
        for blocker in report.error.blockers:
            yield blocker.code, _error_text(blocker), blocker.location
    elif report.error is not None:
        rest = report.error.further if isinstance(report.error, QueryError) else ()
        for error in (report.error, *rest):
            yield error.code, _error_text(error), error.location
    elif report.verdict != "bounded":
        for number, reason in enumerate(report.reasons):
            lines = [reason.message]
            lines += [f"branch: {reason.branch}"] * bool(reason.branch)
            if number == 0:
                lines += [line for made in report.suggestions for line in declaring_lines(made)]
            yield reason.code, "\n".join(lines), reason.location


def _error_text(error: StreamboundError) -> str:
    lines = [error.message]
    lines += [f"accepted: {error.accepted}"] * bool(error.accepted)
    lines += [f"fix: {error.fix}"] * bool(error.fix)
    return "\n".join(lines)


def _span(sql: str, location: Location | None, statement: tuple[int, int]) -> list[int]:
    """The characters at a place; without one the first line of the statement."""
    lines = sql.split("\n")
    if location is None or location.line > len(lines):
        start = min(statement[0], len(sql))
        line = sql[start : statement[1]].split("\n")[0].rstrip()
        return [start, start + len(line)]
    first = sum(len(line) + 1 for line in lines[: location.line - 1])
    end = first + len(lines[location.line - 1])
    start = min(first + location.column - 1, end)
    return [start, min(start + location.length, end)]


def _fenced(text: str, language: str = "text") -> str:
    """The text as a block of Markdown that nothing in it ends."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
