"""Two comparisons that wait at one stream and that no single extremum serves.

A tuple that waits for others is remembered by the columns that they still have to be compared with.
Comparisons of one direction collapse into one extremum if they wait for the same partners; two
*groups* (directions, or sets of partners) cannot. In the published criteria this is condition C3,
|MaxRef|eq + |MinRef|eq <= 1 (Arasu et al., Theorem 5.2; Schiff & Özçep, Theorem 2), and in the exact
one condition (N). Two comparisons have at most four columns, so whether they can meet in one branch is
one question to ``System.satisfiable``: Algorithm B.1 of Arasu et al., step 4. docs/theory.md has the proof.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from streambound.boundedness.criterion.crossings import Crossing
from streambound.constraints.closure import Closure, Difference, below
from streambound.constraints.system import System
from streambound.constraints.zones import Zone
from streambound.query.model import Attribute

Clash = tuple[Crossing, Crossing, Zone, Zone]


def two_groups(
    facts: System, crossings: Iterable[Crossing], side: Collection[str], own: Collection[str]
) -> Iterator[Clash]:
    """Pairs of crossings out of (into) the streams ``side``, the first at ``own``, of two groups.

    Each comes with zones in which it can hold.
    """
    crossings = list(crossings)
    ups = [c for c in crossings if c.low.occurrence in side and c.high.occurrence not in side]
    downs = [c for c in crossings if c.high.occurrence in side and c.low.occurrence not in side]
    own_ups = _tightest(facts, [c for c in ups if c.low.occurrence in own])
    own_downs = _tightest(facts, [c for c in downs if c.high.occurrence in own])
    ups, downs = _tightest(facts, ups), _tightest(facts, downs)
    for mine, along, against in ((own_ups, ups, downs), (own_downs, downs, ups)):
        for first in mine:
            for second in along:
                yield from chain.from_iterable(
                    _clash(facts, first, second, a) for a in apart(facts, first, second)
                )
            for second in against:
                yield from _clash(facts, first, second, None)


def _tightest(facts: System, crossings: list[Crossing]) -> list[Crossing]:
    """The crossings with no other between their two attributes: whatever holds of them holds of that one."""
    closure = facts.closure
    assert closure is not None
    plain = [c for c in crossings if not c.if_]
    nearest = [
        c
        for mine in _grouped(plain, "low")
        for c in mine
        if not any(_before(closure, o.high, c.high) for o in mine)
    ]
    kept = {
        (c.low, c.high)
        for mine in _grouped(nearest, "high")
        for c in mine
        if not any(_before(closure, c.low, o.low) for o in mine)
    }
    return [c for c in crossings if c.if_ or (c.low, c.high) in kept]


def _grouped(crossings: list[Crossing], end: str) -> Iterable[list[Crossing]]:
    groups: dict[Attribute, list[Crossing]] = {}
    for crossing in crossings:
        groups.setdefault(getattr(crossing, end), []).append(crossing)
    return groups.values()


def _before(closure: Closure, left: Attribute, right: Attribute) -> bool:
    if left == right or not closure.orders(left, right):
        return False
    return left < right or not closure.orders(right, left)


def apart(facts: System, first: Crossing, second: Crossing) -> list[Difference | None]:
    """The ways in which two crossings of one direction can be of different groups.

    In different zones, or with other partners: either way an attribute of one lies beyond the other.
    """
    if facts.space.family(first.low) is not facts.space.family(second.low):
        return [None]
    assert facts.closure is not None
    ways = (below(first.high, second.low), below(second.high, first.low))
    return [way for way in ways if facts.closure.allows(way)]


def _clash(facts: System, first: Crossing, second: Crossing, way: Difference | None) -> Iterator[Clash]:
    """The zones in which two crossings can hold, in that way apart."""
    more = [] if way is None else [way]
    for first_zone in first.zones:
        for second_zone in second.zones:
            (differences, cuts), (two, further) = first.within(first_zone), second.within(second_zone)
            if facts.satisfiable([*differences, *two, *more], [*cuts, *further]):
                yield first, second, first_zone, second_zone
