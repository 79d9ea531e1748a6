"""Where a query fails its criterion, as plans for a witness (Arasu et al., Appendix A).

Each obstruction names the *pivot*, the stream T whose tuples t_k are optional, and how the N copies of an
assignment differ. Where a and x ascend from copy to copy, ``a <= x`` lets t_l meet suffix k only if
l <= k; where they descend, only if l >= k.

- A projected attribute takes another value in each copy (Lemma A.2).
- ``a <= x`` from the pivot to the suffix: suffix k counts the optional tuples of slots up to k (Lemma A.5).
- ``a <> x``: suffix k repeats a_k, so that t_k alone is not counted.
- DISTINCT, two groups: the pivot's crossing lets t_l meet suffix k only if l <= k; the other one lets e_m,
  of a stream that precedes the pivot, meet it only if m >= k; and slot m precedes slot l only if m <= l
  (Lemma A.6, and Theorem B1 for time: pairs that trade one against the other).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from streambound.boundedness.criterion.crossings import Crossing, crossings, evidence, unequal_crossings
from streambound.boundedness.criterion.exact import unbounded_projections
from streambound.boundedness.criterion.pending import Clash, apart, two_groups
from streambound.certificate.layout import Turn
from streambound.constraints.assignment import Wish
from streambound.constraints.cases import self_joined
from streambound.constraints.closure import Closure, Difference
from streambound.constraints.space import Space
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.constraints.zones import Zone
from streambound.query.model import Atom, Attribute, Filter, Join, Op, Query


class Suffix(Enum):
    """What arrives after the prefix of a slot."""

    REST = "the tuples that complete the slot's copy"
    AGAIN = "the whole copy once more"
    # First the rest of a copy without optional tuple: it counts all of them.
    PROBE = "the rest of a further copy, then of the slot's own"


@dataclass(frozen=True)
class TurnZone:
    """A zone in which the attributes from ``turn.low`` up to ``turn.high`` take the turn."""

    turn: Turn
    zone: Zone

    def wish(self, by: int) -> Wish:
        """That they lie in it, with nothing known between them, and ``by`` away from what is unknown."""
        low, high = self.turn.low, self.turn.high
        literals = (*self.zone.holds(low), *self.zone.holds(high))
        if not by:
            return Wish(literals, tuple(self.zone.between(low, high)))
        return Wish((*literals, *self.zone.apart(low, high, by)), tuple(self.zone.between(low, high, by)))


@dataclass(frozen=True)
class Obstruction:
    """A way to build a witness: the query to assign values to, the pivot, and how copies differ."""

    query: Query
    pivot: str
    turn_zones: tuple[TurnZone, ...]
    further: tuple[Difference, ...] = ()
    suffix: Suffix = Suffix.REST

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that copies take."""
        return tuple(turn_zone.turn for turn_zone in self.turn_zones)

    def wishes(self, space: Space, room: int) -> Iterator[Wish]:
        """What the assignment shall meet, best first.

        Where unknown values end a zone, values on a grid need it ``room`` wide; dense ones do not.
        """
        on_grid = any(space.resolution(a) is not None for turn in self.turns for a in (turn.low, turn.high))
        for by in (room, 0) if on_grid else (0,):
            parts = [turn_zone.wish(by) for turn_zone in self.turn_zones]
            literals = (literal for part in parts for literal in part.literals)
            yield Wish((*literals, *self.further), tuple(c for part in parts for c in part.disjunctions))


def obstructions(time: TimeOrder) -> Iterator[Obstruction]:
    """All of a satisfiable query's, most telling first.

    Raises:
        SearchLimit: a question of satisfiability needs too many steps.
    """
    if not time.numbered:
        yield from _of_time(time)
        return
    for alias in time.infinite:
        # What is held beside a pivot has been seen: the pivot's values turn on either side of it.
        yield from (obstruction for obstruction in _of_time(time.beside(alias)) if obstruction.pivot == alias)


def _of_time(time: TimeOrder) -> Iterator[Obstruction]:
    yield from _projections(time)
    time_crossings = crossings(time)
    yield from _equalities(time, time_crossings)
    if time.facts.query.ring.idempotent:
        for pivot in time.infinite:
            for clash in two_groups(time.facts, time_crossings, time.down(pivot), {pivot}):
                yield from _pair(time, pivot, clash)
        return
    for crossing in time_crossings:
        for pivot in _pivots(time, crossing.low, crossing.high):
            for zone in crossing.zones:
                yield _counted(time, crossing, zone, pivot)
    yield from _unequal(time, time_crossings)


