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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from streambound.boundedness.references import References
from streambound.boundedness.verdict import Outcome, Reason, Verdict
from streambound.constraints.branches import BRANCH_LIMIT, BranchLimit, Option, lto_branches
from streambound.constraints.closure import Closure
from streambound.constraints.system import SearchLimit, System, consistent, shifted, system
from streambound.constraints.time import TimeOrder
from streambound.query.model import Attribute, Comparison, Kind, Op, Query

NAME = "schiff_ozcep"


def applies(query: Query) -> bool:
    """Whether the query is in the normal form of Definition 4.

    Timestamps have no offsets and are not projected, and no stream occurs twice. For bags the theorem is
    applied to the occurrences of a stream all the same, as if they were streams (its proofs carry over).
    """
    names = [o.relation.name for o in query.occurrences if o.relation.kind is not Kind.STATIC]
    offsets = any(atom.offset for atom in query.comparisons)
    stamps = any(query.is_timestamp(a) for a in query.projected)
    repeated = query.distinct and len(set(names)) < len(names)
    return not repeated and not offsets and not stamps


def theorem(query: Query) -> str:
    """The key of the theorem that speaks of the query's projection."""
    return "schiff_ozcep_2" if query.distinct else "schiff_ozcep_1"


def schiff_ozcep(query: Query) -> Verdict:
    """The printed theorems' verdict on a query that they apply to."""
    facts = system(query)
    try:
        for split in _split_times(facts):
            broken = _violated(split)
            if broken is not None:
                outcome = Outcome.NO_VERDICT if query.distinct else Outcome.UNBOUNDED
                return _verdict(outcome, "condition-violated", broken)
    except (BranchLimit, SearchLimit):
        message = f"more than {BRANCH_LIMIT:,} locally totally ordered branches"
        return _verdict(Outcome.UNKNOWN, "search-limit", message)
    return _verdict(Outcome.BOUNDED, "conditions-hold", "the conditions hold in every branch")


def _split_times(facts: System) -> Iterator[System]:
    """The satisfiable queries that splitting the comparisons of timestamps gives."""
    if facts.closure is None:
        return
    atoms = [a for a in facts.query.comparisons if facts.query.is_timestamp(a.left) and a.op in _SPLITS]
    pending: list[tuple[Closure, int]] = [(facts.closure, 0)]
    while pending:
        closure, depth = pending.pop()
        if depth == len(atoms):
            if consistent(closure, facts.choices):
                yield replace(facts, closure=closure)
            continue
        for option in _options(atoms[depth]):
            if (narrowed := closure.assume(option)) is not None:
                pending.append((narrowed, depth + 1))


_SPLITS = {Op.NE: (Op.LT, Op.GT), Op.LE: (Op.LT, Op.EQ), Op.GE: (Op.GT, Op.EQ)}


def _options(atom: Comparison) -> list[Option]:
    if not isinstance(atom.right, Attribute):
        return [[]]
    return [shifted(atom.left, op, atom.right, atom.offset) for op in _SPLITS[atom.op]]


def _violated(facts: System) -> str | None:
    time = TimeOrder(facts)
    streams = _merged(time)
    if len(set(streams.values())) <= 1 and not facts.query.distinct:
        return None
    forest = _Forest.over(time, streams)
    if not facts.query.distinct and (broken := _shape(facts.query, forest)):
        return broken
    splits = [_options(a) for a in facts.query.comparisons if _crosses(facts.query, streams, a)]
    for branch in lto_branches(facts, splits, streams):
        refs = References(facts.space, branch, streams)
        broken = _eliminating(refs) if facts.query.distinct else _preserving(refs, forest)
        if broken:
            return broken
    return None


def _merged(time: TimeOrder) -> dict[str, str]:
    """For each infinite stream the first one with an equal timestamp."""
    closure, stamps = time.facts.closure, time.stamps
    assert closure is not None
    return {
        alias: next(
            other
            for other in time.infinite
            if other == alias
            or (other in stamps and alias in stamps and closure.equates(stamps[other], stamps[alias]))
        )
        for alias in time.infinite
    }


def _crosses(query: Query, streams: Mapping[str, str], atom: Comparison) -> bool:
    if not isinstance(atom.right, Attribute) or atom.op not in _SPLITS or query.is_timestamp(atom.left):
        return False
    sides = [streams.get(a.occurrence) for a in atom.attributes]
    return None not in sides and sides[0] != sides[1]


