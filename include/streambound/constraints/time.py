"""The time preorder of a query: which streams cannot arrive unboundedly later than which.

``X`` precedes ``T`` iff the comparisons of application timestamps imply ts(X) - ts(T) <= c for some
constant c: strict and non-strict order, equality, offsets and windows alike. Streams that precede
each other form one *composite* (equal timestamps merge streams; a window holds boundedly many
batches). A stream whose timestamp is bounded above is finite, as are streams declared so; finite
streams and static relations precede every stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streambound.constraints.system import System
from streambound.query.model import Attribute, Kind


@dataclass(frozen=True)
class TimeOrder:
    """The preorder on the occurrences of a satisfiable query."""

    facts: System

    @cached_property
    def stamps(self) -> dict[str, Attribute]:
        """The application timestamp of each occurrence that conditions mention."""
        query = self.facts.query
        return {a.occurrence: a for a in query.mentioned if query.is_timestamp(a)}

    @cached_property
    def finite(self) -> frozenset[str]:
        """The finite streams: declared so, or with a timestamp that is bounded above."""
        closure = self.facts.closure
        assert closure is not None
        declared = {o.alias for o in self.facts.query.occurrences if o.relation.kind is Kind.FINITE}
        ended = {alias for alias, stamp in self.stamps.items() if closure.upper(stamp) is not None}
        return frozenset(declared | ended)

    @cached_property
    def infinite(self) -> tuple[str, ...]:
        """The infinite streams, in FROM order."""
        return tuple(o.alias for o in self.facts.query.streams if o.alias not in self.finite)

    def precedes(self, early: str, late: str) -> bool:
        """Whether ``early`` cannot arrive unboundedly later than ``late``."""
        if early == late or early not in self.infinite:
            return True
        closure, stamps = self.facts.closure, self.stamps
        assert closure is not None
        if early not in stamps or late not in stamps:
            return False
        return closure.bound(stamps[early], stamps[late]) is not None

    def down(self, late: str) -> frozenset[str]:
        """The infinite streams that precede a stream, itself among them."""
        return frozenset(alias for alias in self.infinite if self.precedes(alias, late))

    def together(self, one: str, other: str) -> bool:
        """Whether two streams form one composite."""
        return self.precedes(one, other) and self.precedes(other, one)

    @cached_property
    def composites(self) -> tuple[frozenset[str], ...]:
        """The infinite streams by composite."""
        found: list[frozenset[str]] = []
        for alias in self.infinite:
            if not any(alias in composite for composite in found):
                found.append(frozenset(a for a in self.infinite if self.together(a, alias)))
        return tuple(found)

    def completes(self, alias: str) -> bool:
        """Whether every infinite stream precedes this one: it only ever completes matches."""
        return all(self.precedes(other, alias) for other in self.infinite)
