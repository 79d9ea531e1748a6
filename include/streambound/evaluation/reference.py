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
from functools import partial
from itertools import product
from typing import Any

from streambound.evaluation.events import Answer, Batch, Encoded, answers
from streambound.query.formula import holds
from streambound.query.model import Atom, Attribute, Filter, Join, Membership, NullTest, Op, Term
from streambound.query.statement import Selection, Statement

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
    query: Statement, batches: Iterable[Batch], static: Mapping[str, list[Encoded]]
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


def evaluate(query: Statement, relations: Mapping[str, list[Encoded]]) -> Counter[tuple[Any, ...]]:
    """The answer of a query over finite relations: each row with its multiplicity."""
    found: Counter[tuple[Any, ...]] = Counter()
    for block in query.blocks:
        rows = (row for selection in block.selections for row in _rows(selection, relations))
        found.update(block.ring.total((row, block.ring.one) for row in rows))
    return found


def _rows(selection: Selection, relations: Mapping[str, list[Encoded]]) -> Iterator[tuple[Any, ...]]:
    query = selection.base
    aliases = [o.alias for o in query.occurrences]
    for combination in product(*(relations[o.relation.name] for o in query.occurrences)):
        match = dict(zip(aliases, combination, strict=True))
        if holds(selection.formula, partial(_holds, match)):
            yield tuple(_value(o.term, match) for o in query.select)


def _value(term: Term, match: Match) -> Any:
    return match[term.occurrence][term.column] if isinstance(term, Attribute) else term.value


def _holds(match: Match, atom: Atom) -> bool:
    if isinstance(atom, Filter):
        value, constant = _value(atom.attribute, match), _value(atom.constant, match)
        return value is not None and bool(_HOLDS[atom.op](value, constant))
    if isinstance(atom, Join):
        left, right = _value(atom.left, match), _value(atom.right, match)
        if left is None or right is None:
            return False
        return bool(_HOLDS[atom.op](left, right + atom.offset if atom.offset else right))
    if isinstance(atom, Membership):
        value = _value(atom.attribute, match)
        return value is not None and value in [member.value for member in atom.values]
    if isinstance(atom, NullTest):
        return (_value(atom.attribute, match) is None) is atom.null
    return False
