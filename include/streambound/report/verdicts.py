"""Verdicts and plans as text for a terminal."""

from __future__ import annotations

from streambound.boundedness.codes import CODES
from streambound.boundedness.verdict import Reason
from streambound.compiler import Compilation, Report
from streambound.errors import StreamboundError, underlined
from streambound.query.model import Query
from streambound.report.codes import page
from streambound.report.layouts import (
    all_text,
    end_text,
    extremum_text,
    filters_text,
    key_text,
)
from streambound.report.sizes import size_text, units_text
from streambound.report.suggestions import suggestion_lines
from streambound.report.timed import ending_plan_text, timed_plan_text
from streambound.synopsis.ending import EndingPlan
from streambound.synopsis.plan import Cell, StreamSynopsis
from streambound.synopsis.timed import TimedPlan
from streambound.synopsis.timed_planner import AnyPlan


def verdict_text(report: Report, sql: str, whole: bool = False) -> str:
    """A report as a few lines: the verdict, its size, each reason with the SQL underlined, suggestions.

    Args:
        whole: suggestions with their whole SQL.
    """
    if report.error is not None:
        return f"invalid    {report.query}\n{_indented(_error_text(report.error))}"
    size = (
        ""
        if report.verdict != "bounded"
        else f"  {size_text(report.units, report.units_formula, report.unplanned)}"
    )
    lines = [f"{report.verdict:<10} {report.query}{size}"]
    for reason in report.reasons:
        lines.extend(_reason_lines(reason, sql))
        if report.verdict != "bounded":
            if reason.branch:
                lines.append(f"    branch: {reason.branch}")
            criterion = CODES[reason.code].criterion(report.projection)
            lines.append(f"    criterion: {criterion}; see {page(reason.code)}")
    said = ", ".join(f"{key}: {verdict}" for key, verdict in report.published.items())
    opposite = {"bounded": "unbounded", "unbounded": "bounded"}.get(report.verdict)
    if opposite in report.published.values():
        lines.append(f"  published criteria say otherwise: {said}")
    lines.extend(suggestion_lines(report.suggestions, whole))
    return "\n".join(lines)


def _error_text(error: StreamboundError) -> str:
    return f"{error.code}: {error}\n  see {page(error.code)}"


def _reason_lines(reason: Reason, sql: str) -> list[str]:
    lines = [f"  {reason.code}: {reason.message}"]
    if reason.place is not None:
        lines.extend(underlined(sql, reason.place))
    return lines


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def plan_text(job: Compilation) -> str:
    """The plan of a bounded query: what is kept of each stream, and why that is enough."""
    if job.unplanned is not None:
        return f"The verdict stands, but there is no plan to evaluate it: {job.unplanned}."
    if job.units_formula is not None and not job.plans:
        return f"The state is sized by the static relations when the query is run: {job.units_formula}."
    if not job.plans:
        return _EMPTY
    if job.query is not None:
        return _plan_lines(job.plans[0])
    parts = [
        f"{number}. {_part_text(query)}\n{_indented(_plan_lines(plan))}"
        for number, (query, plan) in enumerate(zip(job.parts, job.plans, strict=True), start=1)
    ]
    head = f"The answer is put together from {len(parts)} parts"
    size = job.units_formula if job.units is None else units_text(job.units)
    return "\n".join([f"{head}, {size} in all:", *parts])


_EMPTY = "The conditions contradict each other: nothing is read, nothing is kept."


def _part_text(query: Query) -> str:
    """A conjunctive part as one line of SQL."""
    names = (
        f"{o.relation.name} {o.alias}" if o.alias != o.relation.name else o.alias for o in query.occurrences
    )
    selected = ", ".join(str(o.term) for o in query.select)
    where = f" WHERE {' AND '.join(map(str, query.where))}" if query.where else ""
    return f"SELECT {'DISTINCT ' if query.distinct else ''}{selected} FROM {', '.join(names)}{where}"


def _plan_lines(plan: AnyPlan) -> str:
    if isinstance(plan, TimedPlan):
        return timed_plan_text(plan)
    if isinstance(plan, EndingPlan):
        return ending_plan_text(plan)
    if plan.empty:
        return _EMPTY
    if plan.stateless:
        return "Nothing is kept: each tuple is tested when it arrives and answered at once."
    parts = [_synopsis_text(plan.query, synopsis) for synopsis in plan.synopses]
    joined = " and ".join(map(str, plan.joins))
    last = f"An answer joins what is kept on {joined}." if joined else "An answer combines what is kept."
    return "\n".join([*parts, last])


def _synopsis_text(query: Query, synopsis: StreamSynopsis) -> str:
    lines = [f"{synopsis.alias}: {units_text(synopsis.units)}"]
    if conditions := filters_text(query, synopsis):
        lines.append(f"  of the tuples with {conditions}")
    lines.extend(_cell_text(query, cell) for cell in synopsis.cells)
    return "\n".join(lines)


def _cell_text(query: Query, cell: Cell) -> str:
    where = f"where {all_text(query, cell.conditions)}: " if cell.conditions else ""
    meets = f" (for partners with {all_text(query, cell.context)})" if cell.context else ""
    keys = f"per {', '.join(key_text(query, key) for key in cell.keys)} " if cell.keys else ""
    kept = _kept_text(cell) if query.distinct else "the number of tuples"
    return f"  {where}{keys}keep {kept}{meets}: {units_text(cell.units)}"


def _kept_text(cell: Cell) -> str:
    kept = [] if cell.extremum is None else [extremum_text(cell.extremum)]
    kept.extend(f"the {end_text(keep)} {attribute}" for attribute, keep in cell.follow)
    if cell.unequal:
        columns = ", ".join(str(attribute) for attribute, _ in cell.unequal)
        kept.append(f"a few tuples with different {columns}")
    return " and ".join(kept) or "whether there was a tuple"
