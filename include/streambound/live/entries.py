"""A state as entries of Spark's state store: one a stored key, held tuple or answered row.

What ``Evaluation.dump`` writes is taken apart, as JSON, into texts: a name, which says what an entry is of,
and what is held under it. Equal states have equal entries, so a micro-batch writes only those that it
changed, and there are at most as many as the state has units, and one more for each part of a statement: its
time, or of a part whose streams have ended, all of it.

Law: an evaluation that loads ``state_of(entries_of(state))`` dumps ``state``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from streambound.evaluation.flow import Tree
from streambound.state.serial import compact_text

Entries = dict[str, str]
# What a name begins with, so that no two entries of different sorts are called the same.
KEY, BUFFERED, ANSWERED, NOW, PART, WHOLE = "key", "held", "answered", "now", "part", "whole"
NODE = "node"


def entries_of(state: Any, labels: Sequence[str] = ()) -> Entries:
    """A state as entries; of one that is not known in parts there is a single entry.

    Args:
        labels: of the parts of its statement, if there are several.
    """
    if labels:
        return {
            compact_text([PART, label, name]): value
            for label in labels
            for name, value in entries_of(state[label]).items()
        }
    if "tables" in state:
        return dict(_named(state))
    return {compact_text([WHOLE]): compact_text(state)}


def state_of(entries: Mapping[str, str], labels: Sequence[str] = ()) -> Any:
    """The state whose entries these are; of tables without entries nothing is said."""
    if labels:
        parts: dict[str, Entries] = {label: {} for label in labels}
        for name, value in entries.items():
            _, label, own = json.loads(name)
            parts[label][own] = value
        return {label: state_of(own) for label, own in parts.items()}
    if (whole := entries.get(compact_text([WHOLE]))) is not None:
        return json.loads(whole)
    return _document(entries)


def tree_entries(tree: Tree[Any], state: Any) -> Entries:
    """The state of a tree as entries.

    Of a leaf they are those of its parts, of an operation one for each of its ``rows`` and one for all else.
    """
    return dict(_of_node(tree, state, "0"))


def _of_node(tree: Tree[Any], document: Any, path: str) -> Iterator[tuple[str, str]]:
    own, *below = document
    if tree.leaf is not None:
        for label, part in own.items():
            for name, value in entries_of(part).items():
                yield compact_text([NODE, path, label, name]), value
    elif tree.operator is not None:
        for name in tree.operator.rows:
            for key, *rest in own.pop(name):
                yield compact_text([NODE, path, name, compact_text(key)]), compact_text(rest)
        yield compact_text([NODE, path]), compact_text(own)
    for number, (item, part) in enumerate(zip(tree.below, below, strict=True)):
        yield from _of_node(item, part, f"{path}.{number}")


def tree_state(tree: Tree[Any], entries: Mapping[str, str]) -> Any:
    """The state of a tree whose entries these are."""
    nodes: dict[str, dict[str, Entries]] = {}
    wholes: dict[str, Any] = {}
    for name, value in entries.items():
        _, path, *rest = json.loads(name)
        if rest:
            nodes.setdefault(path, {}).setdefault(rest[0], {})[rest[1]] = value
        else:
            wholes[path] = json.loads(value)
    return _node_of(tree, nodes, wholes, "0")


def _node_of(
    tree: Tree[Any], nodes: Mapping[str, Mapping[str, Entries]], wholes: Mapping[str, Any], path: str
) -> Any:
    own: Any = None
    named = nodes.get(path, {})
    if tree.leaf is not None:
        own = {label: state_of(parts) for label, parts in named.items()}
    elif tree.operator is not None:
        own = wholes[path]
        for name in tree.operator.rows:
            rows = named.get(name, {})
            own[name] = [[json.loads(key), *json.loads(rows[key])] for key in sorted(rows)]
    below = (_node_of(item, nodes, wholes, f"{path}.{number}") for number, item in enumerate(tree.below))
    return [own, *below]


def _keys(table_name: str, ages: Any, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """An entry for each key of a table, with its count (duplicate-preserving) and all that is kept there."""
    keys: dict[str, list[Any]] = {}
    for number, key, count in table["counts"]:
        keys[compact_text([KEY, table_name, ages, number, key])] = [count, []]
    for number, key, unequal, ends in table["entries"]:
        keys.setdefault(compact_text([KEY, table_name, ages, number, key]), [None, []])[1].append(
            [unequal, ends]
        )
    return ((name, compact_text(value)) for name, value in keys.items())


def _empty() -> dict[str, list[Any]]:
    return {"counts": [], "entries": []}


def _put(table: Mapping[str, list[Any]], key: list[Any], value: list[Any]) -> None:
    """The inverse of ``_keys`` for one entry; ``key`` is (number of the cell, key)."""
    count, kept = value
    if count is not None:
        table["counts"].append([*key, count])
    table["entries"].extend([*key, unequal, ends] for unequal, ends in kept)


def _named(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield compact_text([NOW]), compact_text(document["now"])
    for name, slices in document["tables"]:
        for ages, table in slices:
            yield from _keys(name, ages, table)
    for alias, rows in document["held"]:
        yield from ((compact_text([BUFFERED, alias, row]), compact_text(n)) for row, n in _weighted(rows))
    for *row, until in document["answered"]:
        yield compact_text([ANSWERED, row]), compact_text(until)


def _weighted(rows: Iterable[list[Any]]) -> Iterator[tuple[list[Any], int]]:
    """Held tuples with their multiplicity; equal ones are one entry."""
    weights: dict[str, int] = {}
    for *row, weight in rows:
        weights[compact_text(row)] = weights.get(compact_text(row), 0) + weight
    return ((json.loads(row), weight) for row, weight in weights.items())


def _document(entries: Mapping[str, str]) -> dict[str, Any]:
    """What was dumped."""
    slices: dict[str, dict[str, dict[str, list[Any]]]] = {}
    buffered: dict[str, list[Any]] = {}
    document: dict[str, Any] = {"now": None, "answered": []}
    for (sort, *rest), value in _read(entries):
        if sort == NOW:
            document["now"] = value
        elif sort == BUFFERED:
            buffered.setdefault(rest[0], []).append([*rest[1], value])
        elif sort == ANSWERED:
            document["answered"].append([*rest[0], value])
        else:
            name, ages, *key = rest
            _put(slices.setdefault(name, {}).setdefault(compact_text(ages), _empty()), key, value)
    tables = [[n, [[json.loads(ages), t] for ages, t in by_age.items()]] for n, by_age in slices.items()]
    return {**document, "tables": tables, "held": list(buffered.items())}


def _read(entries: Mapping[str, str]) -> Iterator[tuple[list[Any], Any]]:
    # Of several sets that would do, the same is kept whenever entries come in the same order.
    return ((json.loads(name), json.loads(entries[name])) for name in sorted(entries))
