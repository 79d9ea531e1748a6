"""The product's own criterion: the corrected and extended statements, decided in polynomial time.

Without comparisons of timestamps and without self-joins it is exact. With (P), (E), (N) as below,
a satisfiable query over at least two infinite streams (one suffices for DISTINCT) is unbounded iff

*duplicate-preserving (Theorem A; Arasu et al., Theorems 4.2 and 4.3)*: in some branch
 (a) a projected attribute is unbounded;
 (b, c) an implied ``=``, ``<`` or ``<=``, or an explicit ``<>`` that nothing decides, links unbounded
 attributes of different streams.

*duplicate-eliminating (Theorems B1, B2; Arasu et al., Theorems 5.2 and 5.3)*: in some branch
 (P) a projected attribute is unbounded;
 (E) an implied equality links unbounded attributes of different streams;
 (N) the attributes of one stream have pending comparisons of two groups. The group of an attribute
 is a direction and the set of attributes of other streams that it is compared with.

No branch is enumerated. In a branch, take a chain of implied comparisons from an attribute of T to
one of another stream in the same zone, and its last attribute a of T: the step from a to x is a
crossing of the query itself, and x is among a's targets. So (b, c) holds iff a crossing has a zone.
For (N), let q be a target of a but not of e, in the same zone; then a < e, and with a' <= x, e' <= y
the crossings on the chains from a to q and from e to any target of e, x < e' is consistent (else x
would be a target of e). Conversely an assignment with a' <= x < e' <= y in one zone lies in a branch
where x is a target of a' and not of e'. Two crossings in different zones, or in opposite directions,
are of different groups as they stand. (E) implies (N): a stream on the cycle has both directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

from streambound.boundedness.crossings import Crossing, crossings, evidence, unequal_pairs
from streambound.boundedness.verdict import Outcome, Reason, Verdict
from streambound.constraints.closure import Difference, below
from streambound.constraints.system import SEARCH_LIMIT, SearchLimit, System, system
from streambound.constraints.zones import Zone, zones
from streambound.query.model import Attribute, Output, Query

NAME = "exact"


def exact(query: Query) -> Verdict:
    """The verdict on a query; UNKNOWN only past the search limit or for DISTINCT self-joins."""
    try:
        return _decided(query, system(query))
    except SearchLimit:
        message = f"the <> and IN conditions need more than {SEARCH_LIMIT:,} search steps"
        return Verdict(Outcome.UNKNOWN, NAME, (Reason("search-limit", message),))


def _decided(query: Query, facts: System) -> Verdict:
    if not facts.satisfiable():
        message = "no tuples can meet the conditions together: the answer is always empty"
        return Verdict(Outcome.BOUNDED, NAME, (Reason("unsatisfiable", message),))
    if len(query.streams) < 2 and not query.distinct:
        message = "one stream: every condition is a filter on each tuple as it arrives"
        return Verdict(Outcome.BOUNDED, NAME, (Reason("filter", message),))
    reasons = [*_projections(facts), *(_eliminating(facts) if query.distinct else _preserving(facts))]
    if not reasons:
        message = "every column that must be remembered has finitely many values or a single extremum"
        return Verdict(Outcome.BOUNDED, NAME, (Reason("no-obstruction", message),))
    repeated = _repeated(query)
    if repeated and query.distinct:
        message = f"{repeated} occurs twice and one occurrence may be redundant; without that: "
        unknown = Reason("self-join", message + reasons[0].message, reasons[0].attributes, reasons[0].place)
        return Verdict(Outcome.UNKNOWN, NAME, (unknown,))
    return Verdict(Outcome.UNBOUNDED, NAME, tuple(reasons))


def _repeated(query: Query) -> str | None:
    names = [o.relation.name for o in query.streams]
    return next((name for name in names if names.count(name) > 1), None)


def unbounded_zone(facts: System, attribute: Attribute) -> Zone | None:
    """A zone that an attribute can lie in, so that it takes infinitely many values; else None."""
    if facts.query.is_static(attribute):
        return None
    return next((z for z in zones(facts, attribute) if facts.satisfiable(z.holds(attribute))), None)


def _projections(facts: System) -> Iterator[Reason]:
    seen: set[Attribute] = set()
    for output in facts.query.select:
        if not isinstance(output.term, Attribute) or output.term in seen:
            continue
        seen.add(output.term)
        if (zone := unbounded_zone(facts, output.term)) is not None:
            yield _projected(facts, output, output.term, zone)


def _projected(facts: System, output: Output, attribute: Attribute, zone: Zone) -> Reason:
    remembered = "every answer row must be remembered" if facts.query.distinct else "every value must be kept"
    message = f"{attribute} is projected, so {remembered}, and {lacks(facts, zone, attribute)}"
    return Reason("unbounded-projection", message, (attribute,), output.place)


def lacks(facts: System, zone: Zone, *attributes: Attribute) -> str:
    """Which bound the attributes lack in a zone, in words."""
    names = " and ".join(map(str, attributes))
    plural = len(attributes) > 1
    if zone.open_above and zone.open_below:
        return f"no condition bounds {names}"
    if zone.open_above:
        return f"{names} {'have' if plural else 'has'} no upper bound"
    if zone.open_below:
        return f"{names} {'have' if plural else 'has'} no lower bound"
    kind = facts.query.column(attributes[0]).type.name
    return f"{names} can take infinitely many values, since {kind} is dense: an interval is no finite set"


def _preserving(facts: System) -> Iterator[Reason]:
    reported: set[frozenset[Attribute]] = set()
    for crossing in crossings(facts):
        pair = frozenset((crossing.low, crossing.high))
        if pair not in reported:
            reported.add(pair)
            yield _linked(facts, crossing)
    for atom, zone in unequal_pairs(facts):
        pair = frozenset(atom.attributes)
        if pair not in reported:
            reported.add(pair)
            message = (
                f"{atom} compares two streams and {lacks(facts, zone, *atom.attributes)}: counting the pairs "
                "needs every value"
            )
            yield Reason("unbounded-disequality", message, atom.attributes, atom.place)


def _linked(facts: System, crossing: Crossing) -> Reason:
    assert facts.closure is not None
    low, high = crossing.low, crossing.high
    equal = facts.closure.equates(low, high)
    chain = evidence(facts.query, low, high)
    said = " and ".join(map(str, chain)) or f"{low} <= {high}"
    what = "equates" if equal else "compares"
    need = "matching them" if equal else "counting the pairs"
    open_ends = lacks(facts, crossing.zones[0], low, high)
    message = f"{said} {what} {low} with {high} of another stream and {open_ends}: {need} needs every value"
    code = "unbounded-equality" if equal else "unbounded-inequality"
    return Reason(code, message, (low, high), chain[0].place if chain else None)


def _eliminating(facts: System) -> Iterator[Reason]:
    assert facts.closure is not None
    found = crossings(facts)
    equal = [c for c in found if c.low < c.high and facts.closure.equates(c.low, c.high)]
    if equal:
        yield from (_linked(facts, crossing) for crossing in equal)
        return
    for occurrence in facts.query.streams:
        ups = [c for c in found if c.low.occurrence == occurrence.alias]
        downs = [c for c in found if c.high.occurrence == occurrence.alias]
        pair = next(_two_groups(facts, ups, downs), None)
        if pair is not None:
            yield _pending(facts, occurrence.alias, *pair)


def _two_groups(
    facts: System, ups: list[Crossing], downs: list[Crossing]
) -> Iterator[tuple[Crossing, Crossing, Zone, Zone]]:
    for one, other in combinations_with_replacement(ups, 2):
        for first, second in ((one, other), (other, one)):
            yield from _clash(facts, first, second, below(first.high, second.low))
    for one, other in combinations_with_replacement(downs, 2):
        for first, second in ((one, other), (other, one)):
            yield from _clash(facts, first, second, below(second.high, first.low))
    for up in ups:
        for down in downs:
            yield from _clash(facts, up, down, None)


def _clash(
    facts: System, first: Crossing, second: Crossing, apart: Difference | None
) -> Iterator[tuple[Crossing, Crossing, Zone, Zone]]:
    """Zones in which two crossings of one stream are of different groups, satisfiably together.

    In one zone, crossings of the same direction differ only if ``apart`` holds as well.
    """
    for zone in first.zones:
        for other in second.zones:
            literals = [*first.within(zone), *second.within(other)]
            if apart is not None and zone == other:
                literals.append(apart)
            if facts.satisfiable(literals):
                yield first, second, zone, other


def _pending(facts: System, alias: str, first: Crossing, second: Crossing, zone: Zone, other: Zone) -> Reason:
    chains = [evidence(facts.query, c.low, c.high) for c in (first, second)]
    said = [
        " and ".join(map(str, chain)) or f"{c.low} <= {c.high}"
        for chain, c in zip(chains, (first, second), strict=True)
    ]
    ends = (lacks(facts, zone, first.low, first.high), lacks(facts, other, second.low, second.high))
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
    place = next((chain[0].place for chain in chains if chain), None)
    return Reason("two-pending-groups", message, attributes, place)