def _pivots(time: TimeOrder, *pair: Attribute) -> list[str]:
    """The streams of two attributes after which a tuple of the other one can still arrive."""
    first, second = (a.occurrence for a in pair)
    return [a for a, b in ((first, second), (second, first)) if not time.precedes(b, a)]


def _projections(time: TimeOrder) -> Iterator[Obstruction]:
    query = time.facts.query
    for _, attribute, zone in unbounded_projections(time):
        turn_zone = TurnZone(Turn(attribute, attribute, True), zone)
        turn_zones = () if query.is_timestamp(attribute) else (turn_zone,)
        suffixes = [Suffix.AGAIN if time.completes(attribute.occurrence) else Suffix.REST]
        if query.ring.idempotent and self_joined(query):
            # A tuple that was its own partner has been answered: its row must be remembered.
            suffixes = [*suffixes, Suffix.AGAIN]
        for suffix in dict.fromkeys(suffixes):
            yield Obstruction(query, attribute.occurrence, turn_zones, (), suffix)


def _equalities(time: TimeOrder, time_crossings: list[Crossing]) -> Iterator[Obstruction]:
    closure = time.facts.closure
    for crossing in time_crossings:
        if closure is not None and closure.equates(crossing.low, crossing.high):
            for pivot in _pivots(time, crossing.low, crossing.high):
                yield _counted(time, crossing, crossing.zones[0], pivot)


def _counted(time: TimeOrder, crossing: Crossing, zone: Zone, pivot: str) -> Obstruction:
    turn = Turn(crossing.low, crossing.high, True)
    return Obstruction(time.facts.query, pivot, (TurnZone(turn, zone),), crossing.if_)


def _unequal(time: TimeOrder, time_crossings: list[Crossing]) -> Iterator[Obstruction]:
    """Pairs that differ; in self-joins also those of which either may be the smaller."""
    for atom, unequal in unequal_crossings(time):
        yield from _probed(time, unequal, [atom])
    for crossing in time_crossings:
        yield from _probed(time, crossing, evidence(time.facts.query, crossing.low, crossing.high))


def _probed(time: TimeOrder, crossing: Crossing, without: list[Join]) -> Iterator[Obstruction]:
    left, right = crossing.low, crossing.high
    relaxed = _equated(time.facts.query, left, right, without)
    for zone in crossing.zones:
        for pivot in _pivots(time, left, right):
            for ascending in (True, False):
                turn_zone = TurnZone(Turn(left, right, ascending), zone)
                yield Obstruction(relaxed, pivot, (turn_zone,), (), Suffix.PROBE)


def _equated(query: Query, left: Attribute, right: Attribute, without: list[Join]) -> Query:
    """The query with ``one = other`` instead of the given comparisons and of each ``<>`` that it breaks."""
    weaker = [_weakened(atom) if atom in without else atom for atom in query.where]
    weaker.append(Join(left, Op.EQ, right))
    unequal = [atom for atom in query.joins if atom.op is Op.NE]
    equal = system(replace(query, where=tuple(atom for atom in weaker if atom not in unequal))).closure
    broken = [a for a in unequal if equal is not None and _equates(equal, a)]
    return replace(query, where=tuple(_weakened(atom) if atom in broken else atom for atom in weaker))


def _equates(closure: Closure, atom: Join) -> bool:
    named = all(a in closure.index for a in atom.attributes)
    return named and not atom.offset and closure.equates(atom.attributes[0], atom.attributes[1])


def _weakened(atom: Atom) -> Atom:
    """A comparison that equal values meet as well; the attributes stay mentioned."""
    weaker = {Op.LT: Op.LE, Op.GT: Op.GE}
    if not isinstance(atom, (Filter, Join)):
        return atom
    return replace(atom, op=Op.EQ if atom.op is Op.NE else weaker.get(atom.op, atom.op))


def _pair(time: TimeOrder, pivot: str, clash: Clash) -> Iterator[Obstruction]:
    own, crossing, zone, crossed_zone = clash
    first = Turn(own.low, own.high, own.low.occurrence == pivot)
    second = Turn(crossing.low, crossing.high, crossing.high.occurrence in time.down(pivot))
    turn_zones = (TurnZone(first, zone), TurnZone(second, crossed_zone))
    for way in apart(time.facts, own, crossing) if first.ascending != second.ascending else [None]:
        yield Obstruction(time.facts.query, pivot, turn_zones, () if way is None else (way,))
