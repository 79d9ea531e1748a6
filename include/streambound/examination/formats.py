"""A report in the forms that ``streambound check`` prints, and in the one that editors show."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from streambound.compiler import Planned
from streambound.compiler.report import Report
from streambound.errors import Location, StreamboundError, UnsupportedError


def formed(
    form: str,
    report: Report,
    path: Path,
    sql: str,
    job: Planned | None = None,
    span: tuple[int, int] | None = None,
    written: tuple[str, str] | None = None,
    said: str | None = None,
) -> Any:
    """A report on the text of a file: as text, as the object of ``--format json``, as results of SARIF, or
    with the query as it was compiled and where it stands as what an editor shows.

    Args:
        written: the file that a person wrote, and its text, where what was decided was made of it: it is
            told of that file if all lines that are meant stand in it.
        said: the query as commands are told to read it; None: by its name.
    """
    if written is not None:
        # No suggestion is a text for such a file.
        report = replace(
            report, suggestions=tuple(replace(suggestion, whole=None) for suggestion in report.suggestions)
        )
        if (moved := _moved(report, sql, written[1])) is not None:
            report, path, sql = moved, Path(written[0]), written[1]
    # Each is loaded when it is asked for.
    if form == "text":
        from streambound.report.verdicts import verdict_text

        text = verdict_text(report, sql, job=job, said=said)
        first, _, rest = text.partition("\n")
        return text if written is None or report.verdict == "bounded" else f"{first}\n  in {path}\n{rest}"
    if form == "editor":
        from streambound.report.editor import marked

        return marked(report, sql, span or (0, len(sql)), job, said)
    if form == "sarif":
        from streambound.report.sarif import Checked, results

        return list(results(Checked(report, path, sql)))
    body = report.to_json() | ({} if written is None else {"file": str(path)})
    if report.engine is not None:
        from streambound.report.engine import rewritten

        made = rewritten(report, job, said)
        body["engine"]["rewrite"] = None if made is None else made.to_json()
    return body


def _moved(report: Report, sql: str, text: str) -> Report | None:
    """A report on a text as one on another with the same lines; None where one that is meant is not there."""
    same = SequenceMatcher(None, sql.splitlines(), text.splitlines(), autojunk=False).get_matching_blocks()
    lines = {match.a + i + 1: match.b + i + 1 for match in same for i in range(match.size)}
    if any(location.line not in lines for location in _locations(report)):
        return None
    error = None if report.error is None else _shifted(report.error, lines, text)
    reasons = tuple(replace(reason, location=_at(reason.location, lines)) for reason in report.reasons)
    causes = tuple(
        replace(
            cause,
            location=None
            if cause.location is None or cause.location.line not in lines
            else _at(cause.location, lines),
        )
        for cause in report.causes
    )
    engine = None if report.engine is None else report.engine.moved(lines)
    return replace(report, reasons=reasons, causes=causes, error=error, engine=engine)


def _locations(report: Report) -> Iterator[Location]:
    blockers = report.error.blockers if isinstance(report.error, UnsupportedError) else (report.error,)
    yield from (
        reason.location
        for reason in (*report.reasons, *blockers)
        if reason is not None and reason.location is not None
    )


def _at(location: Location | None, lines: dict[int, int]) -> Location | None:
    return None if location is None else replace(location, line=lines[location.line])


def _shifted(error: StreamboundError, lines: dict[int, int], text: str) -> StreamboundError:
    made = copy(error)
    made.location, made.text = _at(error.location, lines), text if error.text else None
    if isinstance(made, UnsupportedError):
        rest = (_shifted(blocker, lines, text) for blocker in made.further)
        made.further = tuple(item for item in rest if isinstance(item, UnsupportedError))
    return made
