"""A query's Parquet history as batches, for the engines that run on one machine.

Partitions are read one after the other, so memory holds one partition of each stream. Where no
stream declares a timestamp there is no order between streams; a partition's tuples then arrive
stream by stream, in FROM order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import merge
from typing import Any

import pyarrow as pa

from streambound.errors import DataError
from streambound.evaluation.events import Batch, Encoded, encode, timed
from streambound.evaluation.promises import Counts, outside_day
from streambound.query.model import Relation, RelationKind
from streambound.query.statement import Statement
from streambound.storage.files import footers, parquet_file
from streambound.storage.partitions import (
    Listing,
    Partition,
    PartitionRange,
    choose_partitions,
    find_partitions,
    partition_day,
    refuse_uncounted,
)


def _silent(message: str) -> None:
    return None


def history_batches(
    query: Statement,
    first: str | None = None,
    last: str | None = None,
    progress: Callable[[str], None] = _silent,
) -> Iterator[Batch]:
    """The batches of the partitions from ``first`` to ``last`` (see ``storage.partitions.PartitionRange``).

    ``progress`` is told when a partition begins.

    Raises:
        DataError: a history is missing, a file is corrupt or does not fit the catalog.
    """
    refuse_uncounted(query)
    relations = {r.name: _needed(query, r) for r in query.scanned if r.kind is not RelationKind.STATIC}
    chosen = PartitionRange(first, last)
    by_stream = {
        name: {part.name: part for part in choose_partitions(relation, chosen)}
        for name, relation in relations.items()
    }
    for name, parts in by_stream.items():
        for part in parts.values():
            _require_fitting(relations[name], tuple(map(str, part.files)))
    number = 0
    partitions = sorted({name for parts in by_stream.values() for name in parts})
    for position, partition in enumerate(partitions, start=1):
        progress(f"partition {partition}, {position} of {len(partitions)}")
        here = {name: parts[partition] for name, parts in by_stream.items() if partition in parts}
        arriving = [_arrivals(relations[name], part) for name, part in here.items()]
        if timed(query):
            in_order = merge(*map(sorted, arriving), key=lambda arrival: arrival[0])
            yield from _by_time(in_order, partition)
            continue
        for _, name, row in (arrival for stream in arriving for arrival in stream):
            yield Batch(number, {name: [row]}, number)
            number += 1


def static_history(query: Statement, listing: Listing | None = None) -> dict[str, list[Encoded]]:
    """The rows of the static relations of a query, encoded, by relation name.

    ``listing`` finds their files; by default the folders are looked at.
    """
    relations = {r.name: r for r in query.scanned if r.kind is RelationKind.STATIC}
    return {
        name: [row for part in (listing or find_partitions)(r) for row in rows_of(r, part)]
        for name, r in relations.items()
    }


def _needed(query: Statement, relation: Relation) -> Relation:
    """The relation with the columns that count; faults of the others concern no answer.

    Tuples arrive by their timestamps, but what is promised of those that the query does not read is not
    looked at.
    """
    used, stamp = query.reads(relation), relation.timestamp
    columns = tuple(c for c in relation.columns if c.name in used or c.name == stamp)
    if stamp is None or query.reads_time(relation):
        return replace(relation, columns=columns)
    plain = (replace(c, domain=None) if c.name == stamp else c for c in columns)
    return replace(relation, columns=tuple(plain)).unrated()


class _Arrival(tuple[Any, str, Encoded]):
    """(moment, stream, tuple), ordered by moment alone."""

    __slots__ = ()

    def __lt__(self, arrival: tuple[Any, ...]) -> bool:
        return bool(self[0] < arrival[0])


def _arrivals(relation: Relation, partition: Partition) -> Iterator[_Arrival]:
    for row in rows_of(relation, partition):
        moment = row[relation.timestamp] if relation.timestamp is not None else 0
        yield _Arrival((moment, relation.name, row))


def _by_time(arrivals: Iterator[_Arrival], partition: str) -> Iterator[Batch]:
    marker: Any = None
    by_stream: dict[str, list[Encoded]] = {}
    for moment, name, row in arrivals:
        if by_stream and moment != marker:
            yield Batch(marker, by_stream, marker, partition)
            by_stream = {}
        marker = moment
        by_stream.setdefault(name, []).append(row)
    if by_stream:
        yield Batch(marker, by_stream, marker, partition)


def _row_mappings(table: pa.Table, file: str) -> list[dict[str, Any]]:
    try:
        mappings: list[dict[str, Any]] = table.to_pylist()
    except (ValueError, OverflowError) as error:
        # A moment of INT96, of which a footer says nothing.
        raise DataError(
            f"a value cannot be read: {error}",
            subject=file,
            accepted="dates and timestamps of the years 1 to 9999",
            fix="write the partition again without it",
        ) from None
    return mappings


def _require_fitting(relation: Relation, files: Sequence[str]) -> None:
    for fault in footers(relation, [column.name for column in relation.own], files).faults.values():
        raise fault


def rows_of(relation: Relation, partition: Partition) -> Iterator[Encoded]:
    """The rows of a partition's files, encoded.

    Raises:
        DataError: a file is corrupt or does not fit the catalog, or a row breaks a promise of it.
    """
    columns, rate = [column.name for column in relation.own], Counts(relation)
    day = partition_day(relation, partition.files)
    _require_fitting(relation, tuple(map(str, partition.files)))
    for file in map(str, partition.files):
        with parquet_file(file) as parquet:
            # A single file: no partition columns are to be guessed from the folders above it.
            rows = _row_mappings(parquet.read(columns=columns), file)
        for index, row in enumerate(rows):
            where = f"{file}, row {index}"
            encoded = encode(relation, row, where)
            if day is not None and (
                fault := outside_day(relation, day, encoded[str(relation.timestamp)], where)
            ):
                raise fault
            rate.take(encoded, where)
            yield encoded
