"""Theorem S of docs/theory.md on a conjunction: rows of some streams that have a match among others.

The rows that wait are told apart by what must still be compared with them; (D) to (D3) say of which closed
sets of streams no unbounded column may be compared with one outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations

from streambound.boundedness.criterion.crossings import crossings, unequal_crossings
from streambound.boundedness.criterion.exact import NAME, exact, projected_reasons
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.query.model import Attribute, Join, Query, RelationKind
from streambound.query.ring import BOOLEANS

_OPEN = "whether (D1) to (D3) of Theorem S suffice is open, and (D) fails"


def semijoin(query: Query, outer: frozenset[str]) -> Verdict:
    """Theorem S on a conjunction over O and I.

    Rows of tables that change are looked for again at each change, and so they are asked as a join is.
    """
    tables = {o.alias for o in query.occurrences if o.relation.kind is RelationKind.VERSIONED}
    if not tables & outer:
        return _of_streams(query, outer)
    again = exact(replace(query, ring=BOOLEANS, select=()))
    if outer.isdisjoint(o.alias for o in query.streams):
        return again
    verdict = _of_streams(query, outer)
    if again.bounded or not verdict.bounded:
        return verdict
    message = f"rows of {min(tables & outer)} change while others wait: {again.reasons[0].message}"
    return replace(again, outcome=Outcome.UNKNOWN, reasons=(Reason("open-question", message),))


def _of_streams(query: Query, outer: frozenset[str]) -> Verdict:
    time = TimeOrder(system(query))
    reasons = list(projected_reasons(time))
    if reasons:
        return Verdict(Outcome.UNBOUNDED, NAME, tuple(reasons))
    if len(time.composites) < 2:
        message = "time conditions keep the rows and their matches together"
        return Verdict(Outcome.BOUNDED, NAME, (Reason("filter", message),))
    first = exact(replace(query, ring=BOOLEANS, select=()))
    if not first.bounded:
        return first
    for alias in time.infinite:
        down = time.down(alias)
        both, never = _leaving(time, down)
        if alias in outer:
            mine = [*both, *((a, b) for a, b in never if a.occurrence == alias)]
        elif any(o in outer for o in down):
            mine = [(a, b) for a, b in both if a.occurrence == alias]
        else:
            continue
        if mine:
            return Verdict(Outcome.UNBOUNDED, NAME, (_waiting(query, outer, *mine[0]),))
    if _seen_values(time, outer):
        message = (
            "of a stream that comes after them rows have seen no value, the last one, or two: three counts"
        )
        return Verdict(Outcome.BOUNDED, NAME, (Reason("no-obstruction", message),))
    for closed in _closed(time, outer):
        for a, b in chain.from_iterable(_leaving(time, closed)):
            message = f"{_OPEN}: {_waiting(query, outer, a, b).message}"
            return Verdict(Outcome.UNKNOWN, NAME, (Reason("open-question", message, (a, b)),))
    message = "rows that wait for a match are told apart by columns of finitely many values alone"
    return Verdict(Outcome.BOUNDED, NAME, (Reason("no-obstruction", message),))


_Pairs = list[tuple[Attribute, Attribute]]


def _leaving(time: TimeOrder, streams: frozenset[str]) -> tuple[_Pairs, _Pairs]:
    """Comparisons of some streams, where they are held, with others: those of an order, and ``<>``."""
    time_order = time.holding(streams)
    crossed = (crossings(time_order), [c for _, c in unequal_crossings(time_order)])
    both, never = (
        [
            (a, b)
            for c in some
            for a, b in ((c.low, c.high), (c.high, c.low))
            if a.occurrence in streams and b.occurrence not in streams
        ]
        for some in crossed
    )
    return both, never


def _seen_values(time: TimeOrder, outer: frozenset[str]) -> bool:
    """Whether only one ``<>`` inside is compared, of a stream after the row and of one without time.

    A row that has seen one value has seen the last one, for a row that saw another before has seen two.
    """
    if crossings(time) or len(outer) != 1 or len(time.infinite) != 3:
        return False
    (row,) = outer
    after = [s for s in time.infinite if s != row and time.precedes(row, s)]
    free = [s for s in time.infinite if s != row and s not in after and not time.precedes(s, row)]
    if len(after) != 1 or len(free) != 1 or any(time.precedes(after[0], s) for s in (row, free[0])):
        return False
    if time.precedes(free[0], after[0]):
        return False
    joins = [atom for atom, _ in unequal_crossings(time)]
    unequal = {frozenset(a.occurrence for a in atom.attributes) for atom in joins}
    return len(set(joins)) == 1 and unequal == {frozenset((after[0], free[0]))}


def _closed(time: TimeOrder, outer: frozenset[str]) -> Iterator[frozenset[str]]:
    """The sets of streams, not all, that are closed under "precedes", connected in time, and meet O."""
    downs = {time.down(alias) for alias in time.infinite}
    for size in range(1, len(downs) + 1):
        for chosen in combinations(downs, size):
            closed = frozenset().union(*chosen)
            if closed != frozenset(time.infinite) and closed & outer and _connected(time, closed):
                yield closed


def _connected(time: TimeOrder, streams: frozenset[str]) -> bool:
    seen, pending = set[str](), [min(streams)]
    while pending:
        here = pending.pop()
        seen.add(here)
        pending.extend(s for s in streams - seen if time.precedes(here, s) or time.precedes(s, here))
    return seen == streams


def _waiting(query: Query, outer: frozenset[str], left: Attribute, right: Attribute) -> Reason:
    between = (a for a in query.joins if {left, right} == set(a.attributes))
    atom: Join | None = next(between, None)
    said = str(atom) if atom is not None else f"{left} is compared with {right}, which"
    message = f"{said} is asked of rows that wait for a match, so {left} must be kept of each of them"
    # A column of the rows themselves can be bounded where they are selected.
    named = tuple(a for a in (left, right) if a.occurrence in outer) or (left, right)
    return Reason("unbounded-waiting", message, named, None if atom is None else atom.location)
