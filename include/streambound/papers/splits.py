"""Schiff & Özçep's preprocessing: comparisons of timestamps split, streams merged, the forest of time.

``<>`` and ``<=`` between timestamps are split into disjoint queries; streams with equal timestamps are
merged; a stream whose timestamp is bounded above is a finite stream. The dependency graph has an edge
from a stream to every stream that is strictly earlier; in its transitive reduction a later stream is the
parent of an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from streambound.constraints.closure import Closure, Difference
from streambound.constraints.search import consistent
from streambound.constraints.system import System, shifted
from streambound.constraints.time import TimeOrder
from streambound.papers.branches import BranchLimit, Option
from streambound.query.model import Join, Op

# Steps of splitting the comparisons of timestamps: 15 comparisons `<=` already have 32,768 splits.
SPLIT_LIMIT = 4_000

_SPLITS = {Op.NE: (Op.LT, Op.GT), Op.LE: (Op.LT, Op.EQ), Op.GE: (Op.GT, Op.EQ)}


def split_options(atom: Join) -> list[Option]:
    """The ways of splitting a comparison; one that changes nothing if it is not split."""
    if atom.op not in _SPLITS:
        return [[]]
    return [shifted(atom.left, op, atom.right, atom.offset) for op in _SPLITS[atom.op]]


@dataclass(frozen=True)
class Split:
    """A query with its comparisons of timestamps split in one way; ``made`` says in which."""

    facts: System
    stamps: Closure
    made: tuple[Difference, ...] = field(compare=False)

    @cached_property
    def time(self) -> TimeOrder:
        """The order of time in this split."""
        return TimeOrder(self.facts, self.stamps)

    @cached_property
    def system(self) -> System:
        """The conditions of the query in this split."""
        closure = None if self.facts.closure is None else self.facts.closure.assume(self.made)
        return System(self.facts.query, self.facts.space, closure, self.facts.disjunctions)

    @cached_property
    def merged(self) -> dict[str, str]:
        """For each infinite stream the first one with an equal timestamp."""
        time = self.time
        return {alias: next(o for o in time.infinite if self._equal(o, alias)) for alias in time.infinite}

    def _equal(self, first: str, second: str) -> bool:
        stamps = self.time.stamps
        if first == second:
            return True
        return first in stamps and second in stamps and self.stamps.equates(stamps[first], stamps[second])

    @cached_property
    def forest(self) -> Forest:
        """The reduced dependency graph."""
        names = sorted(set(self.merged.values()))
        later = {
            name: {later_name for later_name in names if self._strictly(name, later_name)} for name in names
        }
        parents = {
            name: frozenset(p for p in later[name] if not any(p in later[q] for q in later[name]))
            for name in names
        }
        return Forest(self.merged, parents)

    def _strictly(self, early: str, late: str) -> bool:
        stamps = self.time.stamps
        if early not in stamps or late not in stamps:
            return False
        return all(self.stamps.implies(d) for d in shifted(stamps[early], Op.LT, stamps[late], 0))


@dataclass(frozen=True)
class Forest:
    """For each merged stream its parents; ``streams`` names the merged stream of each stream."""

    streams: Mapping[str, str]
    parents: Mapping[str, frozenset[str]]

    def is_forest(self) -> bool:
        """Whether no stream has two parents."""
        return all(len(parents) <= 1 for parents in self.parents.values())

    def path(self, name: str) -> list[str]:
        """A stream and its ancestors up to the root."""
        path = [name]
        while parents := self.parents[path[-1]]:
            path.append(next(iter(parents)))
        return path

    def depth(self, alias: str) -> int:
        """The distance of an occurrence's stream to its root."""
        return len(self.path(self.streams[alias])) - 1

    def single(self) -> bool:
        """Whether there is one tree only."""
        return sum(not parents for parents in self.parents.values()) == 1

    def at_top(self, alias: str) -> bool:
        """Whether an occurrence's stream is the root of the only tree."""
        return self.single() and self.depth(alias) == 0


def time_splits(facts: System) -> Iterator[Split]:
    """The splits of a satisfiable query that its timestamps can meet, those of one shape once.

    Raises:
        BranchLimit: more than SPLIT_LIMIT steps.
    """
    if facts.closure is None or not facts.satisfiable():
        return
    query = facts.query
    stamps = [a for a in facts.space.mentioned if query.is_timestamp(a)]
    atoms = [a for a in query.joins if query.is_timestamp(a.left) and a.op in _SPLITS]
    named = {None, *stamps}
    disjunctions = tuple(c for c in facts.disjunctions if {c[0].high, c[0].low} <= named)
    pending: list[tuple[Closure, int, tuple[Difference, ...]]] = [(facts.closure.among(stamps), 0, ())]
    seen, work = set[object](), 0
    while pending:
        work += 1
        if work > SPLIT_LIMIT:
            raise BranchLimit
        closure, depth, made = pending.pop()
        if depth < len(atoms):
            for option in split_options(atoms[depth]):
                if (narrowed := closure.assume(option)) is not None:
                    pending.append((narrowed, depth + 1, (*made, *option)))
            continue
        split = Split(facts, closure, made)
        shape = (tuple(split.merged.items()), tuple(split.forest.parents.items()))
        if shape not in seen and consistent(closure, disjunctions):
            seen.add(shape)
            yield split
