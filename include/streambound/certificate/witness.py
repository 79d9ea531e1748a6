"""The proof that a query is unbounded: 2^N prefixes of its input that every evaluation must tell apart.

Arasu et al., Appendix A; for time, docs/theory.md. An algorithm that answers correctly is in
different states after any two of the prefixes, since some suffix is answered differently after them. No
witness is taken on trust: each construction is replayed on the definition at a small size before it
is returned, and ``verify`` replays one whole.

>>> from streambound.query.catalog import catalog_from_mapping
>>> from streambound.query.parse import parse
>>> from streambound.query.statement import Statement
>>> catalog = catalog_from_mapping({"S": {"A": "int"}, "T": {"D": "int"}})
>>> query = parse("SELECT 1 FROM S, T WHERE A < D", catalog)
>>> witness(query, 2).slots[0]
Slot(fixed=(), optional=({'stream': 'S', 'A': 1},), suffix=({'stream': 'T', 'D': 2},))
>>> verify(Statement.of(query), witness(query, 2))
Verification(query='query', size=2, told_apart=4)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from itertools import chain, combinations

from streambound.boundedness.criterion.exact import exact
from streambound.boundedness.criterion.folding import folded
from streambound.boundedness.criterion.verdict import Outcome, Verdict
from streambound.certificate.layout import Layout
from streambound.certificate.obstructions import Obstruction, Suffix, obstructions
from streambound.certificate.slots import Builder
from streambound.certificate.verification import (
    Evaluator,
    Verification,
    Witness,
    definition,
    holds,
    refuse_size,
    verify,
)
from streambound.constraints.assignment import Wish, assignment
from streambound.constraints.cases import self_joined
from streambound.constraints.closure import Difference, at_least, below
from streambound.constraints.search import SearchLimit
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.errors import DataError, WitnessError
from streambound.evaluation.definition import derived
from streambound.evaluation.events import batches, timed
from streambound.query.column_types import Family
from streambound.query.model import Query
from streambound.query.statement import Statement

__all__ = ["SIZE_LIMIT", "Judge", "Verification", "Witness", "verified", "verify", "witness"]

# Slots of a witness; its text grows with them, not with the prefixes.
SIZE_LIMIT = 10_000
# At this size a construction is replayed before it is believed.
SAMPLE = 3


class Constancy(Enum):
    """What of a copy is the same in each."""

    NOTHING = "what a constant or a finite stream decides"
    STILL = "also what lies in a gap in which no turn is taken"
    REST = "also every column that takes no turn"


@dataclass(frozen=True)
class Judge:
    """What replays the witness of a part: the evaluator of the whole statement.

    ``dated`` tells whether events need a time though no stream of the part has a timestamp.
    """

    evaluator: Evaluator
    dated: bool


def witness(query: Query, size: int, judge: Judge | None = None) -> Witness:
    """A witness with ``size`` slots, replayed at a small size.

    Args:
        judge: what answers; by default the definition of ``query`` itself. A statement that has
            ``query`` as a part passes its own.

    Raises:
        WitnessError: the query is not unbounded, or its types have no room for so many slots.
    """
    refuse_size(size, "the size of a witness", SIZE_LIMIT)
    verdict = exact(query)
    if not promising(verdict):
        raise refused(query.name, verdict)
    try:
        proof = next(_witnesses(query, size, judge or _own(query)), None)
    except SearchLimit:
        proof = None
    if proof is None:
        raise refused(query.name, verdict, size)
    return proof


def refused(name: str, verdict: Verdict, size: int | None = None) -> WitnessError:
    """That there is no witness, that none was found, or none of a ``size`` for which there is no room."""
    reason = verdict.reasons[0].message
    if size is not None:
        message = f"the values of its columns have no room for a witness of size {size}"
        return WitnessError(message, subject=name, fix="ask for a smaller one")
    if verdict.bounded:
        message = f"there is no witness: the query is bounded; {reason}"
        return WitnessError(message, subject=name, fix="ask for the witness of an unbounded query")
    message = f"no witness was found: that the query is unbounded rests on the theorem alone; {reason}"
    if verdict.outcome is Outcome.UNKNOWN:
        message = f"there is no witness: whether the query is unbounded is open; {reason}"
    return WitnessError(message, subject=name, fix="read with streambound explain what must be kept, and why")


def _own(query: Query) -> Judge:
    """The definition of a query itself."""
    statement = Statement.of(query)
    return Judge(definition(statement), timed(statement))


def promising(verdict: Verdict) -> bool:
    """Whether a query of this verdict may have a witness: one of an open self-join proves it unbounded."""
    return verdict.outcome is Outcome.UNBOUNDED or verdict.reasons[0].code == "self-join"


def verified(query: Query, size: int, judge: Judge | None = None) -> Witness | None:
    """A witness that was replayed whole, at its own size; None if there is none.

    The way to decide a statement of which ``query`` is one part: its own evaluator judges.
    """
    try:
        proof = witness(query, size, judge)
    except WitnessError:
        return None
    return proof if holds(Statement.of(query), proof, judge.evaluator if judge else None) else None


def _witnesses(query: Query, size: int, judge: Judge) -> Iterator[Witness]:
    facts = system(folded(query))
    time = TimeOrder(facts)
    tried = min(size, SAMPLE)
    for obstruction in obstructions(time):
        wishes = obstruction.wishes(facts.space, room(time, size))
        for wish, constancy in chain.from_iterable(_variants(time, wish) for wish in wishes):
            build = partial(built, time, obstruction, wish, constancy, judge.dated)
            sample = build(tried)
            if sample is None or not _holds(query, sample, judge.evaluator):
                continue
            proof = sample if tried == size else build(size)
            if proof is not None and fits(Statement.of(query), proof):
                yield proof


def _variants(time: TimeOrder, wish: Wish) -> Iterator[tuple[Wish, Constancy]]:
    """A wish, and what stands still from copy to copy.

    For self-joins also that tuples of one stream differ wherever they may, either way round, and that copies
    stand still: then a tuple is less often taken for one of another copy or of another occurrence.
    """
    yield wish, Constancy.NOTHING
    query = time.facts.query
    if not self_joined(query):
        return
    yield wish, Constancy.STILL
    pairs = [
        (attribute, second)
        for attribute, second in combinations(query.mentioned, 2)
        if attribute.column == second.column and not query.is_timestamp(attribute)
        if query.occurrence(attribute.occurrence).relation == query.occurrence(second.occurrence).relation
    ]
    for turned in (False, True):
        disjunctions = list(wish.disjunctions)
        for low, high in (pair[::-1] if turned else pair for pair in pairs):
            further = [*disjunctions, (below(low, high), below(high, low))]
            if time.facts.satisfiable(wish.literals, further):
                disjunctions = further
        if len(disjunctions) > len(wish.disjunctions):
            yield from (
                (replace(wish, disjunctions=tuple(disjunctions)), constancy)
                for constancy in (Constancy.NOTHING, Constancy.STILL)
            )


def _holds(query: Query, sample: Witness, evaluator: Evaluator) -> bool:
    try:
        return holds(Statement.of(query), sample, evaluator)
    except DataError:
        # A value past the range of its type.
        return False


def fits(statement: Statement, proof: Witness) -> bool:
    """Whether the events of a witness are values of the statement's columns, and keep what is promised."""
    try:
        for events in (
            proof.events(statement, range(proof.size)),
            *(slot.suffix for slot in proof.slots),
        ):
            for batch in batches(statement, events):
                derived(statement, batch.tuples)
    except DataError:
        return False
    return True


