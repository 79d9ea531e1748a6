"""What each tuple of a segment adds to the counts of its summary, as tables of numbers.

See docs/theory.md, Segments. Tuples that no condition tells apart are one *symbol*. A segment's counts are
then numbers in one vector: of each symbol at the current timestamp, and of each entry of each set's table.
When a symbol arrives it adds to some entries (targets) the product of some other numbers (factors) as they
stood before: what is kept of the other parts, and the symbols of the same timestamp that conditions allow
with it. Symbols of the last stream add to a vector of their own, which nothing else depends on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streambound.plan.clock import Composite
from streambound.plan.model import Split, Streams
from streambound.state.row_join import PartialMatch, PartialMatches, Source
from streambound.state.segments import SegmentPlan
from streambound.state.table import ANY, Bucket, Layout, Values

# The number at this position is always 1.
UNITY = 0
Target = tuple[Streams, Bucket]


@dataclass
class Automaton:
    """Positions and products.

    ``starts`` has for each stream the position of its first symbol; ``counts`` and ``completions`` are the
    entries whose counts are kept, by position after the symbols, and those of sets with the last stream.
    ``products`` has for each position of a symbol the (target, factors) that it adds to.
    """

    starts: dict[str, int]
    symbols: int
    counts: dict[Target, int] = field(default_factory=dict)
    completions: dict[Target, int] = field(default_factory=dict)
    products: dict[int, list[tuple[int, tuple[int, ...]]]] = field(default_factory=dict)


def automaton(plan: SegmentPlan, symbols: Mapping[str, Sequence[Values]]) -> Automaton:
    """The automaton for tuples of some symbols: by stream, the values of one tuple of each."""
    return _Builder(plan, symbols).build()


def settled(plan: SegmentPlan, alias: str, values: Values) -> Values | None:
    """A tuple with the comparisons that hold for all like it; None if it is part of no match at all."""
    (profile,) = (s for s in plan.profiles if s.streams == (alias,))
    settled_values = dict(values)
    cells = [cell for cell in profile.cells if Layout(cell).accepts(values)]
    settled_values.update((pair, ANY) for cell in cells for pair in cell.settled)
    return settled_values if cells else None


class _Builder:
    def __init__(self, plan: SegmentPlan, symbols: Mapping[str, Sequence[Values]]) -> None:
        self.plan = plan
        self.positions: dict[int, int] = {}
        starts, position = {}, UNITY + 1
        self.arriving: dict[str, PartialMatches] = {}
        self.kept: dict[Streams, PartialMatches] = {}
        for alias, representatives in symbols.items():
            partial_matches = [PartialMatch(values, {alias: 0}) for values in representatives]
            starts[alias] = position
            self.positions.update((id(match), position + i) for i, match in enumerate(partial_matches))
            self.arriving[alias] = PartialMatches(partial_matches)
            position += len(partial_matches)
        self.built = Automaton(starts, position)

    def build(self) -> Automaton:
        for profile in self.plan.profiles:
            streams = frozenset(profile.streams)
            layouts = [Layout(cell) for cell in profile.cells]
            for split in profile.splits:
                if at_once(self.plan, split.new):
                    self._split(streams, layouts, split)
            if self.plan.last not in streams:
                self.kept[streams] = self._representatives(streams, layouts)
        return self.built

    def _split(self, streams: Streams, layouts: Sequence[Layout], split: Split) -> None:
        new = sorted(alias for composite in split.new for alias in composite)
        first = self.plan.last if self.plan.last in new else new[0]
        assert first is not None
        sources: list[Source] = [(frozenset((alias,)), self.arriving[alias]) for alias in new]
        sources += [(part, self.kept[part]) for part in split.kept]
        for owners, _ in self.plan.join.owners(sources):
            values: Values = {}
            for match in owners.values():
                values.update(match.values)
            symbol = self.positions[id(owners[first])]
            factors = {self.positions[id(match)] for match in owners.values()} - {symbol}
            for number, shape in enumerate(layouts):
                if shape.accepts(values):
                    target = self._position((streams, (number, shape.bucket(values))))
                    self.built.products.setdefault(symbol, []).append((target, tuple(sorted(factors))))

    def _position(self, target: Target) -> int:
        if self.plan.last in target[0]:
            return self.built.completions.setdefault(target, len(self.built.completions))
        return self.built.counts.setdefault(target, self.built.symbols + len(self.built.counts))

    def _representatives(self, streams: Streams, layouts: Sequence[Layout]) -> PartialMatches:
        partial_matches = []
        for (of, (number, key)), position in self.built.counts.items():
            if of == streams:
                partial_matches.append(PartialMatch(layouts[number].representative(key, (), ()), {}))
                self.positions[id(partial_matches[-1])] = position
        return PartialMatches(partial_matches)


def at_once(plan: SegmentPlan, new: tuple[Composite, ...]) -> bool:
    """Whether tuples of one timestamp may be in one match."""
    streams = frozenset().union(*new)
    return all(
        atom.op.holds(0, atom.offset)
        for atom in plan.plan.clock.conditions
        if {a.occurrence for a in atom.attributes} <= streams
    )
