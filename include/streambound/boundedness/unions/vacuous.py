"""Comparisons that a large enough value meets: unbounded without them is unbounded.

Of ``x <= y`` where ``y`` is a column that occurs nowhere else and has no upper bound, let only tuples arrive
whose ``y`` is greater than all that arrives in a proof. Then it always holds, and the proof is that of the
query without it. So with ``>=`` and columns without a lower bound.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from streambound.query.column_types import Family
from streambound.query.formula import Formula, all_of, atoms_of, conjuncts
from streambound.query.model import Attribute, Join, Op
from streambound.query.statement import Selection, Statement

_UPWARD = (Op.LT, Op.LE)
_DOWNWARD = (Op.GT, Op.GE)
# Whatever their type has a least or greatest value is none that a proof meets.
_ENDLESS = (Family.NUMBER, Family.TIMESTAMP, Family.DATE)


def without_vacuous(statement: Statement) -> Statement:
    """The statement without such comparisons; itself where it has none."""
    return statement.with_selections(_of)


def _of(selection: Selection) -> Selection:
    atoms = conjuncts(selection.formula)
    uses = Counter(_base(selection, a) for part in atoms for item in atoms_of(part) for a in item.attributes)
    uses.update(_base(selection, a) for a in selection.base.projected)
    for guard in selection.guards:
        uses.update(_base(selection, a) for item in atoms_of(guard.formula) for a in item.attributes)
    kept: list[Formula] = [atom for atom in atoms if not _vacuous(selection, atom, uses)]
    return selection if len(kept) == len(atoms) else replace(selection, formula=all_of(kept))


def _base(selection: Selection, attribute: Attribute) -> Attribute | frozenset[str]:
    """What a column is computed from; itself if it is not."""
    relations = {o.alias: o.relation for o in selection.occurrences}
    relation = relations[attribute.occurrence]
    column = relation.column(attribute.column)
    return frozenset((attribute.occurrence, *column.of)) if column.of else attribute


def _vacuous(selection: Selection, atom: Formula, uses: Counter[Attribute | frozenset[str]]) -> bool:
    if not isinstance(atom, Join):
        return False
    for local, op in ((atom.right, atom.op), (atom.left, atom.op.mirrored)):
        if atom.left.occurrence == atom.right.occurrence or not _free(selection, local, uses):
            continue
        domain = selection.base.column(local).domain
        if domain is None or (domain.values is None and _open(op, domain.minimum, domain.maximum)):
            return op in (*_UPWARD, *_DOWNWARD)
    return False


def _open(op: Op, minimum: object, maximum: object) -> bool:
    return (maximum if op in _UPWARD else minimum) is None


def _free(selection: Selection, local: Attribute, uses: Counter[Attribute | frozenset[str]]) -> bool:
    """Whether a column of FROM occurs nowhere else, not even in what is computed."""
    base = selection.base
    if all(o.alias != local.occurrence for o in base.occurrences) or base.is_time(local):
        return False
    column = base.column(local)
    if column.of or column.type.family not in _ENDLESS or uses[local] != 1:
        return False
    computed = (key for key in uses if isinstance(key, frozenset))
    return not any(local.occurrence in key and local.column in key for key in computed)
