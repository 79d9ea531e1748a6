"""The definition of a statement: its answer over finite relations, slow, and obviously right.

Each construct is what SQL says of it, computed from all rows: a join tries every combination of tuples, a
guard looks for a match among every combination of its own, groups, ranks and frames read all rows (see
``definition_groups``, ``definition_orders``). Where SQL leaves a choice open, this is the project's:

- Of rows that tie, the order is that of their values from left to right, NULL first (see ``row_key``).
- A row's own time is the greatest timestamp of the tuples that it is made of; of a tuple without one it is
  when it arrived.
- An as-of join takes all tuples of the last time that fits, if several have it.
- Of a table that changes there is, of each primary key, the row of the greatest time; of several the
  greatest row.
- ``NOW()`` is the marker's time, and says nothing of a row's own.

It shares no code with plans and engines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, TypeAlias

from streambound.errors import UnsupportedError
from streambound.evaluation.definition_groups import groups
from streambound.evaluation.definition_orders import ranked, with_functions
from streambound.evaluation.definition_rows import HOLDS, Row, computed, row_key, shown, with_values
from streambound.evaluation.events import Encoded
from streambound.query.clock import CLOCK
from streambound.query.formula import holds
from streambound.query.model import (
    Atom,
    Attribute,
    Filter,
    Join,
    Membership,
    NullTest,
    Occurrence,
    Op,
    Output,
    Relation,
    RelationKind,
    Term,
)
from streambound.query.operators import Grouping, WindowCalls
from streambound.query.statement import AsOf, Block, Guard, Selection, Statement

Combination: TypeAlias = Mapping[str, Encoded]
# Under this name, which no column has, a tuple holds when it arrived: its marker, encoded.
ARRIVAL = ""
Answering: TypeAlias = Callable[[Statement, Mapping[str, Sequence[Encoded]]], Iterable[Row]]


def evaluate(query: Statement, relations: Mapping[str, Sequence[Encoded]]) -> Counter[tuple[Any, ...]]:
    """The answer of a query over finite relations of the catalog: each row with its multiplicity.

    Raises:
        UnsupportedError: it needs what cannot be computed.
    """
    return Counter(row.values for row in _answer(query, relations))


def _answer(query: Statement, relations: Mapping[str, Sequence[Encoded]]) -> Iterator[Row]:
    for block in query.blocks:
        rows = (row for selection in block.selections for _, row in matched(selection, relations, _answer))
        yield from done(block, list(rows))


def done(block: Block, rows: Sequence[Row]) -> Iterable[Row]:
    """The rows of a block by those of its selections."""
    if block.ring.idempotent:
        # Of equal rows that which is there first.
        rows = list({row.values: row for row in sorted(rows, key=_latest_first)}.values())
    then, types = block.then, [kind for _, kind in block.selections[0].base.outputs]
    if then is None:
        return rows
    if isinstance(then, Grouping):
        return groups(then, rows, types)
    return with_functions(then, rows, types) if isinstance(then, WindowCalls) else ranked(then, rows, types)


def _latest_first(row: Row) -> tuple[bool, int]:
    return row.moment is not None, -(row.moment or 0)


# One SELECT.


def matched(
    selection: Selection, relations: Mapping[str, Sequence[Encoded]], answer: Answering
) -> Iterator[tuple[Combination, Row]]:
    """The matches of a SELECT with the rows that they make.

    Args:
        answer: the rows of a sub-query.
    """
    query = selection.base
    read = columns_read(selection)
    sought = {as_of.alias for as_of in selection.as_of}
    joined = [o for o in query.occurrences if o.alias not in sought]
    versions = {
        o.alias: tuples(o, relations, read, answer, True) for o in query.occurrences if o.alias in sought
    }
    guards = [
        (guard, [tuples(o, relations, read, answer) for o in guard.base.occurrences])
        for guard in selection.guards
    ]
    matched_rows = []
    for combination in product(*(tuples(o, relations, read, answer) for o in joined)):
        first = dict(zip((o.alias for o in joined), combination, strict=True))
        for match in _with_versions(first, selection.as_of, versions):
            if holds(selection.formula, partial(true_of, match)) and all(
                _passes(guard, among, match) for guard, among in guards
            ):
                values = tuple(_shown(output, match) for output in query.select)
                matched_rows.append((match, values, _moment(selection, match)))
    rows = [values for _, values, _ in matched_rows]
    if selection.shown:
        pairs = [(values, ()) for values in rows]
        rows = shown(selection.shown, [kind for _, kind in query.outputs], [], pairs)
    for (match, _, moment), values in zip(matched_rows, rows, strict=True):
        yield match, Row(values, moment)


def columns_read(selection: Selection) -> frozenset[tuple[str, str]]:
    """The columns that a SELECT reads, with their occurrences."""
    named = {a for atom in selection.atoms for a in atom.attributes} | set(selection.base.projected)
    for as_of in selection.as_of:
        named.update(a for pair in as_of.keys for a in pair)
        named.update(a for a in (as_of.left, as_of.right) if a is not None)
    return frozenset((a.occurrence, a.column) for a in named)


def _moment(selection: Selection, match: Combination) -> int | None:
    """The time of a row; None where a tuple of it has none."""
    dated = [o for o in selection.base.occurrences if o.relation != CLOCK]
    times = [_time(o.relation, match[o.alias]) for o in dated if match[o.alias]]
    return None if None in times else max((m for m in times if m is not None), default=None)


def _time(relation: Relation, row: Encoded) -> int | None:
    if relation.kind is RelationKind.STATIC:
        # It was there before everything.
        return -(10**30)
    stamp: Any = row.get(ARRIVAL) if relation.timestamp is None else row[relation.timestamp]
    return None if stamp is None else int(stamp)


# Relations.


def derived(query: Statement, tuples: Mapping[str, Iterable[Encoded]]) -> dict[str, list[Encoded]]:
    """Copies of tuples of a query's relations, with the values of the derived columns that they lack.

    Raises:
        DataError: a value has no place in its type.
    """
    relations = {relation.name: relation for relation in query.scanned}
    return {
        name: with_values(relations[name], relations[name].computed, rows) for name, rows in tuples.items()
    }


def tuples(
    occurrence: Occurrence,
    relations: Mapping[str, Sequence[Encoded]],
    read: frozenset[tuple[str, str]],
    answer: Answering,
    versions: bool = False,
) -> list[Encoded]:
    """The tuples of an occurrence with the columns that are read of it.

    Args:
        versions: of a table that changes all rows that ever were, not only those that hold.
    """
    relation = occurrence.relation
    columns = [c for c in relation.columns if (occurrence.alias, c.name) in read]
    if relation.fed is not None:
        names = [c.name for c in relation.own]
        rows: Sequence[Encoded] = [
            {**dict(zip(names, row.values, strict=True)), ARRIVAL: row.moment}
            for row in answer(relation.fed, relations)
        ]
    else:
        rows = relations[relation.name]
        if relation.kind is RelationKind.VERSIONED and not versions:
            rows = _current(relation, rows)
    return computed(relation, columns, rows)


def _current(relation: Relation, rows: Iterable[Encoded]) -> list[Encoded]:
    names = [c.name for c in relation.own]

    def order(row: Encoded) -> Any:
        return _time(relation, row) or 0, row_key([row[name] for name in names])

    last = {tuple(row[key] for key in relation.primary_key): row for row in sorted(rows, key=order)}
    return list(last.values())


# As-of joins.


def _with_versions(
    match: dict[str, Encoded], joins: Sequence[AsOf], versions: Mapping[str, list[Encoded]]
) -> Iterator[dict[str, Encoded]]:
    """The match with the tuples that as-of joins find for it, one join after another."""
    if not joins:
        yield match
        return
    join, *rest = joins
    fitting = []
    for row in versions[join.alias]:
        made = {**match, join.alias: row}
        times = _times(join, made)
        if times is not None and _fits(join, made, *times):
            fitting.append((times[1], made))
    last = (max if join.op in (Op.GE, Op.GT) else min)((time for time, _ in fitting), default=None)
    last_rows = [made for time, made in fitting if time == last]
    if not last_rows and join.outer:
        # All columns of a tuple that is not there are NULL.
        last_rows = [{**match, join.alias: {}}]
    for made in last_rows:
        yield from _with_versions(made, rest, versions)


def _times(join: AsOf, match: Combination) -> tuple[Any, Any] | None:
    """The times that are compared; None where one is NULL."""
    left = (
        max((_arrival(row) for alias, row in match.items() if alias != join.alias and row), default=0)
        if join.left is None
        else _value(join.left, match)
    )
    right = _arrival(match[join.alias]) if join.right is None else _value(join.right, match)
    return None if left is None or right is None else (left, right)


def _arrival(row: Encoded) -> int:
    arrival = row.get(ARRIVAL)
    if arrival is None:
        raise UnsupportedError(
            "when a row of a table that changes arrived is not known", fix="name its time in ON"
        )
    return int(arrival)


def _fits(join: AsOf, match: Combination, mine: Any, theirs: Any) -> bool:
    if not HOLDS[join.op](mine, theirs):
        return False
    if join.tolerance is not None and abs(mine - theirs) > join.tolerance:
        return False
    pairs = ((_value(left, match), _value(right, match)) for left, right in join.keys)
    return all(None not in pair and pair[0] == pair[1] for pair in pairs) and holds(
        join.where, partial(true_of, match)
    )


# Conditions.


def _passes(guard: Guard, among: Sequence[list[Encoded]], match: Combination) -> bool:
    aliases = [o.alias for o in guard.base.occurrences]
    matched_ = any(
        holds(guard.formula, partial(true_of, {**match, **dict(zip(aliases, combination, strict=True))}))
        for combination in product(*among)
    )
    return matched_ is not guard.negated


def _shown(output: Output, match: Combination) -> Any:
    value = _value(output.term, match)
    return value if value is None or not output.moved else value - output.moved


def _value(term: Term, match: Combination) -> Any:
    if not isinstance(term, Attribute):
        return term.value
    row = match[term.occurrence]
    # Only the tuple that an outer as-of join does not find has no columns.
    return row[term.column] if row else None


def true_of(match: Combination, atom: Atom) -> bool:
    """Whether a comparison is true of a match."""
    if isinstance(atom, Filter):
        value, constant = _value(atom.attribute, match), _value(atom.constant, match)
        return value is not None and bool(HOLDS[atom.op](value, constant))
    if isinstance(atom, Join):
        left, right = _value(atom.left, match), _value(atom.right, match)
        if left is None or right is None:
            return False
        return bool(HOLDS[atom.op](left, right + atom.offset if atom.offset else right))
    if isinstance(atom, Membership):
        value = _value(atom.attribute, match)
        return value is not None and value in [member.value for member in atom.values]
    if isinstance(atom, NullTest):
        return (_value(atom.attribute, match) is None) is atom.null
    return False
