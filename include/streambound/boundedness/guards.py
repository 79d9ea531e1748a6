"""EXISTS, NOT EXISTS and outer joins: rows that wait for a match, or for there to be none (Theorems S and
X).

O are the streams outside, I those inside, compared under all their conditions. A guard whose streams time
keeps together with the rows that it guards is a filter on them. Under DISTINCT, EXISTS is a join.

*Theorem S.* With duplicates, EXISTS is bounded if in every case (a) each projected column is bounded or
of a stream that completes all matches; (E), (N) as for DISTINCT over O and I; (D) of every set W of
streams that is closed under "precedes", is connected in time and meets O, no comparison of unbounded
columns leads out of W. Necessary are (a), (E), (N), and (D1) no ``<``, ``<=``, ``=`` leads out of the
streams that precede a stream of O; (D2) none from a stream P of I, which a stream of O precedes, out of
those that precede P; (D3) no ``<>`` from a stream of O itself. Between the two it is open.

*Theorem X.* NOT EXISTS is bounded iff O alone is, and EXISTS is: the rows without a match are those of O
without those with one. An outer join is the inner join and the rows without a partner.

Of DISTINCT over NOT EXISTS there is a criterion where the comparisons only read columns that are shown
(EXCEPT: DISTINCT of O without DISTINCT of the join), and for two streams that time does not order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations

from streambound.boundedness.as_of import versions, widened
from streambound.boundedness.crossings import crossings, declared, unequal_crossings
from streambound.boundedness.disjunctions import decide
from streambound.boundedness.exact import NAME, exact, projected_reasons, repeated
from streambound.boundedness.questions import joined
from streambound.boundedness.verdict import Outcome, Reason, Verdict
from streambound.constraints.cases import cases
from streambound.constraints.search import SearchLimit
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.query.formula import all_of, atoms_of, conjunction
from streambound.query.model import Attribute, Join, Output, Query
from streambound.query.ring import BOOLEANS
from streambound.query.statement import Block, Guard, Selection, Statement

_OPEN_SEMI = "whether (D1) to (D3) of Theorem S suffice is open, and (D) fails"
_OPEN_ANTI = "there is no criterion for DISTINCT over NOT EXISTS yet"


def judged(statement: Statement) -> Verdict:
    """The verdict on a statement without groups, ranks and frames."""
    try:
        return _judged(statement)
    except SearchLimit:
        message = "the conditions of a sub-query leave more cases than are searched"
        return Verdict(Outcome.UNKNOWN, NAME, (Reason("search-limit", message),))


def guarded(statement: Statement) -> bool:
    """Whether a statement has guards or as-of joins, or bags of several SELECTs in one block."""
    return any(s.guards or s.as_of for s in statement.selections)


def _judged(statement: Statement) -> Verdict:
    asked = [verdict for s in statement.selections for verdict in versions(s)]
    blocks = tuple(b for block in statement.blocks for b in _split(block))
    plain = replace(statement, blocks=blocks)
    if not any(s.guards for s in plain.selections):
        return _all([*asked, decide(plain).verdict], True)
    found = [
        _selection(replace(statement, blocks=(replace(b, selections=(s,)),)), s)
        for b in blocks
        for s in b.selections
    ]
    settles = len(found) == 1 or any(g.outer for s in statement.selections for g in s.guards)
    return _all([*asked, *found], settles)


def _split(block: Block) -> Iterator[Block]:
    """The block without guards that are filters or joins; of bags one block a selection."""
    selections = tuple(_simpler(widened(s), block.ring.idempotent) for s in block.selections)
    if block.ring.idempotent:
        yield replace(block, selections=selections)
    else:
        yield from (replace(block, selections=(s,)) for s in selections)


def _all(found: list[Verdict], settles: bool) -> Verdict:
    unbounded = [v for v in found if v.outcome is Outcome.UNBOUNDED]
    unknown = [v for v in found if v.outcome is Outcome.UNKNOWN]
    if unbounded and settles:
        return replace(unbounded[0], final=None)
    if unbounded:
        first = unbounded[0].reasons[0]
        what = "one SELECT is not bounded alone, but another may answer for it"
        reason = replace(first, code="union-member", message=f"{what}: {first.message}")
        return Verdict(Outcome.UNKNOWN, NAME, (reason,))
    if unknown:
        return unknown[0]
    return Verdict(Outcome.BOUNDED, NAME, tuple(dict.fromkeys(r for v in found for r in v.reasons)))


def _simpler(selection: Selection, idempotent: bool) -> Selection:
    kept = tuple(g for g in selection.guards if not _local(selection, g))
    positive = tuple(g for g in kept if not g.negated)
    if idempotent:
        merged = joined(selection, positive)
        return replace(merged, guards=tuple(g for g in kept if g.negated))
    return replace(selection, guards=kept)


def _local(selection: Selection, guard: Guard) -> bool:
    """Whether a guard is a filter: its streams are of one composite with all rows' streams that it reads."""
    inner = {o.alias for o in guard.base.occurrences}
    read = {a.occurrence for atom in atoms_of(guard.formula) for a in atom.attributes}
    streams = {o.alias for o in (*selection.base.streams, *guard.base.streams)}
    for case in cases(joined(selection, [guard])):
        for query in case.parts:
            time = TimeOrder(system(query))
            infinite = [alias for alias in time.infinite if alias in inner]
            outside = [a for a in time.infinite if a in read & streams and a not in inner]
            if not all(time.together(one, other) for one, other in combinations([*infinite, *outside], 2)):
                return False
            if infinite and not outside:
                return False
    return True


