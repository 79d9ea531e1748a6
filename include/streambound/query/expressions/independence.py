"""Whether the derived columns of a statement may be decided as if they were free ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from streambound.query.expressions.patterns import NAME as PATTERN
from streambound.query.formula import AllOf, AnyOf, all_of, atoms_of, conjuncts
from streambound.query.model import (
    Attribute,
    Column,
    Constant,
    Filter,
    Join,
    Membership,
    Relation,
)
from streambound.query.operators import Grouping, WindowCalls
from streambound.query.ring import INTEGERS
from streambound.query.statement import Selection, Statement
from streambound.query.windows import SESSIONS


def used(statement: Statement) -> Iterator[tuple[Relation, tuple[Column, ...]]]:
    """The columns of each relation that a statement mentions."""
    relations = {o.relation.name: o.relation for o in statement.occurrences}
    for name, relation in relations.items():
        names = statement.columns(name)
        yield relation, tuple(column for column in relation.columns if column.name in names)


def not_computed(statement: Statement) -> tuple[str, str] | None:
    """The first expression of a statement whose values cannot be computed, and why if that is known."""
    if _has_pattern(statement):
        return PATTERN, ""
    for block in statement.blocks:
        for shown in (s for selection in block.selections for s in selection.shown):
            if not shown.plain and shown.formula is None:
                return f"the expression that {shown.name} is", ""
        for shown in () if block.then is None else (*block.then.by, *block.then.shown):
            if not shown.plain and shown.formula is None:
                return f"the expression that {shown.name} is", ""
        for aggregate in block.then.aggregates if isinstance(block.then, Grouping) else ():
            if not aggregate.evaluated and aggregate.function not in SESSIONS:
                return f"{aggregate.function} at {aggregate.location}", ""
        having = block.then.having if isinstance(block.then, Grouping) else None
        if having is not None and having.formula is None:
            return f"the condition at {having.location}", ""
    for _, columns in used(statement):
        for column in columns:
            if column.of and column.formula is None:
                return column.name, column.uncomputed
    inner = (not_computed(relation.fed) for relation in statement.fed if relation.fed is not None)
    return next((what for what in inner if what is not None), None)


def _has_pattern(statement: Statement) -> bool:
    operations = (block.then for block in statement.blocks if isinstance(block.then, WindowCalls))
    return any(over.name == PATTERN for then in operations for over in then.functions)


def derives(statement: Statement) -> bool:
    """Whether a statement has expressions."""
    return any(column.of for _, columns in used(statement) for column in _valued(columns)) or any(
        output.within for selection in statement.selections for output in selection.base.select
    )


def _valued(columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns that are no buckets: those are times, which what they are computed from bounds."""
    return tuple(column for column in columns if column.bucket is None)


def independent(statement: Statement) -> bool:
    """Whether the derived columns may be taken for free ones: then verdicts on them are exact."""
    if any(output.within for selection in statement.selections for output in selection.base.select):
        return False
    for relation, mentioned in used(statement):
        columns = _valued(mentioned)
        derived = [column for column in columns if column.of]
        bases = [base for column in columns for base in column.of or (column.name,)]
        nested = any(child.startswith(f"{parent}.") for child in bases for parent in bases)
        if derived and (nested or len(bases) != len(set(bases)) or not all(c.onto for c in derived)):
            return False
        # An application timestamp is never free: tuples come in its order.
        if relation.timestamp is not None and any(relation.timestamp in column.of for column in derived):
            return False
    return True


def shown_less(statement: Statement) -> Statement:
    """A statement without outputs that depend on one another, and conditions that leave values of every kind.

    If it is unbounded, so is the statement: an answer with fewer columns follows from the whole one, and of
    the values that meet such a condition there are infinitely many, above and below any. Different rows
    follow only where what is left out can stay what it is, which is not known of what is computed of a time.
    """
    whole, statement = statement, _without_fibres(statement)
    kept: dict[str, set[str]] = {}
    for relation, columns in used(statement):
        kept[relation.name] = set(_apart(statement, relation, _valued(columns)))
        kept[relation.name] |= {column.name for column in columns if column.bucket is not None}
    dropped: set[int] = set()
    for block, selection in ((b, s) for b in statement.blocks for s in b.selections):
        for number, output in enumerate(selection.base.select):
            if isinstance(output.term, Constant):
                continue
            relation = selection.base.occurrence(output.term.occurrence).relation
            if output.within or output.term.column not in kept[relation.name]:
                if block.ring is not INTEGERS and _passes(relation, selection.base.column(output.term)):
                    return whole
                dropped.add(number)

    def of(selection: Selection) -> Selection:
        select = tuple(o for number, o in enumerate(selection.base.select) if number not in dropped)
        return replace(selection, base=replace(selection.base, select=select))

    outputs = tuple(o for number, o in enumerate(statement.outputs) if number not in dropped)
    return replace(statement.with_selections(of), outputs=outputs)


