"""The compact plan of a query whose application timestamps are compared.

A *partial match* is a choice of one tuple for each of some streams that meets all conditions among
them. Streams that precede others in time come first, so what has to be remembered are partial matches
of sets of streams that are closed under "precedes" and linked by time conditions (other sets are
products of those). A partial match is a tuple of a wider stream, so its table is laid out like that
of a stream (see ``plan``): counts by clipped keys, or one real match for each key and extremum.

When composites enter (see ``clock``), new partial matches of a set W are, over all non-empty parts X
of it that enter now, the products of what is kept of the linked parts of W without X, and of X. An
answer is such a match of all streams (Schiff & Özçep, section 4, whose synopses these generalise).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from streambound.query.model import Attribute, Comparison, Op, Query
from streambound.synopsis.clock import Clock, Composite
from streambound.synopsis.plan import Cell, StreamSynopsis

Streams = frozenset[str]


@dataclass(frozen=True)
class Split:
    """A way to make a match: ``new`` composites with kept partial matches of each set in ``kept``."""

    new: tuple[Composite, ...]
    kept: tuple[Streams, ...]


@dataclass(frozen=True)
class MatchSynopsis:
    """What is kept of the partial matches of a set of streams.

    ``ages`` has for some of the streams how many of their last timestamps are told apart, and for
    how long (see ``Clock.margin``); ``splits`` are the ways in which new matches are made.
    """

    streams: tuple[str, ...]
    cells: tuple[Cell, ...]
    ages: tuple[tuple[str, int, int], ...]
    splits: tuple[Split, ...]

    @property
    def units(self) -> int:
        """The sum over the cells, for every combination of ages."""
        return prod(number + 1 for _, number, _ in self.ages) * sum(cell.units for cell in self.cells)


@dataclass(frozen=True)
class Window:
    """Tuples of a stream that are held as they came for ``hold``: ``ticks`` timestamps.

    ``rows`` is the declared number of tuples at each timestamp; a tuple takes ``width`` units.
    """

    alias: str
    relation: str
    hold: int
    ticks: int
    width: int
    rows: int | None

    def units(self, rows: int) -> int:
        """Stored values with so many tuples at each timestamp."""
        return self.ticks * rows * self.width


@dataclass(frozen=True)
class Remembered:
    """The answer rows of a DISTINCT query that may come again: at most ``number``, for each choice of
    a tuple of the ``recent`` ones of some streams: (stream, timestamps, declared tuples at each)."""

    number: int = 0
    recent: tuple[tuple[str, int, int | None], ...] = ()

    def size(self, rows: Mapping[str, int]) -> int:
        """How many there are with so many tuples at each timestamp."""
        return self.number * prod(ticks * rows[relation] for relation, ticks, _ in self.recent)

    @property
    def formula(self) -> str:
        """How many there are where tuples at a timestamp are not declared."""
        factors = [
            f"rows of {relation} per timestamp" for relation, _, declared in self.recent if declared is None
        ]
        known = self.number * prod(ticks * (declared or 1) for _, ticks, declared in self.recent)
        return " x ".join([str(known), *factors])


@dataclass(frozen=True)
class TimedPlan:
    """How a bounded query with time conditions is evaluated in one pass.

    ``joins`` are the comparisons between streams other than of timestamps; ``streams`` say which tuples
    count at all. ``remembered`` are the rows that a DISTINCT query remembers as answered;
    where the timestamp of a stream is projected, a row is forgotten once it cannot come again.
    ``linger`` is for how long after such a timestamp a row may come again at least (other parts of a
    statement may have it later). ``empty`` means that the answer is always empty.
    """

    query: Query
    clock: Clock
    joins: tuple[Comparison, ...] = ()
    streams: tuple[StreamSynopsis, ...] = ()
    synopses: tuple[MatchSynopsis, ...] = ()
    answers: tuple[Split, ...] = ()
    windows: tuple[Window, ...] = ()
    remembered: Remembered = Remembered()
    linger: int = 0
    empty: bool = False
    stateless: ClassVar[bool] = False

    @property
    def units(self) -> int | None:
        """Stored values and counts in the worst case; None if rows at a timestamp are not declared."""
        return (
            None if self.undeclared else self.size({n: rows for n, rows in self._sizing if rows is not None})
        )

    @property
    def ends(self) -> dict[int, int]:
        """The outputs after whose timestamp a row cannot come again, and how long after."""
        if not self.query.distinct:
            return {}
        terms = ((place, output.term) for place, output in enumerate(self.query.select))
        return {
            place: max(self.linger, self.clock.reach(term.occurrence))
            for place, term in terms
            if isinstance(term, Attribute) and self.query.is_timestamp(term)
        }

    def until(self, row: tuple[Any, ...]) -> int | None:
        """The last moment at which an answered row (encoded) can come again; None if there is none."""
        return min((row[place] + after for place, after in self.ends.items()), default=None)

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The streams whose number of tuples at a timestamp sizes the state and is not declared."""
        return tuple(dict.fromkeys(name for name, rows in self._sizing if rows is None))

    @property
    def _sizing(self) -> list[tuple[str, int | None]]:
        held = [(window.relation, window.rows) for window in self.windows]
        return held + [(relation, rows) for relation, _, rows in self.remembered.recent]

    def extreme(self, alias: str) -> bool:
        """Whether the first and the last of some tuples of a stream that differ in time alone stand for all.

        So it is where answers are asked for at the end of a batch of many timestamps: a match with another of
        them is one with the first too if the stream only precedes others, with the last if it only follows.
        """
        own = [order for order in self.clock.orders if alias in (order.early, order.late)]
        sides = {order.early == alias for order in own}
        told = any(alias == stream for synopsis in self.synopses for stream, _, _ in synopsis.ages)
        projected = any(a.occurrence == alias and self.query.is_timestamp(a) for a in self.query.projected)
        return (
            self.query.distinct
            and not (projected or told or self.clock.hold(alias) > 0)
            and len(sides) < 2
            and all(order.op is not Op.NE for order in own)
        )

    @property
    def tables(self) -> int:
        """The units of all tables."""
        return sum(synopsis.units for synopsis in self.synopses)

    def size(self, rows: Mapping[str, int]) -> int:
        """Units with so many tuples at each timestamp of the relations that are held."""
        held = sum(window.units(rows[window.relation]) for window in self.windows)
        return self.tables + held + self.remembered.size(rows)

    @property
    def formula(self) -> str:
        """The units where they depend on what is not declared."""
        held = [
            f"{w.ticks * w.width} x rows of {w.relation} per timestamp"
            if w.rows is None
            else str(w.units(w.rows))
            for w in self.windows
        ]
        remembered = [self.remembered.formula] * bool(self.remembered.number)
        return " + ".join([str(self.tables)] * bool(self.tables) + held + remembered)
