"""Schiff & Özçep, Theorems 1 and 2 as printed, on queries that compare no timestamps.

Without comparisons of timestamps each stream is a tree of its own in the dependency graph, at
distance 0 from its root, so Theorem 1 (duplicate-preserving, more than one stream) asks: C3 every
projected attribute is bounded, C4 both sides of every equality join are bounded, C5 |MaxRef| +
|MinRef| = 0. One stream is always bounded (proof of Theorem 1). Theorem 2 (duplicate-eliminating)
is sufficient only: C1 projected attributes bounded, C2 equality joins bounded, C3 |MaxRef|eq +
|MinRef|eq <= 1; where it fails the paper says nothing.

Preprocessing splits ``<>`` and ``<=`` between streams into disjoint queries, as printed. The last
clause of C4 is a misprint (d(S_i) = 0 must read d(S_i) = 1); it concerns timed queries only.
Theorem 2 is not sound for timed queries, and the product never takes a verdict from this module.
"""

from __future__ import annotations

from streambound.boundedness.references import References
from streambound.boundedness.verdict import Outcome, Reason, Verdict
from streambound.constraints.branches import BRANCH_LIMIT, BranchLimit, Option, lto_branches
from streambound.constraints.closure import below
from streambound.constraints.system import SearchLimit, System, system
from streambound.query.model import Attribute, Comparison, Op, Query

NAME = "schiff_ozcep"


def applies(query: Query) -> bool:
    """Whether the query is in the papers' normal form: no stream occurs twice (Definition 4)."""
    names = [o.relation.name for o in query.streams]
    return len(set(names)) == len(names)


def theorem(query: Query) -> str:
    """The key of the theorem that speaks of the query's projection."""
    return "schiff_ozcep_2" if query.distinct else "schiff_ozcep_1"


def schiff_ozcep(query: Query) -> Verdict:
    """The printed theorems' verdict on a query that they apply to."""
    if len(query.streams) <= 1 and not query.distinct:
        return _verdict(Outcome.BOUNDED, "filter", "one stream: every predicate is a filter")
    facts = system(query)
    try:
        for branch in lto_branches(facts, _splits(facts)):
            if broken := _violation(References(facts.space, branch), query):
                outcome = Outcome.NO_VERDICT if query.distinct else Outcome.UNBOUNDED
                return _verdict(outcome, "condition-violated", broken)
    except (BranchLimit, SearchLimit):
        message = f"more than {BRANCH_LIMIT:,} locally totally ordered branches"
        return _verdict(Outcome.UNKNOWN, "search-limit", message)
    return _verdict(Outcome.BOUNDED, "conditions-hold", "the conditions hold in every branch")


def _splits(facts: System) -> list[list[Option]]:
    return [_options(atom) for atom in facts.query.comparisons if _crosses(facts.query, atom)]


def _crosses(query: Query, atom: Comparison) -> bool:
    if not isinstance(atom.right, Attribute) or atom.op not in (Op.NE, Op.LE, Op.GE):
        return False
    streams = {o.alias for o in query.streams}
    sides = {atom.left.occurrence, atom.right.occurrence}
    return len(sides) == 2 and sides <= streams


def _options(atom: Comparison) -> list[Option]:
    left, right = atom.left, atom.right
    assert isinstance(right, Attribute)
    equal: Option = [below(left, right, strict=False), below(right, left, strict=False)]
    less, more = [below(left, right)], [below(right, left)]
    return {Op.NE: [less, more], Op.LE: [less, equal], Op.GE: [more, equal]}[atom.op]


def _violation(refs: References, query: Query) -> str | None:
    if not refs.projection_bounded():
        return f"{'C1' if query.distinct else 'C3'}: a projected attribute is unbounded in a branch"
    if not refs.equalities_bounded():
        return f"{'C2' if query.distinct else 'C4'}: an equality join has an unbounded side in a branch"
    allowed, name = (1, "C3") if query.distinct else (0, "C5")
    for stream in query.streams:
        above, under = refs.max_ref(stream.alias), refs.min_ref(stream.alias)
        if refs.classes(above) + refs.classes(under) > allowed:
            return f"{name}: too many references at {stream.alias}"
    return None


def _verdict(outcome: Outcome, code: str, message: str) -> Verdict:
    return Verdict(outcome, NAME, (Reason(code, message),))
