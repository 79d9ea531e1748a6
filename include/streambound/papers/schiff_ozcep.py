"""Schiff & Özçep, Theorems 1 and 2 as printed.

Preprocessing: ``<>`` and ``<=`` (between streams, and between timestamps) are split into disjoint
queries; streams with equal timestamps are merged; a stream whose timestamp is bounded above is a
finite stream. The dependency graph has an edge from a stream to every stream that is strictly earlier;
its transitive reduction must be a forest, a later stream being the parent of an earlier one.

*Theorem 1 (duplicate-preserving, more than one infinite stream)*: bounded iff C1 the graph is a forest;
C2 a join links a stream with its parent, its sibling, or roots of different trees; C3 projected
attributes are at most one step from their root, and bounded unless they belong to the root of the only
tree; C4 both sides of equality joins are bounded, except at the root of the only tree; C5 MaxRef and
MinRef are empty, except there. The last clause of C4 is a misprint: d(S_i) = 0 must read d(S_i) = 1.
Its conditions are sufficient, but C1, C2 and the distance in C3 are not necessary (docs/theory.md).

*Theorem 2 (duplicate-eliminating)* is sufficient only: C1 projected attributes are bounded, C2 equality
joins are bounded, C3 |MaxRef|eq + |MinRef|eq <= 1. Where it fails the paper says nothing. It is not
sound either (docs/theory.md has the counterexample), and the product never takes a verdict from here.

Branches are not enumerated, in the manner of Algorithm B.1 of Arasu et al.: a condition fails in some
branch iff one or two comparisons can meet (docs/theory.md). Two parts are, each with a named limit: the
ways of splitting the comparisons of timestamps (``splits``), and the branches of a query that compares a
finite stream's columns with another stream's (``lto``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from streambound.boundedness.criterion.crossings import (
    Crossing,
    crossings,
    shared_zones,
    unbounded_zone,
    unequal_crossings,
)
from streambound.boundedness.criterion.pending import two_groups
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.constraints.closure import Closure
from streambound.constraints.search import SEARCH_LIMIT, SearchLimit
from streambound.constraints.system import System, differences, system
from streambound.constraints.time import TimeOrder
from streambound.papers.branches import BRANCH_LIMIT, BranchLimit
from streambound.papers.lto import violated_in_a_branch
from streambound.papers.splits import SPLIT_LIMIT, Forest, Split, time_splits
from streambound.query.model import Attribute, Op, Query, RelationKind

NAME = "schiff_ozcep"


def applies(query: Query) -> bool:
    """Whether the query is in the normal form of Definition 4.

    Timestamps have no offsets and are not projected, and no stream occurs twice. For bags the theorem is
    applied to the occurrences of a stream all the same, as if they were streams (its proofs carry over).
    """
    names = [o.relation.name for o in query.occurrences if o.relation.kind is not RelationKind.STATIC]
    offsets = any(atom.offset for atom in query.joins)
    stamps = any(query.is_timestamp(a) for a in query.projected)
    repeated = query.ring.idempotent and len(set(names)) < len(names)
    return not repeated and not offsets and not stamps


def theorem(query: Query) -> str:
    """The key of the theorem that speaks of the query's projection."""
    return "schiff_ozcep_2" if query.ring.idempotent else "schiff_ozcep_1"


def schiff_ozcep(query: Query) -> Verdict:
    """The printed theorems' verdict on a query that they apply to; UNKNOWN past a named limit."""
    conditions = Conditions(system(query))
    try:
        for split in time_splits(conditions.facts):
            broken = misshapen(split) or conditions.violated(split)
            if broken is not None:
                outcome = Outcome.NO_VERDICT if query.ring.idempotent else Outcome.UNBOUNDED
                return _verdict(outcome, "condition-violated", broken)
    except BranchLimit:
        message = (
            f"more than {SPLIT_LIMIT:,} splits of time conditions, or {BRANCH_LIMIT:,} locally totally "
            "ordered branches"
        )
        return _verdict(Outcome.UNKNOWN, "search-limit", message)
    except SearchLimit:
        message = f"the <> and IN conditions need more than {SEARCH_LIMIT:,} search steps"
        return _verdict(Outcome.UNKNOWN, "search-limit", message)
    return _verdict(Outcome.BOUNDED, "conditions-hold", "the conditions hold in every branch")


def misshapen(split: Split) -> str | None:
    """C1, C2 and the distances in C3 of Theorem 1, which no branch decides."""
    query, forest = split.facts.query, split.forest
    if query.ring.idempotent or len(set(split.merged.values())) <= 1:
        return None
    if not forest.is_forest():
        return "C1: a stream has two later streams that are not ordered: the graph is no tree"
    for atom in query.joins:
        sides = [forest.streams.get(a.occurrence) for a in atom.attributes]
        names = [s for s in sides if s is not None and not query.is_timestamp(atom.left)]
        if len(set(names)) == 2 and not _adjacent(forest, *names):
            return f"C2: {atom} joins streams that are neither parent and child nor siblings"
    for attribute in query.projected:
        if attribute.occurrence in forest.streams and forest.depth(attribute.occurrence) > 1:
            return f"C3: {attribute} is projected from a stream two steps below its root"
    return None


