"""DISTINCT joins that have no table of extrema, and need boundedly many tuples: the node that keeps these.

So are joins of a stream with itself (Theorem (I) of docs/theory.md) and comparisons of whole numbers with
offsets that no shift removes (section "Offsets").
"""

from __future__ import annotations

from collections.abc import Iterator

from streambound.boundedness.criterion.folding import folded
from streambound.errors import PlanError
from streambound.plan.flow import Applied, Irredundant, Leaf, Size, Times, together
from streambound.plan.tables.statement import require_bounded
from streambound.plan.trees.as_of_joins import single_select
from streambound.plan.trees.row_planner import Planning, leaf
from streambound.plan.trees.sizes import values_of
from streambound.query.column_types import Value
from streambound.query.formula import ALWAYS
from streambound.query.model import Attribute, Filter, Join, Occurrence, Output, Query, Relation, RelationKind
from streambound.query.ring import INTEGERS
from streambound.query.statement import Selection, Statement


def irredundant(statement: Statement, planning: Planning) -> Applied | None:
    """The rows of a bounded statement that only irredundant tuples have a plan for; None of any other.

    Raises:
        PlanError: it is of that kind, and has what is not evaluated yet.
    """
    query = statement.simple
    if query is None or not query.ring.idempotent or not require_bounded(statement).operators:
        return None
    return tuples_kept(statement, folded(query), planning)


def tuples_kept(statement: Statement, query: Query, planning: Planning) -> Applied:
    """The rows of a DISTINCT join of streams, from irredundant tuples, however many these are.

    Raises:
        PlanError: it has what is not evaluated yet.
    """
    relations = list(dict.fromkeys(o.relation for o in query.occurrences))
    numbers = {relation: number for number, relation in enumerate(relations)}
    read = {a for atom in query.where for a in atom.attributes} | set(query.projected)
    columns = [
        list(
            relation.stored(
                sorted({a.column for a in read if query.occurrence(a.occurrence).relation == relation})
            )
        )
        for relation in relations
    ]
    if reason := next(_refused(query, relations), None):
        raise PlanError(f"the query cannot be evaluated yet: {reason}", subject=statement.name)
    nodes = [_tuples(statement, r, names, planning) for r, names in zip(relations, columns, strict=True)]
    positions = dict[Attribute, tuple[int, int]]()
    nullable, within = set[tuple[int, int]](), dict[tuple[int, int], tuple[Value | None, Value | None]]()
    for attribute in read:
        relation = query.occurrence(attribute.occurrence).relation
        column, number = relation.column(attribute.column), numbers[relation]
        position = columns[number].index(column.of[0] if column.shift else column.name)
        positions[attribute] = position, column.shift
        stored = relation.column(columns[number][position])
        if stored.nullable:
            nullable.add((number, position))
        if stored.domain is not None:
            domain = stored.domain
            low, high = domain.minimum, domain.maximum
            if domain.values:
                low, high = min(domain.values), max(domain.values)
            within[number, position] = low, high
    times = [a for atom in query.joins if query.is_time(atom.left) for a in atom.attributes]
    stamps = [positions[times[0]][0]] if times else [None] * len(relations)
    resolutions = {query.type_of(a).resolution for a in read if not query.is_time(a)}
    operation = Irredundant(
        tuple((o.alias, numbers[o.relation]) for o in query.occurrences),
        tuple(atom for atom in query.where if isinstance(atom, (Filter, Join))),
        tuple(output.term for output in query.select),
        positions,
        tuple(stamps),
        1 + max((abs(atom.offset) for atom in query.joins), default=0),
        next(iter(resolutions)) if len(resolutions) == 1 else None,
        frozenset(nullable),
        within,
    )
    size = together(
        [_given(query), *(_tuples_kept(r, names) for r, names in zip(relations, columns, strict=True))]
    )
    return Applied(operation, tuple(nodes), statement.outputs, Times(), False, size.number, size.formula)


def _refused(query: Query, relations: list[Relation]) -> Iterator[str]:
    """What the operation does not evaluate."""
    for relation in relations:
        if relation.kind is not RelationKind.STREAM or relation.fed is not None:
            yield f"{relation.name} is no stream, and tuples that no other serves are kept"
    timed = [atom for atom in query.joins if query.is_time(atom.left) or query.is_time(atom.right)]
    if timed and (len(relations) > 1 or not all(map(query.is_timestamp, _both(timed)))):
        yield f"{timed[0]} compares times where tuples that no other serves are kept"
    if any(map(query.is_time, query.projected)):
        yield "a time is shown where tuples that no other serves are kept"
    for atom in query.where:
        if not isinstance(atom, (Filter, Join)) or (
            isinstance(atom, Filter) and query.is_time(atom.attribute)
        ):
            yield f"{atom} is asked where tuples that no other serves are kept"
    compared = {a for atom in query.where for a in atom.attributes}
    for attribute in query.projected:
        if query.nullable(attribute) and attribute not in compared:
            yield f"{attribute} may be NULL where tuples that no other serves are kept"
    for attribute in compared.union(query.projected):
        column = query.column(attribute)
        if column.of and not column.shift:
            yield f"{column.name} is computed where tuples that no other serves are kept"
    resolutions = {query.type_of(a).resolution for a in compared if not query.is_time(a)}
    if len(resolutions) > 1 and any(query.column(a).shift for a in compared):
        yield "numbers of several types are compared with offsets"


def _both(joins: list[Join]) -> list[Attribute]:
    return [a for atom in joins for a in atom.attributes]


def _tuples(statement: Statement, relation: Relation, columns: list[str], planning: Planning) -> Leaf:
    """The tuples of a stream."""
    query = Query(
        name=statement.name,
        sql=statement.sql,
        ring=INTEGERS,
        select=tuple(Output(name, Attribute(relation.name, name)) for name in columns),
        occurrences=(Occurrence(relation.name, relation),),
        where=(),
    )
    return leaf(single_select(statement, Selection(query, ALWAYS)), planning)


def _given(query: Query) -> Size:
    """How much is kept of rows that there are."""
    values = values_of([query], range(len(query.select)))
    number = 1
    for value in values:
        if value.count is None:
            return Size(None, "rows that there are")
        number *= value.count
    return Size(number * max(1, len(query.select)))


def _tuples_kept(relation: Relation, columns: list[str]) -> Size:
    return Size(None, f"tuples of {relation.name} that no others serve").times(len(columns))
