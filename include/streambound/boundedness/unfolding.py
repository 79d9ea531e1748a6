"""Sub-queries written out after all: the rows of a statement in the place of the relation that they feed.

*Exactly*, where the inner rows are a bag of joins, outer joins and as-of joins: its answer is the same.
*On some inputs*, where it is groups, ranks or different rows: on those in which each key has one row, that
row is the inner answer, and the extremum, the sum or the mean of its one value is that value. What must be
remembered on these inputs must be remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from streambound.errors import UnsupportedError
from streambound.query.column_types import parse_type
from streambound.query.expressions.derived import aligned
from streambound.query.formula import ALWAYS, NOWHERE, AllOf, AnyOf, Formula, all_of, any_of
from streambound.query.model import (
    Attribute,
    Column,
    Constant,
    Filter,
    Join,
    Membership,
    Never,
    NullTest,
    Occurrence,
    Op,
    Output,
    Query,
    Relation,
    Term,
)
from streambound.query.operators import Aggregate, AggregateKind, Grouping, Ranking, Shown, WindowCalls
from streambound.query.renaming import renamed, renamed_formula
from streambound.query.ring import INTEGERS
from streambound.query.statement import Block, Selection, Statement

# Selections that a statement is written out into; of unions of unions there would be too many.
MOST = 64
# Of one row an aggregate of these is the value in it.
_OF_SINGLE_ROW = (
    AggregateKind.SUM,
    AggregateKind.MEAN,
    AggregateKind.LEAST,
    AggregateKind.GREATEST,
    AggregateKind.FIRST,
    AggregateKind.LAST,
    AggregateKind.ANY,
)
_UNITY = Constant(1, "1", parse_type("bigint"))


class _Lost(Exception):
    """A column of the relation is needed that is no column of the rows."""


def flattened(statement: Statement, relation: Relation) -> Statement | None:
    """The same statement without a relation that it is fed by; None where its rows are more than joins."""
    made = relation.fed
    assert made is not None
    if any(block.then is not None or block.ring != INTEGERS for block in made.blocks):
        return None
    rows = [(selection, _outputs(selection)) for block in made.blocks for selection in block.selections]
    return _written_out(statement, relation, rows, exact=True)


def without_partners(made: Statement) -> Statement | None:
    """A statement of one selection: as it is where the sides of outer joins that may be missing are empty.

    None where it is another union.
    """
    if len(made.blocks) != 1:
        return None
    (block,) = made.blocks
    if len(block.selections) == 1:
        return made
    alone = [s for s in block.selections if s.guards and all(g.outer and g.negated for g in s.guards)]
    fewest = min((len(s.base.occurrences) for s in alone), default=0)
    alone = [s for s in alone if len(s.base.occurrences) == fewest]
    if len(alone) != 1 or any(s.as_of for s in alone):
        return None
    missing = {o.relation.name for g in alone[0].guards for o in g.base.occurrences}
    if missing & {o.relation.name for o in alone[0].base.occurrences}:
        return None
    return replace(made, blocks=(replace(block, selections=(replace(alone[0], guards=()),)),))


def _left_out(made: Statement, kept: Statement) -> set[str]:
    """The relations that must be empty for a statement to be another."""
    every, left = ({o.relation.name for o in statement.occurrences} for statement in (made, kept))
    return every - left


def _read(statement: Statement, but: Relation) -> Iterator[str]:
    """The relations that a statement reads, itself or by others than one that it is fed by."""
    for relation in {o.relation.name: o.relation for o in statement.occurrences}.values():
        if relation.name == but.name:
            continue
        if relation.fed is None:
            yield relation.name
        else:
            yield from _read(relation.fed, but)


def unfolded(statement: Statement, relation: Relation) -> Statement | None:
    """A statement whose answers are those of the statement where each key has one row; None where unknown."""
    assert relation.fed is not None
    made = without_partners(relation.fed)
    if made is None:
        return None
    if _left_out(relation.fed, made) & set(_read(statement, relation)):
        return None
    (block,) = made.blocks
    (selection,) = block.selections
    if block.then is None:
        terms = _outputs(selection)
    elif isinstance(block.then, WindowCalls) or not _counts_alone(block.then):
        return None
    else:
        terms = [_shown(selection, block.then, shown) for shown in block.then.shown]
    return _written_out(statement, relation, [(selection, terms)], exact=False)


def _outputs(selection: Selection) -> list[Term | None]:
    return [output.term for output in selection.base.select]


def _counts_alone(then: Grouping | Ranking) -> bool:
    """Whether HAVING, if any, asks for numbers of rows."""
    having = then.having if isinstance(then, Grouping) else None
    return having is None or all(
        isinstance(then, Grouping) and then.aggregates[number].counts_rows for number in having.aggregates
    )


def _shown(selection: Selection, then: Grouping | Ranking, shown: Shown) -> Term | None:
    """A column of groups or ranks, where there is one row."""
    if not shown.plain or len(shown.outputs) + len(shown.values) != 1:
        return None
    if shown.outputs:
        return selection.base.select[shown.outputs[0]].term
    if isinstance(then, Ranking):
        return _UNITY
    return _of_single_row(selection, then.aggregates[shown.values[0]], then.having is not None)


def _of_single_row(selection: Selection, aggregate: Aggregate, often: bool) -> Term | None:
    """What an aggregate of one row is; ``often``: of some equal rows, as many as HAVING asks for."""
    if aggregate.kind in (AggregateKind.COUNT, AggregateKind.SUM) and often:
        return None
    if aggregate.kind is AggregateKind.COUNT:
        return _UNITY
    if aggregate.kind not in _OF_SINGLE_ROW or len(aggregate.arguments) != 1:
        return None
    if aggregate.polynomial not in (None, ((Fraction(1), aggregate.arguments),)):
        return None
    return selection.base.select[aggregate.arguments[0]].term


_Rows = list[tuple[Selection, list[Term | None]]]


def _written_out(statement: Statement, relation: Relation, rows: _Rows, exact: bool) -> Statement | None:
    try:
        blocks = tuple(
            replace(b, selections=tuple(_of_block(b, relation, rows, _vital(b, exact))))
            for b in statement.blocks
        )
        kept = tuple(block for block in blocks if block.selections)
        selections = [selection for block in kept for selection in block.selections]
        if not 0 < len(selections) <= MOST or any(map(_mixes_times, selections)):
            return None
        return replace(statement, blocks=aligned(kept, statement.sql))
    except (_Lost, UnsupportedError):
        return None


def _mixes_times(selection: Selection) -> bool:
    """Whether a timestamp, in the place of a column that was none, is compared with an ordinary column."""
    relations = {o.alias: o.relation for o in selection.occurrences}

    def is_stamp(attribute: Attribute) -> bool:
        return relations[attribute.occurrence].timestamp == attribute.column

    joins = (atom for atom in selection.atoms if isinstance(atom, Join))
    return any(is_stamp(join.left) is not is_stamp(join.right) for join in joins)


def _vital(block: Block, exact: bool) -> frozenset[int] | None:
    """The outputs of rows that decide more than a column of the answer; None: all of them are needed."""
    if exact:
        return None
    then = block.then
    if isinstance(then, Grouping):
        asked = () if then.having is None else then.having.aggregates
        read = (p for number in asked for p in then.aggregates[number].arguments)
        return frozenset((*range(then.keys), *read))
    if isinstance(then, Ranking):
        return frozenset((*then.partition, *(p for p, _ in then.order)))
    if isinstance(then, WindowCalls):
        orders = (p for f in then.functions for p, _ in f.order)
        return frozenset((*(p for f in then.functions for p in f.partition), *orders))
    return frozenset()


def _of_block(
    block: Block, relation: Relation, rows: _Rows, vital: frozenset[int] | None
) -> Iterator[Selection]:
    for selection in block.selections:
        pending = [selection]
        while pending:
            outer = pending.pop()
            here = next((o for o in outer.base.occurrences if o.relation.name == relation.name), None)
            if here is not None:
                pending += [_put_in(outer, here, *row, vital) for row in rows]
                continue
            guarded = next(
                (
                    (n, o)
                    for n, g in enumerate(outer.guards)
                    for o in g.base.occurrences
                    if o.relation.name == relation.name
                ),
                None,
            )
            if guarded is None:
                yield outer
            elif len(rows) == 1:
                pending.append(_in_guard(outer, *guarded, *rows[0]))
            else:
                raise _Lost
            if len(pending) > MOST:
                raise _Lost


@dataclass(frozen=True)
class _Replacement:
    """What the columns of an occurrence are, over the occurrences that stand in its place."""

    here: Occurrence
    terms: Mapping[str, Term | None]

    def term(self, term: Term) -> Term:
        """A term over what stands there."""
        if not isinstance(term, Attribute) or term.occurrence != self.here.alias:
            return term
        term_ = self.terms.get(term.column)
        if term_ is None:
            raise _Lost
        return term_

    def shown(self, output: Output, base: Query, needed: bool) -> Term:
        """What is shown; nothing where it is lost, and only a column of the answer."""
        try:
            return self.term(output.term)
        except _Lost:
            if needed:
                raise
            return Constant(None, "NULL", base.type_of(output.term))

    def attribute(self, attribute: Attribute) -> Attribute:
        """An attribute, which stays one."""
        replaced = self.term(attribute)
        if not isinstance(replaced, Attribute):
            raise _Lost
        return replaced

    def formula(self, formula: Formula) -> Formula:
        """A condition, decided where it is of constants alone."""
        if isinstance(formula, AllOf):
            return all_of(map(self.formula, formula.parts))
        if isinstance(formula, AnyOf):
            return any_of(map(self.formula, formula.parts))
        if isinstance(formula, Never):
            return formula
        if isinstance(formula, Join):
            left, right = self.term(formula.left), self.term(formula.right)
            if isinstance(left, Attribute) and isinstance(right, Attribute):
                return replace(formula, left=left, right=right)
            if formula.offset:
                raise _Lost
            if isinstance(left, Attribute) and isinstance(right, Constant):
                return _compared(left, formula.op, right, formula)
            if isinstance(right, Attribute) and isinstance(left, Constant):
                return _compared(right, formula.op.mirrored, left, formula)
            raise _Lost
        term = self.term(formula.attribute)
        if isinstance(term, Attribute):
            return replace(formula, attribute=term)
        if isinstance(formula, NullTest):
            return ALWAYS if formula.null is (term.value is None) else NOWHERE
        if term.value is None:
            return NOWHERE
        listed = formula.values if isinstance(formula, Membership) else (formula.constant,)
        op = Op.EQ if isinstance(formula, Membership) else formula.op
        values = (constant.value for constant in listed if constant.value is not None)
        return ALWAYS if any(op.holds(term.value, value) for value in values) else NOWHERE


def _compared(attribute: Attribute, op: Op, constant: Constant, at: Join) -> Formula:
    return NOWHERE if constant.value is None else Filter(attribute, op, constant, at.location)


def _apart(selection: Selection, inner: Selection, around: str) -> Selection:
    """The inner selection, its occurrences under names that the outer does not have."""
    taken = {o.alias.lower() for o in selection.occurrences} - {around.lower()}
    names: dict[str, str] = {}
    for occurrence in inner.occurrences:
        name, number = occurrence.alias, 2
        while name.lower() in taken:
            name, number = f"{around}_{occurrence.alias}" + (str(number) if number > 2 else ""), number + 1
        taken.add(name.lower())
        names[occurrence.alias] = name

    def of(attribute: Attribute) -> Attribute:
        return renamed(attribute, names)

    base = replace(
        inner.base,
        occurrences=tuple(replace(o, alias=names[o.alias]) for o in inner.base.occurrences),
        select=tuple(replace(o, term=renamed(o.term, names)) for o in inner.base.select),
    )
    guards = tuple(
        replace(
            g,
            base=replace(
                g.base, occurrences=tuple(replace(o, alias=names[o.alias]) for o in g.base.occurrences)
            ),
            formula=renamed_formula(g.formula, names),
        )
        for g in inner.guards
    )
    as_of = tuple(
        replace(
            a,
            alias=names[a.alias],
            keys=tuple((of(left), of(right)) for left, right in a.keys),
            left=None if a.left is None else of(a.left),
            right=None if a.right is None else of(a.right),
            where=renamed_formula(a.where, names),
        )
        for a in inner.as_of
    )
    return Selection(base, renamed_formula(inner.formula, names), guards, as_of)


def _replacement(
    here: Occurrence, inner: Selection, was: Selection, terms: list[Term | None]
) -> tuple[_Replacement, Selection]:
    """What the columns of an occurrence are, and the selection with the derived columns that it needs."""
    names = {old.alias: new.alias for old, new in zip(was.occurrences, inner.occurrences, strict=True)}
    own = [column for column in here.relation.columns if not column.of]
    terms_of: dict[str, Term | None] = {
        column.name: None if term is None else renamed(term, names)
        for column, term in zip(own, terms, strict=False)
    }
    further: dict[str, list[Column]] = {}
    for column in here.relation.columns:
        bases = [terms_of.get(name) for name in column.of]
        owners = {base.occurrence for base in bases if isinstance(base, Attribute)}
        if not column.of or len(owners) != 1 or not all(isinstance(base, Attribute) for base in bases):
            continue
        (owner,) = owners
        relation = inner.base.occurrence(owner).relation
        of = [
            name
            for base in bases
            if isinstance(base, Attribute)
            for name in relation.column(base.column).of or (base.column,)
        ]
        further.setdefault(owner, []).append(replace(column, of=tuple(sorted({*of}))))
        terms_of[column.name] = Attribute(owner, column.name)
    occurrences = tuple(
        replace(o, relation=_with(o.relation, further.get(o.alias, []))) for o in inner.base.occurrences
    )
    return _Replacement(here, terms_of), replace(inner, base=replace(inner.base, occurrences=occurrences))


def _with(relation: Relation, columns: list[Column]) -> Relation:
    names = {column.name for column in relation.columns}
    further = tuple(column for column in columns if column.name not in names)
    return replace(relation, columns=(*relation.columns, *further)) if further else relation


def _put_in(
    selection: Selection,
    here: Occurrence,
    inner: Selection,
    terms: list[Term | None],
    vital: frozenset[int] | None,
) -> Selection:
    if any(a.alias == here.alias for a in selection.as_of):
        raise _Lost
    replacement, rows = _replacement(here, _apart(selection, inner, here.alias), inner, terms)
    of = replacement.attribute
    occurrences = [
        occurrence
        for o in selection.base.occurrences
        for occurrence in (rows.base.occurrences if o.alias == here.alias else (o,))
    ]
    base = replace(
        selection.base,
        occurrences=tuple(occurrences),
        select=tuple(
            replace(o, term=replacement.shown(o, selection.base, vital is None or n in vital))
            for n, o in enumerate(selection.base.select)
        ),
    )
    guards = tuple(replace(g, formula=replacement.formula(g.formula)) for g in selection.guards)
    as_of = tuple(
        replace(
            a,
            keys=tuple((of(left), of(right)) for left, right in a.keys),
            left=None if a.left is None else of(a.left),
            right=None if a.right is None else of(a.right),
            where=replacement.formula(a.where),
        )
        for a in selection.as_of
    )
    return Selection(
        base,
        all_of((rows.formula, replacement.formula(selection.formula))),
        (*rows.guards, *guards),
        (*rows.as_of, *as_of),
    )


def _in_guard(
    selection: Selection, number: int, here: Occurrence, inner: Selection, terms: list[Term | None]
) -> Selection:
    if inner.guards or inner.as_of:
        raise _Lost
    guard = selection.guards[number]
    replacement, rows = _replacement(here, _apart(selection, inner, here.alias), inner, terms)
    occurrences = [
        occurrence
        for o in guard.base.occurrences
        for occurrence in (rows.base.occurrences if o.alias == here.alias else (o,))
    ]
    made = replace(
        guard,
        base=replace(guard.base, occurrences=tuple(occurrences)),
        formula=all_of((rows.formula, replacement.formula(guard.formula))),
    )
    guards = (*selection.guards[:number], made, *selection.guards[number + 1 :])
    return replace(selection, guards=guards)
