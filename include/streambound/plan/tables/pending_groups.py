"""Columns that wait for one and the same set of partners, and the extremum that serves them.

Arasu et al., Theorem 5.2: where the pending columns of a stream form one group, of all tuples that
agree on the keys only the one that joins with the most partners has to be kept.
"""

from __future__ import annotations

from streambound.constraints.closure import Closure
from streambound.plan.model import Extremum, Keep, Pair
from streambound.plan.tables.facts import Facts
from streambound.query.model import Attribute, Op

UP = (Op.LT, Op.LE)


def single_group(facts: Facts, closure: Closure, pairs: list[Pair]) -> Extremum | None:
    """The extremum that serves all pairs, if all columns wait for the same partners."""
    upward = pairs[0][1] in UP
    if any((op in UP) is not upward for _, op, _ in pairs):
        return None
    targets: dict[Attribute, set[Attribute]] = {}
    strict: dict[Attribute, set[bool]] = {}
    for local, op, attribute in pairs:
        mine = leader(closure, local, [p[0] for p in pairs])
        targets.setdefault(mine, set()).add(leader(closure, attribute, [p[2] for p in pairs]))
        strict.setdefault(local, set()).add(op in (Op.LT, Op.GT))
    if len({frozenset(t) for t in targets.values()}) > 1:
        return None
    keep = Keep.LEAST if upward else Keep.GREATEST
    # Columns that are equal in each tuple are one column: how each is compared does not matter.
    if len(targets) == 1 or len(set().union(*strict.values())) == 1:
        return Extremum(keep, tuple(sorted(strict)), (0,) * len(strict))
    return _shifted(facts, keep, pairs, strict)


def _shifted(facts: Facts, keep: Keep, pairs: list[Pair], strict: dict[Attribute, set[bool]]) -> Extremum:
    attributes = tuple(sorted(strict))
    resolutions = {
        facts.query.column(a).type.resolution for local, _, attribute in pairs for a in (local, attribute)
    }
    resolution = next(iter(resolutions))
    if resolution is None or len(resolutions) > 1 or any(len(kinds) > 1 for kinds in strict.values()):
        return Extremum(keep, attributes, (0,) * len(attributes), mixed=True)
    unit = resolution if keep is Keep.LEAST else -resolution
    whole = int(unit) if unit.denominator == 1 else unit
    return Extremum(keep, attributes, tuple(whole if True in strict[a] else 0 for a in attributes))


def leader(closure: Closure, attribute: Attribute, among: list[Attribute]) -> Attribute:
    """One attribute for each class of columns that are equal within their stream."""
    mates = sorted({a for a in among if a.occurrence == attribute.occurrence})
    return next((a for a in mates if a == attribute or closure.equates(a, attribute)), attribute)
