"""Verdicts, plans and runs as pieces of HTML that a notebook shows: no styles, no scripts, nothing loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from streambound.compiler import Planned
from streambound.compiler.report import Report
from streambound.report.pages.charts import state_chart
from streambound.report.pages.markup import element, joined, table, text
from streambound.report.pages.plans import plan_picture
from streambound.report.pages.sql import sql_markup
from streambound.report.sizes import size_text, units_text
from streambound.report.verdicts import verdict_text

if TYPE_CHECKING:
    import pyarrow as pa

# Rows of an answer that are shown; how many more there are is said.
ROWS = 20


def verdict_html(report: Report, sql: str) -> str:
    """A verdict: the text with its reasons marked, and below it all that ``streambound check`` says."""
    size = size_text(report.units, report.units_formula, report.unplanned)
    head = f"{report.query}: {report.outcome}" + (f", {size}" if report.verdict == "bounded" else "")
    marked = report.reasons if report.error is None else (report.error,)
    return _shown(
        head,
        Markup(sql_markup(sql, marked if report.verdict != "bounded" else ())),
        _more(
            "what streambound check says",
            element("pre", None, text(verdict_text(report, sql))),
            opened=report.verdict != "bounded",
        ),
    )


def plan_html(job: Planned) -> str:
    """A compiled query: its text, and what is kept of each stream."""
    size = size_text(job.units, job.units_formula, job.unplanned)
    head = f"{job.name}: {job.verdict.outcome.value}" + (f", {size}" if job.verdict.bounded else "")
    return _shown(head, Markup(sql_markup(job.sql, ())), Markup(plan_picture(job)))


def run_html(job: Planned, answer: pa.Table, state: Sequence[tuple[Any, int]], peak_units: int) -> str:
    """A run: its answer (the first rows), what was stored over time, and the plan."""
    size = size_text(job.units, job.units_formula, job.unplanned)
    head = f"{job.name}: {answer.num_rows:,} rows; {units_text(peak_units)} stored at most, of {size}"
    rows = [[text(_value(value)) for value in row.values()] for row in answer.slice(0, ROWS).to_pylist()]
    more = answer.num_rows - len(rows)
    points = [(str(marker).removesuffix(" 00:00:00"), units) for marker, units in state]
    return _shown(
        head,
        table("Answer", answer.column_names, rows, "answers", headed=False),
        element("p", None, text(f"and {more:,} more")) if more else Markup(),
        Markup(state_chart(points, job.units, name=job.name, noun="marker")),
        _more("the plan", Markup(plan_picture(job))),
    )


def _value(value: Any) -> str:
    return "NULL" if value is None else value if isinstance(value, str) else str(value)


def _shown(head: str, *parts: Markup) -> str:
    heading = element("p", None, element("strong", None, text(head)))
    return str(element("div", {"class": "streambound"}, heading, *parts))


def _more(summary: str, *parts: Markup, opened: bool = False) -> Markup:
    return element(
        "details", {"open": "" if opened else None}, element("summary", None, text(summary)), joined(parts)
    )
