"""Why a query is bounded, column by column: what is known of each, and what is kept of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streambound.boundedness.criterion.crossings import Crossing, unbounded_zone
from streambound.constraints.space import domain_of
from streambound.constraints.system import finite
from streambound.constraints.time import TimeOrder
from streambound.query.column_types import Family
from streambound.query.model import SUB_QUERY, Attribute, Query

# Columns that a reason names; a query with more is seldom read to the end.
NAMED = 8
# What describes a stream that stands for rows that may still be better: no column of it is the user's.
BETTER = "rows that may be better"
# How a time that is compared as any value is called within; a user has the column alone.
AS_VALUE = " as a value"
NOTHING = "only whether tuples came is kept, or how many"
COMPLETES = "is read when its row completes a match"


def column_bounds(time: TimeOrder, crossings: Iterable[Crossing]) -> str:
    """What is kept of each column of a bounded query.

    Args:
        crossings: the comparisons that wait for later tuples, of which extrema are kept.
    """
    waiting = tuple(crossings)
    said = [text for a in time.facts.query.mentioned if (text := _kept(time, waiting, a)) is not None]
    if not said:
        return NOTHING
    more = len(said) - NAMED
    return "; ".join([*said[:NAMED], *([f"and {more} more columns"] if more > 0 else [])])


def _kept(time: TimeOrder, crossings: tuple[Crossing, ...], attribute: Attribute) -> str | None:
    facts, query = time.facts, time.facts.query
    assert facts.closure is not None
    if query.occurrence(attribute.occurrence).relation.description == BETTER:
        return None
    named = _named(query, attribute)
    if attribute.occurrence not in time.infinite:
        return f"{named} is known, once its stream has ended" if not query.is_static(attribute) else None
    if query.is_time(attribute):
        return None
    if finite(facts.space, facts.closure, attribute):
        return _values(time, attribute)
    beside = time.beside(attribute.occurrence)
    if beside.kept and unbounded_zone(beside, attribute) is None:
        return f"{named} has few different values, as is declared"
    sides = list(_extrema(crossings, attribute))
    if sides:
        return f"of {named} only the {' and the '.join(sides)} value is kept"
    if time.completes(attribute.occurrence):
        return f"{named} {COMPLETES}"
    mates = [a for a in time.infinite if a != attribute.occurrence and time.together(a, attribute.occurrence)]
    if mates:
        return f"{named} is kept for a window of time, beside {', '.join(mates)}"
    return f"{named} is read when its row comes"


def _named(query: Query, attribute: Attribute) -> str:
    """An attribute in the words of the text: without what it is called within."""
    column = attribute.column.removesuffix(AS_VALUE)
    relation = query.occurrence(attribute.occurrence).relation
    if "." in column and relation.path(column) == (column,):
        # What an as-of join looks up has its own alias before it.
        return column
    if relation.fed is not None and attribute.occurrence == SUB_QUERY:
        return column
    return f"{attribute.occurrence}.{column}"


def _extrema(crossings: tuple[Crossing, ...], attribute: Attribute) -> Iterator[str]:
    if any(crossing.low == attribute for crossing in crossings):
        yield "least"
    if any(crossing.high == attribute for crossing in crossings):
        yield "greatest"


def _values(time: TimeOrder, attribute: Attribute) -> str:
    """The range that an attribute has, and who says so."""
    facts, named = time.facts, _named(time.facts.query, attribute)
    assert facts.closure is not None
    upper, lower = facts.closure.upper(attribute), facts.closure.lower(attribute)
    assert upper is not None and lower is not None
    if upper[0] == lower[0]:
        return f"{named} is always {_value_text(time, attribute, upper[0])}"
    relation = facts.query.occurrence(attribute.occurrence).relation
    # What is known of a sub-query's columns follows from it, and nobody declared it.
    domain = domain_of(facts.query, attribute) if relation.fed is None else None
    if facts.query.column(attribute).type.family is Family.BOOLEAN:
        return f"{named} is true or false"
    if facts.space.enumerated(attribute):
        return f"{named} is one of listed values"
    low, high = (_value_text(time, attribute, end[0]) for end in (lower, upper))
    declared = domain is not None and (
        domain.values is not None
        or (_number(time, attribute, domain.minimum), _number(time, attribute, domain.maximum))
        == (lower[0], upper[0])
    )
    by = " by its declared domain" if declared else ""
    return f"{named} lies between {low} and {high}{by}"


def _number(time: TimeOrder, attribute: Attribute, value: object) -> int | None:
    space = time.facts.space
    return None if value is None else space.embed(space.family(attribute), value)


def _value_text(time: TimeOrder, attribute: Attribute, number: int) -> str:
    space = time.facts.space
    kind = time.facts.query.column(attribute).type
    return str(kind.text(space.value(space.family(attribute), number)))
