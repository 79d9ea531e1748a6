"""Offsets that no shift of the columns removes, as in a band join (section "Offsets" of docs/theory.md).

With duplicates a comparison with an offset is a comparison. Under DISTINCT over whole numbers the verdict
is that without offsets: what waits lies in a band of bounded width, so it is boundedly many points, and a
cycle of offsets is as good as an equality. Over dense domains that is false, and such a query stays open.
Constants would have to be shifted too, so it is asked only where there are none.
"""

from __future__ import annotations

from dataclasses import replace

from streambound.query.formula import Formula, atoms_of
from streambound.query.model import Attribute, Filter, Join, Membership, Query
from streambound.query.renaming import mapped_formula
from streambound.query.statement import Selection, Statement


def level(statement: Statement) -> Statement | None:
    """The statement without offsets, where its verdict is the same; None where that is not known."""
    shifted = False
    for selection in statement.selections:
        base = selection.base
        attributes = {a for atom in atoms_of(selection.formula) for a in atom.attributes}
        attributes.update(base.projected)
        moved = [a for a in attributes if base.column(a).shift]
        shifted = shifted or bool(moved)
        if any(base.column(a).of and not base.column(a).shift for a in attributes):
            return None
        linked = {
            a for atom in atoms_of(selection.formula) if isinstance(atom, Join) for a in atom.attributes
        }
        if base.ring.idempotent and any(
            base.type_of(a).resolution is None for a in linked if not base.is_time(a)
        ):
            return None
        for atom in atoms_of(selection.formula):
            if isinstance(atom, (Filter, Membership)) and not base.is_time(atom.attribute):
                return None
        if any(base.column(a).domain is not None for a in attributes):
            return None
    if not shifted:
        return None
    return statement.with_selections(_level)


def _level(selection: Selection) -> Selection:
    def of(attribute: Attribute) -> Attribute:
        return _base(selection.base, attribute)

    base = selection.base
    select = tuple(replace(o, term=of(o.term)) if isinstance(o.term, Attribute) else o for o in base.select)
    formula: Formula = mapped_formula(selection.formula, of)
    return replace(selection, base=replace(base, select=select), formula=formula)


def _base(query: Query, attribute: Attribute) -> Attribute:
    column = query.column(attribute)
    return replace(attribute, column=column.of[0]) if column.shift else attribute
