"""What SUM and AVG show of what they sum: a number, or only that there is a row.

In a case in which a polynomial is 0 whatever comes, its sum is NULL or 0; where it is a function of the
keys, its mean is that function, and its variance nothing. Then Theorem L of docs/theory.md does not
speak: what is shown is that the group exists.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction

from streambound.constraints.cases import cases
from streambound.constraints.closure import Closure
from streambound.constraints.space import Space
from streambound.constraints.system import system
from streambound.query.column_types import Family
from streambound.query.formula import atoms_of
from streambound.query.model import Attribute, Constant, Output, Query, Term
from streambound.query.operators import Aggregate, AggregateKind
from streambound.query.statement import Selection


class Nature(Enum):
    """What is shown: the number of matches told by it, that there is one, or neither for certain."""

    NUMBER = "number"
    EXISTENCE = "existence"
    OPEN = "open"


_Reduced = dict[tuple[Attribute, ...], Fraction]


def nature(selection: Selection, aggregate: Aggregate, keys: int) -> Nature:
    """What a COUNT, SUM or AVG over a selection shows."""
    if aggregate.kind is AggregateKind.COUNT:
        return Nature.NUMBER if _free(selection, aggregate, keys) else Nature.OPEN
    natures = set[Nature]()
    for case in cases(selection):
        for part in case.parts:
            natures.add(_shown(part, selection, aggregate, keys))
    if natures == {Nature.EXISTENCE}:
        return Nature.EXISTENCE
    return Nature.NUMBER if natures == {Nature.NUMBER} and _free(selection, aggregate, keys) else Nature.OPEN


def _shown(part: Query, selection: Selection, aggregate: Aggregate, keys: int) -> Nature:
    if aggregate.polynomial is None:
        return Nature.NUMBER
    select = selection.base.select
    group = [o.term for o in select[:keys]]
    named = tuple(Output("", t) for t in (*group, *(select[p].term for p in aggregate.arguments)))
    query = Query(part.name, part.sql, part.ring, named, part.occurrences, part.where)
    facts = system(query)
    if facts.closure is None:
        return Nature.EXISTENCE
    sums: _Reduced = {}
    for factor, positions in aggregate.polynomial:
        value, rest = factor, list[Attribute]()
        for position in positions:
            reduced = _value(facts.space, facts.closure, select[position].term)
            if isinstance(reduced, Attribute):
                rest.append(reduced)
            else:
                value *= reduced
        monomial = tuple(sorted(rest))
        sums[monomial] = sums.get(monomial, Fraction(0)) + value
    left = {monomial: value for monomial, value in sums.items() if value}
    if aggregate.kind is AggregateKind.SUM:
        return Nature.NUMBER if left else Nature.EXISTENCE
    key_values = {_value(facts.space, facts.closure, term) for term in group}
    constant = all(attribute in key_values for monomial in left for attribute in monomial)
    return Nature.EXISTENCE if constant else Nature.NUMBER


def _value(space: Space, closure: Closure, term: Term) -> Attribute | Fraction:
    """The one value that an attribute can have, or the first attribute that it equals."""
    if isinstance(term, Constant):
        return Fraction(term.value) if isinstance(term.value, (int, float, Fraction)) else Fraction(0)
    if space.family(term) is Family.NUMBER:
        upper, lower = closure.upper(term), closure.lower(term)
        if upper is not None and upper == lower and not upper[1]:
            return Fraction(upper[0], space.scale)
    return next(a for a in space.mates(term) if closure.equates(a, term))


def _free(selection: Selection, aggregate: Aggregate, keys: int) -> bool:
    """Whether nothing else in the query depends on what expressions in an aggregate are computed from."""
    base = selection.base
    terms = [base.select[p].term for p in aggregate.arguments]
    derived = [t for t in terms if isinstance(t, Attribute) and base.column(t).of and not base.is_time(t)]
    group = [o.term for o in base.select[:keys] if isinstance(o.term, Attribute)]
    used = {a for atom in atoms_of(selection.formula) for a in atom.attributes} | set(group)
    bases = {(a.occurrence, name) for a in used for name in (base.column(a).of or (a.column,))}
    return not any((t.occurrence, name) in bases for t in derived for name in base.column(t).of)
