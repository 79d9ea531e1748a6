"""The published criteria by enumeration: every LTO branch, the conditions read off it as printed.

Arasu et al., Theorems 4.2/4.3 and 5.2/5.3, on the branches of Theorem 4.1; Schiff & Özçep, Theorems 1
and 2, on the branches of every way of splitting the comparisons of timestamps. Exponential, and
independent of the questions that Algorithm B.1 asks.
"""

from __future__ import annotations

from streambound.boundedness.criterion.folding import folded
from streambound.constraints.system import system
from streambound.papers import schiff_ozcep
from streambound.papers.branches import lto_branches
from streambound.papers.lto import violated_in_a_branch
from streambound.papers.references import References
from streambound.papers.splits import time_splits
from streambound.query.model import Query

NO_LIMIT = 10**9


def arasu_by_enumeration(query: Query) -> bool:
    """Whether C1, C2 and C3 of Theorem 4.2 (or 5.2) hold in every branch of a query."""
    query = folded(query)
    if len(query.streams) == 1 and not query.ring.idempotent:
        return True
    facts, streams = system(query), {o.alias: o.alias for o in query.streams}
    branches = lto_branches(facts, limit=NO_LIMIT)
    return all(_holds(References(facts.space, branch, streams), query) for branch in branches)


def _holds(refs: References, query: Query) -> bool:
    allowed = 1 if query.ring.idempotent else 0
    return (
        refs.projection_bounded()
        and refs.equalities_bounded()
        and all(
            refs.classes(refs.max_ref(s.alias)) + refs.classes(refs.min_ref(s.alias)) <= allowed
            for s in query.streams
        )
    )


def schiff_ozcep_by_enumeration(query: Query) -> bool:
    """Whether the conditions of Theorem 1 (or 2) hold in every branch of a query."""
    facts = system(query)
    return not any(
        schiff_ozcep.misshapen(split) or violated_in_a_branch(split, NO_LIMIT) for split in time_splits(facts)
    )
