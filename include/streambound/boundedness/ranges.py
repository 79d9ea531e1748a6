"""What is known of the columns of a sub-query whose rows feed another statement (docs/theory.md,
"Composition").

A column of it has the values that conditions leave to what it shows, so a criterion may rely on them. Of what
is computed from several rows nothing is known.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from streambound.constraints.cases import cases
from streambound.constraints.system import system
from streambound.query.column_types import Value
from streambound.query.formula import conjuncts
from streambound.query.model import (
    Attribute,
    Column,
    Constant,
    Domain,
    Filter,
    Membership,
    Occurrence,
    Op,
    Output,
    Query,
    Relation,
)
from streambound.query.statement import Block, Selection, Statement


@dataclass(frozen=True)
class _Values:
    """What a column of a sub-query may be: None is no bound, and no list."""

    low: Value | None = None
    high: Value | None = None
    listed: frozenset[Value] | None = None
    # Whose they are, and how many different ones it has as the catalog declares.
    source: tuple[str, str] | None = None
    number: int | None = None


def with_ranges(statement: Statement) -> Statement:
    """The statement whose sub-queries' columns have the domains that follow from these, and years theirs."""
    names = [o.relation.name for o in statement.occurrences]
    if len(statement.selections) == 1 and len(names) == len(set(names)):
        (block,) = statement.blocks
        selections = tuple(map(_with_years, block.selections))
        statement = replace(statement, blocks=(replace(block, selections=selections),))
    if not any(o.relation.fed for o in statement.occurrences):
        return statement
    ranged: dict[str, Statement] = {}

    def relation_of(relation: Relation) -> Relation:
        if relation.fed is None:
            return relation
        # What is computed of a sub-query's rows is not the same everywhere that these are read.
        if (made := ranged.get(relation.name)) is None:
            made = ranged[relation.name] = with_ranges(relation.fed)
        columns = tuple(_ranged(column, n, made) for n, column in enumerate(relation.columns))
        return replace(relation, columns=columns, fed=made)

    return _mapped(statement, lambda o: replace(o, relation=relation_of(o.relation)))


# The year of a column, as Spark SQL.
_YEAR = re.compile(r"(?:YEAR\(|EXTRACT\(YEAR FROM )`([^`]+)`\)", re.IGNORECASE)


def _with_years(selection: Selection) -> Selection:
    """A selection in which the years of days or moments between two constants are finitely many."""
    atoms = conjuncts(selection.formula)
    filters = [atom for atom in atoms if isinstance(atom, Filter)]

    def ranged(occurrence: Occurrence, column: Column) -> Column:
        match = _YEAR.fullmatch(column.formula or "")
        if match is None or column.domain is not None:
            return column
        of = Attribute(occurrence.alias, match[1])
        own = [atom for atom in filters if atom.attribute == of]
        lows = [_year(atom.constant) for atom in own if atom.op in (Op.GE, Op.GT, Op.EQ)]
        highs = [_year(atom.constant) for atom in own if atom.op in (Op.LE, Op.LT, Op.EQ)]
        if not lows or not highs or max(lows) > min(highs):
            return column
        return replace(column, domain=Domain(max(lows), min(highs)))

    def of(occurrence: Occurrence) -> Occurrence:
        columns = tuple(ranged(occurrence, column) for column in occurrence.relation.columns)
        if columns == occurrence.relation.columns:
            return occurrence
        return replace(occurrence, relation=replace(occurrence.relation, columns=columns))

    occurrences = tuple(map(of, selection.base.occurrences))
    if occurrences == selection.base.occurrences:
        return selection
    return replace(selection, base=replace(selection.base, occurrences=occurrences))


def _year(constant: Constant) -> int:
    """The year of a day or a moment."""
    day: dt.date = constant.type.decode(constant.value)
    return day.year


def _mapped(statement: Statement, of: Callable[[Occurrence], Occurrence]) -> Statement:
    def query(base: Query) -> Query:
        return replace(base, occurrences=tuple(map(of, base.occurrences)))

    return statement.with_selections(lambda selection: selection.with_queries(query))


def _ranged(column: Column, number: int, made: Statement) -> Column:
    """A column of a sub-query that is the one of that number in its answers; computed ones come later."""
    if column.of or number >= len(made.outputs):
        return column
    bounds = [bound for block in made.blocks for bound in _of_block(block, number)]
    if not bounds:
        return column
    numbers = {bound.source: bound.number for bound in bounds}
    if None not in numbers and None not in numbers.values():
        column = replace(column, cardinality=sum(number for number in numbers.values() if number is not None))
    lists = [bound.listed for bound in bounds if bound.listed is not None]
    listed = frozenset[Value]().union(*lists)
    if listed and len(lists) == len(bounds) and not column.type.discrete:
        # Between two of these are endlessly many others.
        return replace(column, domain=Domain(values=tuple(sorted(listed))))
    lows = [bound.low for bound in bounds if bound.low is not None]
    highs = [bound.high for bound in bounds if bound.high is not None]
    low = min(lows) if len(lows) == len(bounds) else None
    high = max(highs) if len(highs) == len(bounds) else None
    return column if low is None and high is None else replace(column, domain=Domain(low, high))


def _of_block(block: Block, number: int) -> Iterator[_Values]:
    """The values of a column of a block in each case."""
    position: int | None = number
    if block.then is not None:
        shown = block.then.shown[number]
        position = shown.outputs[0] if shown.plain and len(shown.outputs) == 1 else None
    for selection in block.selections:
        term = None if position is None else selection.base.select[position].term
        if term is None:
            yield _Values()
        elif not isinstance(term, Attribute):
            if term.value is not None:
                yield _Values(term.value, term.value, frozenset((term.value,)))
        elif selection.base.is_time(term) or selection.base.select[position or 0].moved:
            yield _Values()
        else:
            yield from _of_attribute(replace(selection, guards=(), as_of=()), term)


def _of_attribute(selection: Selection, term: Attribute) -> Iterator[_Values]:
    for case in cases(selection):
        for query in case.parts:
            facts = system(replace(query, select=(*query.select, Output("", term))))
            if facts.closure is None or term in query.nulls:
                continue
            ends = (facts.closure.lower(term), facts.closure.upper(term))
            family = facts.space.family(term)
            low, high = (None if end is None else facts.space.value(family, end[0]) for end in ends)
            alike = [a for a in facts.query.mentioned if a == term or facts.closure.equates(term, a)]
            listed = [values for a in alike if (values := _listed(query, a)) is not None]
            if low is not None and low == high:
                listed.append(frozenset((low,)))
            relation, declared = query.occurrence(term.occurrence).relation, query.column(term)
            source = (relation.name, term.column)
            yield _Values(low, high, min(listed, key=len, default=None), source, declared.cardinality)


def _listed(query: Query, attribute: Attribute) -> frozenset[Value] | None:
    """The values that IN, or the catalog, lists of an attribute."""
    for atom in query.where:
        if isinstance(atom, Membership) and atom.attribute == attribute:
            return frozenset(v.value for v in atom.values if v.value is not None)
    domain = query.column(attribute).domain
    return None if domain is None or domain.values is None else frozenset(domain.values)