def _selection(statement: Statement, selection: Selection) -> Verdict:
    """The verdict on one SELECT with guards that are no filters."""
    ring = selection.base.ring
    outer = decide(_of(statement, replace(selection, guards=()))).verdict
    negative = tuple(g for g in selection.guards if g.negated)
    if not ring.idempotent:
        positive = tuple(g for g in selection.guards if not g.negated)
        found = [_exists(selection, positive) if positive else outer]
        if negative:
            found.append(_exists(selection, selection.guards))
        return _all(found, True)
    if outer.outcome is not Outcome.BOUNDED:
        return outer
    both = decide(_of(statement, joined(selection))).verdict
    if _shown_only(selection, negative):
        return _all([outer, both], not _shared(selection))
    if (pair := _untimed_pair(selection, both)) is not None:
        return pair
    rows = replace(selection, base=replace(selection.base, select=()))
    bag = _exists(rows, selection.guards)
    if bag.bounded:
        return _all([outer, bag], True)
    reason = replace(bag.reasons[0], code="open-question", message=f"{_OPEN_ANTI}: {bag.reasons[0].message}")
    return Verdict(Outcome.UNKNOWN, NAME, (reason,))


def _of(statement: Statement, selection: Selection) -> Statement:
    return replace(statement, blocks=(Block(selection.base.ring, (selection,)),))


def _shared(selection: Selection) -> bool:
    """Whether a relation occurs both outside and inside, or twice: then what is needed is not known to be."""
    return repeated(joined(selection).base) is not None


def _shown_only(selection: Selection, guards: tuple[Guard, ...]) -> bool:
    """Whether guards read no column of the rows but those that are shown."""
    projected = set(selection.base.projected)
    for guard in guards:
        inner = {o.alias for o in guard.base.occurrences}
        read = {a for atom in atoms_of(guard.formula) for a in atom.attributes if a.occurrence not in inner}
        if not read <= projected:
            return False
    return True


def _untimed_pair(selection: Selection, both: Verdict) -> Verdict | None:
    """DISTINCT over NOT EXISTS of one stream each, which time does not order: as DISTINCT over the join.

    The rows that are hardest to match and the tuples that match most are of one order, or of none: then an
    antichain is told apart by tuples that match all of it but one. ``<>`` is told apart as an equality is.
    """
    parts = [query for case in cases(joined(selection)) for query in case.parts]
    for query in parts:
        time = TimeOrder(system(query))
        if len(query.arriving) != 2 or len(time.composites) != 2 or _shared(selection):
            return None
        if any(time.precedes(a, b) for a, b in combinations(time.infinite, 2)) or any(
            time.precedes(b, a) for a, b in combinations(time.infinite, 2)
        ):
            return None
        for atom, _ in unequal_crossings(time):
            message = f"{atom} leaves a row without a match only while no other value came: each must be kept"
            reason = Reason("unbounded-disequality", message, atom.attributes, atom.place)
            return Verdict(Outcome.UNBOUNDED, NAME, (reason,))
    return both


def _exists(selection: Selection, guards: tuple[Guard, ...]) -> Verdict:
    """Theorem S on a SELECT, with duplicates or under GROUP BY."""
    outer = frozenset(o.alias for o in selection.base.occurrences)
    shared = _shared(replace(selection, guards=guards))
    found: list[Verdict] = []
    for case in cases(joined(selection, guards)):
        verdicts = [_semijoin(query, outer) for query in case.parts]
        if not case.exact or shared:
            verdicts = [_opened(v) for v in verdicts]
        found.extend(verdicts)
    if not found:
        message = "no tuples can meet the conditions of the sub-query: no row has a match"
        return Verdict(Outcome.BOUNDED, NAME, (Reason("unsatisfiable", message),))
    return _all(found, True)


