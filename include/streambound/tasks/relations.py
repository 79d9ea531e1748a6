"""What counts of a partition by timestamp: from tasks to the evaluation of a query with time conditions.

A *relation* is a table of accepted tuples: ``t`` (the moment), the columns that may matter to an answer
(``c0``, ...) in the form in which result sets return them, and ``n`` (how many there are); in order of all
its columns, equal tuples once. The answers of a part that keeps nothing are such a table without ``t``. The
bytes of either are its text (see ``columns``) as JSON: equal contents have equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streambound.approximate.evaluation import Tuple
from streambound.errors import DataError
from streambound.plan.flow import Measure, Measured, Partial
from streambound.plan.model import Plan, StreamSynopsis
from streambound.query.column_types import Family, Type, parse_type
from streambound.query.model import Attribute, Query
from streambound.query.operators import AggregateKind
from streambound.state.row_join import PartialMatch, Row, weight_of
from streambound.state.serial import canonical
from streambound.tasks.columns import by_part, encoded_values, packed, unpacked
from streambound.tasks.encoded_sql import array_of, arrow_type, encoded
from streambound.tasks.statements import COUNT, MOMENT
from streambound.tasks.weights import exact, measured


def by_time(rows: pa.Table, parts: int, query: Query, synopsis: StreamSynopsis) -> list[bytes]:
    """The canonical bytes of each partition, from rows (partition, moment, columns, multiplicity).

    Raises:
        DataError: a tuple has no timestamp.
    """
    if rows.column(MOMENT).null_count:
        raise DataError(
            "a row has no application timestamp",
            fix="write the partition again, or exclude it",
        )
    kinds = kinds_of(query, synopsis)
    return [dump_relation(in_order(fitted(own, kinds))) for own in by_part(rows, parts)]


def kinds_of(query: Query, synopsis: StreamSynopsis) -> list[Type]:
    """The types of a relation's columns, but for the number."""
    relation = query.occurrence(synopsis.alias).relation
    carried = (*synopsis.carried, *query.weighing(synopsis.alias))
    names = [str(relation.timestamp), *(attribute.column for attribute in carried)]
    return [relation.column(name).type for name in names]


def fitted(table: pa.Table, kinds: Sequence[Type]) -> pa.Table:
    """The same with columns that do not depend on how files hold them; the last is a number of tuples."""
    *columns, counts = table.columns
    arrays = [_fitted(column, _arrow_storage(kind)) for column, kind in zip(columns, kinds, strict=True)]
    return pa.Table.from_arrays([*arrays, counts.cast(pa.int64())], table.column_names)


