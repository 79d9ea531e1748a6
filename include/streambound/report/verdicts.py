"""Verdicts and plans as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from streambound.boundedness.verdict import Reason
from streambound.compiler import Compilation, Report
from streambound.errors import underlined
from streambound.query.model import Attribute, Query
from streambound.query.values import Value
from streambound.report.sizes import size_text, units_text
from streambound.report.suggestions import suggestion_lines
from streambound.synopsis.plan import Cell, Condition, Extremum, Keep, Key, Plan, StreamSynopsis

# Values of a list that an explanation shows before it says how many more there are.
MEMBERS_SHOWN = 8


def verdict_text(report: Report, sql: str, whole: bool = False) -> str:
    """A report as a few lines: the verdict, its size, each reason with the SQL underlined, suggestions.

    Args:
        whole: suggestions with their whole SQL.
    """
    if report.error is not None:
        return f"invalid    {report.query}\n{_indented(str(report.error))}"
    size = (
        ""
        if report.verdict != "bounded"
        else f"  {size_text(report.units, report.units_formula, report.unplanned)}"
    )
    lines = [f"{report.verdict:<10} {report.query}{size}"]
    for reason in report.reasons:
        lines.extend(_reason_lines(reason, sql))
    said = ", ".join(f"{key}: {verdict}" for key, verdict in report.published.items())
    opposite = {"bounded": "unbounded", "unbounded": "bounded"}.get(report.verdict)
    if opposite in report.published.values():
        lines.append(f"  published criteria say otherwise: {said}")
    lines.extend(suggestion_lines(report.suggestions, whole))
    return "\n".join(lines)


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
    if job.units_formula is not None:
        return f"The state is sized by the static relations when the query is run: {job.units_formula}."
    if job.plan is not None:
        return _plan_lines(job.plan)
    if not job.plans:
        return _EMPTY
    parts = [
        f"{number}. {_part_text(query)}\n{_indented(_plan_lines(plan))}"
        for number, (query, plan) in enumerate(zip(job.parts, job.plans, strict=True), start=1)
    ]
    head = f"The answer is put together from {len(parts)} parts"
    return "\n".join([f"{head}, {units_text(job.units or 0)} in all:", *parts])


_EMPTY = "The conditions contradict each other: nothing is read, nothing is kept."


def _part_text(query: Query) -> str:
    """A conjunctive part as one line of SQL."""
    names = (
        f"{o.relation.name} {o.alias}" if o.alias != o.relation.name else o.alias for o in query.occurrences
    )
    selected = ", ".join(str(o.term) for o in query.select)
    where = f" WHERE {' AND '.join(map(str, query.where))}" if query.where else ""
    return f"SELECT {'DISTINCT ' if query.distinct else ''}{selected} FROM {', '.join(names)}{where}"


def _plan_lines(plan: Plan) -> str:
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
    listed = {attribute for attribute, _ in synopsis.members}
    derived = (condition for condition in synopsis.derived if condition.attribute not in listed)
    conditions = [
        *map(str, synopsis.filters),
        *(_condition_text(query, condition) for condition in derived),
        *(_members_text(query, attribute, values) for attribute, values in synopsis.members),
    ]
    if conditions:
        lines.append(f"  of the tuples with {' and '.join(conditions)}")
    lines.extend(_cell_text(query, cell) for cell in synopsis.cells)
    return "\n".join(lines)


def _condition_text(query: Query, condition: Condition) -> str:
    value = query.type_of(condition.attribute).text(condition.value)
    return f"{condition.attribute} {condition.op.value} {value}"


def _members_text(query: Query, attribute: Attribute, values: Sequence[Value]) -> str:
    kind, shown = query.type_of(attribute), values[:MEMBERS_SHOWN]
    more = f", and {len(values) - len(shown):,} more" if len(values) > len(shown) else ""
    return f"{attribute} among {', '.join(map(kind.text, shown))}{more}"


def _cell_text(query: Query, cell: Cell) -> str:
    where = f"where {_and(query, cell.conditions)}: " if cell.conditions else ""
    meets = f" (for partners with {_and(query, cell.context)})" if cell.context else ""
    keys = f"per {', '.join(_key_text(query, key) for key in cell.keys)} " if cell.keys else ""
    kept = _kept_text(cell) if query.distinct else "the number of tuples"
    return f"  {where}{keys}keep {kept}{meets}: {units_text(cell.units)}"


def _and(query: Query, conditions: tuple[Condition, ...]) -> str:
    return " and ".join(_condition_text(query, condition) for condition in conditions)


def _key_text(query: Query, key: Key) -> str:
    if key.points is not None:
        return f"position of {key.attribute} among {len(key.points)} values ({key.size:,} classes)"
    kind = query.type_of(key.attribute)
    ends = ((word, bound) for word, bound in (("from", key.low), ("to", key.high)) if bound is not None)
    clip = ", ".join(f"{word} {kind.text(bound)}" for word, bound in ends)
    values = "1 value" if key.size == 1 else f"{key.size:,} values"
    return f"{key.attribute} ({values}{', clipped ' + clip if clip else ''})"


def _kept_text(cell: Cell) -> str:
    kept = [] if cell.extremum is None else [_extremum_text(cell.extremum)]
    kept.extend(f"the {_end(keep)} {attribute}" for attribute, keep in cell.follow)
    if cell.unequal:
        columns = ", ".join(str(attribute) for attribute, _ in cell.unequal)
        kept.append(f"a few tuples with different {columns}")
    return " and ".join(kept) or "whether there was a tuple"


def _extremum_text(extremum: Extremum) -> str:
    names = ", ".join(map(str, extremum.attributes))
    if len(extremum.attributes) == 1:
        return f"the {_end(extremum.keep)} {names}"
    inner = "max" if extremum.keep is Keep.LEAST else "min"
    return f"the {_end(extremum.keep)} {inner}({names})"


def _end(keep: Keep) -> str:
    return "least" if keep is Keep.LEAST else "greatest"
