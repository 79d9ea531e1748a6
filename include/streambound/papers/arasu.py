"""Arasu et al., Theorems 4.2/4.3 and 5.2/5.3, decided by their Algorithm B.1 (Appendix B).

*Theorem 4.2 (duplicate-preserving, n > 1)*: a satisfiable LTO query is computable in bounded memory
iff C1 every projected attribute is bounded, C2 both sides of every equality join are bounded, and
C3 MaxRef and MinRef of every stream are empty. *Theorem 5.2 (duplicate-eliminating)*: the same with
C3 |MaxRef|eq + |MinRef|eq <= 1 for every stream. *Theorems 4.3, 5.3*: a query is bounded iff each of
its LTO branches is. ``<=`` between streams is an inequality join as ``<`` is.

*Algorithm B.1* asks instead of enumerating branches: 1 is the query satisfiable; 2 is a projected
attribute unbounded; 3 is an equality join; 4 do the comparisons between at most four attributes violate
C3. Step 4 is asked of pairs of implied comparisons with ``System.satisfiable``, so that everything that
the whole query implies about the four attributes counts, not only how they compare with the least and
the greatest constant (docs/theory.md says where that matters).

The paper's queries have infinite streams only, no ``<>`` between streams, and no application time.
Self-joins: Theorem 4.2 as it stands; for DISTINCT redundant occurrences are removed first (Appendix C).
"""

from __future__ import annotations

from streambound.boundedness.criterion.crossings import crossings, unbounded_zone
from streambound.boundedness.criterion.folding import folded
from streambound.boundedness.criterion.pending import two_groups
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.constraints.search import SEARCH_LIMIT, SearchLimit
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.query.model import Op, Query, RelationKind

NAME = "arasu"


def applies(query: Query) -> bool:
    """Whether the query is in the class that the theorems speak of."""
    crossing = any(atom.op is Op.NE and atom.left.occurrence != atom.right.occurrence for atom in query.joins)
    infinite = all(o.relation.kind is RelationKind.STREAM for o in query.occurrences)
    return infinite and not crossing and not query.timed


def arasu(query: Query) -> Verdict:
    """The verdict by Algorithm B.1 on a query that the theorems apply to; UNKNOWN past the search limit."""
    query = folded(query)
    if len(query.streams) == 1 and not query.ring.idempotent:
        return _verdict(Outcome.BOUNDED, "filter", "one stream: every predicate is a filter (section 4)")
    try:
        facts = system(query)
        # Step 1; the others look for a condition that fails in some branch.
        broken = _violated(TimeOrder(facts)) if facts.satisfiable() else None
    except SearchLimit:
        message = f"the <> and IN conditions need more than {SEARCH_LIMIT:,} search steps"
        return _verdict(Outcome.UNKNOWN, "search-limit", message)
    if broken is not None:
        return _verdict(Outcome.UNBOUNDED, "condition-violated", broken)
    return _verdict(Outcome.BOUNDED, "conditions-hold", "C1, C2 and C3 hold in every branch")


def _violated(time: TimeOrder) -> str | None:
    """Steps 2 to 4 of Algorithm B.1."""
    facts = time.facts
    assert facts.closure is not None
    for attribute in facts.query.projected:
        if unbounded_zone(time, attribute) is not None:
            return f"C1: {attribute} is projected and unbounded in a branch"
    joins = crossings(time)
    for join in joins:
        if facts.closure.equates(join.low, join.high):
            return f"C2: {join.low} = {join.high} has an unbounded side in a branch"
        if not facts.query.ring.idempotent:
            return f"C3: MinRef({join.low.occurrence}) is not empty: {join.low} lies below {join.high}"
    for alias in time.infinite:
        pair = next(two_groups(facts, joins, {alias}, {alias}), None)
        if pair is not None:
            left, right = (f"{c.low} <= {c.high}" for c in pair[:2])
            return f"C3: |MaxRef({alias})|eq + |MinRef({alias})|eq > 1: {left} and {right} meet in a branch"
    return None


def _verdict(outcome: Outcome, code: str, message: str) -> Verdict:
    return Verdict(outcome, NAME, (Reason(code, message),))
