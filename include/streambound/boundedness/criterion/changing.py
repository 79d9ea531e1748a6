"""Tables that change: of each key the latest row (section "Composition" of docs/theory.md).

Such a table is kept whole, so its keys must have finitely many values: then they are as good as known.
What its rows say is not known beforehand: compared with a column that is kept it is one of a stream that
time does not order. Shown or grouped it costs nothing, since there is one row of each key. Several such
tables are one stream: between them everything is computed again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import pairwise

from streambound.boundedness.criterion.current_time import leaves
from streambound.boundedness.criterion.verdict import Reason
from streambound.constraints.space import Space
from streambound.constraints.system import finite, system
from streambound.query.clock import CLOCK
from streambound.query.column_types import parse_type
from streambound.query.model import (
    Attribute,
    Column,
    Constant,
    Join,
    Occurrence,
    Op,
    Output,
    Query,
    Relation,
    RelationKind,
)
from streambound.query.renaming import mapped_atom

_VERSION = "time of change"


def takes_back(query: Query, looked_up: Collection[str] = ()) -> bool:
    """Whether every row of a query can be taken back: tables change, conditions on NOW() end.

    What is looked up as of a time stays as it was.
    """
    return any(
        o.relation == CLOCK or (o.relation.kind is RelationKind.VERSIONED and o.alias not in looked_up)
        for o in query.occurrences
    )


def _changing(query: Query) -> tuple[Occurrence, ...]:
    return tuple(o for o in query.occurrences if o.relation.kind is RelationKind.VERSIONED)


def unbounded_keys(query: Query) -> Reason | None:
    """A key of a changing table that nothing bounds; None if there is none."""
    tables = [o for o in _changing(query) if o.relation.fed is None]
    if not tables:
        return None
    keys = [Attribute(o.alias, name) for o in tables for name in o.relation.primary_key]
    facts = system(replace(query, select=(*query.select, *(Output("", key) for key in keys))))
    for table in tables:
        if not table.relation.primary_key:
            message = f"{table.alias} is a table that changes without a declared key: every row of it is kept"
            return Reason("unbounded-versions", message, (), table.location)
    for key in keys:
        if query.numbered(key):
            continue
        if facts.closure is not None and not finite(Space(facts.query), facts.closure, key):
            message = f"{key.occurrence} holds the latest row of each key, and no condition bounds {key}"
            return Reason("unbounded-versions", message, (key,), query.occurrence(key.occurrence).location)
    return None


def as_streams(query: Query) -> Query:
    """The query in which changing tables are a stream, and their keys those of a stream that ends."""
    tables = _changing(query)
    if not tables:
        return query
    names = {o.alias: f"{o.alias}, keys" for o in tables}
    keys = {o.alias: frozenset(_finite_keys(query, o)) for o in tables}

    def of(attribute: Attribute) -> Attribute:
        if attribute.column in keys.get(attribute.occurrence, ()):
            return replace(attribute, occurrence=names[attribute.occurrence])
        return attribute

    def output(shown: Output) -> Output:
        if not isinstance(shown.term, Attribute) or shown.term.occurrence not in names:
            return shown
        moved = of(shown.term)
        if moved != shown.term:
            return replace(shown, term=moved)
        return replace(shown, term=Constant(None, "NULL", query.type_of(shown.term)))

    occurrences = [o for o in query.occurrences if o.alias not in names]
    alone = not any(o.relation.kind is RelationKind.STREAM for o in occurrences)
    for table in tables:
        relation = table.relation
        keys_relation = replace(
            relation, name=f"{relation.name}, keys", kind=RelationKind.FINITE, timestamp=None
        )
        occurrences.append(Occurrence(names[table.alias], keys_relation, table.location))
        kind = RelationKind.FINITE if alone else RelationKind.STREAM
        occurrences.append(replace(table, relation=_stamped(relation, kind, len(tables) > 1)))
    together = (
        Join(Attribute(a.alias, _VERSION), Op.EQ, Attribute(b.alias, _VERSION)) for a, b in pairwise(tables)
    )
    where = (*(mapped_atom(atom, of) for atom in query.where), *together)
    return replace(
        query, select=tuple(map(output, query.select)), occurrences=tuple(occurrences), where=where
    )


def _finite_keys(query: Query, table: Occurrence) -> Iterator[str]:
    """The keys of a table that are as good as known beforehand."""
    fed = table.relation.fed
    for name in table.relation.primary_key:
        key = Attribute(table.alias, name)
        if fed is None or not leaves(fed) or query.numbered(key) or _finite(query, key):
            yield name


def _finite(query: Query, attribute: Attribute) -> bool:
    facts = system(replace(query, select=(*query.select, Output("", attribute))))
    return facts.closure is None or finite(Space(facts.query), facts.closure, attribute)


def _stamped(relation: Relation, kind: RelationKind, timed: bool) -> Relation:
    if not timed:
        return replace(relation, kind=kind, timestamp=None)
    columns = (*relation.columns, Column(_VERSION, parse_type("timestamp"), None, False))
    return replace(relation, kind=kind, columns=columns, timestamp=_VERSION)
