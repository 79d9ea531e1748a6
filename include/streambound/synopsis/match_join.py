"""Joins partial matches of disjoint sets of streams into matches of their union."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streambound.query.conditions import holds
from streambound.query.model import Attribute, Comparison, Op
from streambound.synopsis.matches import Values
from streambound.synopsis.state import ANY, op_between


@dataclass(frozen=True)
class Match:
    """A partial match, or what represents several: values by column, timestamps by stream.

    A timestamp that is missing is so old that every condition still to be asked holds.
    """

    values: Values
    stamps: Mapping[str, int]
    weight: int = 1

    def towards(self, mine: Attribute, other: Attribute) -> Any:
        """The value of a column to compare with one of another stream."""
        found = self.values.get((mine, other))
        return self.values.get(mine, ANY) if found is None else found


# The streams that some partial matches are of, and those matches.
Source = tuple[frozenset[str], Sequence[Match]]
# The match that each stream's tuple is part of.
Owners = dict[str, Match]


@dataclass(frozen=True)
class MatchJoin:
    """The conditions between streams: of columns, and of timestamps."""

    joins: tuple[Comparison, ...]
    times: tuple[Comparison, ...]

    def owners(self, sources: Iterable[Source]) -> Iterator[tuple[Owners, int]]:
        """Every combination that meets the conditions, and how often it occurs."""
        ordered = sorted(sources, key=lambda source: len(source[1]))
        if ordered and ordered[0][1]:
            steps, bound = [], frozenset[str]()
            for streams, matches in ordered:
                steps.append(_Step(self, streams, bound, matches))
                bound |= streams
            yield from self._extend(steps, 0, {}, 1)

    def _extend(
        self, steps: list[_Step], depth: int, owners: Owners, weight: int
    ) -> Iterator[tuple[Owners, int]]:
        if depth == len(steps):
            yield owners, weight
            return
        step = steps[depth]
        for match in step.candidates(owners):
            held = {**owners, **dict.fromkeys(step.streams, match)}
            yield from self._extend(steps, depth + 1, held, weight * match.weight)

    def matches(self, sources: Iterable[Source]) -> Iterator[Match]:
        """Every combination as one match."""
        for owners, weight in self.owners(sources):
            values: Values = {}
            stamps: dict[str, int] = {}
            for match in {id(m): m for m in owners.values()}.values():
                values.update(match.values)
                stamps.update(match.stamps)
            yield Match(values, stamps, weight)


class _Step:
    """One source in the join order: its matches that agree with those chosen before."""

    def __init__(
        self, join: MatchJoin, streams: frozenset[str], bound: frozenset[str], matches: Sequence[Match]
    ) -> None:
        self.streams, self.matches = streams, matches
        pairs = [pair for atom in join.joins for pair in _oriented(atom, streams, bound)]
        self.equal = [(mine, other) for mine, op, other in pairs if op is Op.EQ]
        self.rest = [pair for pair in pairs if pair[1] is not Op.EQ]
        self.times = [atom for atom in join.times if any(_oriented(atom, streams, bound))]
        self.index: dict[tuple[Any, ...], list[Match]] = {}
        if self.equal:
            for match in matches:
                key = tuple(match.values[mine] for mine, _ in self.equal)
                self.index.setdefault(key, []).append(match)

    def candidates(self, owners: Owners) -> Iterator[Match]:
        """The matches that agree; equated columns are always faithful."""
        found = self.matches
        if self.equal:
            values = tuple(owners[other.occurrence].values[other] for _, other in self.equal)
            found = self.index.get(values, [])
        for match in found:
            if self._timely(match, owners) and all(
                op_between(op, match.towards(mine, other), owners[other.occurrence].towards(other, mine))
                for mine, op, other in self.rest
            ):
                yield match

    def _timely(self, match: Match, owners: Owners) -> bool:
        for atom in self.times:
            assert isinstance(atom.right, Attribute)
            left, right = (
                (match if alias in self.streams else owners[alias]).stamps.get(alias)
                for alias in (atom.left.occurrence, atom.right.occurrence)
            )
            if left is not None and right is not None and not holds(atom.op, left, right + atom.offset):
                return False
        return True


def _oriented(
    atom: Comparison, streams: frozenset[str], bound: frozenset[str]
) -> Iterator[tuple[Attribute, Op, Attribute]]:
    left, right = atom.left, atom.right
    assert isinstance(right, Attribute)
    if left.occurrence in streams and right.occurrence in bound:
        yield left, atom.op, right
    elif right.occurrence in streams and left.occurrence in bound:
        yield right, atom.op.mirrored, left
