"""Classes of a key column: the values that its partners can tell apart (theory of plans, section 5)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from streambound.constraints.closure import Closure
from streambound.plan.model import Key, Pair
from streambound.plan.tables.facts import Facts
from streambound.query.column_types import Value
from streambound.query.model import Attribute, Op


def exact_key(facts: Facts, closure: Closure, attribute: Attribute) -> Key | None:
    """The column itself as a key, if it has finitely many values in ``closure``; else None.

    A column that no condition names may be NULL, which is one more value.
    """
    sizes = (_count(facts, closure, attribute), facts.cardinality(attribute))
    size = min((size for size in sizes if size is not None), default=None)
    if size is None:
        return None
    nullable = attribute not in facts.query.present and facts.query.nullable(attribute)
    return Key(attribute, size + nullable)


def _count(facts: Facts, closure: Closure, attribute: Attribute) -> int | None:
    if (values := facts.finite_values(attribute, closure)) is not None:
        return len(values)
    upper, lower, resolution = closure.upper(attribute), closure.lower(attribute), facts.resolution(attribute)
    if upper is None or lower is None:
        return None
    if resolution is None:
        return 1 if upper == lower and not upper[1] else None
    return (upper[0] - lower[0]) // resolution + 1


def apart_key(
    facts: Facts, closure: Closure, attribute: Attribute, partners: Iterable[Attribute]
) -> Key | None:
    """A column's position among the values of static or other finite columns; None if one is neither."""
    points: set[Value] = set()
    for partner in partners:
        values = listed_values(facts, closure, attribute, partner)
        if values is None:
            return None
        points |= set(values)
    return replace(_stepped(facts, closure, attribute, sorted(points)), apart=True)


def listed_values(
    facts: Facts, closure: Closure, attribute: Attribute, partner: Attribute
) -> Sequence[Value] | None:
    """The values of a column that another is compared with, if they are few enough to list."""
    if facts.query.is_static(partner):
        return facts.static_values.get(partner)
    if (values := facts.finite_values(partner, closure)) is not None:
        return values
    return facts.grid(attribute, partner, closure)


def partner_key(facts: Facts, closure: Closure, attribute: Attribute, pairs: list[Pair]) -> Key | None:
    """A column that is compared with other streams' columns, by the classes that they tell apart."""
    if facts.finite_values(attribute, closure) is not None:
        return exact_key(facts, closure, attribute)
    dense = facts.resolution(attribute) is None
    key = (_dense_key if dense else _clipped)(facts, closure, attribute, pairs)
    if facts.cardinality(attribute) is None:
        return key
    exact = exact_key(facts, closure, attribute)
    return exact if key is None or exact is None or exact.size < key.size else key


def _clipped(facts: Facts, closure: Closure, attribute: Attribute, pairs: list[Pair]) -> Key | None:
    resolution = facts.resolution(attribute)
    assert resolution is not None
    lows = [_threshold_low(closure, pair, resolution) for pair in pairs]
    highs = [_threshold_high(closure, pair, resolution) for pair in pairs]
    low = None if None in lows else min(v for v in lows if v is not None)
    high = None if None in highs else max(v for v in highs if v is not None)
    lower, upper = closure.lower(attribute), closure.upper(attribute)
    bottom = max((v for v in (low, lower and lower[0]) if v is not None), default=None)
    top = min((v for v in (high, upper and upper[0]) if v is not None), default=None)
    if bottom is None or top is None:
        return None
    alike = bottom == low and top == high and all(op is Op.NE for _, op, _ in pairs)
    size = (top - bottom) // resolution + 1 - alike
    return Key(attribute, size, _end(facts, attribute, low), _end(facts, attribute, high), alike)


def _end(facts: Facts, attribute: Attribute, number: int | None) -> Value | None:
    if number is None:
        return None
    value = facts.facts.space.value(facts.facts.space.family(attribute), number)
    # One class has one value: next to doubles it is a double.
    return float(value) if facts.facts.space.resolution(attribute) is None else value


def _aligned(value: int, resolution: int, up: bool) -> int:
    """The nearest multiple of ``resolution`` at or above (below) a partner's bound."""
    return -(-value // resolution) * resolution if up else value // resolution * resolution


def _threshold_low(closure: Closure, pair: Pair, resolution: int) -> int | None:
    """The largest value such that it and all below it compare alike with every partner value."""
    _, op, attribute = pair
    bound = closure.lower(attribute)
    if bound is None or op in (Op.GT, Op.GE):
        return None
    floor = _aligned(bound[0], resolution, up=False)
    return floor if op is Op.LE and floor == bound[0] else floor - resolution if floor == bound[0] else floor


def _threshold_high(closure: Closure, pair: Pair, resolution: int) -> int | None:
    """The least value such that it and all above it compare alike with every partner value."""
    _, op, attribute = pair
    bound = closure.upper(attribute)
    if bound is None or op in (Op.LT, Op.LE):
        return None
    ceiling = _aligned(bound[0], resolution, up=True)
    return (
        ceiling
        if op is Op.GE and ceiling == bound[0]
        else ceiling + resolution
        if ceiling == bound[0]
        else ceiling
    )


def _dense_key(facts: Facts, closure: Closure, attribute: Attribute, pairs: list[Pair]) -> Key | None:
    if _count(facts, closure, attribute) == 1:
        return exact_key(facts, closure, attribute)
    points: set[Value] = set()
    for _, _, partner in pairs:
        more = _partner_points(facts, closure, attribute, partner)
        if more is None:
            return None
        points |= set(more)
    return _stepped(facts, closure, attribute, sorted(points))


def _partner_points(
    facts: Facts, closure: Closure, attribute: Attribute, partner: Attribute
) -> list[Value] | None:
    """The values around which a partner can tell two values of a column apart; None if infinitely many."""
    space, family = facts.facts.space, facts.facts.space.family(partner)
    if (values := listed_values(facts, closure, attribute, partner)) is not None:
        return list(values)
    lower, upper = closure.lower(partner), closure.upper(partner)
    mine_low, mine_high = closure.lower(attribute), closure.upper(attribute)
    if lower is not None and (lower == upper or (mine_high is not None and mine_high[0] <= lower[0])):
        return [space.value(family, lower[0])]
    if upper is not None and mine_low is not None and mine_low[0] >= upper[0]:
        return [space.value(family, upper[0])]
    return None


def _stepped(facts: Facts, closure: Closure, attribute: Attribute, points: list[Value]) -> Key:
    space, family = facts.facts.space, facts.facts.space.family(attribute)
    lower, upper = closure.lower(attribute), closure.upper(attribute)
    first, last = 0, 2 * len(points)
    if lower is not None:
        first = position(points, space.value(family, lower[0]))
        # A strict bound that is a point leaves the class of that point empty.
        first += first % 2 if lower[1] else 0
    if upper is not None:
        last = position(points, space.value(family, upper[0]))
        last -= last % 2 if upper[1] else 0
    return Key(attribute, last - first + 1, points=tuple(points))


def position(points: list[Value] | tuple[Value, ...], value: Value) -> int:
    """The class of a value among sorted points: 2i between points i - 1 and i, 2i + 1 at point i."""
    left = bisect_left(points, value)
    return 2 * left + (bisect_right(points, value) > left)