def _opened(verdict: Verdict) -> Verdict:
    if verdict.outcome is not Outcome.UNBOUNDED:
        return verdict
    what = "a stream occurs inside and outside, or OR overlaps, and a match may be redundant"
    reason = replace(
        verdict.reasons[0],
        code="open-question",
        message=f"{what}; without that: {verdict.reasons[0].message}",
    )
    return Verdict(Outcome.UNKNOWN, NAME, (reason,))


def _semijoin(query: Query, outer: frozenset[str]) -> Verdict:
    """Theorem S on a conjunction over O and I."""
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
    steps = [(c.low, c.high) for c in crossings(time)]
    unequal = [(c.low, c.high) for _, c in unequal_crossings(time)]
    both = [pair for a, b in steps for pair in ((a, b), (b, a)) if not declared(query, pair[0])]
    never = [pair for a, b in unequal for pair in ((a, b), (b, a)) if not declared(query, pair[0])]
    for alias in time.infinite:
        down = time.down(alias)
        if alias in outer:
            mine = [(a, b) for a, b in both if a.occurrence in down and b.occurrence not in down]
            mine += [(a, b) for a, b in never if a.occurrence == alias and b.occurrence not in down]
        elif any(o in outer for o in down):
            mine = [(a, b) for a, b in both if a.occurrence == alias and b.occurrence not in down]
        else:
            continue
        if mine:
            return Verdict(Outcome.UNBOUNDED, NAME, (_waiting(query, outer, *mine[0]),))
    if _seen_values(time, outer, steps):
        message = (
            "of a stream that comes after them rows have seen no value, the last one, or two: three counts"
        )
        return Verdict(Outcome.BOUNDED, NAME, (Reason("no-obstruction", message),))
    for closed in _closed(time, outer):
        for a, b in chain(both, never):
            if a.occurrence in closed and b.occurrence not in closed:
                message = f"{_OPEN_SEMI}: {_waiting(query, outer, a, b).message}"
                return Verdict(Outcome.UNKNOWN, NAME, (Reason("open-question", message, (a, b)),))
    message = "rows that wait for a match are told apart by columns of finitely many values alone"
    return Verdict(Outcome.BOUNDED, NAME, (Reason("no-obstruction", message),))


def _seen_values(time: TimeOrder, outer: frozenset[str], steps: list[tuple[Attribute, Attribute]]) -> bool:
    """Whether only one ``<>`` inside is compared, of a stream after the row and of one without time.

    A row that has seen one value has seen the last one, for a row that saw another before has seen two.
    """
    if steps or len(outer) != 1 or len(time.infinite) != 3:
        return False
    (row,) = outer
    after = [s for s in time.infinite if s != row and time.precedes(row, s)]
    free = [s for s in time.infinite if s != row and s not in after and not time.precedes(s, row)]
    if len(after) != 1 or len(free) != 1 or any(time.precedes(after[0], s) for s in (row, free[0])):
        return False
    if time.precedes(free[0], after[0]):
        return False
    found = [atom for atom, _ in unequal_crossings(time)]
    unequal = {frozenset(a.occurrence for a in atom.attributes) for atom in found}
    return len(set(found)) == 1 and unequal == {frozenset((after[0], free[0]))}


def _closed(time: TimeOrder, outer: frozenset[str]) -> Iterator[frozenset[str]]:
    """The sets of streams, not all, that are closed under "precedes", connected in time, and meet O."""
    downs = {time.down(alias) for alias in time.infinite}
    for size in range(1, len(downs) + 1):
        for chosen in combinations(downs, size):
            found = frozenset().union(*chosen)
            if found != frozenset(time.infinite) and found & outer and _connected(time, found):
                yield found


def _connected(time: TimeOrder, streams: frozenset[str]) -> bool:
    seen, pending = set[str](), [min(streams)]
    while pending:
        here = pending.pop()
        seen.add(here)
        pending.extend(s for s in streams - seen if time.precedes(here, s) or time.precedes(s, here))
    return seen == streams


def _waiting(query: Query, outer: frozenset[str], mine: Attribute, theirs: Attribute) -> Reason:
    found = (a for a in query.joins if {mine, theirs} == set(a.attributes))
    atom: Join | None = next(found, None)
    said = str(atom) if atom is not None else f"{mine} is compared with {theirs}, which"
    message = f"{said} is asked of rows that wait for a match, so {mine} must be kept of each of them"
    # A column of the rows themselves can be bounded where they are selected.
    named = tuple(a for a in (mine, theirs) if a.occurrence in outer) or (mine, theirs)
    return Reason("unbounded-waiting", message, named, None if atom is None else atom.place)


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
    alone = _simpler(widened(selection), ring.idempotent)
    negative = tuple(g for g in alone.guards if g.negated)
    if not negative:
        return _word(judged(_of(statement, selection)))
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
    return _word(judged(_of(statement, replace(alone, guards=(*positive, *kept)))))


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
