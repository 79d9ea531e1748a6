"""Witnesses of statements: one of a part that the whole statement's answers tell apart.

Statements with operators on rows are those of ``operators``; here are those with OR or UNION.

A part that is unbounded alone proves nothing of the whole where other parts share its matches or rows; a
witness built from it does if the definition of the whole replays it. Where the part as it is does not
serve, its matches that no alternative of OR shares are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, islice, product, zip_longest
from typing import Any

from streambound.boundedness.criterion.exact import exact
from streambound.boundedness.criterion.folding import folded, never_both
from streambound.boundedness.criterion.verdict import Outcome, Verdict
from streambound.boundedness.statements import Decision, Part
from streambound.boundedness.unions.containment import maps_of
from streambound.certificate.operators import of_operators
from streambound.certificate.verification import Evaluator, Witness, definition, refuse_size
from streambound.certificate.witness import SIZE_LIMIT, Judge, promising, refused, verified, witness
from streambound.constraints.system import system
from streambound.errors import WitnessError
from streambound.evaluation.events import timed
from streambound.query.formula import untrue
from streambound.query.model import Atom, Attribute, Constant, Filter, NullTest, Op, Query
from streambound.query.renaming import renamed_atom
from streambound.query.statement import Statement

# Parts, and ways to keep the other alternatives false, that are tried before the question is left open.
TRIED = 64


def statement_witness(
    statement: Statement, decision: Decision, size: int, evaluator: Evaluator | None = None
) -> Witness:
    """A witness with ``size`` slots, replayed on the whole statement at a small size.

    Args:
        decision: the verdict on the statement, with its parts.
        evaluator: what replays it; by default the definition. What it raises ends the search.

    Raises:
        WitnessError: no witness was found, or the statement is bounded.
    """
    refuse_size(size, "the size of a witness", SIZE_LIMIT)
    judge = Judge(evaluator or definition(statement), timed(statement))
    if statement.simple is not None:
        return witness(statement.simple, size, judge)
    if decision.verdict.bounded:
        raise refused(statement.name, decision.verdict)
    room = True
    if statement.plain:
        for query in _candidates(decision):
            try:
                candidate = _with_all_statics(statement, witness(query, size, judge))
                return replace(candidate, query=statement.name)
            except WitnessError:
                continue
    elif decision.verdict.outcome is Outcome.UNBOUNDED:
        # Sums of a bounded statement can tell the prefixes of a small witness apart as well.
        made = of_operators(statement, size, judge.evaluator)
        if made.witness is not None:
            return made.witness
        room = not made.smaller
    raise refused(statement.name, decision.verdict, None if room else size)


def _with_all_statics(statement: Statement, candidate: Witness) -> Witness:
    """The witness of a part, in which the static relations that only other parts read are empty."""
    unread: dict[str, list[dict[str, Any]]] = {o.relation.name: [] for o in statement.statics}
    return replace(candidate, static={**unread, **candidate.static})


def proved(statement: Statement, decision: Decision, size: int) -> Verdict | None:
    """The verdict of a part of which a witness holds on the whole statement; None if none was found."""
    if not statement.plain:
        # See ``statement_witness``: what holds at a small size is no proof.
        return None
    judge = Judge(definition(statement), timed(statement))
    proven = (query for query in _candidates(decision) if verified(query, size, judge) is not None)
    return next((exact(query, witnessed=True) for query in proven), None)


def _candidates(decision: Decision) -> Iterator[Query]:
    """Conjunctions within the parts that may have a witness, whole parts first."""
    open_parts = [part for part in decision.parts if promising(part.verdict)]
    yield from (part.query for part in open_parts)
    # One of each part in turn: which part comes first depends on the text.
    parted = zip_longest(*(_in_roles(folded(part.query)) for part in open_parts))
    yield from islice((query for turn in parted for query in turn if query is not None), TRIED)
    narrower = (narrow for part in open_parts for narrow in _narrowed(part, decision.parts))
    yield from (query for query in islice(narrower, TRIED) if promising(exact(query)))


def _in_roles(query: Query) -> Iterator[Query]:
    """A self-join in which no tuple passes the filters of two occurrences; nothing where it is so anyway."""
    pairs = [
        (occurrence.alias, second.alias)
        for occurrence, second in combinations(query.occurrences, 2)
        if occurrence.relation == second.relation
    ]
    yield from dict.fromkeys(part for part in _parted(query, pairs) if part != query)


def _parted(query: Query, pairs: list[tuple[str, str]]) -> Iterator[Query]:
    left = [pair for pair in pairs if not never_both(query, *pair)]
    if not left:
        yield query
        return
    first, second = left[0]
    for way in (*_failed(query, first, second), *_failed(query, second, first)):
        narrower = replace(query, where=tuple(dict.fromkeys((*query.where, *way))))
        if system(narrower).satisfiable():
            yield from _parted(narrower, left[1:])


def _failed(query: Query, here: str, there: str) -> Iterator[tuple[Atom, ...]]:
    """The ways in which the tuple of one occurrence fails a filter of another one."""
    for atom in query.where:
        if {a.occurrence for a in atom.attributes} == {here}:
            yield from untrue(renamed_atom(atom, {here: there}), query.nullable)


def _narrowed(part: Part, parts: tuple[Part, ...]) -> Iterator[Query]:
    apart = _own_rows(part, parts)
    if apart != part.query:
        yield apart
    yield from _alone(replace(part, query=apart), parts)


def _own_rows(part: Part, parts: tuple[Part, ...]) -> Query:
    """The part without the rows that the constants of other parts' SELECT lists give."""
    query = part.query
    unlike = [
        Filter(mine.term, Op.NE, output.term)
        for p in parts
        if p is not part
        for mine, output in zip(query.select, p.query.select, strict=True)
        if isinstance(mine.term, Attribute)
        and isinstance(output.term, Constant)
        and output.term.value is not None
    ]
    return replace(query, where=tuple(dict.fromkeys((*query.where, *unlike))))


def _alone(part: Part, parts: tuple[Part, ...]) -> Iterator[Query]:
    """The part where a condition of each other part that its tuples could meet is not true."""
    query = part.query
    conjunctions = [
        tuple(renamed_atom(atom, names) for atom in p.query.where)
        for p in parts
        for names in maps_of(query, p.query)
    ]
    ways = [
        _broken(conjunction, query)
        for conjunction in conjunctions
        if not set(conjunction) <= set(query.where)
    ]
    for combination in product(*ways) if ways else ():
        atoms = (*query.where, *(atom for way in combination for atom in way))
        yield replace(query, where=tuple(dict.fromkeys(a for a in atoms if not _said(a, query))))


def _said(atom: Atom, query: Query) -> bool:
    """Whether an atom only says that what a comparison needs is not NULL."""
    return isinstance(atom, NullTest) and not atom.null and atom.attribute in query.present


def _broken(conjunction: Iterable[Atom], query: Query) -> list[tuple[Atom, ...]]:
    """The ways in which a conjunction fails where ``query`` holds; one that fails anyway is no way."""
    atoms = set(query.where)
    return [way for atom in conjunction if atom not in atoms for way in untrue(atom, query.nullable)]
