"""The definition, executed: slow, and obviously right.

The answer at a marker is the query over all tuples seen so far (Arasu et al., section 2.2; Schiff &
Özçep, execution model). What is new at a marker is the difference to the answer at the marker
before: of bags, or with DISTINCT of sets. Everything else in this project is tested against this
module; it shares no code with the plan.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.query.model import Attribute, Comparison, Membership, Op, Query, Term

_HOLDS = {
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.GE: operator.ge,
    Op.GT: operator.gt,
}

Match = Mapping[str, Encoded]


def reference(
    query: Query, batches: Iterable[Batch], static: Mapping[str, list[Encoded]]
) -> Iterator[list[Answer]]:
    """The new answers at each marker, by evaluating the query from scratch every time."""
    # A finite stream arrives like any other; only static relations are there from the start.
    seen: dict[str, list[Encoded]] = {o.relation.name: [] for o in query.occurrences}
    seen.update({name: list(rows) for name, rows in static.items()})
    before: Counter[tuple[Any, ...]] = Counter()
    for batch in batches:
        for name, tuples in batch.tuples.items():
            seen[name].extend(tuples)
        after = evaluate(query, seen)
        yield answers(query, batch.marker, after - before)
        before = after


def evaluate(query: Query, relations: Mapping[str, list[Encoded]]) -> Counter[tuple[Any, ...]]:
    """The answer of a query over finite relations: each row with its multiplicity."""
    aliases = [o.alias for o in query.occurrences]
    found: Counter[tuple[Any, ...]] = Counter()
    for combination in product(*(relations[o.relation.name] for o in query.occurrences)):
        match = dict(zip(aliases, combination, strict=True))
        if all(_holds(atom, match) for atom in query.where):
            found[tuple(_value(o.term, match) for o in query.select)] += 1
    return Counter(dict.fromkeys(found, 1)) if query.distinct else found


def _value(term: Term, match: Match) -> Any:
    return match[term.occurrence][term.column] if isinstance(term, Attribute) else term.value


def _holds(atom: Any, match: Match) -> bool:
    if isinstance(atom, Comparison):
        left, right = _value(atom.left, match), _value(atom.right, match)
        return left is not None and right is not None and _HOLDS[atom.op](left, right)
    if isinstance(atom, Membership):
        value = _value(atom.attribute, match)
        return value is not None and value in [member.value for member in atom.values]
    return False
