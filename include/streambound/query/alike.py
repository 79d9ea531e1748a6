"""Comparisons of one function of two columns, which hold where the columns are equal."""

from __future__ import annotations

import re
from dataclasses import replace

from streambound.query.formula import AllOf, Formula, all_of, atoms_of
from streambound.query.model import Attribute, Join, Op, Term
from streambound.query.statement import Selection, Statement

# A length of time added to what stands before it.
_LATER = re.compile(r"(.*\S)\s*\+\s*INTERVAL\s*'?\s*\d+[^()+-]*", re.IGNORECASE | re.DOTALL)


def without_alike(statement: Statement) -> Statement:
    """Without comparisons that hold where two columns are equal, if one of them is only shown beside.

    Of ``o.id = s.oid AND f(s.id) BETWEEN f(o.id) AND f(o.id) + INTERVAL '7' DAY`` let only tuples of s arrive
    whose id is their oid: then f(s.id) is f(o.id), and what is left is ``o.id = s.oid``.
    """
    if len(statement.selections) != 1 or any(block.then is not None for block in statement.blocks):
        return statement
    (selection,) = statement.selections
    atoms = selection.formula.parts if isinstance(selection.formula, AllOf) else ()
    joins = [atom for atom in atoms if isinstance(atom, Join)]
    for atom in joins:
        left, right = (_base_of(selection, end) for end in atom.attributes)
        if left is None or right is None or left == right:
            continue
        alike = [a for a in joins if {_base_of(selection, end) for end in a.attributes} == {left, right}]
        if not all(_alike(selection, each) for each in alike):
            continue
        rest = [each for each in atoms if each not in alike]
        mentioned = {a for each in rest for part in atoms_of(each) for a in part.attributes}
        mentioned |= {base for a in mentioned if (base := _base_of(selection, a)) is not None}
        for free, bound in ((left, right), (right, left)):
            if free not in mentioned and _equated(selection, joins, free, bound):
                return _asking(statement, selection, all_of(rest), free)
    return statement


def _equated(selection: Selection, joins: list[Join], free: Attribute, bound: Attribute) -> bool:
    """Whether another column of the free one's tuple equals the bound one, and the free one may be it."""
    for join in joins:
        pair = set(join.attributes)
        if join.op is not Op.EQ or join.offset or bound not in pair:
            continue
        for beside in pair - {bound}:
            left, right = selection.base.column(free), selection.base.column(beside)
            plain = left.domain is None and left.cardinality is None and not right.of
            if beside.occurrence == free.occurrence and plain and left.type == right.type:
                return True
    return False


def _asking(statement: Statement, selection: Selection, formula: Formula, hidden: Attribute) -> Statement:
    """A statement of one selection under other conditions, without the outputs that a column is part of."""
    kept = [
        number
        for number, output in enumerate(selection.base.select)
        if hidden not in (output.term, _base_of(selection, output.term))
        or not isinstance(output.term, Attribute)
    ]
    base = replace(selection.base, select=tuple(selection.base.select[n] for n in kept))
    (block,) = statement.blocks
    made = replace(block, selections=(replace(selection, base=base, formula=formula),))
    return replace(statement, blocks=(made,), outputs=tuple(statement.outputs[n] for n in kept))


def _base_of(selection: Selection, attribute: Term) -> Attribute | None:
    """The one column that a derived one is computed from."""
    if not isinstance(attribute, Attribute):
        return None
    of = selection.base.column(attribute).of
    return Attribute(attribute.occurrence, of[0]) if len(of) == 1 else None


def _alike(selection: Selection, join: Join) -> bool:
    """Whether a comparison of one function of two columns holds where these are equal."""
    left, right = (_function(selection, end) for end in join.attributes)
    later = [_LATER.fullmatch(text.removeprefix("(").removesuffix(")")) for text in (left, right)]
    if left == right:
        return join.op in (Op.LE, Op.EQ, Op.GE) and not join.offset
    if later[1] is not None and f"({later[1][1]})" == left:
        return join.op in (Op.LT, Op.LE) and not join.offset
    return later[0] is not None and f"({later[0][1]})" == right and join.op in (Op.GT, Op.GE)


def _function(selection: Selection, attribute: Attribute) -> str:
    """The text of a derived column with one word for what it is computed from."""
    base = _base_of(selection, attribute)
    name = "" if base is None else re.escape(base.column)
    return re.sub(rf"\b{name}\b", "#", attribute.column) if name else attribute.column
