"""When a tuple enters the tables, and for how long its timestamp is still told apart.

Streams that precede each other form a *composite*, a stream of merged tuples: complete when the last
of its tuples is there. Time conditions with an offset let X arrive up to c after a T that it precedes
(ts(X) - ts(T) <= c), so composites enter the tables in the order of a *virtual time*: the timestamp of
their last tuple plus a *delay*, chosen so that where X precedes T, the X of a match never enters after
its T. Such delays exist because composites precede each other in an order. Until then tuples are held
as they came. Without offsets every delay is 0.

All times are integers: ticks, or microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from streambound.query.model import Join, Op, Query

Composite = frozenset[str]


def time_conditions(query: Query) -> tuple[Join, ...]:
    """The comparisons of a query between application timestamps of two occurrences."""
    return tuple(atom for atom in query.joins if query.is_timestamp(atom.left))


@dataclass(frozen=True)
class Precedence:
    """``ts(early) op ts(late) + offset`` with op one of ``<``, ``<=``, ``<>``."""

    early: str
    op: Op
    late: str
    offset: int


def orders(conditions: Iterable[Join]) -> Iterator[Precedence]:
    """Time conditions from each stream that they bound from above; ``<>`` from both."""
    for atom in conditions:
        left, right = atom.left.occurrence, atom.right.occurrence
        backwards = Precedence(right, atom.op.mirrored, left, -atom.offset)
        for order in (Precedence(left, atom.op, right, atom.offset), backwards):
            if order.op in (Op.LT, Op.LE, Op.NE):
                yield order
            elif order.op is Op.EQ:
                yield Precedence(order.early, Op.LE, order.late, order.offset)


@dataclass(frozen=True)
class Clock:
    """The time conditions of a satisfiable query between streams that do not end."""

    streams: tuple[str, ...]
    conditions: tuple[Join, ...]

    @cached_property
    def orders(self) -> tuple[Precedence, ...]:
        """The conditions, from each stream that they bound from above."""
        return tuple(orders(self.conditions))

    @cached_property
    def latest(self) -> Mapping[tuple[str, str], int]:
        """(X, T) to the least c with ts(X) - ts(T) <= c; no entry where there is none."""
        distances = {(alias, alias): 0 for alias in self.streams}
        for order in self.orders:
            if order.op is not Op.NE:
                pair = (order.early, order.late)
                by = order.offset - (order.op is Op.LT)
                distances[pair] = min(by, distances.get(pair, by))
        for middle in self.streams:
            before = [early for early, late in distances if late == middle]
            after = [late for early, late in distances if early == middle]
            for early, late in product(before, after):
                through = distances[early, middle] + distances[middle, late]
                distances[early, late] = min(through, distances.get((early, late), through))
        return distances

    def precedes(self, early: str, late: str) -> bool:
        """Whether ``early`` cannot arrive unboundedly later than ``late``."""
        return (early, late) in self.latest

    @cached_property
    def composites(self) -> tuple[Composite, ...]:
        """The streams by composite, each after those that precede it."""
        composites = {
            frozenset(a for a in self.streams if self.precedes(a, alias) and self.precedes(alias, a)): None
            for alias in self.streams
        }
        return tuple(sorted(composites, key=lambda c: (len(self._down(c)), sorted(c))))

    def _down(self, composite: Composite) -> list[str]:
        return [a for a in self.streams if self.precedes(a, min(composite))]

    def before(self, early: Composite, late: Composite) -> bool:
        """Whether a composite precedes another."""
        return early != late and self.precedes(min(early), min(late))

    @cached_property
    def delays(self) -> Mapping[Composite, int]:
        """How long after its last tuple a composite enters the tables."""
        delays: dict[Composite, int] = {}
        for late in self.composites:
            earlier = (delays[early] + self._lag(early, late) for early in delays if self.before(early, late))
            delays[late] = max((0, *earlier))
        return delays

    def _lag(self, early: Composite, late: Composite) -> int:
        """How much later than the last tuple of ``late`` that of ``early`` can be."""
        return max(min(self.latest[x, t] for t in late) for x in early)

    def composite(self, alias: str) -> Composite:
        """The composite of a stream."""
        return next(composite for composite in self.composites if alias in composite)

    def hold(self, alias: str) -> int:
        """For how long after its timestamp a tuple may still be part of a composite that has not entered."""
        mates = self.composite(alias)
        return max(self.latest[mate, alias] for mate in mates) + self.delays[mates]

    def reach(self, alias: str) -> int:
        """How much later than a stream that completes every match its partners can be."""
        return max(self.latest[partner, alias] for partner in self.streams)

    def completes(self, alias: str) -> bool:
        """Whether every stream precedes this one."""
        return all(self.precedes(partner, alias) for partner in self.streams)

    def margin(self, alias: str, inside: frozenset[str]) -> int:
        """For how long a stream's timestamp is told apart in partial matches of ``inside``.

        At virtual time v, conditions with the streams that are still to come hold for every tuple
        with a timestamp of at most v - margin.
        """
        pending = (o for o in self.orders if o.early == alias and o.late not in inside)
        return max((self.hold(o.late) - o.offset - (o.op is Op.LE) for o in pending), default=0)

    def components(self, streams: frozenset[str]) -> tuple[frozenset[str], ...]:
        """Streams split into parts that no time condition links."""
        rest, parts = set(streams), []
        while rest:
            part, pending = set[str](), [min(rest)]
            while pending:
                here = pending.pop()
                part.add(here)
                linked = {o.late for o in self.orders if o.early == here}
                linked |= {o.early for o in self.orders if o.late == here}
                pending.extend((linked & rest) - part)
            rest -= part
            parts.append(frozenset(part))
        return tuple(parts)