def _fitted(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    # What does not fit its declared type stays as it is.
    with suppress(pa.ArrowInvalid):
        return column.cast(wanted)
    return column


def ordered_form(column: pa.ChunkedArray, kind: Type) -> pa.ChunkedArray:
    """A column of a relation as engines hold it."""
    # No wider number is cast to a date.
    return (column.cast(pa.int32()) if kind.family is Family.DATE else column).cast(arrow_type(kind))


def _arrow_storage(kind: Type) -> pa.DataType:
    """What holds a type outside of an engine: days are numbers."""
    return pa.int64() if kind.family is Family.DATE else arrow_type(kind)


def in_order(table: pa.Table) -> pa.Table:
    """The rows in order of all columns, NULL last."""
    keys = [(name, "ascending", "at_end") for name in table.column_names]
    return table.take(pc.sort_indices(table, sort_keys=keys))


def relation_of(rows: Sequence[Sequence[object]], kinds: Sequence[Type]) -> pa.Table:
    """Tuples (moment, encoded values of the columns, multiplicity) as a relation, in their order."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * (len(kinds) + 1)
    names = [MOMENT, *(f"c{position}" for position in range(len(kinds) - 1)), COUNT]
    return pa.Table.from_arrays([*_arrays(kinds, columns), pa.array(columns[-1], pa.int64())], names)


def _arrays(kinds: Sequence[Type], columns: Sequence[Sequence[Any]]) -> list[pa.Array]:
    """Columns of encoded values, as many as there are types."""
    return [array_of(kind, own, _arrow_storage(kind)) for kind, own in zip(kinds, columns, strict=False)]


def dump_relation(table: pa.Table) -> bytes:
    """The canonical bytes of a relation, or of answers."""
    return canonical(packed(table))


def load_relation(data: bytes) -> pa.Table:
    """The table in such bytes.

    Raises:
        DataError: they are none.
    """
    try:
        return unpacked(json.loads(data))
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise DataError(f"a stored table of tuples cannot be read: {error}") from None


def counted(rows: pa.Table, parts: int, query: Query, partial: Partial | None = None) -> list[bytes]:
    """The canonical bytes of each partition's answers, from rows (partition, columns, number) in order."""
    kinds = [query.column(attribute).type for attribute in _alike(query, partial)]
    if partial is not None:
        kinds += [
            _TEXT if (at := _chosen(measure)) is None else query.type_of(query.select[at].term)
            for measure in partial.measures
        ]
    return [dump_relation(fitted(own, kinds)) for own in by_part(rows, parts)]


_TEXT = parse_type("string")


def _alike(query: Query, partial: Partial | None) -> tuple[Attribute, ...]:
    """The columns in which rows that come as one are alike."""
    return query.projected if partial is None else query.shown(partial.keys)


def _chosen(measure: Measure) -> int | None:
    """The position of which a measure is a value; None: it is a number that was computed."""
    return measure.columns[0] if measure.kind in (AggregateKind.LEAST, AggregateKind.GREATEST) else None


def weighed(rows: Iterable[Sequence[Any]], parts: int, query: Query) -> list[bytes]:
    """The same of rows that weigh what may be no number of rows: it is text, and exact."""
    kinds = [query.column(attribute).type for attribute in query.projected]
    totals: list[dict[Row, Any]] = [{} for _ in range(parts)]
    for part, *values, weight in rows:
        row = tuple(map(encoded, values))
        totals[part][row] = totals[part].get(row, 0) + weight
    return [dump_relation(_weighed(own, kinds)) for own in totals]


def _weighed(totals: Mapping[Row, Any], kinds: Sequence[Type]) -> pa.Table:
    columns = list(zip(*totals, strict=True)) if totals else [()] * len(kinds)
    weights = pa.array([str(weight) for weight in totals.values()], pa.string())
    names = [*(f"c{position}" for position in range(len(kinds))), COUNT]
    return pa.Table.from_arrays([*_arrays(kinds, columns), weights], names)


def counted_rows(query: Query, data: bytes, partial: Partial | None = None) -> dict[Row, Any]:
    """The answer rows in such bytes, with their multiplicities, or what they come to."""
    *columns, counts = map(encoded_values, load_relation(data).columns)
    if any(isinstance(count, str) for count in counts):
        counts = list(map(exact, counts))
    alike, select = _alike(query, partial), query.select
    at = dict(zip(alike, columns, strict=partial is None))
    if partial is not None:
        select = select[: partial.keys]
        values = [
            list(map(measured, own)) if _chosen(measure) is None else own
            for measure, own in zip(partial.measures, columns[len(alike) :], strict=True)
        ]
        counts = [Measured((partial_row,)) for partial_row in zip(counts, *values, strict=True)]
    shown = [at[o.term] if isinstance(o.term, Attribute) else [o.term.value] * len(counts) for o in select]
    rows: dict[Row, Any] = {}
    for row, count in zip(zip(*shown, strict=True) if shown else repeat(()), counts, strict=False):
        rows[row] = rows.get(row, 0) + count
    return rows


def tuples_of(side: int, data: bytes) -> list[Tuple]:
    """The tuples of one side of an equijoin in such bytes, in order of time."""
    return [
        Tuple(side, moment, tuple(values))
        for moment, *values, count in rows_of(load_relation(data))
        for _ in range(count)
    ]


def rows_of(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, with encoded values."""
    return zip(*map(encoded_values, table.columns), strict=True)


def arrivals(
    plan: Plan, summaries: Mapping[str, bytes]
) -> Iterator[tuple[int, dict[str, list[PartialMatch]]]]:
    """(moment, weighted tuples by occurrence) in order of time, from the bytes of each occurrence."""
    return arriving(plan, relations_of(plan, summaries))


def relations_of(plan: Plan, summaries: Mapping[str, bytes]) -> dict[str, pa.Table]:
    """The relation of each occurrence of which there is one."""
    return {s.alias: load_relation(summaries[s.alias]) for s in plan.streams if s.alias in summaries}


def arriving(
    plan: Plan, tables: Mapping[str, pa.Table]
) -> Iterator[tuple[int, dict[str, list[PartialMatch]]]]:
    """The same from the relation of each occurrence."""
    carried = {synopsis.alias: synopsis.carried for synopsis in plan.streams}
    weighing = {alias: bool(plan.query.weighing(alias)) for alias in carried}
    by_moment: dict[int, dict[str, list[PartialMatch]]] = {}
    for alias, table in tables.items():
        for moment, *row, count in rows_of(table):
            if moment not in by_moment:
                by_moment[moment] = {name: [] for name in carried}
            values = dict(zip(carried[alias], row, strict=not weighing[alias]))
            if weighing[alias]:
                count *= weight_of(row[len(values) :])
            by_moment[moment][alias].append(PartialMatch(values, {alias: moment}, count))
    for moment in sorted(by_moment):
        yield moment, by_moment[moment]
