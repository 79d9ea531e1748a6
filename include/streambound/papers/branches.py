"""Locally totally ordered branches (Arasu et al., Definition 4.1 and Theorem 4.1), by enumeration.

A branch fixes for each attribute of an infinite stream its zone, or that it lies among the known
constants (then it is bounded, and its exact value does not matter to the criteria), how it compares
with static attributes, and totally orders the attributes of a stream that share a zone. Each such
condition is a filter on single tuples. Contradictory branches are cut as soon as they arise; two
attributes that are bounded in a branch are not ordered, since no condition of the criteria asks how
they compare, and attributes that are neither projected nor compared with another stream's are left
alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, pairwise

from streambound.constraints.closure import Closure, Difference, at_least, at_most, below
from streambound.constraints.search import consistent
from streambound.constraints.system import System, finite
from streambound.query.model import Attribute

# Steps (decisions made, not only whole branches) before the enumeration gives up: about a second.
BRANCH_LIMIT = 5_000

Option = list[Difference]


class BranchLimit(Exception):
    """The enumeration took more steps than its limit."""


def lto_branches(
    facts: System,
    splits: Iterable[list[Option]] = (),
    merged: Mapping[str, str] | None = None,
    limit: int = BRANCH_LIMIT,
) -> Iterator[Closure]:
    """The closures of all satisfiable branches; ``splits`` are further disjunctions to resolve.

    ``merged`` names for an occurrence the stream that it is merged into (equal timestamps).

    Raises:
        BranchLimit: more than ``limit`` steps.
    """
    if facts.closure is None:
        return
    decisions = [*splits, *_decisions(facts, merged or {})]
    pending: list[tuple[Closure, int]] = [(facts.closure, 0)]
    visited = 0
    while pending:
        closure, depth = pending.pop()
        visited += 1
        if visited > limit:
            raise BranchLimit
        if depth == len(decisions):
            if consistent(closure, facts.disjunctions):
                yield closure
            continue
        for option in _still_open(facts, closure, decisions[depth]):
            if (narrowed := closure.assume(option)) is not None:
                pending.append((narrowed, depth + 1))


def _still_open(facts: System, closure: Closure, options: list[Option]) -> list[Option]:
    """The options to try: none but the empty one where the closure has decided, or has bounded."""
    if any(option and all(closure.implies(part) for part in option) for option in options):
        return [[]]
    named = {a for option in options for part in option for a in (part.high, part.low)}
    if all(finite(facts.space, closure, a) for a in named if a is not None):
        return [[]]
    return options


def _decisions(facts: System, merged: Mapping[str, str]) -> Iterator[list[Option]]:
    relevant = _relevant(facts)
    streams = [o.alias for o in facts.query.streams]
    for name in dict.fromkeys(merged.get(alias, alias) for alias in streams):
        mine = [alias for alias in streams if merged.get(alias, alias) == name]
        attributes = [a for a in relevant if a.occurrence in mine]
        for attribute in attributes:
            yield _positions(facts, attribute)
            # The values of a static relation are constants of the query, if not known yet.
            for static in (a for a in facts.space.mates(attribute) if facts.query.is_static(a)):
                yield _orders(attribute, static)
        for left, right in combinations(attributes, 2):
            if facts.space.family(left) is facts.space.family(right):
                yield _orders(left, right)


def _relevant(facts: System) -> list[Attribute]:
    """The attributes that the criteria ask about: projected, or compared with another stream's."""
    query = facts.query
    asked = set(query.projected)
    for atom in query.joins:
        if len({a.occurrence for a in atom.attributes}) == 2:
            asked.update(atom.attributes)
    return sorted(a for a in asked if not query.is_timestamp(a))


def _orders(left: Attribute, right: Attribute) -> list[Option]:
    return [
        [below(left, right)],
        [below(left, right, strict=False), below(right, left, strict=False)],
        [below(right, left)],
    ]


def _positions(facts: System, attribute: Attribute) -> list[Option]:
    constants = facts.space.constants(facts.space.family(attribute))
    if not constants:
        return [[]]
    outside = [
        [at_most(attribute, constants[0], strict=True)],
        [at_least(attribute, constants[-1], strict=True)],
    ]
    if facts.space.resolution(attribute) is not None:
        return [*outside, [at_least(attribute, constants[0]), at_most(attribute, constants[-1])]]
    points = [[at_least(attribute, c), at_most(attribute, c)] for c in constants]
    gaps = [
        [at_least(attribute, number, strict=True), at_most(attribute, following, strict=True)]
        for number, following in pairwise(constants)
    ]
    return [*outside, *points, *gaps]
