"""DISTINCT parts whose rows another part gives as well: containment of conjunctive queries.

P is contained in Q if some map of Q's occurrences to P's of the same relation turns every condition of
Q into one that follows from P, and Q's SELECT list into P's. In a duplicate-free union P then adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from streambound.boundedness.criterion.folding import entailed
from streambound.constraints.system import within
from streambound.query.model import Query
from streambound.query.renaming import renamed, renamed_atom


def contained(part: Query, query: Query) -> bool:
    """Whether every row of ``part`` is one of ``query``, by a map of occurrences."""
    return any(_maps(part, query, names) for names in maps_of(part, query))


def maps_of(part: Query, query: Query) -> Iterator[Mapping[str, str]]:
    """The maps of the occurrences of ``query`` to those of ``part`` with the same relation."""
    targets = [[p.alias for p in part.occurrences if p.relation == o.relation] for o in query.occurrences]
    for combination in product(*targets):
        yield dict(zip((o.alias for o in query.occurrences), combination, strict=True))


def _maps(part: Query, query: Query, names: Mapping[str, str]) -> bool:
    if [renamed(o.term, names) for o in query.select] != [o.term for o in part.select]:
        return False
    wanted = [renamed_atom(atom, names) for atom in query.where]
    facts = within(part, wanted)
    return all(entailed(facts, atom) for atom in wanted)
