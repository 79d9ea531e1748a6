"""The time preorder of a query: which streams cannot arrive unboundedly later than which.

``X`` precedes ``T`` iff the comparisons of application timestamps imply ts(X) - ts(T) <= c for some
constant c: strict and non-strict order, equality, offsets and windows alike. Streams that precede
each other form one *composite* (equal timestamps merge streams; a window holds boundedly many
batches). A stream whose timestamp is bounded above is finite, as are streams declared so; finite
streams and static relations precede every stream.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from streambound.constraints.closure import Closure
from streambound.constraints.system import System
from streambound.query.model import Attribute, RelationKind


@dataclass(frozen=True)
class TimeOrder:
    """The preorder on the occurrences of a satisfiable query.

    ``split`` is the closure of the timestamps where their comparisons were split, else the query's. ``kept``
    are columns of infinite streams whose declared number of values is kept (see ``beside``): they lie like
    those of finite streams, on either side of what is asked.
    """

    facts: System
    split: Closure | None = None
    kept: frozenset[Attribute] = frozenset()

    @cached_property
    def numbered(self) -> frozenset[Attribute]:
        """The columns of infinite streams with a declared number of values."""
        query = self.facts.query
        return frozenset(a for a in query.mentioned if a.occurrence in self.infinite and query.numbered(a))

    def beside(self, alias: str) -> TimeOrder:
        """The order where a stream is held, and what precedes it: their numbered columns have been seen."""
        return self.holding(self.down(alias))

    def holding(self, streams: frozenset[str]) -> TimeOrder:
        """The order where some streams are held: their numbered columns have been seen."""
        if not self.numbered:
            return self
        return replace(self, kept=frozenset(a for a in self.numbered if a.occurrence in streams))

    @cached_property
    def closure(self) -> Closure:
        """What is implied between timestamps."""
        closure = self.split or self.facts.closure
        assert closure is not None
        return closure

    @cached_property
    def stamps(self) -> dict[str, Attribute]:
        """The application timestamp of each occurrence that conditions mention."""
        space = self.facts.space
        return {a.occurrence: a for a in space.mentioned if space.query.is_timestamp(a)}

    @cached_property
    def finite(self) -> frozenset[str]:
        """The finite streams: declared so, or with a timestamp bounded above by a constant or by theirs."""
        declared = {o.alias for o in self.facts.query.occurrences if o.relation.kind is RelationKind.FINITE}
        ends = [None, *(self.stamps[alias] for alias in declared if alias in self.stamps)]
        ended = {
            alias
            for alias, stamp in self.stamps.items()
            if any(self.closure.bound(stamp, end) is not None for end in ends)
        }
        return frozenset(declared | ended)

    @cached_property
    def infinite(self) -> tuple[str, ...]:
        """The infinite streams, in FROM order."""
        return tuple(o.alias for o in self.facts.query.streams if o.alias not in self.finite)

    def precedes(self, early: str, late: str) -> bool:
        """Whether ``early`` cannot arrive unboundedly later than ``late``."""
        return early not in self.infinite or early in self.down(late)

    def down(self, late: str) -> frozenset[str]:
        """The infinite streams that precede a stream, itself among them."""
        closure = self._downs.get(late)
        if closure is None:
            closure = frozenset(alias for alias in self.infinite if self._precedes(alias, late))
            self._downs[late] = closure
        return closure

    @cached_property
    def _downs(self) -> dict[str, frozenset[str]]:
        return {}

    def _precedes(self, early: str, late: str) -> bool:
        if early == late:
            return True
        if early not in self.stamps or late not in self.stamps:
            return False
        return self.closure.bound(self.stamps[early], self.stamps[late]) is not None

    def together(self, first: str, second: str) -> bool:
        """Whether two streams form one composite."""
        return self.precedes(first, second) and self.precedes(second, first)

    @cached_property
    def composites(self) -> tuple[frozenset[str], ...]:
        """The infinite streams by composite."""
        groups: list[frozenset[str]] = []
        for alias in self.infinite:
            if not any(alias in composite for composite in groups):
                groups.append(frozenset(a for a in self.infinite if self.together(a, alias)))
        return tuple(groups)

    def completes(self, alias: str) -> bool:
        """Whether every infinite stream precedes this one: it only ever completes matches."""
        return all(self.precedes(stream, alias) for stream in self.infinite)
