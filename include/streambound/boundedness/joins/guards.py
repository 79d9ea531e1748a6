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
without those with one. Of several each is asked alone: where the others find nothing it is. An outer join is
the inner join and the rows without a partner.

Of DISTINCT over NOT EXISTS there is a criterion where the comparisons only read columns that are shown
(EXCEPT: DISTINCT of O without DISTINCT of the join), and for two streams that time does not order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations

from streambound.boundedness.criterion.crossings import unequal_crossings
from streambound.boundedness.criterion.exact import NAME, SINGLE_STREAM, repeated
from streambound.boundedness.criterion.questions import joined
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.boundedness.joins.as_of import versions, widened
from streambound.boundedness.joins.semijoins import semijoin
from streambound.boundedness.unions.disjunctions import decide
from streambound.constraints.cases import cases
from streambound.constraints.search import SearchLimit
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.query.formula import atoms_of
from streambound.query.model import RelationKind
from streambound.query.statement import Block, Guard, Selection, Statement

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
    unfiltered = _without_filters(statement, asked, True)
    positive = any(not g.negated for s in statement.selections for g in s.guards)
    if unfiltered.bounded:
        said = dict.fromkeys(
            [*_as_filters(statement), *(r for r in unfiltered.reasons if r.message != SINGLE_STREAM)]
        )
        return replace(unfiltered, reasons=tuple(said) or unfiltered.reasons)
    # Without a filter more rows pass: that is sound for bounded, and exact where no tuples inside need come.
    return unfiltered if not positive else _without_filters(statement, asked, False)


def _as_filters(statement: Statement) -> Iterator[Reason]:
    """Why each guard that is a filter keeps nothing for ever."""
    for block in statement.blocks:
        for selection in map(widened, block.selections):
            for guard in selection.guards:
                if (guard.negated or not block.ring.idempotent) and _local(selection, guard):
                    yield Reason("filter", _as_filter(selection, guard))


def _as_filter(selection: Selection, guard: Guard) -> str:
    inner = [o.alias for o in guard.base.streams]
    if not inner:
        names = ", ".join(o.alias for o in guard.base.occurrences)
        return f"the sub-query reads {names} alone: finitely many rows"
    read = {a.occurrence for atom in atoms_of(guard.formula) for a in atom.attributes}
    names = ", ".join([o.alias for o in selection.base.streams if o.alias in read] + inner)
    return f"time conditions keep {names} together: a row waits for a match for a limited time only"


def _without_filters(statement: Statement, asked: list[Verdict], positive: bool) -> Verdict:
    blocks = tuple(b for block in statement.blocks for b in _split(block, positive))
    plain = replace(statement, blocks=blocks)
    if not any(s.guards for s in plain.selections):
        return _all([*asked, decide(plain).verdict], True)
    verdicts = [
        _selection(replace(statement, blocks=(replace(b, selections=(s,)),)), s)
        for b in blocks
        for s in b.selections
    ]
    settles = len(verdicts) == 1 or any(g.outer for s in statement.selections for g in s.guards)
    return _all([*asked, *verdicts], settles)


def _split(block: Block, positive: bool) -> Iterator[Block]:
    """The block without guards that are filters or joins; of bags one block a selection."""
    idempotent = block.ring.idempotent
    selections = tuple(simpler(widened(s), idempotent, positive) for s in block.selections)
    if idempotent:
        yield replace(block, selections=selections)
    else:
        yield from (replace(block, selections=(s,)) for s in selections)


def _all(verdicts: list[Verdict], settles: bool) -> Verdict:
    unbounded = [v for v in verdicts if v.outcome is Outcome.UNBOUNDED]
    unknown = [v for v in verdicts if v.outcome is Outcome.UNKNOWN]
    if unbounded and settles:
        return replace(unbounded[0], final=None)
    if unbounded:
        first = unbounded[0].reasons[0]
        what = "one SELECT is not bounded alone, but another may answer for it"
        reason = replace(first, code="union-member", message=f"{what}: {first.message}")
        return Verdict(Outcome.UNKNOWN, NAME, (reason,))
    if unknown:
        return unknown[0]
    return Verdict(Outcome.BOUNDED, NAME, tuple(dict.fromkeys(r for v in verdicts for r in v.reasons)))


