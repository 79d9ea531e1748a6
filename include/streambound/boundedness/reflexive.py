"""NOT EXISTS over a stream that the row, or a match that it must have, is itself of: that tuple is no match.

A row passes ``NOT EXISTS (S y: F(y, ...))`` only if F fails for each tuple of S that the row consists of, and
of the tuples that are a match for ``EXISTS (S x: ...)`` one must fail F too, for it would be a match of the
other. So the statement is the same with these conditions said, and the criteria see what contradicts itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streambound.query.formula import ALWAYS, NOWHERE, AllOf, AnyOf, Formula, all_of, any_of, atoms_of, untrue
from streambound.query.model import Attribute, Join, NullTest, Occurrence, Op, RelationKind
from streambound.query.renaming import renamed_formula
from streambound.query.statement import Guard, Selection, Statement

_EQUAL = (Op.LE, Op.EQ, Op.GE)


def with_own_tuples(statement: Statement) -> Statement:
    """The statement with these conditions; itself where there are none."""
    return statement.with_selections(_of)


def _of(selection: Selection) -> Selection:
    negative = [g for g in selection.guards if g.negated and len(g.base.occurrences) == 1]
    if not negative:
        return selection
    versions = {join.alias for join in selection.as_of}
    rows = [o for o in selection.base.occurrences if o.alias not in versions]
    formula = all_of((selection.formula, *_fails(selection, negative, rows)))
    guards = tuple(
        g
        if g.negated
        else replace(g, formula=all_of((g.formula, *_fails(selection, negative, list(g.base.occurrences)))))
        for g in selection.guards
    )
    return replace(selection, formula=formula, guards=guards)


def _fails(selection: Selection, guards: list[Guard], of: list[Occurrence]) -> list[Formula]:
    """What guards leave of the tuples of some occurrences."""
    failing = []
    for guard in guards:
        (inner,) = guard.base.occurrences
        read = {a.column for atom in atoms_of(guard.formula) for a in atom.attributes if _is(a, inner)}
        for occurrence in of:
            columns = {column.name for column in occurrence.relation.columns}
            if (
                occurrence.relation.name != inner.relation.name
                or occurrence.relation.kind is RelationKind.VERSIONED
            ):
                continue
            if read <= columns:
                own = renamed_formula(guard.formula, {inner.alias: occurrence.alias})
                failing.append(_untrue(own, _nullable(selection)))
    return failing


def _is(attribute: Attribute, occurrence: Occurrence) -> bool:
    return attribute.occurrence == occurrence.alias


def _nullable(selection: Selection) -> Callable[[Attribute], bool]:
    whole = replace(selection.base, occurrences=selection.occurrences)
    return whole.nullable


def _untrue(formula: Formula, nullable: Callable[[Attribute], bool]) -> Formula:
    """That a formula is not true."""
    if isinstance(formula, AllOf):
        return any_of(_untrue(part, nullable) for part in formula.parts)
    if isinstance(formula, AnyOf):
        return all_of(_untrue(part, nullable) for part in formula.parts)
    if isinstance(formula, Join) and formula.left == formula.right:
        if not _reflexive(formula):
            return ALWAYS
        return NullTest(formula.left, True) if nullable(formula.left) else NOWHERE
    return any_of(all_of(way) for way in untrue(formula, nullable))


def _reflexive(join: Join) -> bool:
    """Whether a column compared with itself and an offset is true."""
    if join.offset == 0:
        return join.op in _EQUAL
    below = join.offset > 0
    return join.op is Op.NE or (join.op in (Op.LT, Op.LE) if below else join.op in (Op.GT, Op.GE))
