"""Rows of the definition, and the expressions that are computed over them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streambound.errors import UnsupportedError
from streambound.query.model import Column, Op, Relation
from streambound.query.operators import Shown
from streambound.query.values import Type

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


Show = Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]]


def shown(columns: Sequence[Shown], outputs: Sequence[Type], values: Sequence[Type]) -> Show:
    """What makes the columns of an answer of outputs of a row and of values that were computed of it."""
    made = [_column(one, outputs, values) for one in columns]
    return lambda row, said: tuple(of(row, said) for of in made)


def _column(one: Shown, outputs: Sequence[Type], values: Sequence[Type]) -> Callable[..., Any]:
    if one.formula is not None:
        return over_values(one.formula, outputs, values, one.type)
    if not one.plain:
        raise UnsupportedError(f"{one.name} is decided, and cannot be computed", place=one.place)
    if one.outputs:
        return lambda row, said: row[one.outputs[0]]
    return lambda row, said: said[one.values[0]]


def over_values(
    formula: str, outputs: Sequence[Type], values: Sequence[Type], kind: Type | None
) -> Callable[[tuple[Any, ...], tuple[Any, ...]], Any]:
    """An expression over ``o0``, ``o1``, ... and ``v0``, ``v1``, ..., as what computes it."""
    of = _compiled(formula, _numbered("o", outputs) | _numbered("v", values), kind)

    def value(row: tuple[Any, ...], said: tuple[Any, ...]) -> Any:
        named = {
            **{f"o{n}": one for n, one in enumerate(row)},
            **{f"v{n}": one for n, one in enumerate(said)},
        }
        return of(named)

    return value


def computed(
    relation: Relation, columns: Sequence[Column], row: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """A tuple with the columns that are computed from it; once for each window, if it is in several."""
    made = dict(row)
    types = {c.name: c.type for c in relation.stored}
    for column in columns:
        if not column.of:
            continue
        if column.formula is None:
            raise UnsupportedError(f"{column.name} is decided, and cannot be computed")
        made[column.name] = _compiled(column.formula, types, column.type)(row)
    yield made


def _compiled(formula: str, columns: Mapping[str, Type], kind: Type | None) -> Callable[[Any], Any]:
    from streambound.evaluation.expressions import compiled  # type: ignore[import-not-found]

    return compiled(formula, columns, kind)  # type: ignore[no-any-return]
