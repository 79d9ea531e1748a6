"""The product's own criterion: the corrected and extended statements, decided in polynomial time.

It is exact for conjunctions without self-joins over at most five infinite composites, and for any number
of them where the sufficient condition (G) holds. A satisfiable query with at least two infinite
composites (for DISTINCT one suffices) is unbounded iff

*duplicate-preserving (Theorem A; Arasu et al., Theorems 4.2 and 4.3)*: in some branch
 (a) a projected attribute is unbounded, unless its stream completes every match;
 (b, c) an implied ``=``, ``<`` or ``<=``, or an explicit ``<>`` that nothing decides, links unbounded
 attributes of different composites.

*duplicate-eliminating (Theorems B1, B2; Arasu et al., Theorems 5.2 and 5.3)*: in some branch
 (P) a projected attribute is unbounded;
 (E) an implied equality links unbounded attributes of different composites;
 (N) for a stream T with a pending comparison of its own, the attributes of the streams that precede T
 have pending comparisons of two groups. The group of an attribute is a direction and the set of
 attributes of streams not preceding T that it is compared with.

No branch is enumerated; docs/theory.md has the proof. (b, c) holds iff the query itself has a crossing.
(N) fails iff for some T two crossings out of (or into) the streams that precede T, the first at T
itself, can hold together: in opposite directions, or in one direction, a <= x and e <= y, with x < e or
y < a as well (``pending``). (E) implies that (N) fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from streambound.boundedness.criterion.changing import as_streams, unbounded_keys
from streambound.boundedness.criterion.column_bounds import column_bounds
from streambound.boundedness.criterion.crossings import (
    Crossing,
    crossings,
    evidence,
    shared_zones,
    unbounded_zone,
    unequal_crossings,
)
from streambound.boundedness.criterion.folding import filters_apart, folded
from streambound.boundedness.criterion.pending import two_groups
from streambound.boundedness.criterion.self_joins import unbounded_pair
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.boundedness.criterion.wording import branch, lacks
from streambound.constraints.search import SEARCH_LIMIT, SearchLimit
from streambound.constraints.system import System, system
from streambound.constraints.time import TimeOrder
from streambound.constraints.zones import Zone
from streambound.query.model import Attribute, Op, Output, Query

# Up to so many infinite composites (N) is known to be sufficient (Theorem B2).
COMPOSITES_DECIDED = 5

NAME = "exact"
SINGLE_STREAM = "one stream: every condition is a filter on each tuple as it arrives"


def exact(query: Query, witnessed: bool = False) -> Verdict:
    """The verdict on a query; UNKNOWN only past the search limit or for DISTINCT self-joins.

    Args:
        witnessed: a witness was replayed: what obstructs a self-join does.
    """
    try:
        if (keys := unbounded_keys(query)) is not None:
            return Verdict(Outcome.UNBOUNDED, NAME, (keys,))
        reduced = folded(as_streams(query))
        return _decided(reduced, system(reduced), witnessed)
    except SearchLimit:
        message = f"the <> and IN conditions need more than {SEARCH_LIMIT:,} search steps"
        return Verdict(Outcome.UNKNOWN, NAME, (Reason("search-limit", message),))


def _decided(query: Query, facts: System, witnessed: bool) -> Verdict:
    if not facts.satisfiable():
        message = "no tuples can meet the conditions together: the answer is always empty"
        return Verdict(Outcome.BOUNDED, NAME, (Reason("unsatisfiable", message),))
    time = TimeOrder(facts)
    if len(time.composites) < 2 and not query.ring.remembers:
        return Verdict(Outcome.BOUNDED, NAME, (Reason("filter", _at_once(time)),))
    reasons = _obstructing(time)
    if not reasons:
        return _unobstructed(time)
    twice = repeated(query)
    why = None
    if twice and not witnessed and time.numbered:
        why = "of few different values too few may be apart"
    elif twice and not witnessed and query.ring.idempotent and not filters_apart(query):
        values = tuple(reason for reason in reasons if _remembered(query, reason))
        if values:
            return Verdict(Outcome.UNBOUNDED, NAME, values)
        if (family := unbounded_pair(facts)) is not None:
            return _by_family(family, twice, tuple(reasons))
        why = "one occurrence may be redundant"
    if why is not None:
        message = f"{twice} occurs twice and {why}; without that: "
        unknown = replace(reasons[0], code="self-join", message=message + reasons[0].message)
        return Verdict(Outcome.UNKNOWN, NAME, (unknown,))
    return Verdict(Outcome.UNBOUNDED, NAME, tuple(reasons))


def _remembered(query: Query, reason: Reason) -> bool:
    """(P'): whether a projected value must be remembered, whichever tuples make it."""
    return reason.code == "unbounded-projection" and not any(map(query.is_time, reason.attributes))


def _by_family(infinite: bool, twice: str, reasons: tuple[Reason, ...]) -> Verdict:
    if infinite:
        return Verdict(Outcome.UNBOUNDED, NAME, reasons)
    message = f"of the tuples of {twice} boundedly many are ever needed: each of the others is one too many"
    return Verdict(Outcome.BOUNDED, NAME, (Reason("irredundant-tuples", message),))


def _obstructing(time: TimeOrder) -> list[Reason]:
    """What fails the criterion; where columns have a declared number of values, at each stream by itself."""
    reasons_of = _eliminating if time.facts.query.ring.idempotent else _preserving
    if not time.numbered:
        return [*projected_reasons(time), *reasons_of(time, None)]
    further = (reason for alias in time.infinite for reason in reasons_of(time.beside(alias), alias))
    reasons = (*projected_reasons(time), *further)
    return list({(reason.code, frozenset(reason.attributes)): reason for reason in reasons}.values())


def _waits(time: TimeOrder, waiting: str | None, crossing: Crossing) -> bool:
    """Whether tuples of the stream that is held wait for the other side of a crossing; None: of any."""
    sides = (crossing.low.occurrence, crossing.high.occurrence)
    return waiting is None or any(
        left == waiting and right not in time.down(waiting) for left, right in (sides, sides[::-1])
    )


def _at_once(time: TimeOrder) -> str:
    if len(time.facts.query.arriving) == 1:
        return SINGLE_STREAM
    if not time.infinite:
        return "every stream ends: there are only finitely many tuples to keep"
    if len(time.infinite) == 1:
        return f"every stream but {time.infinite[0]} ends: each tuple of it is answered when it arrives"
    names = ", ".join(time.infinite)
    return f"time conditions keep {names} together: a match is complete within boundedly many batches"


def _unobstructed(time: TimeOrder) -> Verdict:
    pair = _undecided_pair(time) if time.facts.query.ring.idempotent else None
    if pair is not None:
        message = (
            f"more than {COMPOSITES_DECIDED} streams that time does not merge, and {pair[0]} and {pair[1]} "
            "share streams that precede both: whether the condition on groups suffices is open"
        )
        return Verdict(Outcome.UNKNOWN, NAME, (Reason("open-question", message),))
    waiting = _waiting(time) if time.facts.query.ring.idempotent else []
    return Verdict(Outcome.BOUNDED, NAME, (Reason("no-obstruction", column_bounds(time, waiting)),))


def _waiting(time: TimeOrder) -> list[Crossing]:
    """The comparisons that tuples of some stream wait for."""
    beside = ((alias, time.beside(alias)) for alias in time.infinite)
    return [c for alias, order in beside for c in crossings(order) if _waits(order, alias, c)]


def _undecided_pair(time: TimeOrder) -> tuple[str, str] | None:
    """Two incomparable streams at which condition (G) is not met; None if it is, or is not needed.

    (G), Theorem B2 (iii): every component of the streams that precede both (linked by implied or
    native comparisons) lies wholly among, or wholly outside, the streams that precede any stream.
    """
    if len(time.composites) <= COMPOSITES_DECIDED:
        return None
    for first, second in combinations(time.infinite, 2):
        if time.precedes(first, second) or time.precedes(second, first):
            continue
        for part in _components(time, time.down(first) & time.down(second)):
            downs = (time.down(stream) for stream in time.infinite)
            if any(part & down and not part <= down for down in downs):
                return first, second
    return None


def _components(time: TimeOrder, streams: frozenset[str]) -> Iterator[frozenset[str]]:
    rest = set(streams)
    while rest:
        part, pending = set[str](), [min(rest)]
        while pending:
            here = pending.pop()
            part.add(here)
            pending.extend(s for s in rest - part if _linked_streams(time, here, s))
        rest -= part
        yield frozenset(part)


def _linked_streams(time: TimeOrder, left: str, right: str) -> bool:
    facts, query = time.facts, time.facts.query
    assert facts.closure is not None
    ordinary = [a for a in query.mentioned if not query.is_time(a)]
    mine = [a for a in ordinary if a.occurrence == left]
    theirs = [a for a in ordinary if a.occurrence == right]
    if any(a.op is Op.NE and {x.occurrence for x in a.attributes} == {left, right} for a in query.joins):
        return True
    return any(
        facts.closure.orders(low, high) and any(shared_zones(time, low, high))
        for a in mine
        for b in theirs
        for low, high in ((a, b), (b, a))
    )


def repeated(query: Query) -> str | None:
    """A stream that occurs twice; None if none does."""
    names = [o.relation.name for o in query.streams]
    return next((name for name in names if names.count(name) > 1), None)


def unbounded_projections(time: TimeOrder) -> Iterator[tuple[Output, Attribute, Zone]]:
    """Each projected attribute that must be remembered in a zone, once, with one such zone."""
    query, seen = time.facts.query, set[Attribute]()
    # What arrives last in every match is answered at once; with its timestamp a row never comes again.
    stamps = (a for a in query.projected if query.is_time(a) and time.completes(a.occurrence))
    timely = not query.ring.remembers or next(stamps, None) is not None
    for output in query.select:
        if not isinstance(output.term, Attribute) or output.term in seen:
            continue
        seen.add(output.term)
        if timely and time.completes(output.term.occurrence):
            continue
        if (zone := unbounded_zone(time.beside(output.term.occurrence), output.term)) is not None:
            yield output, output.term, zone


def projected_reasons(time: TimeOrder) -> Iterator[Reason]:
    """Why some projected attributes must be remembered."""
    return (_projected(time.facts, *unbounded) for unbounded in unbounded_projections(time))


def _projected(facts: System, output: Output, attribute: Attribute, zone: Zone) -> Reason:
    ring = facts.query.ring
    remembered = "every answer row must be remembered" if ring.idempotent else "every value must be kept"
    what = "projected"
    if ring.keyed:
        what, remembered = "a key", "what is known of every key must be kept"
    message = f"{attribute} is {what}, so {remembered}, and {lacks(facts, zone, attribute)}"
    where = branch(facts, zone, attribute)
    return Reason("unbounded-projection", message, (attribute,), output.location, where)


def _preserving(time: TimeOrder, waiting: str | None) -> Iterator[Reason]:
    facts, reported = time.facts, set[frozenset[Attribute]]()
    for crossing in _spanning_crossings(facts, [c for c in crossings(time) if _waits(time, waiting, c)]):
        pair = frozenset((crossing.low, crossing.high))
        if pair not in reported:
            reported.add(pair)
            yield _linked(facts, crossing)
    for atom, unequal in unequal_crossings(time):
        pair = frozenset(atom.attributes)
        if pair not in reported and _waits(time, waiting, unequal):
            reported.add(pair)
            ends = lacks(facts, unequal.zones[0], *atom.attributes)
            message = f"{atom} compares two streams and {ends}: counting the pairs needs every value"
            where = branch(facts, unequal.zones[0], *atom.attributes)
            yield Reason("unbounded-disequality", message, atom.attributes, atom.location, where)


def _spanning_crossings(facts: System, crossed: list[Crossing]) -> list[Crossing]:
    """The crossings without equalities that follow from others: a class of equal columns is told once.

    Of n columns n - 1 are told, if possible those that the query compares.
    """
    assert facts.closure is not None
    compared = {frozenset(atom.attributes) for atom in facts.query.joins}
    equal = [c for c in crossed if facts.closure.equates(c.low, c.high)]
    classes: dict[Attribute, frozenset[Attribute]] = {}
    kept = set[frozenset[Attribute]]()
    for crossing in sorted(equal, key=lambda c: frozenset((c.low, c.high)) not in compared):
        left, right = (classes.get(a, frozenset((a,))) for a in (crossing.low, crossing.high))
        if crossing.high not in left:
            kept.add(frozenset((crossing.low, crossing.high)))
            classes.update(dict.fromkeys(left | right, left | right))
    implied = {frozenset((c.low, c.high)) for c in equal} - kept
    return [crossing for crossing in crossed if frozenset((crossing.low, crossing.high)) not in implied]


def _linked(facts: System, crossing: Crossing) -> Reason:
    assert facts.closure is not None
    low, high = crossing.low, crossing.high
    equal = facts.closure.equates(low, high)
    chain = evidence(facts.query, low, high)
    said = " and ".join(map(str, chain)) or f"{low} <= {high}"
    what = "equates" if equal else "compares"
    words = "matching them" if equal else "counting the pairs"
    open_ends = lacks(facts, crossing.zones[0], low, high)
    message = f"{said} {what} {low} with {high} of another stream and {open_ends}: {words} needs every value"
    code = "unbounded-equality" if equal else "unbounded-inequality"
    where = branch(facts, crossing.zones[0], low, high)
    return Reason(code, message, (low, high), chain[0].location if chain else None, where)


def _eliminating(time: TimeOrder, waiting: str | None) -> Iterator[Reason]:
    facts = time.facts
    assert facts.closure is not None
    crossed = crossings(time)
    equal = [
        c
        for c in crossed
        if c.low < c.high and facts.closure.equates(c.low, c.high) and _waits(time, waiting, c)
    ]
    if equal:
        yield from (_linked(facts, crossing) for crossing in _spanning_crossings(facts, equal))
        return
    for alias in time.infinite if waiting is None else (waiting,):
        pair = next(two_groups(facts, crossed, time.down(alias), {alias}), None)
        if pair is not None:
            yield _pending(facts, alias, *pair)


def _pending(
    facts: System, alias: str, first: Crossing, second: Crossing, first_zone: Zone, second_zone: Zone
) -> Reason:
    chains = [evidence(facts.query, c.low, c.high) for c in (first, second)]
    said = [
        " and ".join(map(str, chain)) or f"{c.low} <= {c.high}"
        for chain, c in zip(chains, (first, second), strict=True)
    ]
    ends = (
        lacks(facts, first_zone, first.low, first.high),
        lacks(facts, second_zone, second.low, second.high),
    )
    message = (
        f"two comparisons wait for each tuple of {alias}: {said[0]} ({ends[0]}) and {said[1]} ({ends[1]}); "
        "one extremum cannot serve both, so tuples that trade one against the other must all be kept"
    )
    if said[0] == said[1]:
        message = (
            f"{said[0]} links {alias} to other streams in both directions "
            f"({ends[0]}), so every value must be kept"
        )
    attributes = tuple(dict.fromkeys((first.low, first.high, second.low, second.high)))
    location = next((chain[0].location for chain in chains if chain), None)
    where = (
        branch(facts, first_zone, first.low, first.high),
        branch(facts, second_zone, second.low, second.high),
    )
    return Reason("two-pending-groups", message, attributes, location, "; ".join(dict.fromkeys(where)))