def simpler(selection: Selection, idempotent: bool, positive: bool = True) -> Selection:
    """The selection without guards that are filters, and under DISTINCT without those that are joins.

    Args:
        positive: filters that rows have to meet are left out too.
    """
    if idempotent:
        merged = joined(selection, [g for g in selection.guards if not g.negated])
        kept = tuple(g for g in selection.guards if g.negated and not _local(selection, g))
        return replace(merged, guards=kept)
    droppable = (g for g in selection.guards if g.negated or positive)
    dropped = {id(g) for g in droppable if _local(selection, g)}
    return replace(selection, guards=tuple(g for g in selection.guards if id(g) not in dropped))


def _local(selection: Selection, guard: Guard) -> bool:
    """Whether a guard is a filter: its streams are of one composite with all rows' streams that it reads."""
    inner = {o.alias for o in guard.base.occurrences}
    read = {a.occurrence for atom in atoms_of(guard.formula) for a in atom.attributes}
    streams = {o.alias for o in (*selection.base.streams, *guard.base.streams)}
    if any(
        selection.base.occurrence(alias).relation.kind is RelationKind.VERSIONED for alias in read - inner
    ):
        # It changes, and then the same streams are asked again.
        return False
    for case in cases(joined(selection, [guard])):
        for query in case.parts:
            time = TimeOrder(system(query))
            infinite = [alias for alias in time.infinite if alias in inner]
            outside = [a for a in time.infinite if a in read & streams and a not in inner]
            if not all(
                time.together(first, second) for first, second in combinations([*infinite, *outside], 2)
            ):
                return False
            if infinite and not outside:
                return False
    return True


def _selection(statement: Statement, selection: Selection) -> Verdict:
    """The verdict on one SELECT with guards that are no filters."""
    ring = selection.base.ring
    outer = decide(single_select(statement, replace(selection, guards=()))).verdict
    negative = tuple(g for g in selection.guards if g.negated)
    if not ring.idempotent:
        positive = tuple(g for g in selection.guards if not g.negated)
        verdicts = [_exists(selection, positive) if positive else outer]
        verdicts.extend(_exists(selection, (*positive, guard)) for guard in negative)
        return _all(verdicts, True)
    if outer.outcome is not Outcome.BOUNDED:
        return outer
    both = decide(single_select(statement, joined(selection))).verdict
    if _shown_only(selection, negative):
        return _all([outer, both], not _shared(selection))
    if (pair := _untimed_pair(selection, both)) is not None:
        return pair
    rows = replace(selection, base=replace(selection.base, select=()))
    bags = [_exists(rows, (guard,)) for guard in selection.guards]
    if all(bag.bounded for bag in bags):
        return _all([outer, *bags], True)
    first = next(bag.reasons[0] for bag in bags if not bag.bounded)
    reason = replace(first, code="open-question", message=f"{_OPEN_ANTI}: {first.message}")
    return Verdict(Outcome.UNKNOWN, NAME, (reason,))


def single_select(statement: Statement, selection: Selection) -> Statement:
    """A statement of one SELECT."""
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
        beside = (unequal_crossings(time.beside(alias)) for alias in time.infinite)
        for atom, _ in chain.from_iterable(beside):
            message = f"{atom} leaves a row without a match only while no other value came: each must be kept"
            reason = Reason("unbounded-disequality", message, atom.attributes, atom.location)
            return Verdict(Outcome.UNBOUNDED, NAME, (reason,))
    return both


def _exists(selection: Selection, guards: tuple[Guard, ...]) -> Verdict:
    """Theorem S on a SELECT, with duplicates or under GROUP BY."""
    outer = frozenset(o.alias for o in selection.base.occurrences)
    shared = _shared(selection)
    judgements: list[Verdict] = []
    for case in cases(joined(selection, guards)):
        verdicts = [semijoin(query, outer) for query in case.parts]
        if not case.exact or shared:
            verdicts = [_opened(v) for v in verdicts]
        judgements.extend(verdicts)
    if not judgements:
        message = "no tuples can meet the conditions of the sub-query: no row has a match"
        return Verdict(Outcome.BOUNDED, NAME, (Reason("unsatisfiable", message),))
    return _all(judgements, True)


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
