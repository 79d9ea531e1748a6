"""Plausible values for a column that lacks a bound: what query and catalog say of it, or a placeholder.

Taken, in this order: constants that the query compares the column with, its declared domain, the same of
the columns that it is compared with, the domain of a column of its name, what was observed of these columns,
and last a round range that covers every constant of its type in the query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

from streambound.boundedness.criterion.verdict import Reason
from streambound.errors import DataError
from streambound.query.catalog import Catalog
from streambound.query.column_types import Family, NotANumber, Type, Value
from streambound.query.model import (
    Attribute,
    Column,
    Constant,
    Domain,
    Filter,
    Membership,
    Occurrence,
    Op,
    Query,
)

# Placeholders where nothing is known. Day 19,723 is 1 January 2024.
FIRST_DAY, DAYS = 19_723, 365
DAY = 86_400_000_000
WORDS = ("value1", "value2", "value3")
# A list of placeholders longer than this says nothing more.
LISTED = 9


class Origin(IntEnum):
    """Where a value is from, the best last: nowhere, rows that were counted once, query or catalog."""

    PLACEHOLDER = 0
    OBSERVED = 1
    WRITTEN = 2


@dataclass(frozen=True)
class Range:
    """Encoded ends for a discrete column, and where each is from."""

    low: Value
    high: Value
    from_low: Origin
    from_high: Origin


@dataclass(frozen=True)
class Hints:
    """What a SELECT and its catalog tell of plausible values.

    ``query`` has its conditions, under OR or not; ``member`` is its number among the SELECTs of a union;
    ``inner`` is what its rows look for by EXISTS and its like.
    """

    query: Query
    catalog: Catalog
    member: int = 0
    inner: tuple[Occurrence, ...] = ()

    @property
    def start(self) -> tuple[int, int]:
        """Line and column of the first output, or of FROM."""
        parts = self.query.select or self.query.occurrences
        return min((part.location.line, part.location.column) for part in parts)

    def about(self, reason: Reason) -> bool:
        """Whether every column that a reason names is one of the query's."""
        relations = {o.alias: o.relation for o in self.query.occurrences}
        return all(
            a.occurrence in relations and a.column in {c.name for c in relations[a.occurrence].columns}
            for a in reason.attributes
        )

    def bounded(self, attribute: Attribute) -> tuple[bool, bool]:
        """Whether a constant or a domain bounds a column from below, and from above."""
        lows, highs = self._ends([attribute])
        return bool(lows), bool(highs)

    def range(self, attribute: Attribute, linked: Iterable[Attribute]) -> Range:
        """A range of a discrete column, ``linked`` being the columns that it is compared with."""
        kind = self.query.type_of(attribute)
        low, high = self._default(kind)
        from_low = from_high = Origin.PLACEHOLDER
        for (lows, highs), origin in self._sources(attribute, linked):
            if lows and highs and not from_low and not from_high and min(lows) < max(highs):
                low, high, from_low, from_high = min(lows), max(highs), origin, origin
            if lows and not from_low and min(lows) < high:
                low, from_low = min(lows), origin
            if highs and not from_high and max(highs) > low:
                high, from_high = max(highs), origin
        return Range(
            _nearest_value(kind, low, math.ceil),
            _nearest_value(kind, high, math.floor),
            from_low,
            from_high,
        )

    def listed(self, attribute: Attribute, linked: Iterable[Attribute]) -> tuple[tuple[Value, ...], Origin]:
        """A few values of a dense column, and where they are from."""
        columns = list(self._columns(attribute, linked))
        for column in columns:
            if column.domain is not None and column.domain.values is not None:
                return column.domain.values, Origin.WRITTEN
        for column in columns:
            if column.observed is not None and column.observed.values is not None:
                return column.observed.values, Origin.OBSERVED
        return tuple(self._around(self.query.type_of(attribute)))[:LISTED], Origin.PLACEHOLDER

    def _sources(self, attribute: Attribute, linked: Iterable[Attribute]) -> Iterator[tuple[Ends, Origin]]:
        family, linked = self.query.type_of(attribute).family, list(linked)
        yield self._ends([attribute]), Origin.WRITTEN
        alike = [partner for partner in linked if self.query.type_of(partner).family is family]
        yield self._ends(alike), Origin.WRITTEN
        columns = list(self._columns(attribute, linked))
        yield from ((_domain_ends(column.domain), Origin.WRITTEN) for column in columns)
        yield from ((_domain_ends(column.observed), Origin.OBSERVED) for column in columns)

    def _ends(self, attributes: Iterable[Attribute]) -> Ends:
        lows, highs = list[Value](), list[Value]()
        for attribute in attributes:
            for side, ends in zip((lows, highs), _domain_ends(self._column(attribute).domain), strict=True):
                side.extend(ends)
            for atom in self.query.where:
                if isinstance(atom, Filter) and atom.attribute == attribute:
                    _collect(atom, lows, highs)
        return lows, highs

    def _column(self, attribute: Attribute) -> Column:
        return self.query.column(attribute)

    def _columns(self, attribute: Attribute, linked: Iterable[Attribute]) -> Iterator[Column]:
        """The columns that may share the values of one, nearest first."""
        yield self._column(attribute)
        kind = self.query.type_of(attribute)
        yield from (self._column(partner) for partner in linked if self.query.type_of(partner) == kind)
        for relation in self.catalog.relations:
            for column in relation.columns:
                if column.name.lower() == attribute.column.lower() and column.type == kind:
                    yield column

    def _pool(self, kind: Type) -> list[Value]:
        """The constants of the query that values of a type compare with, sorted."""
        values = set[Value]()
        for atom in self.query.where:
            if isinstance(atom, Filter):
                constants: tuple[Constant, ...] = (atom.constant,)
            else:
                constants = atom.values if isinstance(atom, Membership) else ()
            values.update(c.value for c in constants if c.type.family is kind.family)
        return sorted(v for v in values if v is not None and not isinstance(v, NotANumber))

    def _default(self, kind: Type) -> tuple[Value, Value]:
        pool = self._pool(kind)
        if kind.family is Family.DATE:
            ends = [*pool, FIRST_DAY]
            return min(ends) - (DAYS if pool else 0), max(ends) + DAYS
        low, high = 0, 999
        while pool and high <= pool[-1]:
            high = 10 * high + 9
        while pool and low >= pool[0]:
            low = 10 * low - 10
        return low, high

    def _around(self, kind: Type) -> Iterator[Value]:
        """The query's constants, with values below, between and above them."""
        pool = self._pool(kind)
        if kind.family is Family.STRING:
            yield from (text for value in pool for text in (value, f"{value}a"))
            yield from WORDS
            return
        resolution = DAY if kind.family is Family.TIMESTAMP else 1
        values = pool or [FIRST_DAY * DAY if kind.family is Family.TIMESTAMP else 0]
        for before, value in zip([None, *values], values, strict=False):
            yield (
                value - resolution
                if before is None
                else (before + value) / 2
                if resolution == 1
                else before + resolution
            )
            yield value
        yield values[-1] + resolution


