"""The evaluation of a plan that only counts, in arrays; its states and answers are those of one pass.

Where duplicates are preserved and no timestamps are compared, a table is a column of codes for each key and a
column of counts. What a partition adds is joined with the tables of the other streams as arrays, and added to
its own: no entry is an object of its own. Codes number all values that occurred (dictionary encoding).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streambound.evaluation.onepass import OnePass
from streambound.evaluation.order import ArrivalOrder
from streambound.history.evaluations.array_join import (
    ANYTHING,
    ArrayJoin,
    Integers,
    Matched,
    Slot,
    grouped,
    ranked,
    weights_of,
)
from streambound.history.evaluations.evaluation import AnswersAt, ByEngine, Static
from streambound.plan.exclusions import excluded
from streambound.plan.model import Cell, Plan, Streams
from streambound.query.model import Attribute, Op
from streambound.state.row_join import Row
from streambound.state.table import ANY, Table
from streambound.tasks import encoded_sql
from streambound.tasks.counts import load_counts


class _Dictionary:
    """The codes of values, and their order."""

    def __init__(self) -> None:
        self.indices: dict[Any, int] = {}
        self.values: Sequence[Any] = ()
        self._ranks: Integers = np.zeros(0, np.int64)

    def numbered(self, column: pa.ChunkedArray) -> Integers:
        """The codes of a column in the form in which result sets return it."""
        encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
        indices = self.encoded(map(encoded_sql.encoded, encoded.dictionary.to_pylist()))
        numbers: Integers = indices[encoded.indices.to_numpy(zero_copy_only=False)]
        return numbers

    def encoded(self, column: Iterable[Any]) -> Integers:
        """The codes of some values; ANYTHING stands for ANY."""
        indices = self.indices
        return np.array(
            [ANYTHING if value is ANY else indices.setdefault(value, len(indices)) for value in column],
            np.int64,
        )

    def ranks(self, indices: Integers) -> Integers:
        """The ranks of values in their order (see ``array_join.ranked``); ``values`` has them by rank."""
        if len(self._ranks) < len(self.indices):
            positions, self.values = ranked([list(self.indices)])
            self._ranks = np.array([positions[value] for value in self.indices], np.int64)
        if not len(self._ranks):
            return indices
        ranks: Integers = np.where(indices < 0, ANYTHING, self._ranks[indices])
        return ranks


class _Counts:
    """The counts of one stream: for each cell codes by the place of a key, and how many there are."""

    def __init__(self, alias: str, cells: Sequence[Cell]) -> None:
        self.alias, self.cells = alias, cells
        none = np.zeros(0, np.int64)
        self.parts = [Matched({(alias, i): none for i in range(len(cell.keys))}, none) for cell in cells]

    def __len__(self) -> int:
        return sum(len(part.weights) for part in self.parts)

    def with_parts(self, parts: Sequence[tuple[Sequence[Integers], NDArray[Any]]]) -> _Counts:
        """A table of the same cells: for each the codes by key, and the counts."""
        total = _Counts(self.alias, self.cells)
        for number, (columns, counts) in enumerate(parts):
            indices: dict[Slot, Integers] = {(self.alias, i): column for i, column in enumerate(columns)}
            total.parts[number] = Matched(indices, counts)
        return total

    def merge(self, counts: _Counts) -> None:
        """Add the counts of other tuples."""
        for number, (mine, more) in enumerate(zip(self.parts, counts.parts, strict=True)):
            columns = {
                slot: np.concatenate([mine.columns[slot], more.columns[slot]]) for slot in mine.columns
            }
            fits = int(mine.weights.sum()) + int(more.weights.sum()) < 2**62
            both = [part.weights if fits else part.weights.astype(object) for part in (mine, more)]
            self.parts[number] = grouped(Matched(columns, np.concatenate(both)), set(columns))

    def table(self, like: Table, values: _Dictionary) -> Table:
        """The counts as a table of a state."""
        by_code = list(values.indices)
        for number, part in enumerate(self.parts):
            columns = [[by_code[code] for code in indices.tolist()] for indices in part.columns.values()]
            keys = zip(*columns, strict=True) if columns else [()] * len(part.weights)
            like.counts.update(
                ((number, key), count) for key, count in zip(keys, part.weights.tolist(), strict=True)
            )
        return like


class CountEvaluation(ByEngine[OnePass]):
    """The evaluation of such a plan, a partition at once (see ``evaluation.Evaluation``)."""

    def __init__(self, plan: Plan, static: Static, order: ArrivalOrder) -> None:
        super().__init__(OnePass(plan, static, order, ArrayJoin))
        self.plan, self.values = plan, _Dictionary()
        self.join = ArrayJoin(plan.query.ring, plan.joins, (), excluded(plan.synopses))
        self.tables = {frozenset(s.streams): _Counts(s.streams[0], s.cells) for s in plan.synopses}
        self.positions = {streams: self._positions(table) for streams, table in self.tables.items()}
        self.statics = [
            (streams, self._static(streams, list(rows)), weights_of([match.weight for match in rows]))
            for streams, rows in self.engine.static
        ]

    @property
    def stored_units(self) -> int:
        """What is stored now."""
        return sum(map(len, self.tables.values()))

    def by_moment(self, partition: str, summaries: Mapping[str, bytes]) -> Iterator[AnswersAt]:
        """The one step of a partition."""
        yield AnswersAt(None, partial(self._taken, summaries))

    def _taken(self, summaries: Mapping[str, bytes]) -> Mapping[Row, int]:
        rows: dict[Row, int] = {}
        for split in self.plan.answers:
            (streams,) = split.new
            new = self._read(self.tables[streams], summaries)
            self.tables[streams].merge(new)
            kept = [self.tables[streams] for streams in split.kept]
            if not len(new) or not all(map(len, kept)):
                continue
            self._join(rows, [(streams, new), *zip(split.kept, kept, strict=True)])
        self.engine.peak_units = max(self.engine.peak_units, self.stored_units)
        return rows

    def _join(self, rows: dict[Row, int], tables: Sequence[tuple[Streams, _Counts]]) -> None:
        given = [(streams, self._matched(streams, table)) for streams, table in tables]
        given += [
            (
                streams,
                Matched({slot: self.values.ranks(indices) for slot, indices in columns.items()}, weights),
            )
            for streams, columns, weights in self.statics
        ]
        given.sort(key=lambda source: len(source[1].weights))
        for row, weight in self.join.combined(self.plan.query, given, self.values.values):
            self.plan.query.ring.put(rows, row, weight)

    def _read(self, table: _Counts, summaries: Mapping[str, bytes]) -> _Counts:
        if table.alias not in summaries:
            return table.with_parts(())
        cells = (cell.columns for cell in load_counts(table.alias, summaries[table.alias]))
        return table.with_parts(
            [(list(map(self.values.numbered, keys)), counts.to_numpy()) for *keys, counts in cells]
        )

    def _positions(self, table: _Counts) -> dict[Slot, list[int | None]]:
        """What stands for a slot in the entries of each cell: the place of a key, None for any value."""
        alias, slots = table.alias, dict[Slot, list[int | None]]()
        for attribute in frozenset(self.plan.query.projected):
            if attribute.occurrence == alias:
                slots[alias, attribute] = [_position(cell, attribute) for cell in table.cells]
        for number, sides in enumerate(self.join.sides):
            if alias in sides:
                pair = sides[alias]
                slots[alias, number] = [
                    None if pair in cell.settled and pair[1] is not Op.EQ else _position(cell, pair[0])
                    for cell in table.cells
                ]
        return slots

    def _matched(self, streams: Streams, table: _Counts) -> Matched:
        """A table as the join takes it."""
        columns: dict[Slot, Integers] = {}
        for slot, positions in self.positions[streams].items():
            parts = [
                np.full(len(part.weights), ANYTHING, np.int64)
                if position is None
                else self.values.ranks(part.columns[table.alias, position])
                for position, part in zip(positions, table.parts, strict=True)
            ]
            columns[slot] = np.concatenate(parts)
        if any(table.alias == item for (item, _), _ in self.join.excluded):
            sizes = [len(part.weights) for part in table.parts]
            columns[table.alias, None] = np.repeat(np.arange(len(sizes)), sizes)
        exact = any(part.weights.dtype == object for part in table.parts)
        total = sum(int(part.weights.sum()) for part in table.parts)
        kind = object if exact or total >= 2**62 else np.int64
        return Matched(columns, np.concatenate([part.weights.astype(kind) for part in table.parts]))

    def _static(self, streams: Streams, partial_matches: list[Any]) -> dict[Slot, Integers]:
        raw = self.join.columns(frozenset(self.plan.query.projected), streams, partial_matches)
        return {slot: self.values.encoded(column) for slot, column in raw.items()}

    def dump(self) -> bytes:
        """The state."""
        for streams, slices in self.engine.state.tables.items():
            empty = Table(slices.synopsis.cells, slices.ring)
            slices.tables = {(): self.tables[streams].table(empty, self.values)}
        state = super().dump()
        self._forget()
        return state

    def load(self, document: Any, peak_units: int = 0) -> None:
        """Take up a state."""
        super().load(document, peak_units)
        for streams, slices in self.engine.state.tables.items():
            table = slices.tables.get((), Table(slices.synopsis.cells, slices.ring))
            self.tables[streams] = self.tables[streams].with_parts(
                [self._stored(table, number) for number in range(len(table.cells))]
            )
        self._forget()

    def _stored(self, table: Table, number: int) -> tuple[list[Integers], NDArray[Any]]:
        """The codes and counts of a cell."""
        mine = [(key, count) for (cell, key), count in table.counts.items() if cell == number]
        columns = (
            zip(*(key for key, _ in mine), strict=True) if mine else [()] * len(table.cells[number].keys)
        )
        return list(map(self.values.encoded, columns)), weights_of([count for _, count in mine])

    def _forget(self) -> None:
        for slices in self.engine.state.tables.values():
            slices.tables = {}


def _position(cell: Cell, attribute: Attribute) -> int | None:
    """The key that has the values of a column."""
    mate = dict(cell.same).get(attribute, attribute)
    return next((position for position, key in enumerate(cell.keys) if key.attribute == mate), None)
