"""Ranks and frames of the definition: each row is looked at in the order of its partition.

NULL comes first where the order ascends, and last where it descends, as in Spark. Rows that tie are in the
order of their values (``row_key``), so that each has a place of its own; of equal rows the first to one
function is the first to all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from streambound.errors import UnsupportedError
from streambound.evaluation.definition_groups import Aggregated, aggregated, value_type
from streambound.evaluation.definition_rows import HOLDS, Row, over_values, row_key, shown
from streambound.query.column_types import Family, Type
from streambound.query.operators import Over, Ranking, WindowCalls
from streambound.query.scope import BOOLEAN, INTEGER

Order: TypeAlias = Sequence[tuple[int, bool]]
_DAY = 86_400_000_000
_RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE", "PERCENT_RANK", "CUME_DIST")
# What tells a row by its place, and the names of it that pass over no row.
_BY_POSITION = ("LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE")
_OF_POSITIONS = (*_BY_POSITION, "FIRST", "LAST")


def ranked(then: Ranking, rows: Sequence[Row], types: Sequence[Type]) -> Iterator[Row]:
    """The rows of the ranks that are asked for."""
    then, rows, types = with_keys(then, rows, types)
    kept: list[tuple[Row, int]] = []
    for part in partitions(rows, then.partition):
        ordered = in_order(part, then.order)
        ranks = [rank_of(then.function, ordered, then.order, position) for position in range(len(ordered))]
        kept += [pair for pair in zip(ordered, ranks, strict=True) if is_kept(then, pair[1])]
    pairs = [(row.values, (rank,)) for row, rank in kept]
    for (row, _), values in zip(kept, shown(then.shown, types, [INTEGER], pairs), strict=True):
        yield Row(values, row.moment)


def with_keys(
    then: Ranking | WindowCalls, rows: Sequence[Row], types: Sequence[Type]
) -> tuple[Any, list[Row], list[Type]]:
    """Rows with what they are partitioned by, where that is computed of them, after their values."""
    if not then.by:
        return then, list(rows), list(types)
    keys = shown(then.by, types, [], [(row.values, ()) for row in rows])
    wider = [Row((*row.values, *key), row.moment) for row, key in zip(rows, keys, strict=True)]
    return then.parted(len(types)), wider, [*types, *(column.type for column in then.by)]


def is_kept(then: Ranking, rank: int) -> bool:
    """Whether rows of a rank are among the answers."""
    return rank > then.above and bool(HOLDS[then.op](rank, then.limit))


def with_functions(then: WindowCalls, rows: Sequence[Row], types: Sequence[Type]) -> Iterator[Row]:
    """Each row with what the functions say of those around it; of a rank perhaps only some."""
    return (row for row in with_functions_each(then, rows, types) if row is not None)


def with_functions_each(
    then: WindowCalls, rows: Sequence[Row], types: Sequence[Type]
) -> Iterator[Row | None]:
    """For each row what is shown of it; None of one that is left out."""
    then, rows, types = with_keys(then, rows, types)
    then, rows, types = _with_read(then, rows, types)
    of = [_aggregated(over, types) for over in then.functions]
    # Equal rows are told apart: each has its own place in an order.
    own = [Row(row.values, row.moment) for row in rows]
    said: dict[int, list[Any]] = {id(row): [] for row in own}
    for over, value in zip(then.functions, of, strict=True):
        for part in partitions(own, over.partition):
            ordered = in_order(part, over.order)
            for position, row in enumerate(ordered):
                said[id(row)].append(_value(over, value, ordered, position, types))
    pairs = [(row.values, tuple(said[id(row)])) for row in own]
    kinds = [value_type(over, types) for over in then.functions]
    formula = None if then.having is None else str(then.having.formula)
    kept = [True] * len(pairs) if formula is None else over_values(formula, types, kinds, BOOLEAN, pairs)
    for row, values, holds in zip(own, shown(then.shown, types, kinds, pairs), kept, strict=True):
        yield Row(values, row.moment) if holds else None


def _with_read(
    then: WindowCalls, rows: Sequence[Row], types: Sequence[Type]
) -> tuple[WindowCalls, Sequence[Row], Sequence[Type]]:
    """Rows with what is computed for functions that tell a row by its place, after their values."""
    functions, kinds, added = list[Over](), list(types), list[list[Any]]()
    pairs = [(row.values, ()) for row in rows]
    for over in then.functions:
        aggregate = over.aggregate
        if over.name in _BY_POSITION and aggregate is not None and aggregate.formula is not None:
            kind = aggregate.computed or INTEGER
            added.append(over_values(aggregate.formula, types, (), kind, pairs))
            position = len(kinds)
            kinds.append(kind)
            plain = replace(aggregate, arguments=(position,), formula=None, computed=None, polynomial=None)
            over = replace(over, aggregate=plain, arguments=(position,))
        functions.append(over)
    if not added:
        return then, rows, types
    further = zip(*added, strict=True)
    wider = [Row((*row.values, *more), row.moment) for row, more in zip(rows, further, strict=True)]
    return replace(then, functions=tuple(functions)), wider, kinds


def _aggregated(over: Over, types: Sequence[Type]) -> Aggregated | None:
    """What a function computes of the rows of its frame; None of one that tells a row by its place."""
    if over.name in _BY_POSITION and (over.aggregate is None or over.aggregate.function in _OF_POSITIONS):
        return None
    if over.name in _RANKS:
        return None
    if over.aggregate is None:
        raise UnsupportedError(f"{over.name} is decided, and cannot be computed", location=over.location)
    return aggregated(over.aggregate, types)


def partitions(rows: Sequence[Row], keys: Sequence[int]) -> list[list[Row]]:
    """Rows by their values at some positions."""
    by_key: dict[Any, list[Row]] = {}
    for row in rows:
        by_key.setdefault(tuple(row.values[key] for key in keys), []).append(row)
    return list(by_key.values())


def in_order(rows: Sequence[Row], order: Order) -> list[Row]:
    """Rows in an order; those that tie by their values."""
    made = sorted(rows, key=lambda row: row_key(row.values))
    for position, descends in reversed(order):
        made.sort(key=lambda row, p=position: row_key(row.values[p : p + 1]), reverse=descends)  # type: ignore[misc]
    return made


def _key(row: Row, order: Order) -> tuple[Any, ...]:
    return tuple(row.values[position] for position, _ in order)


def _peers(ordered: Sequence[Row], order: Order, position: int) -> tuple[int, int]:
    """The first and the last place of the rows that the order does not tell from one."""
    alike = [n for n, row in enumerate(ordered) if _key(row, order) == _key(ordered[position], order)]
    return alike[0], alike[-1]


def rank_of(function: str, ordered: Sequence[Row], order: Order, position: int) -> int:
    """The rank of the row at a place of an order."""
    first, _ = _peers(ordered, order, position)
    if function == "ROW_NUMBER":
        return position + 1
    if function == "RANK":
        return first + 1
    return len({_key(row, order) for row in ordered[: first + 1]})


def _value(
    over: Over, value: Aggregated | None, ordered: Sequence[Row], position: int, types: Sequence[Type]
) -> Any:
    if over.name in _RANKS:
        return _of_order(over, ordered, position)
    if value is None:
        return _of_position(over, ordered, position, types)
    return value(_frame(over, ordered, position, types))


def _of_order(over: Over, ordered: Sequence[Row], position: int) -> Any:
    rows, (first, last) = len(ordered), _peers(ordered, over.order, position)
    if over.name == "PERCENT_RANK":
        return first / (rows - 1) if rows > 1 else 0.0
    if over.name == "CUME_DIST":
        return (last + 1) / rows
    if over.name == "NTILE":
        # The first ones have a row more each.
        size, more = divmod(rows, over.offset)
        large = more * (size + 1)
        return position // (size + 1) + 1 if position < large else more + (position - large) // size + 1
    return rank_of(over.name, ordered, over.order, position)


def _of_position(over: Over, ordered: Sequence[Row], position: int, types: Sequence[Type]) -> Any:
    if over.name in ("LAG", "LEAD"):
        at = position - over.offset if over.name == "LAG" else position + over.offset
        return ordered[at].values[over.arguments[0]] if 0 <= at < len(ordered) else None
    rows = _frame(over, ordered, position, types)
    at = {"FIRST_VALUE": 0, "LAST_VALUE": len(rows) - 1}.get(over.name, over.offset - 1)
    return rows[at].values[over.arguments[0]] if 0 <= at < len(rows) else None


def _frame(over: Over, ordered: Sequence[Row], position: int, types: Sequence[Type]) -> Sequence[Row]:
    """The rows of a frame, in order."""
    frame, last = over.frame, len(ordered) - 1
    if frame.rows:
        start = 0 if frame.before is None else max(0, position - frame.before)
        end = last if frame.after is None else min(last, position + frame.after)
        return ordered[start : max(start, end + 1)]
    start, end = _range(over, ordered, position, types)
    return ordered[start : end + 1]


def _range(over: Over, ordered: Sequence[Row], index: int, types: Sequence[Type]) -> tuple[int, int]:
    """The first and the last place of a frame by range."""
    frame, (first, last) = over.frame, _peers(ordered, over.order, index)
    start, end = (0 if frame.before is None else first), (len(ordered) - 1 if frame.after is None else last)
    if not frame.before and not frame.after:
        return start, end
    position, descends = over.order[0]
    of, length = ordered[index].values[position], _length(types[position])
    if of is None:
        # Nothing is near NULL but NULL.
        return start, end
    before, after = (None if end is None else length(end) for end in (frame.before, frame.after))

    def late(value: Any) -> bool:
        """Whether a value stands at the start or after it; NULL is at the end where the order descends."""
        if value is None or before is None:
            return descends or before is None
        return bool(value <= of + before if descends else value >= of - before)

    def early(value: Any) -> bool:
        if value is None or after is None:
            return not descends or after is None
        return bool(value >= of - after if descends else value <= of + after)

    values = [row.values[position] for row in ordered]
    start = next((n for n, value in enumerate(values) if late(value)), len(values))
    end = max((n for n, value in enumerate(values) if early(value)), default=-1)
    return start, end


def _length(kind: Type) -> Callable[[int], int]:
    """A length of a frame in the units of what it is ordered by: of dates, days."""
    return (lambda n: n // _DAY if abs(n) >= _DAY else n) if kind.family is Family.DATE else lambda n: n
