"""MaxRef, MinRef and boundedness of attributes in a branch, as both papers define them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streambound.constraints.closure import Closure
from streambound.constraints.space import Space
from streambound.constraints.system import finite
from streambound.query.model import Attribute, Query


@dataclass(frozen=True)
class References:
    """The notions of Arasu et al., Definitions 3.1, 3.2 and 4.2, on one branch of a query.

    Redundancy through constants is that of the journal version, which Schiff & Özçep quote as
    Definition 8; static attributes bound as constants do (their Definition 5). ``streams`` names for
    each occurrence of an infinite stream the (merged) stream that it is part of.
    """

    space: Space
    branch: Closure
    streams: Mapping[str, str]

    @property
    def query(self) -> Query:
        """The query."""
        return self.space.query

    def bounded(self, attribute: Attribute) -> bool:
        """Whether constants or static attributes bound an attribute from both sides."""
        if self.query.is_static(attribute) or finite(self.space, self.branch, attribute):
            return True
        mates = self.space.mates(attribute)
        statics = [a for a in mates if self.query.is_static(a)]
        if self.space.resolution(attribute) is None:
            finite_ones = [
                *statics,
                *(a for a in mates if self.space.resolution(a) is not None and self.bounded(a)),
            ]
            return any(self.branch.equates(attribute, a) for a in finite_ones)
        above = self.branch.upper(attribute) or any(self.branch.orders(attribute, s) for s in statics)
        under = self.branch.lower(attribute) or any(self.branch.orders(s, attribute) for s in statics)
        return bool(above) and bool(under)

    def projection_bounded(self) -> bool:
        """Whether every projected attribute is bounded."""
        return all(self.bounded(a) for a in self.query.projected if a.occurrence in self.streams)

    def equalities(self) -> list[tuple[Attribute, Attribute]]:
        """The implied equalities between two streams."""
        return [
            (attribute, second)
            for attribute, second in self._pairs()
            if self._comparable(attribute, second) and self.branch.equates(attribute, second)
        ]

    def equalities_bounded(self) -> bool:
        """Whether both sides of every implied equality between two streams are bounded."""
        return all(
            self.bounded(attribute) and self.bounded(second) for attribute, second in self.equalities()
        )

    def max_ref(self, stream: str) -> list[Attribute]:
        """Unbounded attributes of a stream above one of another in a non-redundant inequality."""
        return [
            a for a in self._unbounded(stream) if any(self._joins(low, a) for low in self._opposite(stream))
        ]

    def min_ref(self, stream: str) -> list[Attribute]:
        """Unbounded attributes of a stream below one of another in a non-redundant inequality."""
        return [
            a for a in self._unbounded(stream) if any(self._joins(a, high) for high in self._opposite(stream))
        ]

    def classes(self, attributes: list[Attribute]) -> int:
        """The number of equivalence classes that a set of attributes falls into."""
        leaders: list[Attribute] = []
        for attribute in attributes:
            if not any(self.branch.equates(attribute, leader) for leader in leaders):
                leaders.append(attribute)
        return len(leaders)

    def _infinite(self) -> list[Attribute]:
        ordinary = (a for a in self.query.mentioned if not self.query.is_timestamp(a))
        return [a for a in ordinary if a.occurrence in self.streams]

    def stream(self, attribute: Attribute) -> str:
        """The (merged) stream that an attribute belongs to."""
        return self.streams[attribute.occurrence]

    def _unbounded(self, stream: str) -> list[Attribute]:
        return [a for a in self._infinite() if self.stream(a) == stream and not self.bounded(a)]

    def _opposite(self, stream: str) -> list[Attribute]:
        return [a for a in self._infinite() if self.stream(a) != stream]

    def _pairs(self) -> list[tuple[Attribute, Attribute]]:
        attributes = self._infinite()
        return [(a, b) for a in attributes for b in attributes if a < b and self.stream(a) != self.stream(b)]

    def _comparable(self, left: Attribute, right: Attribute) -> bool:
        return self.space.family(left) is self.space.family(right)

    def _joins(self, low: Attribute, high: Attribute) -> bool:
        if not self._comparable(low, high) or not self.branch.orders(low, high):
            return False
        # Of dense and discrete attributes one can be bounded: then finitely many values decide.
        if self.bounded(low) or self.bounded(high):
            return False
        return not self.branch.orders(high, low) and not self.redundant(low, high)

    def redundant(self, low: Attribute, high: Attribute) -> bool:
        """Whether something lies between the two, so that their comparison says nothing (Definition 8)."""
        upper, lower = self.branch.upper(low), self.branch.lower(high)
        if upper is not None and lower is not None and upper[0] <= lower[0]:
            return True
        return any(self._between(low, e, high) for e in self.query.mentioned if e not in (low, high))

    def _between(self, low: Attribute, middle: Attribute, high: Attribute) -> bool:
        branch = self.branch
        if not self._comparable(low, middle) or self.query.is_timestamp(middle):
            return False
        inside = branch.orders(low, middle) and branch.orders(middle, high)
        return inside and not branch.orders(middle, low) and not branch.orders(high, middle)
