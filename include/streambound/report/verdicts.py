"""Verdicts and plans as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streambound.boundedness.criterion.reason_codes import REASON_CODES
from streambound.boundedness.criterion.verdict import Reason
from streambound.compiler import Planned
from streambound.compiler.report import Report
from streambound.errors import StreamboundError, underlined
from streambound.query.model import Query
from streambound.report.code_pages import page
from streambound.report.sizes import size_text
from streambound.report.suggestions import suggestion_lines

# What is told of final mode where the verdict is another one there.
FINALS = {
    "bounded": "bounded in final mode: rows are answered once, when nothing can change them any more",
    "unbounded": "unbounded in final mode: rows are answered once, when nothing can change them any more",
    "never-final": "never-final: rows may be taken back for ever, so none can be answered once and for all",
}


def verdict_text(
    report: Report, sql: str, whole: bool = False, job: Planned | None = None, said: str | None = None
) -> str:
    """A report as a few lines: the verdict, its size, each reason with the SQL underlined, suggestions.

    Args:
        whole: each reason of several with one code, and suggestions with their whole SQL.
        job: the query as it was compiled, which an engine may be given rewritten.
        said: the query as commands are told to read it; None: by its name.
    """
    if report.error is not None:
        return f"invalid    {report.query}\n{_indented(_error_text(report.error))}"
    size = (
        ""
        if report.verdict != "bounded"
        else f"  {size_text(report.units, report.units_formula, report.unplanned)}"
    )
    lines = [f"{report.verdict:<10} {report.query}{size}"]
    if report.guessed is not None and report.dialect is not None:
        lines.append(
            f"  read as {report.dialect}, since it has {report.guessed}; -- dialect: NAME says otherwise"
        )
    lines.extend(f"  assumed: {sentence}" for sentence in report.assumes)
    for cause in report.causes:
        lines.append(f"  {cause.message}")
        lines.extend(underlined(sql, cause.location) if cause.location is not None else ())
        lines.append(f"    fix: {cause.fix}")
    for reason, rest in _grouped(report, whole):
        lines.extend(_reason_lines(reason, sql))
        if report.verdict != "bounded":
            if reason.branch:
                lines.append(f"    branch: {reason.branch}")
            if rest:
                lines.append(f"    and so of {_listed(rest)}")
            criterion = REASON_CODES[reason.code].criterion(report.projection)
            lines.append(f"    criterion: {criterion}; see {page(reason.code)}")
    if (final := FINALS.get(report.final)) is not None and report.final != report.verdict:
        lines.append(f"  {final}")
    if report.refused is not None:
        lines.append(f"  run refuses its histories: {report.refused}")
    published = ", ".join(f"{key}: {verdict}" for key, verdict in report.published.items())
    opposite = {"bounded": "unbounded", "unbounded": "bounded"}.get(report.verdict)
    if opposite in report.published.values():
        lines.append(f"  published criteria say otherwise: {published}")
    if report.engine is not None:
        from streambound.report.engine import engine_lines, rewrite_lines

        lines.extend(engine_lines(report.engine, sql))
        lines.extend(rewrite_lines(report, job, said))
    lines.extend(suggestion_lines(report.suggestions, whole))
    return "\n".join(lines)


def _grouped(report: Report, whole: bool) -> Iterator[tuple[Reason, list[Reason]]]:
    """The reasons that are told, each with those of its code that are only named; ``whole``: all are told."""
    if whole:
        yield from ((reason, []) for reason in report.reasons)
        return
    groups: dict[str, list[Reason]] = {}
    for reason in report.reasons:
        groups.setdefault(reason.code, []).append(reason)
    for first, *rest in groups.values():
        yield first, rest


def _listed(reasons: Sequence[Reason]) -> str:
    """What reasons are about: one column, or several that are compared."""
    named = dict.fromkeys(" and ".join(map(str, dict.fromkeys(reason.attributes))) for reason in reasons)
    return (", " if all(len(reason.attributes) == 1 for reason in reasons) else "; ").join(named)


def _error_text(error: StreamboundError) -> str:
    return f"{error.code}: {error}\n  see {page(error.code)}"


def _reason_lines(reason: Reason, sql: str) -> list[str]:
    lines = [f"  {reason.code}: {reason.message}"]
    if reason.location is not None:
        lines.extend(underlined(sql, reason.location))
    return lines


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def plan_text(job: Planned) -> str:
    """The plan of a bounded query: what is kept of each stream, and why that is enough."""
    # Loaded here: a check prints no plan.
    from streambound.report.plan_words import explained

    explained_plan = explained(job)
    if not explained_plan.parts:
        return explained_plan.sentence
    if job.query is not None or job.node is not None:
        return explained_plan.parts[0].text
    parts = [
        f"{number}. {part_text(query)}\n{_indented(words.text)}"
        for number, (query, words) in enumerate(zip(job.parts, explained_plan.parts, strict=True), start=1)
    ]
    return "\n".join(
        [f"The answer is put together from {len(parts)} parts, {explained_plan.size} in all:", *parts]
    )


def part_text(query: Query) -> str:
    """A conjunctive part as one line of SQL."""
    names = (
        f"{o.relation.name} {o.alias}" if o.alias != o.relation.name else o.alias for o in query.occurrences
    )
    selected = ", ".join(str(o.term) for o in query.select)
    where = f" WHERE {' AND '.join(map(str, query.where))}" if query.where else ""
    return f"SELECT {'DISTINCT ' if query.ring.idempotent else ''}{selected} FROM {', '.join(names)}{where}"
