"""OVER where old rows change: all rows are kept (docs/theory.md, "OVER").

Without an order, to the end of a partition, ordered by a value, or where rows are taken back, what is said
of a row can always change. So all rows are kept, with their counts: they must be finitely many, or their
partition must end. Rows that no function sees together change apart: what has changed is computed anew for
the rows that are alike in what all functions are partitioned by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from streambound.operators.ordering.window_functions import Functions, apart
from streambound.operators.rows.closing import Closing
from streambound.operators.rows.operator import Changes, Operator, Row, difference, ordering
from streambound.operators.rows.projection import Projection
from streambound.plan.flow import Times
from streambound.query.column_types import Type
from streambound.query.operators import WindowCalls
from streambound.state.serial import decoded, plain


class Frames(Operator):
    """Rows with what window functions say of them, however they change.

    Args:
        types: of the rows.
        times: of the rows.
        time: where in rows their time is, for what is first or last.
    """

    def __init__(
        self, then: WindowCalls, types: Sequence[Type], times: Times, time: int | None = None
    ) -> None:
        self._then, self._functions = then, Functions(then.functions, types, time)
        self._shown = Projection(then.shown, list(enumerate(types)), self._functions.types, then.having)
        every = [set(over.partition) for over in then.functions]
        self._keys = tuple(sorted(set.intersection(*every))) if every else ()
        self._times, self._parted = times, times.among({p: n for n, p in enumerate(self._keys)})
        self._closing = Closing(times, self._parted)
        self._kept: dict[Row, dict[Row, int]] = {}

    @property
    def stored_units(self) -> int:
        """The values of each row, and its count."""
        return sum(len(row) + 1 for rows in self._kept.values() for row in rows)

    def take(self, inputs: Sequence[Changes]) -> dict[Row, int]:
        """The changes of the rows with what is said of them that follow from those of the rows."""
        arrived: dict[Row, dict[Row, int]] = {}
        for changes in inputs:
            for row, count in changes.items():
                rows = arrived.setdefault(tuple([row[p] for p in self._keys]), {})
                rows[row] = rows.get(row, 0) + count
                self._closing.see(row)
        before, after = list[tuple[Row, int]](), list[tuple[Row, int]]()
        for key, rows in arrived.items():
            stored = self._kept.pop(key, {})
            before += self._said(stored)
            now = {row: n for row in {**stored, **rows} if (n := stored.get(row, 0) + rows.get(row, 0))}
            after += self._said(now)
            if now:
                self._kept[key] = now
                self._closing.open(key)
        for key in self._closing.over():
            self._kept.pop(key, None)
        return shown(self._shown, difference(before, after))

    def standing(self, now: int | None, below: Sequence[Changes]) -> dict[Row, int]:
        """The rows of partitions that are not over."""
        parts = (rows for key, rows in self._kept.items() if not self._closing.closed(key, now))
        return shown(self._shown, difference((), (item for rows in parts for item in self._said(rows))))

    def _said(self, rows: Mapping[Row, int]) -> Iterable[tuple[Row, int]]:
        """Rows with what is said of them: of equal rows perhaps different things."""
        # Of each row what functions say of it and of those that equal it.
        shown_rows: dict[Row, list[list[Any]]] = {row: [] for row in rows}
        for over, function in zip(self._then.functions, self._functions.all, strict=True):
            parts: dict[Row, dict[Row, int]] = {}
            for row, count in rows.items():
                parts.setdefault(tuple([row[p] for p in over.partition]), {})[row] = count
            for part in parts.values():
                elements = self._functions.elements(part.items(), over.order)
                if self._functions.placed:
                    elements = apart(elements)
                for row in part:
                    shown_rows[row].append([])
                for (_, data, _), value in zip(
                    elements, function.values(elements, 0, function.past()), strict=True
                ):
                    shown_rows[self._functions.row(data)][-1].append(value)
        for row, count in rows.items():
            if self._functions.placed:
                yield from (((*row, *values), 1) for values in zip(*shown_rows[row], strict=True))
            else:
                yield (*row, *(value for (value,) in shown_rows[row])), count

    def dump(self) -> Any:
        """The rows, and the time that was seen."""
        rows = [(row, count) for part in self._kept.values() for row, count in part.items()]
        kept = [[*map(plain, row), count] for row, count in sorted(rows, key=lambda pair: ordering(pair[0]))]
        return {"rows": kept, "seen": self._closing.seen}

    def load(self, document: Any) -> None:
        """Take up rows."""
        self._kept, self._closing = {}, Closing(self._times, self._parted)
        self._closing.seen = document["seen"]
        for *values, count in document["rows"]:
            row = decoded(values)
            key = tuple([row[p] for p in self._keys])
            self._kept.setdefault(key, {})[row] = count
            self._closing.open(key)


def shown(projection: Projection, changes: Mapping[Row, int]) -> dict[Row, int]:
    """What is shown of rows that change."""
    made: dict[Row, int] = {}
    for row, count in zip(projection(list(changes)), changes.values(), strict=True):
        if row is not None:
            made[row] = made.get(row, 0) + count
    return {row: count for row, count in made.items() if count}
