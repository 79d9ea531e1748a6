"""Schiff & Özçep's conditions on enumerated LTO branches, as printed.

For the queries on which the polynomial form (``schiff_ozcep``) is not proved to agree: columns of a
finite stream that are compared with another stream's, since in the printed conditions such a column
makes a comparison redundant without being a constant. The number of branches visited is limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from streambound.papers.branches import BRANCH_LIMIT, lto_branches
from streambound.papers.references import References
from streambound.papers.splits import Forest, Split, split_options
from streambound.query.model import Join, Op, Query


def violated_in_a_branch(split: Split, limit: int = BRANCH_LIMIT) -> str | None:
    """The condition of Theorem 1 (C3 to C5) or Theorem 2 that fails in a branch of a split.

    Raises:
        BranchLimit: more than ``limit`` steps.
    """
    if len(set(split.merged.values())) <= 1 and not split.facts.query.ring.idempotent:
        return None
    violations = (broken(refs, split.forest) for refs in branches(split, limit))
    return next((condition for condition in violations if condition), None)


def branches(split: Split, limit: int = BRANCH_LIMIT) -> Iterator[References]:
    """The LTO queries of a split (step 4 of the preprocessing).

    Raises:
        BranchLimit: more than ``limit`` steps.
    """
    facts, streams = split.system, split.merged
    splits = [split_options(a) for a in split_comparisons(split)]
    for branch in lto_branches(facts, splits, streams, limit):
        yield References(facts.space, branch, streams)


def split_comparisons(split: Split) -> list[Join]:
    """The comparisons between columns of two streams that are split (step 1 of the preprocessing)."""
    query = split.facts.query
    return [atom for atom in query.joins if _crosses(query, split.merged, atom)]


def broken(refs: References, forest: Forest) -> str | None:
    """The condition of Theorem 1 (C3 to C5) or Theorem 2 that fails in a branch."""
    return _eliminating(refs) if refs.query.ring.idempotent else _preserving(refs, forest)


def _crosses(query: Query, streams: Mapping[str, str], atom: Join) -> bool:
    if query.is_timestamp(atom.left):
        return False
    sides = [streams.get(a.occurrence) for a in atom.attributes]
    return atom.op in (Op.NE, Op.LE, Op.GE) and None not in sides and sides[0] != sides[1]


def _preserving(refs: References, forest: Forest) -> str | None:
    """C3 to C5 of Theorem 1 in a branch."""
    for attribute in refs.query.projected:
        infinite = attribute.occurrence in forest.streams
        if infinite and not forest.at_top(attribute.occurrence) and not refs.bounded(attribute):
            return f"C3: {attribute} is projected and unbounded in a branch"
    for left, right in refs.equalities():
        if not all(forest.at_top(a.occurrence) or refs.bounded(a) for a in (left, right)):
            return f"C4: {left} = {right} has an unbounded side in a branch"
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
