"""Zones in words: the branch that obstructs a query, and the bound that it lacks there."""

from __future__ import annotations

from fractions import Fraction

from streambound.constraints.system import System
from streambound.constraints.zones import Zone
from streambound.query.column_types import Family
from streambound.query.model import Attribute


def lacks(facts: System, zone: Zone, *attributes: Attribute) -> str:
    """Which bound the attributes lack in a zone."""
    names = " and ".join(map(str, attributes))
    plural = len(attributes) > 1
    if zone.open_above and zone.open_below:
        return f"no condition bounds {names}"
    if zone.open_above:
        return f"{names} {'have' if plural else 'has'} no upper bound"
    if zone.open_below:
        return f"{names} {'have' if plural else 'has'} no lower bound"
    if any(facts.space.resolution(a) is not None for a in attributes):
        return f"only values of a finite stream bound {names}, and there can be any number between them"
    kind = facts.query.column(attributes[0]).type.name
    return f"{names} can take infinitely many values, since {kind} is dense: an interval is no finite set"


def branch(facts: System, zone: Zone, *attributes: Attribute) -> str:
    """The branch in which the attributes lie in a zone."""
    names = " and ".join(map(str, dict.fromkeys(attributes)))
    ends = [
        f"{side} {_value_text(facts, zone.family, number, attributes[0])}"
        for side, number in (("above", zone.floor), ("below", zone.ceiling))
        if number is not None
    ]
    ends += [f"{'above' if above else 'below'} {attribute}" for attribute, above in zone.sides]
    if zone.cuts:
        ends.append(f"among the values of {', '.join(map(str, zone.cuts))}")
    verb = "lie" if len(set(attributes)) > 1 else "lies"
    return f"{names} {verb} {' and '.join(ends) or 'anywhere, for no constant is known'}"


def _value_text(facts: System, family: Family, number: int, attribute: Attribute) -> str:
    value = facts.space.value(family, number)
    if family is Family.NUMBER:
        return str(float(value)) if isinstance(value, Fraction) else str(value)
    return facts.query.type_of(attribute).text(value)
