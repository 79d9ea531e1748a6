"""Rows with guards in final mode: when nothing can give a row a match, or take it away."""

from __future__ import annotations

from dataclasses import replace

from streambound.boundedness.criterion.questions import joined
from streambound.boundedness.criterion.verdict import Outcome, Verdict
from streambound.boundedness.joins.as_of import widened
from streambound.boundedness.joins.guards import judged, simpler, single_select
from streambound.constraints.cases import cases
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.query.formula import all_of, any_of, conjunction
from streambound.query.model import NullTest, Output, Query
from streambound.query.statement import Block, Guard, Selection, Statement

# No row is.
NEVER = "never-final"


def final_of(statement: Statement, verdict: Verdict) -> str | None:
    """The verdict where a row is answered once, when nothing can change it (docs/theory.md).

    A row without a match is final when none can be completed any more. Of the streams inside, J are those
    that precede one outside: if they are all, that is NOT EXISTS as it is; if they are none, no row is
    final; else it is NOT EXISTS of J alone, where the others are not compared.
    """
    finals = [_final(statement, s) for b in statement.blocks for s in b.selections]
    if verdict.outcome is Outcome.UNKNOWN or None in finals:
        return None
    for word in ("unbounded", "bounded"):
        if word in finals:
            return word
    return NEVER


def _final(statement: Statement, selection: Selection) -> str | None:
    ring = selection.base.ring
    alone = simpler(widened(selection), ring.idempotent)
    negative = tuple(g for g in alone.guards if g.negated)
    if not negative:
        return _word(judged(single_select(statement, selection)))
    kept = []
    for guard in negative:
        less = _reduced(alone, guard)
        if not isinstance(less, Guard):
            return less
        kept.append(less)
    positive = tuple(g for g in alone.guards if not g.negated)
    return _word(judged(single_select(statement, replace(alone, guards=(*positive, *kept)))))


def _reduced(selection: Selection, guard: Guard) -> Guard | str | None:
    """What keeps the rows of a selection from being final as a guard does: with the streams alone that
    precede one outside. A word where it keeps all of them from it, None where that is not settled.
    """
    parts = [q for case in cases(joined(selection, [guard])) for q in case.parts]
    outer = {o.alias for o in selection.base.occurrences}
    before = {_preceding(query, outer) for query in parts}
    inner = {o.alias for o in guard.base.streams}
    if not before or all(inner <= time for time in before):
        return guard
    if len(before) > 1:
        return None
    (time,) = before
    if not inner & time:
        return None if any(_excludes(selection, query) for query in parts) else NEVER
    return _lessened(guard, time)


def with_final_rows(statement: Statement) -> Statement:
    """A statement with the same final rows, of what can have any: see ``final_of``."""
    blocks = []
    for block in statement.blocks:
        blocks += [block] if block.then is not None else _with_final_rows(statement, block)
    return replace(statement, blocks=tuple(blocks)) if blocks else statement


def _with_final_rows(statement: Statement, block: Block) -> list[Block]:
    kept = []
    for selection in block.selections:
        whole = widened(selection)
        reduced = [_reduced(whole, guard) if guard.negated else guard for guard in selection.guards]
        if NEVER in reduced and not judged(single_select(statement, selection)).bounded:
            never = [g for g, less in zip(selection.guards, reduced, strict=True) if less == NEVER]
            kept += [
                s for s in _without_match(selection, never) if judged(single_select(statement, s)).bounded
            ]
            continue
        pairs = zip(selection.guards, reduced, strict=True)
        guards = tuple(less if isinstance(less, Guard) else guard for guard, less in pairs)
        kept.append(replace(selection, guards=guards))
    return [replace(block, selections=tuple(kept))] if kept else []


def _without_match(selection: Selection, guards: list[Guard]) -> list[Selection]:
    """The rows that guards find no match for whatever comes: what they compare is NULL. None, or one."""
    formula = selection.formula
    for guard in guards:
        atoms = conjunction(guard.formula) or ()
        compared = (a for atom in atoms if not isinstance(atom, NullTest) for a in atom.attributes)
        mine = {o.alias for o in selection.base.occurrences}
        nulls = dict.fromkeys(a for a in compared if a.occurrence in mine and selection.base.nullable(a))
        formula = all_of([formula, any_of([NullTest(a, True) for a in nulls])])
    rest = tuple(guard for guard in selection.guards if guard not in guards)
    return [replace(selection, formula=formula, guards=rest)]


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
    local_columns = [
        a for a in query.mentioned if a.occurrence in {o.alias for o in selection.base.occurrences}
    ]
    both = system(query).closure
    for case in cases(replace(selection, guards=())):
        for part in case.parts:
            select = tuple(Output("", a) for a in local_columns)
            alone = system(replace(part, select=select)).closure
            if alone is None or both is None:
                continue
            attributes = [a for a in local_columns if a in alone.index]
            if any(
                both.upper(a) != alone.upper(a) or both.lower(a) != alone.lower(a)
                for a in attributes
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
