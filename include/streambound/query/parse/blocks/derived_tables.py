"""Sub-queries that are not written out: their answers as the rows of a relation, with their statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from sqlglot import expressions as exp

from streambound.query.catalog import Catalog
from streambound.query.expressions.derived import aligned
from streambound.query.model import Attribute, Column, Domain, Query, Relation, RelationKind, Term
from streambound.query.operators import AggregateKind, Grouping, Ranking, Shown
from streambound.query.parse.blocks.union import blocks_of_rows, outputs
from streambound.query.parse.text.parts import Item, Rows, column_of
from streambound.query.statement import Block, Statement

# The time of groups that a sub-query does not show, as a column of its rows that nobody names.
HIDDEN = "(time)"


def fed_relation(
    blocks: tuple[Rows, ...], name: str, sql: str, catalog: Catalog
) -> tuple[Relation, list[Item]]:
    """The relation of what rows answer, under a name that no other has, and its columns by what is shown.

    The columns are over an occurrence of the relation under ``name``. An expression over several tuples is
    one over as many columns, each a column of one of them. The relation is a stream where a time is shown, or
    no row is ever taken back; else a table that changes.

    Raises:
        QueryError, UnsupportedError: the rows cannot be read.
    """
    # What it shows is computed of its columns by those who read it.
    made = tuple(
        replace(block, selections=tuple(replace(s, shown=()) for s in block.selections))
        for block in aligned(blocks_of_rows(blocks, sql, catalog, name), sql)
    )
    shown_alone = len(made[0].outputs)
    if len(made) == 1:
        made = (_with_time(made[0]),)
    statement = Statement(name, sql, made, outputs(made), unevaluated="a sub-query")
    columns: list[Column] = []
    own: list[Item] = []
    taken: set[str] = set()
    times = _times(statement)
    numbers = groupby(range(shown_alone), key=_items(made[0]).__getitem__)
    for item, (_, outputs_of) in zip(blocks[0].columns, numbers, strict=True):
        values: list[exp.Expr] = []
        for number in outputs_of:
            said = item.name or f"column{number + 1}"
            free, count = said, 2
            while free.lower() in taken:
                free, count = f"{said}_{count}", count + 1
            taken.add(free.lower())
            kind, nullable = statement.outputs[number][1], number not in times
            columns.append(Column(free, kind, _counted(statement, number), nullable))
            values.append(column_of(name, free))
        # Not under the name of the column: that may be one of a function, or of an aggregate.
        computed = exp.Anonymous(this="value", expressions=values)
        own.append(Item(item.name, item.key, values[0] if len(values) == 1 else computed))
    for _, kind in statement.outputs[shown_alone:]:
        columns.append(Column(HIDDEN, kind, nullable=False))
    stamp = min(times, key=lambda n: (times[n], n), default=None)
    if stamp is not None:
        columns = [
            replace(c, bucket=times[n] + times[stamp]) if n in times and n != stamp else c
            for n, c in enumerate(columns)
        ]
    table = stamp is None and all(map(_lasts, made))
    relation = Relation(
        _free(name, catalog),
        RelationKind.VERSIONED if table else RelationKind.STREAM,
        tuple(columns),
        None if stamp is None else columns[stamp].name,
        primary_key=tuple(columns[n].name for n in _keys(made)) if table else (),
        fed=statement,
    )
    return relation, own


def _counted(statement: Statement, number: int) -> Domain | None:
    """The numbers of rows that a column may be: none is negative, and those of a group are some."""
    block = statement.blocks[0]
    if len(statement.blocks) != 1 or not isinstance(block.then, Grouping):
        return None
    shown = block.then.shown[number]
    if not shown.plain or len(shown.values) != 1:
        return None
    aggregate = block.then.aggregates[shown.values[0]]
    if aggregate.kind is not AggregateKind.COUNT:
        return None
    return Domain(int(aggregate.counts_rows and block.then.keys > 0), _most(block))


def _most(block: Block) -> int | None:
    """How many rows there are of a group: those of a stream's window, if its rate is promised."""
    base = block.selections[0].base
    if len(block.selections) != 1 or len(base.occurrences) != 1 or not isinstance(block.then, Grouping):
        return None
    keys = [output.term for output in base.select[: block.then.keys]]
    spans = [base.column(key).bucket or 0 for key in keys if isinstance(key, Attribute) and base.is_time(key)]
    relation = base.occurrences[0].relation
    return relation.most(-(-min(spans) // relation.tick) + 1) if spans else None


def _items(block: Block) -> list[int]:
    """Which column of the answer each output is, or is a part of."""
    if block.then is not None:
        return list(range(len(block.outputs)))
    return [output.item for output in block.selections[0].base.select]


def _free(name: str, catalog: Catalog) -> str:
    candidate, number = name, 2
    while catalog.find(candidate) is not None:
        candidate, number = f"{name} ({number})", number + 1
    return candidate


def _changes(block: Block) -> bool:
    """Whether rows of a block may be taken back."""
    if isinstance(block.then, (Grouping, Ranking)):
        return True
    return any(guard.negated for selection in block.selections for guard in selection.guards)


def _lasts(block: Block) -> bool:
    """Whether a block has a row of each of some keys for ever: of finitely many, if it is bounded."""
    if isinstance(block.then, Grouping):
        return block.then.session is None and not _times_among(block, range(block.then.keys))
    return isinstance(block.then, Ranking) and not _times_among(block, block.then.partition)


def _times_among(block: Block, positions: Iterable[int]) -> list[int]:
    """The outputs of all rows of a block that are times."""
    bases = [selection.base for selection in block.selections]

    def is_time(base: Query, term: Term) -> bool:
        return isinstance(term, Attribute) and base.is_time(term)

    return [p for p in positions if any(is_time(base, base.select[p].term) for base in bases)]


def untimed(relation: Relation) -> bool:
    """Whether rows of a sub-query may be taken back, and their time is not known: no table, and no stream."""
    if relation.fed is None or relation.kind is not RelationKind.STREAM or relation.timestamp is not None:
        return False
    return any(map(_changes, relation.fed.blocks))


def mixed(relation: Relation) -> bool:
    """Whether rows that last for ever are beside others."""
    return untimed(relation) and relation.fed is not None and any(map(_lasts, relation.fed.blocks))


def _with_time(block: Block) -> Block:
    """A block with the time of its groups, or of its partitions, among its columns.

    Rows of others come when it is over, for ever: they are no table of finitely many keys.
    """
    if isinstance(block.then, Grouping):
        keys: tuple[int, ...] = tuple(range(block.then.keys))
    elif isinstance(block.then, Ranking) and block.then.shown and not block.then.by:
        keys = block.then.partition
    else:
        return block
    times = _times_among(block, keys)
    plainly_shown = {position for shown in block.then.shown if shown.plain for position in shown.outputs}
    if not times or plainly_shown & {*times}:
        return block
    base = block.selections[0].base
    kind = base.type_of(base.select[times[0]].term)
    return replace(
        block, then=replace(block.then, shown=(*block.then.shown, Shown(HIDDEN, kind, (times[0],))))
    )


def _shown(block: Block) -> Iterator[tuple[int, int]]:
    """The columns of an answer that are outputs of the rows as they are: both numbers."""
    if block.then is None:
        yield from ((n, n) for n in range(len(block.selections[0].base.select)))
        return
    for number, shown in enumerate(block.then.shown):
        if shown.plain and len(shown.outputs) == 1:
            yield number, shown.outputs[0]


def _times(statement: Statement) -> dict[int, int]:
    """The columns of the answers that are times of the rows, with how far they may be from the timestamp."""
    times: dict[int, int] | None = None
    for block in statement.blocks:
        mine: dict[int, int] = {}
        for number, position in _shown(block):
            widths = []
            for selection in block.selections:
                term = selection.base.select[position].term
                if not isinstance(term, Attribute) or not selection.base.is_time(term):
                    break
                moved = selection.base.select[position].moved
                widths.append((selection.base.column(term).bucket or 0) + abs(int(moved)))
            else:
                mine[number] = max(widths)
        times = mine if times is None else {n: max(w, mine[n]) for n, w in times.items() if n in mine}
    return times or {}


def _keys(blocks: tuple[Block, ...]) -> tuple[int, ...]:
    """The columns of the answers that tell the rows of a changing table apart."""
    block = blocks[0]
    keys: tuple[int, ...] = ()
    if isinstance(block.then, Grouping):
        keys = tuple(range(block.then.keys))
    if isinstance(block.then, Ranking) and not block.then.by:
        keys = block.then.partition
    return tuple(number for number, position in _shown(block) if position in keys)