@dataclass(frozen=True)
class _Forest:
    """The reduced dependency graph: for each (merged) stream its parents."""

    streams: Mapping[str, str]
    parents: Mapping[str, frozenset[str]]

    @classmethod
    def over(cls, time: TimeOrder, streams: Mapping[str, str]) -> _Forest:
        """The graph of a query without non-strict comparisons of timestamps."""
        closure, stamps = time.facts.closure, time.stamps
        assert closure is not None
        names = sorted(set(streams.values()))
        later = {
            one: {
                other
                for other in names
                if one in stamps and other in stamps and _strictly(closure, stamps[one], stamps[other])
            }
            for one in names
        }
        parents = {
            one: frozenset(p for p in later[one] if not any(p in later[q] for q in later[one]))
            for one in names
        }
        return cls(streams, parents)

    def is_forest(self) -> bool:
        """Whether no stream has two parents."""
        return all(len(parents) <= 1 for parents in self.parents.values())

    def path(self, name: str) -> list[str]:
        """A stream and its ancestors up to the root."""
        found = [name]
        while parents := self.parents[found[-1]]:
            found.append(next(iter(parents)))
        return found

    def depth(self, alias: str) -> int:
        """The distance of an occurrence's stream to its root."""
        return len(self.path(self.streams[alias])) - 1

    def single(self) -> bool:
        """Whether there is one tree only."""
        return sum(not parents for parents in self.parents.values()) == 1

    def at_top(self, alias: str) -> bool:
        """Whether an occurrence's stream is the root of the only tree."""
        return self.single() and self.depth(alias) == 0


def _strictly(closure: Closure, early: Attribute, late: Attribute) -> bool:
    return closure.orders(early, late) and all(closure.implies(d) for d in shifted(early, Op.LT, late, 0))


def _shape(query: Query, forest: _Forest) -> str | None:
    """C1, C2 and the distances in C3."""
    if not forest.is_forest():
        return "C1: a stream has two later streams that are not ordered: the graph is no tree"
    for atom in query.comparisons:
        sides = [forest.streams.get(a.occurrence) for a in atom.attributes]
        names = [s for s in sides if s is not None and not query.is_timestamp(atom.left)]
        if len(set(names)) == 2 and not _adjacent(forest, *names):
            return f"C2: {atom} joins streams that are neither parent and child nor siblings"
    for attribute in query.projected:
        if attribute.occurrence in forest.streams and forest.depth(attribute.occurrence) > 1:
            return f"C3: {attribute} is projected from a stream two steps below its root"
    return None


def _adjacent(forest: _Forest, one: str, other: str) -> bool:
    up, down = forest.path(one), forest.path(other)
    if up[-1] != down[-1]:
        return len(up) == len(down) == 1
    return other in forest.parents[one] or one in forest.parents[other] or up[1:2] == down[1:2]


def _preserving(refs: References, forest: _Forest) -> str | None:
    """C3 to C5 of Theorem 1 in a branch."""
    for attribute in refs.query.projected:
        infinite = attribute.occurrence in forest.streams
        if infinite and not forest.at_top(attribute.occurrence) and not refs.bounded(attribute):
            return "C3: a projected attribute is unbounded in a branch"
    for one, other in refs.equalities():
        if not all(forest.at_top(a.occurrence) or refs.bounded(a) for a in (one, other)):
            return "C4: an equality join has an unbounded side in a branch"
    for name in sorted(set(forest.streams.values())):
        if not forest.at_top(name) and (refs.max_ref(name) or refs.min_ref(name)):
            return f"C5: MaxRef or MinRef of {name} is not empty"
    return None


def _eliminating(refs: References) -> str | None:
    """C1 to C3 of Theorem 2 in a branch."""
    if not refs.projection_bounded():
        return "C1: a projected attribute is unbounded in a branch"
    if not refs.equalities_bounded():
        return "C2: an equality join has an unbounded side in a branch"
    for name in sorted(set(refs.streams.values())):
        if refs.classes(refs.max_ref(name)) + refs.classes(refs.min_ref(name)) > 1:
            return f"C3: too many references at {name}"
    return None


def _verdict(outcome: Outcome, code: str, message: str) -> Verdict:
    return Verdict(outcome, NAME, (Reason(code, message),))
