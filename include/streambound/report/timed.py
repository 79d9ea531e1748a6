"""Plans of queries that compare timestamps, as text for a terminal."""

from __future__ import annotations

import datetime as dt

from streambound.query.model import Query
from streambound.query.values import Family
from streambound.report.layouts import all_text, extremum_text, filters_text, key_text
from streambound.report.sizes import units_text
from streambound.synopsis.ending import EndingPlan
from streambound.synopsis.timed import MatchCell, MatchSynopsis, TimedPlan, Window


def timed_plan_text(plan: TimedPlan) -> str:
    """What is kept of which sets of streams, and why that is enough."""
    if plan.empty:
        return "The conditions contradict each other: nothing is read, nothing is kept."
    lines = [
        f"{synopsis.alias}: only tuples with {conditions} count"
        for synopsis in plan.streams
        if (conditions := filters_text(plan.query, synopsis))
    ]
    lines.extend(_window_text(plan, window) for window in plan.windows)
    for synopsis in plan.synopses:
        lines.extend(_synopsis_lines(plan, synopsis))
    if plan.query.distinct:
        lines.append(_remembered_text(plan))
    return "\n".join([*lines, _answer_text(plan)])


def _span(query: Query, alias: str, length: int) -> str:
    """A length of time as the stream's timestamps measure it."""
    relation = query.occurrence(alias).relation
    stamp = None if relation.timestamp is None else relation.column(relation.timestamp)
    if stamp is None or stamp.type.family is Family.NUMBER:
        return "1 tick" if length == 1 else f"{length:,} ticks"
    return str(dt.timedelta(microseconds=length))


def _window_text(plan: TimedPlan, window: Window) -> str:
    each = f"{window.ticks:,} timestamps x {window.width} values of each tuple"
    size = each if window.rows is None else units_text(window.units(window.rows))
    held = _span(plan.query, window.alias, window.hold)
    return f"{window.alias}: every tuple is held for {held}, since partners may still come: {size}"


def _synopsis_lines(plan: TimedPlan, synopsis: MatchSynopsis) -> list[str]:
    others = [alias for alias in plan.clock.streams if alias not in synopsis.streams]
    what = "tuples of" if len(synopsis.streams) == 1 else "partial matches of"
    lines = [
        f"{what} {', '.join(synopsis.streams)}, while {', '.join(others)} may still come: "
        f"{units_text(synopsis.units)}"
    ]
    for alias, number, _ in synopsis.ages:
        lines.append(f"  apart for each of the last {number:,} timestamps of {alias}, and all older ones")
    lines.extend(_cell_text(plan.query, cell) for cell in synopsis.cells)
    return lines


def _cell_text(query: Query, cell: MatchCell) -> str:
    where = f"where {all_text(query, cell.conditions)}: " if cell.conditions else ""
    keys = f"per {', '.join(key_text(query, key) for key in cell.keys)} " if cell.keys else ""
    return f"  {where}{keys}keep {_kept_text(query, cell)}: {units_text(cell.units)}"


def _kept_text(query: Query, cell: MatchCell) -> str:
    if not query.distinct:
        return "how many there are"
    if not cell.extrema and not cell.unequal:
        return "one of them" if cell.whole else "whether there is one"
    best = " or ".join(extremum_text(extremum) for extremum in cell.extrema)
    some = f"those with {best}" if best else "some"
    if cell.unequal:
        some += f" that differ in {', '.join(str(a) for a, _ in cell.unequal)}"
    return f"{some} ({', '.join(map(str, cell.whole))})"


def _remembered_text(plan: TimedPlan) -> str:
    if plan.remembered.number == 0:
        return "No answer row can come again later: none is remembered."
    if not plan.remembered.recent:
        return f"rows already answered: {units_text(plan.remembered.number)}"
    return f"rows already answered that may come again: {plan.remembered.formula}"


def _answer_text(plan: TimedPlan) -> str:
    conditions = " and ".join(map(str, (*plan.joins, *plan.clock.conditions)))
    made = f"on {conditions}" if conditions else "in every combination"
    last = [alias for alias in plan.clock.streams if plan.clock.completes(alias)]
    why = f" {', '.join(last)} completes every match, so nothing is kept of it." if len(last) == 1 else ""
    return f"Each batch is joined with what is kept, {made}; so are partial matches made.{why}"


def ending_plan_text(plan: EndingPlan) -> str:
    """What is kept until streams end, and after."""
    ending = ", ".join(plan.finite)
    rest = [o.alias for o in plan.later.streams]
    after = f"Then the tuples of {ending} are rows of a static relation"
    last = f"{after}, and what is kept of {', '.join(rest)} is planned with them." if rest else f"{after}."
    return f"Until {ending} ends, every tuple is held as it came, since any may still match. {last}"
