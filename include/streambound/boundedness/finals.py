"""Rows with guards in final mode: when nothing can give a row a match, or take it away."""

from __future__ import annotations

from dataclasses import replace

from streambound.boundedness.as_of import widened
from streambound.boundedness.guards import judged, of_one, simpler
from streambound.boundedness.questions import joined
from streambound.boundedness.verdict import Outcome, Verdict
from streambound.constraints.cases import cases
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.query.formula import all_of, conjunction
from streambound.query.model import Output, Query
from streambound.query.statement import Guard, Selection, Statement


def final_of(statement: Statement, found: Verdict) -> str | None:
    """The verdict where a row is answered once, when nothing can change it (docs/theory.md).

    A row without a match is final when none can be completed any more. Of the streams inside, J are those
    that precede one outside: if they are all, that is NOT EXISTS as it is; if they are none, no row is
    final; else it is NOT EXISTS of J alone, where the others are not compared.
    """
    finals = [_final(statement, s) for b in statement.blocks for s in b.selections]
    if found.outcome is Outcome.UNKNOWN or None in finals:
        return None
    for word in ("unbounded", "bounded"):
        if word in finals:
            return word
    return "never-final"


def _final(statement: Statement, selection: Selection) -> str | None:
    ring = selection.base.ring
    alone = simpler(widened(selection), ring.idempotent)
    negative = tuple(g for g in alone.guards if g.negated)
    if not negative:
        return _word(judged(of_one(statement, selection)))
    outer = {o.alias for o in alone.base.occurrences}
    kept = []
    for guard in negative:
        parts = [q for case in cases(joined(alone, [guard])) for q in case.parts]
        if not parts:
            continue
        before = {_preceding(query, outer) for query in parts}
        inner = {o.alias for o in guard.base.streams}
        if len(before) > 1:
            return None
        (found,) = before
        if inner <= found:
            kept.append(guard)
        elif not inner & found:
            return None if any(_excludes(alone, query) for query in parts) else "never-final"
        elif (less := _lessened(guard, found)) is not None:
            kept.append(less)
        else:
            return None
    positive = tuple(g for g in alone.guards if not g.negated)
    return _word(judged(of_one(statement, replace(alone, guards=(*positive, *kept)))))


def _word(verdict: Verdict) -> str | None:
    return None if verdict.outcome is Outcome.UNKNOWN else verdict.outcome.value


def _preceding(query: Query, outer: set[str]) -> frozenset[str]:
    """The streams that precede one of the outer ones, those that end among them."""
    time = TimeOrder(system(query))
    return frozenset(
        o.alias for o in query.occurrences if any(time.precedes(o.alias, late) for late in outer)
    )


def _excludes(selection: Selection, query: Query) -> bool:
    """Whether the columns of a row alone can rule every match out."""
    mine = [a for a in query.mentioned if a.occurrence in {o.alias for o in selection.base.occurrences}]
    both = system(query).closure
    for case in cases(replace(selection, guards=())):
        for part in case.parts:
            select = tuple(Output("", a) for a in mine)
            alone = system(replace(part, select=select)).closure
            if alone is None or both is None:
                continue
            known = [a for a in mine if a in alone.index]
            if any(
                both.upper(a) != alone.upper(a) or both.lower(a) != alone.lower(a)
                for a in known
                if not query.is_time(a)
            ):
                return True
    return False


def _lessened(guard: Guard, kept: frozenset[str]) -> Guard | None:
    """A guard with some of its streams alone; None where others are compared with these."""
    gone = {o.alias for o in guard.base.occurrences} - kept
    atoms = conjunction(guard.formula)
    if atoms is None:
        return None
    rest = []
    for atom in atoms:
        names = {a.occurrence for a in atom.attributes}
        if not names & gone:
            rest.append(atom)
        elif len(names) > 1 and not all(
            map(guard.base.is_timestamp, (a for a in atom.attributes if a.occurrence in gone))
        ):
            return None
    occurrences = tuple(o for o in guard.base.occurrences if o.alias in kept)
    return replace(guard, base=replace(guard.base, occurrences=occurrences), formula=all_of(rest))
