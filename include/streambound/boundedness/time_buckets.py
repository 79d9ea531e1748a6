"""Buckets of timestamps that a condition compares with an ordinary column are columns like any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from streambound.query.formula import Formula, atoms_of
from streambound.query.model import Attribute, Join, Query, Relation
from streambound.query.statement import Statement


def with_plain_times(statement: Statement) -> Statement:
    """The statement in which every column that counts as time is compared with times alone."""
    mixed = set(_mixed(statement))
    if not mixed:
        return statement

    def of(query: Query) -> Query:
        occurrences = tuple(replace(o, relation=_without(o.relation, mixed)) for o in query.occurrences)
        return replace(query, occurrences=occurrences)

    return statement.with_selections(lambda selection: selection.with_queries(of))


def _without(relation: Relation, mixed: set[tuple[str, str]]) -> Relation:
    if not any(name == relation.name for name, _ in mixed):
        return relation
    columns = tuple(
        replace(c, bucket=None) if (relation.name, c.name) in mixed else c for c in relation.columns
    )
    return replace(relation, columns=columns)


def _mixed(statement: Statement) -> Iterator[tuple[str, str]]:
    for selection in statement.selections:
        queries = {o.alias: selection.base for o in selection.base.occurrences}
        queries.update((o.alias, g.base) for g in selection.guards for o in g.base.occurrences)
        formulas: list[Formula] = [selection.formula, *(g.formula for g in selection.guards)]
        for atom in (a for formula in formulas for a in atoms_of(formula)):
            if isinstance(atom, Join):
                yield from _bucket_beside(queries, atom)


def _bucket_beside(queries: dict[str, Query], atom: Join) -> Iterator[tuple[str, str]]:
    for left, right in (atom.attributes, atom.attributes[::-1]):
        if left.occurrence not in queries or right.occurrence not in queries:
            continue
        if _bucket(queries, left) and not queries[right.occurrence].is_time(right):
            yield queries[left.occurrence].occurrence(left.occurrence).relation.name, left.column


def _bucket(queries: dict[str, Query], attribute: Attribute) -> bool:
    query = queries[attribute.occurrence]
    return query.is_time(attribute) and not query.is_timestamp(attribute)
