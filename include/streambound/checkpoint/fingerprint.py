"""The fingerprint of a plan: what of query and catalog the state and the answers depend on.

It is a digest of the compiled query and plan, of the catalog's word on the columns that the query mentions
(type, domain, NOT NULL) and on timestamps (granularity, rows at each), since evaluation refuses data that
break it, and of the rows of its static relations.
Comments, layout, places, names of queries, and columns that the query does not mention are no part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from streambound.plan.conditions import Flag, Pair
from streambound.plan.flow import Applied, Guarded, Irredundant, Sought
from streambound.query.column_types import NotANumber, Type
from streambound.query.model import Filter, Join, Query, Relation, RelationKind
from streambound.query.operators import AggregateKind, Shown, WindowCalls
from streambound.state.serial import plain

# To be raised when the same plan comes to mean another state or segment, or other answers.
VERSION = 6
# The user's own spelling, of constants and of offsets, and what no answer depends on; with the last two no
# history is evaluated. How far windows are apart stands in the formula of their column; how far outputs are
# moved, in the tree.
_LEFT_OUT = ("text", "offset_text", "observed", "cardinality", "within", "slide", "cumulative", "moved")
# Classes and fields under the names that they had in the first checkpoints; of rooms above this one
# fields have theirs in their metadata, as "written".
_CLASSES: dict[type, str] = {AggregateKind: "Kind", RelationKind: "Kind", WindowCalls: "Framing"}
_WRITTEN = {
    (Guarded, "static"): "known",
    (Sought, "static"): "known",
    (Shown, "distinguishable"): "told",
    (Irredundant, "positions"): "places",
    (Irredundant, "resolution"): "step",
    (Pair, "left"): "mine",
    (Pair, "right"): "theirs",
    (Flag, "left"): "mine",
    (Type, "resolution"): "step",
    (Applied, "max_units"): "units",
}

Rows = Iterable[Mapping[str, Any]]


def fingerprint(query: Query, plan: object, static: Mapping[str, Rows]) -> str:
    """The digest, in hexadecimal.

    Args:
        query: the compiled query.
        plan: its plan, of dataclasses, enumerations, collections and values.
        static: the encoded rows of each static relation that it reads.
    """
    document = {
        "version": VERSION,
        "query": described(query),
        "plan": described(plan),
        "static": {name: _static_rows(query, name, rows) for name, rows in static.items()},
    }
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def statement_fingerprint(
    parts: Iterable[tuple[int, bool, str]],
    outputs: Iterable[tuple[str, str]],
    checked: Iterable[tuple[Relation, Collection[str]]],
    tree: Any = None,
) -> str:
    """The digest of a statement from (block, whether it is distinct, fingerprint) of its parts.

    ``outputs`` are the names and types of its answer columns, maybe those of a SELECT that has no part;
    ``checked`` the streams of no part with the columns that are mentioned; ``tree`` what is done to the rows
    of the parts, if anything is.
    """
    columns = [list(output) for output in outputs]
    document = {"version": VERSION, "parts": [list(part) for part in parts], "outputs": columns}
    if relations := [_relation(relation, {relation.name: names}) for relation, names in checked]:
        document["checked"] = relations
    if tree is not None:
        document["tree"] = tree
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def described(thing: Any) -> Any:
    """A thing of dataclasses, enumerations, collections and values as JSON holds it."""
    if isinstance(thing, Query):
        return _query(thing)
    if isinstance(thing, (Filter, Join)):
        return ["Comparison", _compared(thing)]
    if isinstance(thing, Enum):
        return [_class_name(thing), thing.name]
    if is_dataclass(thing):
        body = {
            _written(thing, f): described(getattr(thing, f.name))
            for f in fields(thing)
            if f.compare and f.name not in _LEFT_OUT
        }
        return [_class_name(thing), body]
    if isinstance(thing, Mapping):
        return sorted(([described(k), described(v)] for k, v in thing.items()), key=_sorted_json)
    if isinstance(thing, (set, frozenset)):
        return sorted(map(described, thing), key=_sorted_json)
    if isinstance(thing, (list, tuple)):
        return [described(item) for item in thing]
    assert thing is None or isinstance(thing, (str, int, float, Fraction, NotANumber)), type(thing)
    return plain(thing)


def _written(thing: object, field: Field[Any]) -> str:
    name: str = field.metadata.get("written", field.name)
    return _WRITTEN.get((type(thing), name), name)


def _class_name(thing: object) -> str:
    return _CLASSES.get(type(thing), type(thing).__name__)


def _compared(atom: Filter | Join) -> dict[str, Any]:
    """As the first checkpoints name both kinds."""
    left, right = (atom.left, atom.right) if isinstance(atom, Join) else (atom.attribute, atom.constant)
    offset = atom.offset if isinstance(atom, Join) else 0
    return {"left": described(left), "op": described(atom.op), "right": described(right), "offset": offset}


def _query(query: Query) -> Any:
    used: dict[str, set[str]] = {}
    for attribute in (*query.mentioned, *query.weight):
        used.setdefault(query.occurrence(attribute.occurrence).relation.name, set()).add(attribute.column)
    body = {
        "distinct": query.ring.idempotent,
        "select": described(query.select),
        "from": [[o.alias, _relation(o.relation, used)] for o in query.occurrences],
        "where": described(query.where),
    }
    return {**body, "weight": described(query.weight)} if query.weight else body


def _relation(relation: Relation, used: Mapping[str, Collection[str]]) -> Any:
    wanted = {*relation.read(used.get(relation.name, ())), relation.timestamp}
    columns = [described(column) for column in relation.columns if column.name in wanted]
    columns += [[c.name, c.formula] for c in relation.computed if c.name in wanted]
    body = [relation.name, relation.kind.value, relation.timestamp, sorted(columns, key=_sorted_json)]
    promised: list[Any] = [relation.granularity, relation.max_rows_per_timestamp]
    if relation.rate is not None:
        promised.append([relation.rate.rows, relation.rate.length])
    return [*body, promised] if any(promised) else body


def _static_rows(query: Query, name: str, rows: Rows) -> list[Any]:
    aliases = {o.alias for o in query.statics if o.relation.name == name}
    columns = sorted({a.column for a in (*query.mentioned, *query.weight) if a.occurrence in aliases})
    return sorted(([plain(row[column]) for column in columns] for row in rows), key=_sorted_json)


def _sorted_json(thing: Any) -> str:
    return json.dumps(thing, sort_keys=True, ensure_ascii=False)