Ends = tuple[list[Value], list[Value]]


def _domain_ends(domain: Domain | None) -> Ends:
    if domain is None:
        return [], []
    if domain.values is not None:
        return [domain.values[0]], [domain.values[-1]]
    low, high = domain.minimum, domain.maximum
    return [] if low is None else [low], [] if high is None else [high]


def _nearest_value(kind: Type, value: Value, rounded: Callable[[Fraction], int]) -> Value:
    """The nearest value of a discrete type, with fewer digits if it has too many."""
    if kind.family is not Family.NUMBER or kind.resolution is None:
        return value
    exact = rounded(Fraction(value) / kind.resolution) * kind.resolution
    while exact and not _encodes(kind, exact):
        exact = Fraction(int(exact / 10))
    return int(exact) if exact.denominator == 1 else exact


def _encodes(kind: Type, value: Fraction) -> bool:
    try:
        kind.encode(value)
    except DataError:
        return False
    return True


def _collect(atom: Filter, lows: list[Value], highs: list[Value]) -> None:
    """Add the constant of ``column op constant`` to the ends that it is."""
    value = atom.constant.value
    if value is None or isinstance(value, NotANumber):
        return
    if atom.op in (Op.GT, Op.GE, Op.EQ):
        lows.append(value)
    if atom.op in (Op.LT, Op.LE, Op.EQ):
        highs.append(value)