def _adjacent(forest: Forest, first: str, second: str) -> bool:
    up, down = forest.path(first), forest.path(second)
    if up[-1] != down[-1]:
        return len(up) == len(down) == 1
    return second in forest.parents[first] or first in forest.parents[second] or up[1:2] == down[1:2]


@dataclass(frozen=True)
class Conditions:
    """The conditions on branches; what does not depend on time is found once for all splits."""

    facts: System

    @cached_property
    def _apart(self) -> TimeOrder:
        """The query without time: every stream by itself."""
        stamps = [a for a in self.facts.space.mentioned if self.facts.query.is_timestamp(a)]
        return TimeOrder(self.facts, Closure.over({a: self.facts.space.resolution(a) for a in stamps}))

    @cached_property
    def _joins(self) -> list[Crossing]:
        """What a branch can leave undecided between two streams, ``<>`` split in both ways."""
        return [*crossings(self._apart), *(c for _, c in unequal_crossings(self._apart))]

    @cached_property
    def _equalities(self) -> list[tuple[Attribute, Attribute]]:
        """The equality joins of infinitely many values that splitting ``<=`` gives, and those written."""
        equalities = []
        for atom in self.facts.query.joins:
            if atom.op not in (Op.EQ, Op.LE, Op.GE):
                continue
            left, right = atom.left, atom.right
            equal = tuple(differences(left, Op.EQ, right))
            two = atom.left.occurrence != atom.right.occurrence
            infinite = {a.occurrence for a in atom.attributes} <= set(self._apart.infinite)
            ordinary = not self.facts.query.is_timestamp(left)
            if two and infinite and ordinary and any(shared_zones(self._apart, left, right, equal)):
                equalities.append((left, right))
        return equalities

    def violated(self, split: Split) -> str | None:
        """The condition that fails in some branch of a split.

        Raises:
            BranchLimit: branches had to be enumerated, and were too many.
            SearchLimit: see ``System.satisfiable``.
        """
        streams = split.merged
        if len(set(streams.values())) <= 1 and not self.facts.query.ring.idempotent:
            return None
        if self._branching(split):
            return violated_in_a_branch(split)
        idempotent = self.facts.query.ring.idempotent
        return self._eliminating(streams) if idempotent else self._preserving(split.forest)

    def _branching(self, split: Split) -> bool:
        query = self.facts.query
        ended = (
            split.time.finite & {a.occurrence for a in atom.attributes}
            for atom in query.joins
            if not query.is_timestamp(atom.left) and len({a.occurrence for a in atom.attributes}) == 2
        )
        return any(ended)

    def _unbounded(self, attribute: Attribute) -> bool:
        return unbounded_zone(self._apart, attribute) is not None

    def _preserving(self, forest: Forest) -> str | None:
        """C3 to C5: of two streams that a join links, one at least is not the root of the only tree."""
        for attribute in self.facts.query.projected:
            alias = attribute.occurrence
            if alias in forest.streams and not forest.at_top(alias) and self._unbounded(attribute):
                return f"C3: {attribute} is projected and unbounded in a branch"
        for join in self._joins:
            if _links(forest.streams, join.low, join.high):
                return f"C4, C5: {join.low} and {join.high} are compared and unbounded in a branch"
        return None

    def _eliminating(self, streams: Mapping[str, str]) -> str | None:
        """C1 to C3 of Theorem 2."""
        for attribute in self.facts.query.projected:
            if attribute.occurrence in streams and self._unbounded(attribute):
                return f"C1: {attribute} is projected and unbounded in a branch"
        for left, right in self._equalities:
            if _links(streams, left, right):
                return f"C2: {left} and {right} are equal and unbounded in a branch"
        joins = [c for c in self._joins if _links(streams, c.low, c.high)]
        for name in dict.fromkeys(streams.values()):
            side = {alias for alias, merged in streams.items() if merged == name}
            if (pair := next(two_groups(self.facts, joins, side, side), None)) is not None:
                return (
                    f"C3: {pair[0].low} <= {pair[0].high} and {pair[1].low} <= {pair[1].high} refer to {name}"
                )
        return None


def _links(streams: Mapping[str, str], left: Attribute, right: Attribute) -> bool:
    sides = {streams.get(left.occurrence), streams.get(right.occurrence)}
    return len(sides) == 2 and None not in sides


def _verdict(outcome: Outcome, code: str, message: str) -> Verdict:
    return Verdict(outcome, NAME, (Reason(code, message),))
