"""As-of joins: the last tuple of a key before a row's own time (section "As-of joins" of docs/theory.md).

A row that finds the last tuple before it is put out at once: what it shows of that tuple is a column of
its own (``widened``), and what is kept is the last tuple of each key: bounded iff the keys are, where
they are compared (``versions``). With a tolerance only few tuples are kept. A row that waits for the
*next* tuple is one of a join.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from streambound.boundedness.criterion.exact import NAME
from streambound.boundedness.criterion.questions import filtered
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.constraints.cases import cases
from streambound.constraints.space import Space
from streambound.constraints.system import finite, system
from streambound.constraints.time import TimeOrder
from streambound.query.formula import Formula, all_of, atoms_of
from streambound.query.model import Attribute, Column, Join, Op, Output, Query, Relation, RelationKind
from streambound.query.renaming import mapped_formula
from streambound.query.statement import AsOf, Selection

_AHEAD = (Op.LT, Op.LE)


def versions(selection: Selection) -> Iterator[Verdict]:
    """What as-of joins of a selection keep."""
    for number, join in enumerate(selection.as_of):
        if join.op in _AHEAD or join.tolerance is not None:
            continue
        # What the others look up are columns of the rows.
        before = (*selection.as_of[:number], *selection.as_of[number + 1 :])
        rest = replace(selection, as_of=(*before, join))
        for _ in before:
            rest = _first_widened(rest)
        yield _kept(replace(rest, as_of=()), rest.as_of[0])


def _kept(selection: Selection, join: AsOf) -> Verdict:
    if selection.base.occurrence(join.alias).relation.kind is RelationKind.STATIC:
        return _bounded(f"{join.alias} is known beforehand")
    keys = (Join(a, Op.EQ, b, join.location) for a, b in join.keys)
    for case in cases(filtered(selection, (*keys, join.where))):
        for part in case.parts:
            query = replace(part, select=(*part.select, *(Output("", b) for _, b in join.keys)))
            for attribute in _asked(query, join):
                message = f"the last tuple of each {attribute} is kept, and no condition bounds it"
                reason = Reason("unbounded-versions", message, (attribute,), join.location)
                return Verdict(Outcome.UNBOUNDED, NAME, (reason,))
            if join.left is not None and not (
                query.is_timestamp(join.left) and _at_once(query, join, join.left)
            ):
                message = f"rows of {join.left.occurrence} wait, and need what {join.alias} was before"
                reason = Reason("open-question", message, (), join.location)
                return Verdict(Outcome.UNKNOWN, NAME, (reason,))
    return _bounded(f"of {join.alias} the last tuple of each key is kept: finitely many")


def _asked(query: Query, join: AsOf) -> Iterator[Attribute]:
    """The columns that tell which tuple is looked for, and that nothing bounds."""
    facts = system(query)
    assert facts.closure is not None
    space = Space(facts.query)
    for _, key in join.keys:
        if not finite(space, facts.closure, key) and not query.numbered(key):
            yield key
    for atom in atoms_of(join.where):
        sides = {a.occurrence: a for a in atom.attributes}
        if len(sides) < 2 or join.alias not in sides or any(map(query.is_timestamp, sides.values())):
            continue
        if not any(finite(space, facts.closure, a) for a in sides.values()):
            yield sides[join.alias]


def _at_once(query: Query, join: AsOf, left: Attribute) -> bool:
    """Whether a row is complete when the stream arrives whose time it looks back from."""
    rest = tuple(o for o in query.occurrences if o.alias != join.alias)
    atoms = tuple(a for a in query.where if all(x.occurrence != join.alias for x in a.attributes))
    select = tuple(o for o in query.select if getattr(o.term, "occurrence", "") != join.alias)
    time = TimeOrder(system(replace(query, occurrences=rest, where=atoms, select=select)))
    return time.completes(left.occurrence)


def _bounded(message: str) -> Verdict:
    return Verdict(Outcome.BOUNDED, NAME, (Reason("no-obstruction", message),))


def widened(selection: Selection) -> Selection:
    """The selection without as-of joins: the columns of what is looked up are those of the rows."""
    while selection.as_of:
        selection = _first_widened(selection)
    return selection


def _first_widened(selection: Selection) -> Selection:
    """The selection without its first as-of join."""
    join, *rest = selection.as_of
    selection = replace(selection, as_of=tuple(rest))
    return _joined(selection, join) if join.op in _AHEAD else _with_columns(selection, join)


def _joined(selection: Selection, join: AsOf) -> Selection:
    keys = (Join(a, Op.EQ, b, join.location) for a, b in join.keys)
    times: list[Formula] = []
    if join.left is not None and join.right is not None:
        times.append(Join(join.left, join.op, join.right, join.location))
        if join.tolerance is not None:
            before = f" + {join.tolerance}"
            times.append(Join(join.right, Op.LE, join.left, join.location, join.tolerance, before))
    return filtered(selection, (*keys, *times, join.where))


def _with_columns(selection: Selection, join: AsOf) -> Selection:
    base = selection.base
    row = join.left.occurrence if join.left is not None else _row(selection, join)
    theirs, mine = base.occurrence(join.alias), base.occurrence(row)
    names = {c.name: f"{join.alias}.{c.name}" for c in theirs.relation.columns}
    added = tuple(_column(c, names[c.name], theirs.relation, join) for c in theirs.relation.columns)
    relation = replace(mine.relation, columns=(*mine.relation.columns, *added))
    occurrences = tuple(
        replace(o, relation=relation) if o.relation == mine.relation else o
        for o in base.occurrences
        if o.alias != join.alias
    )

    def of(term: Attribute) -> Attribute:
        if term.occurrence != join.alias:
            return term
        return Attribute(mine.alias, names[term.column])

    select = tuple(replace(o, term=of(o.term)) if isinstance(o.term, Attribute) else o for o in base.select)
    keys = (Join(of(b), Op.EQ, a, join.location) for a, b in join.keys)
    formula = all_of((mapped_formula(selection.formula, of), *(() if join.outer else keys)))
    guards = tuple(replace(g, formula=mapped_formula(g.formula, of)) for g in selection.guards)
    as_of = tuple(
        replace(
            a,
            keys=tuple((of(left), of(right)) for left, right in a.keys),
            left=None if a.left is None else of(a.left),
            where=mapped_formula(a.where, of),
        )
        for a in selection.as_of
    )
    base = replace(base, select=select, occurrences=occurrences)
    return replace(selection, base=base, formula=formula, guards=guards, as_of=as_of)


def _row(selection: Selection, join: AsOf) -> str:
    """The occurrence whose arrival asks for the tuple."""
    for key, _ in join.keys:
        return key.occurrence
    return next(o.alias for o in selection.base.occurrences if o.alias != join.alias)


def _column(column: Column, name: str, relation: Relation, join: AsOf) -> Column:
    """A column of what is looked up, as one of the row."""
    nullable = join.outer or (column.nullable and column.name != relation.timestamp)
    return replace(column, name=name, nullable=nullable, bucket=None, of=())