def room(time: TimeOrder, size: int) -> int:
    """A distance in which the copies' values of one gap fit, whatever their types."""
    space, attributes = time.facts.space, time.facts.query.mentioned
    return (size + 2) * len(attributes) * max([space.scale, *(space.resolution(a) or 1 for a in attributes)])


def built(
    time: TimeOrder,
    obstruction: Obstruction,
    wish: Wish,
    constancy: Constancy,
    dated: bool,
    size: int,
    apart: int = 0,
) -> Witness | None:
    """The slots of an obstruction, at least ``apart`` in time (ticks or microseconds); None: no room."""
    time = time.beside(obstruction.pivot) if time.numbered else time
    facts = time.facts if obstruction.query == time.facts.query else system(obstruction.query)
    if facts.closure is None:
        return None
    if constancy is Constancy.REST:
        moving = {a for turn in obstruction.turns for a in (turn.low, turn.high)}
        time = replace(time, kept=time.kept | (set(facts.query.mentioned) - moving))
    lasting = [a for a in obstruction.query.mentioned if a.occurrence not in time.infinite or a in time.kept]
    numbers = assignment(facts, replace(wish, literals=(*wish.literals, *_late(time))), lasting)
    if numbers is None:
        return None
    layout = Layout(replace(time, facts=facts), numbers, obstruction.turns, constancy is Constancy.STILL)
    copies = layout.copies(size + (obstruction.suffix is Suffix.PROBE))
    if copies is None:
        return None
    builder = Builder(obstruction, layout, copies, dated, apart)
    return Witness(obstruction.query.name, builder.slots(size), builder.static())


def _late(time: TimeOrder) -> Iterator[Difference]:
    """That infinite streams come after every constant and finite timestamp, whatever the offset."""
    stamps, space = time.stamps, time.facts.space
    offsets = sum(abs(atom.offset) for atom in time.facts.query.joins)
    for alias in time.infinite:
        if alias in stamps:
            constants = space.constants(Family.TIME)
            yield from (at_least(stamps[alias], c + offsets, strict=True) for c in constants[-1:])
            ends = (stamp for late, stamp in stamps.items() if late in time.finite)
            yield from (Difference(end, stamps[alias], -offsets, strict=True) for end in ends)
