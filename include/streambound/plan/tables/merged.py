"""A set of streams as one wider stream: what a plan for their partial matches reasons about.

A partial match of streams is a tuple of a wider stream: its columns are theirs, comparisons among
them are conditions on that tuple alone. Streams of one composite are merged on both sides, since an
equality between them links what waits for either.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from streambound.plan.model import Cell
from streambound.query.model import Attribute, Column, Join, Occurrence, Query, Relation, RelationKind

T = TypeVar("T")


@dataclass(frozen=True)
class Widened:
    """A query whose streams are grouped into wider ones, and the way back to the columns it came from."""

    query: Query
    evaluated: tuple[Join, ...]
    names: dict[frozenset[str], str]
    originals: dict[Attribute, Attribute]

    def alias(self, group: frozenset[str]) -> str:
        """The alias of a group of streams."""
        return self.names[group]

    def original(self, cell: Cell) -> Cell:
        """A cell of the wide query in terms of the original columns."""
        return renamed(cell, self.originals)


def widened(query: Query, joins: Iterable[Join], groups: Iterable[frozenset[str]]) -> Widened:
    """A query with each group of streams as one.

    ``joins`` are the comparisons between streams that are evaluated. Conditions on application
    timestamps are left out: they are met before a partial match is filed.
    """
    stamps = {a for a in query.mentioned if query.is_timestamp(a)}
    merged_columns: dict[Attribute, Attribute] = {}
    occurrences, names = [], {}
    for group in groups:
        alias = " + ".join(sorted(group))
        names[group] = alias
        local_columns = [a for a in query.mentioned if a.occurrence in group and a not in stamps]
        merged_columns.update((a, Attribute(alias, str(a))) for a in local_columns)
        columns = tuple(_column(query, a) for a in local_columns)
        occurrences.append(Occurrence(alias, Relation(alias, RelationKind.STREAM, columns)))
    conditions = [a for a in query.where if not stamps & set(a.attributes)]
    local = [a for a in conditions if len({x.occurrence for x in a.attributes}) < 2]
    merged_query = replace(
        query,
        select=tuple(renamed(o, merged_columns) for o in query.select if o.term not in stamps),
        occurrences=(*occurrences, *query.statics),
        where=renamed(tuple(conditions), merged_columns),
    )
    evaluated = tuple(a for a in (*local, *joins) if isinstance(a, Join))
    return Widened(
        merged_query,
        renamed(evaluated, merged_columns),
        names,
        {new: old for old, new in merged_columns.items()},
    )


def _column(query: Query, attribute: Attribute) -> Column:
    column = query.column(attribute)
    return replace(column, name=str(attribute), nullable=column.nullable and attribute not in query.present)


def renamed(value: T, names: dict[Attribute, Attribute]) -> T:
    """A frozen value with other attributes, wherever they occur in it."""
    result: Any = value
    if isinstance(value, Attribute):
        result = names.get(value, value)
    elif isinstance(value, (tuple, frozenset)):
        result = type(value)(renamed(part, names) for part in value)
    elif hasattr(value, "__dataclass_fields__"):
        parts = {name: getattr(value, name) for name in value.__dataclass_fields__}
        changed = {name: renamed(part, names) for name, part in parts.items()}
        if changed != parts:
            result = replace(result, **changed)
    return cast(T, result)
