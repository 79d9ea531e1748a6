"""Numbers for a query: every constant, domain bound and step as an integer.

Numeric families are scaled by the common denominator of all constants and steps of the query;
strings, of which only the order counts, are ranked among the strings that the query and its
declared domains name. Dense families stay dense: between two ranks there is room.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import lcm

from streambound.query.column_types import Family, NotANumber, Value
from streambound.query.model import Attribute, Domain, Filter, Membership, Query

BOOLEANS = Domain(values=(0, 1))


def domain_of(query: Query, attribute: Attribute) -> Domain | None:
    """The declared domain of an attribute; both truth values for a BOOLEAN."""
    column = query.column(attribute)
    if column.domain is None and column.type.family is Family.BOOLEAN:
        return BOOLEANS
    return column.domain


@dataclass(frozen=True)
class Space:
    """The embedding of a query's values into integers, one family apart from the other.

    ``static`` gives the sorted values of static columns, once their relations are read.
    """

    query: Query
    static: Mapping[Attribute, tuple[Value, ...]] = field(default_factory=dict)

    @cached_property
    def mentioned(self) -> tuple[Attribute, ...]:
        """The query's mentioned attributes and the timestamps that they are buckets of, sorted."""
        mentioned = self.query.mentioned
        moments = {moment[0] for a in mentioned if (moment := self.query.moment(a)) is not None}
        return mentioned if moments <= set(mentioned) else tuple(sorted({*mentioned, *moments}))

    @cached_property
    def _families(self) -> dict[Attribute, Family]:
        return {}

    def family(self, attribute: Attribute) -> Family:
        """The family that an attribute compares within."""
        family = self._families.get(attribute)
        if family is None:
            family = self._families[attribute] = self._family(attribute)
        return family

    def _family(self, attribute: Attribute) -> Family:
        if self.query.is_timestamp(attribute):
            return Family.TIME
        return self.query.column(attribute).type.family

    @cached_property
    def _values(self) -> dict[Family, set[Value]]:
        values: dict[Family, set[Value]] = {family: set() for family in Family}
        for atom in self.query.where:
            constants = (
                atom.values
                if isinstance(atom, Membership)
                else (atom.constant,)
                if isinstance(atom, Filter)
                else ()
            )
            for constant in constants:
                if constant.value is not None:
                    values[self.family(atom.attributes[0])].add(constant.value)
        for attribute in self.query.mentioned:
            domain = domain_of(self.query, attribute) or Domain()
            declared = {domain.minimum, domain.maximum, *(domain.values or ())} - {None}
            values[self.family(attribute)] |= declared
        for attribute in self.static:
            values[self.family(attribute)].update(v for v in self.ends(attribute) if v is not None)
        return values

    def ends(self, attribute: Attribute) -> tuple[Value | None, Value | None]:
        """The least and the greatest value of a static column; None for NaN, which is no number."""
        statics = self.static[attribute]
        low, high = (None if isinstance(v, NotANumber) else v for v in (statics[0], statics[-1]))
        return low, high

    def mates(self, attribute: Attribute) -> tuple[Attribute, ...]:
        """The mentioned attributes of the family of an attribute, itself among them."""
        return self._by_family[self.family(attribute)]

    def of_family(self, family: Family) -> tuple[Attribute, ...]:
        """The mentioned attributes of a family."""
        return self._by_family[family]

    @cached_property
    def _by_family(self) -> dict[Family, tuple[Attribute, ...]]:
        return {f: tuple(a for a in self.mentioned if self.family(a) is f) for f in Family}

    @cached_property
    def mixed(self) -> frozenset[Family]:
        """The families whose mentioned attributes have values of several steps."""
        resolutions = {
            family: {self.resolution(a) for a in mates} for family, mates in self._by_family.items()
        }
        return frozenset(family for family, units in resolutions.items() if len(units) > 1)

    @cached_property
    def _strings(self) -> list[str]:
        return sorted(str(value) for value in self._values[Family.STRING])

    @cached_property
    def scale(self) -> int:
        """The factor that makes every number of the query an integer."""
        numbers = [Fraction(v) for v in self._values[Family.NUMBER] if isinstance(v, (int, float, Fraction))]
        resolutions = [
            resolution
            for a in self.query.mentioned
            if (resolution := self.query.column(a).type.resolution) is not None
        ]
        return lcm(*(n.denominator for n in numbers), *(s.denominator for s in resolutions), 1)

    def embed(self, family: Family, value: Value) -> int:
        """The integer that stands for a value that the query or its catalog names."""
        if family is Family.STRING:
            return bisect_left(self._strings, str(value))
        if family is Family.NUMBER:
            return int(Fraction(value) * self.scale)
        return int(value)

    def value(self, family: Family, number: int) -> Value:
        """The value that an integer stands for; the inverse of ``embed``."""
        if family is Family.STRING:
            return self._strings[number]
        if family is Family.NUMBER:
            exact = Fraction(number, self.scale)
            return int(exact) if exact.denominator == 1 else exact
        return number

    def resolution(self, attribute: Attribute) -> int | None:
        """The distance of neighbouring values of an attribute; None if it is dense."""
        if self.query.is_timestamp(attribute):
            return self.tick(attribute)
        resolution = self.query.column(attribute).type.resolution
        if resolution is None:
            return None
        return int(resolution * self.scale) if self.family(attribute) is Family.NUMBER else 1

    def tick(self, attribute: Attribute) -> int:
        """The distance of neighbouring application timestamps of the attribute's stream."""
        return self.query.occurrence(attribute.occurrence).relation.tick

    def enumerated(self, attribute: Attribute) -> bool:
        """Whether IN or the catalog lists the values of an attribute."""
        domain = domain_of(self.query, attribute)
        listed = any(isinstance(a, Membership) and a.attribute == attribute for a in self.query.where)
        return listed or (domain is not None and domain.values is not None)

    def constants(self, family: Family) -> list[int]:
        """The constants of a family, embedded and sorted: of conditions and of declared domains."""
        numbers = self._constants.get(family)
        if numbers is None:
            numbers = self._constants[family] = sorted({self.embed(family, v) for v in self._values[family]})
        return numbers

    @cached_property
    def _constants(self) -> dict[Family, list[int]]:
        return {}