def _passes(relation: Relation, column: Column) -> bool:
    """Whether a column is computed of a time of its stream, and may never be again what it was."""
    times = {relation.timestamp, *(c.name for c in relation.columns if c.within is not None)}
    few = column.domain is not None and (
        column.domain.values is not None or None not in (column.domain.minimum, column.domain.maximum)
    )
    return not times.isdisjoint(column.of) and not few and column.cardinality is None


def _apart(statement: Statement, relation: Relation, columns: Sequence[Column]) -> Iterator[str]:
    """The columns that may stay shown, of each set of those that depend on one another one."""
    asked = {
        a.column
        for s in statement.selections
        for atom in s.atoms
        for a in atom.attributes
        if any(o.alias == a.occurrence and o.relation.name == relation.name for o in s.occurrences)
    }
    rest = list(columns)
    while rest:
        group, grown = [rest.pop(0)], True
        while grown:
            near = [column for column in rest if any(_depend(column, member) for member in group)]
            rest, grown = [column for column in rest if column not in near], bool(near)
            group += near
        if len(group) == 1 and group[0].onto and relation.timestamp not in group[0].of:
            yield group[0].name
        elif any(column.name in asked for column in group):
            yield from (column.name for column in group if column.name in asked)
        elif all(not column.of for column in group):
            yield from (column.name for column in group)
        else:
            free = [column for column in group if column.onto and relation.timestamp not in column.of]
            yield from (column.name for column in sorted(free, key=lambda column: len(column.of))[:1])


def _depend(left: Column, right: Column) -> bool:
    """Whether two columns are computed from values of which one lies in the other."""
    pairs = ((a, b) for a in left.of or (left.name,) for b in right.of or (right.name,))
    return any(a == b or a.startswith(f"{b}.") or b.startswith(f"{a}.") for a, b in pairs)


def _without_fibres(statement: Statement) -> Statement:
    """Without filters of columns of which each value is that of endless values of what they are of."""

    def of(selection: Selection) -> Selection:
        base = selection.base
        if not isinstance(selection.formula, AllOf | Filter | Membership):
            return selection
        atoms = conjuncts(selection.formula)
        plain = [atom for atom in atoms if isinstance(atom, (Filter, Membership))]
        fibres = [a for a in plain if base.column(a.attribute).fibres]
        joined = {a for atom in selection.atoms if isinstance(atom, Join) for a in atom.attributes}
        attributes = _bound_columns(selection, {a.attribute for a in plain if a not in fibres})
        left = []
        for atom in fibres:
            bases = {Attribute(atom.attribute.occurrence, name) for name in base.column(atom.attribute).of}
            alone = (
                sum(
                    fibre.attribute.occurrence == atom.attribute.occurrence
                    and bool(
                        bases
                        & {Attribute(fibre.attribute.occurrence, n) for n in base.column(fibre.attribute).of}
                    )
                    for fibre in fibres
                )
                == 1
            )
            if alone and not bases & attributes and atom.attribute not in joined:
                left.append(atom)
        return replace(selection, formula=all_of(atom for atom in atoms if atom not in left))

    return statement.with_selections(of)


def _bound_columns(selection: Selection, attributes: set[Attribute]) -> set[Attribute]:
    """The columns that conditions on single columns bind, themselves or by comparisons; of OR all."""
    loose = [p for p in getattr(selection.formula, "parts", ()) if isinstance(p, (AllOf, AnyOf))]
    attributes |= {a for part in loose for atom in atoms_of(part) for a in atom.attributes}
    attributes |= {Attribute(a.occurrence, name) for a in set(attributes) for name in _bases_of(selection, a)}
    grown = True
    while grown:
        near = {
            a
            for atom in selection.atoms
            if isinstance(atom, Join) and attributes & set(atom.attributes)
            for a in atom.attributes
        } - attributes
        attributes, grown = attributes | near, bool(near)
    return attributes


def _bases_of(selection: Selection, attribute: Attribute) -> tuple[str, ...]:
    relation = next((o.relation for o in selection.occurrences if o.alias == attribute.occurrence), None)
    return () if relation is None else relation.column(attribute.column).of


def assumptions(statement: Statement) -> tuple[str, ...]:
    """What is assumed of each expression with functions that are not known."""
    names = (column.name for _, columns in used(statement) for column in columns if column.assumed)
    said = "depends on its arguments alone, and may have any value of its type"
    return tuple(f"{name} {said}" for name in dict.fromkeys(names))
