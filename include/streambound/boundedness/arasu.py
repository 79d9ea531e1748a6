"""Arasu et al., Theorems 4.2/4.3 and 5.2/5.3, on enumerated LTO branches.

*Theorem 4.2 (duplicate-preserving, n > 1)*: a satisfiable LTO query is computable in bounded memory
iff C1 every projected attribute is bounded, C2 both sides of every equality join are bounded, and
C3 MaxRef and MinRef of every stream are empty. *Theorem 5.2 (duplicate-eliminating)*: the same with
C3 |MaxRef|eq + |MinRef|eq <= 1 for every stream. *Theorems 4.3, 5.3*: a query is bounded iff each of
its LTO branches is. ``<=`` between streams is an inequality join as ``<`` is.

The paper's queries have infinite streams only, no ``<>`` between streams, and no application time.
Self-joins: Theorem 4.2 as it stands; for DISTINCT redundant occurrences are removed first (Appendix C).
"""

from __future__ import annotations

from streambound.boundedness.folding import folded
from streambound.boundedness.references import References
from streambound.boundedness.verdict import Outcome, Reason, Verdict
from streambound.constraints.branches import BRANCH_LIMIT, BranchLimit, lto_branches
from streambound.constraints.system import SearchLimit, system
from streambound.query.model import Attribute, Kind, Op, Query

NAME = "arasu"


def applies(query: Query) -> bool:
    """Whether the query is in the class that the theorems speak of."""
    crossing = any(
        atom.op is Op.NE
        and isinstance(atom.right, Attribute)
        and atom.left.occurrence != atom.right.occurrence
        for atom in query.comparisons
    )
    infinite = all(o.relation.kind is Kind.STREAM for o in query.occurrences)
    return infinite and not crossing and not query.timed


def arasu(query: Query) -> Verdict:
    """The theorems' verdict on a query that they apply to; UNKNOWN past the branch limit."""
    query = folded(query)
    if len(query.streams) == 1 and not query.distinct:
        return _verdict(Outcome.BOUNDED, "filter", "one stream: every predicate is a filter (section 4)")
    try:
        facts, streams = system(query), {o.alias: o.alias for o in query.streams}
        for branch in lto_branches(facts):
            if broken := _violation(References(facts.space, branch, streams), query):
                return _verdict(Outcome.UNBOUNDED, "condition-violated", broken)
    except (BranchLimit, SearchLimit):
        message = f"more than {BRANCH_LIMIT:,} locally totally ordered branches"
        return _verdict(Outcome.UNKNOWN, "search-limit", message)
    return _verdict(Outcome.BOUNDED, "conditions-hold", "C1, C2 and C3 hold in every branch")


def _violation(refs: References, query: Query) -> str | None:
    if not refs.projection_bounded():
        return "C1: a projected attribute is unbounded in a branch"
    if not refs.equalities_bounded():
        return "C2: an equality join has an unbounded side in a branch"
    allowed = 1 if query.distinct else 0
    for stream in query.streams:
        above, under = refs.max_ref(stream.alias), refs.min_ref(stream.alias)
        if refs.classes(above) + refs.classes(under) > allowed:
            return f"C3: MaxRef({stream.alias}) = {_set(above)}, MinRef({stream.alias}) = {_set(under)}"
    return None


def _set(attributes: list[Attribute]) -> str:
    return "{" + ", ".join(map(str, attributes)) + "}"


def _verdict(outcome: Outcome, code: str, message: str) -> Verdict:
    return Verdict(outcome, NAME, (Reason(code, message),))
