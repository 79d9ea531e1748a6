"""Rows of the definition, and the expressions that are computed over them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from streambound.errors import DataError, UnsupportedError
from streambound.evaluation.definition_values import over_columns
from streambound.query.column_types import NULL, Type
from streambound.query.model import Column, Op, Relation
from streambound.query.operators import KEYS, Shown
from streambound.query.windows import END

HOLDS = {
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.GE: operator.ge,
    Op.GT: operator.gt,
}


# eq is by identity: a bag may hold equal rows, each with a place of its own in an order.
@dataclass(frozen=True, eq=False)
class Row:
    """A row of a block (encoded values), and its time; None where it has none."""

    values: tuple[Any, ...]
    moment: int | None = None


def row_key(values: Iterable[Any]) -> tuple[Any, ...]:
    """What sorts rows by their values from left to right, NULL first."""
    return tuple((value is not None, 0 if value is None else value) for value in values)


# A row of a block with what was computed of it: aggregates, or what window functions say.
Pair: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]


def shown(
    columns: Sequence[Shown],
    outputs: Sequence[Type],
    values: Sequence[Type],
    pairs: Sequence[Pair],
    keys: Sequence[Type] = (),
) -> list[tuple[Any, ...]]:
    """The rows of an answer.

    Args:
        outputs: the types of the rows of the block.
        values: the types of what was computed of them.
        keys: the types of what they are grouped by, which follows the outputs in the rows.
    """
    made = [_column(column, outputs, values, pairs, keys) for column in columns]
    return list(zip(*made, strict=True)) if made else [() for _ in pairs]


def _column(
    column: Shown,
    outputs: Sequence[Type],
    values: Sequence[Type],
    pairs: Sequence[Pair],
    keys: Sequence[Type],
) -> list[Any]:
    if column.type == NULL:
        return [None for _ in pairs]
    if column.formula is not None:
        return over_values(column.formula, outputs, values, column.type, pairs, keys)
    if not column.plain:
        raise UnsupportedError(f"{column.name} is decided, and cannot be computed", location=column.location)
    if column.outputs:
        return [row[column.outputs[0]] for row, _ in pairs]
    return [said[column.values[0]] for _, said in pairs]


def over_values(
    formula: str,
    outputs: Sequence[Type],
    values: Sequence[Type],
    kind: Type,
    pairs: Sequence[Pair],
    keys: Sequence[Type] = (),
) -> list[Any]:
    """An expression over ``o0``, ``o1``, ... and ``v0``, ``v1``, ... of each row, and of what is grouped."""
    types = {f"o{n}": of for n, of in enumerate(outputs)}
    types |= {f"o{KEYS + n}": of for n, of in enumerate(keys)}
    types |= {f"v{n}": of for n, of in enumerate(values)}
    value = over_columns(formula, types, kind)
    return [value(dict(zip(types, (*row, *computed), strict=True))) for row, computed in pairs]


def computed(
    relation: Relation, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Tuples with columns that are computed from them; once for each window, if they are in several."""
    asked = [column for column in columns if column.of]
    made = with_values(relation, asked, rows)
    windows: dict[Any, list[Column]] = {}
    for column in asked:
        if column.slide is not None:
            windows.setdefault((column.of, column.bucket, column.slide, column.cumulative), []).append(column)
    for edges in windows.values():
        made = [copy for row in made for copy in _in_windows(row, edges)]
    return made


def with_values(
    relation: Relation, columns: Iterable[Column], rows: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Tuples with the values of some derived columns that they lack.

    Raises:
        DataError: a value has no place in its type.
    """
    made = [dict(row) for row in rows]
    for column in columns:
        if column.formula is None:
            raise UnsupportedError(f"{column.name} is decided, and cannot be computed")
        types = {name: relation.column(name).type for name in relation.stored((column.name,))}
        value = over_columns(column.formula, types, column.type)
        for row in made:
            if column.name not in row:
                row[column.name] = _stored(relation, column, value(row))
    return made


def _stored(relation: Relation, column: Column, value: Any) -> Any:
    if column.type.resolution == 1 and value is not None and not -(2**63) <= value < 2**63:
        raise DataError(f"{relation.name}.{column.name} is {value}, which is no {column.type.name}")
    return value


def _in_windows(row: dict[str, Any], edges: Sequence[Column]) -> Iterator[dict[str, Any]]:
    """A tuple once for each window that it is in, of windows of one kind; it has the edges of the last."""
    column = edges[0]
    (stamp,), size, slide = column.of, column.bucket, column.slide
    ends = [edge for edge in edges if _edge(edge) == END]
    if f"`{stamp}`" not in (column.formula or "").split(",")[0] or size is None or slide is None:
        raise UnsupportedError(f"{column.name} is decided, and cannot be computed")
    if column.cumulative and not ends:
        raise UnsupportedError(
            f"{column.name} is of several windows that begin together", fix="group by the end too"
        )
    moved = [edge for edge in edges if not column.cumulative or _edge(edge) == END]
    last = row[column.name] if _edge(column) == END else row[column.name] + size
    for earlier in range(0, last - row[stamp], slide):
        yield {**row, **{edge.name: row[edge.name] - earlier for edge in moved}}


def _edge(column: Column) -> str:
    return (column.formula or "").split("(")[0]
