"""What a program has in its hands as events: rows, or data frames, as one list in time order.

A data frame is whatever speaks Arrow: pandas, polars, a table of pyarrow, a relation of DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.errors import DataError, PlatformError, meant
from streambound.evaluation.events import in_time
from streambound.query.catalog import Catalog
from streambound.query.column_types import shown
from streambound.query.model import Relation, RelationKind
from streambound.query.statement import Statement

if TYPE_CHECKING:
    import pyarrow as pa

Rows = list[Mapping[str, Any]]
ACCEPTED = (
    '[{"stream": "S", "ts": 0, ...}, ...], or a data frame for the stream of the query, or a mapping of names'
    " of streams to data frames or lists of rows"
)
_ARROW = "__arrow_c_stream__"


def events_of(query: Statement, given: Any, catalog: Catalog) -> Rows:
    """The events that a program gives, of the streams that the query reads.

    Args:
        given: events, in time (arrival) order; a data frame, whose rows are those of the stream that its
            column ``stream`` names, or else of the only one; or data frames or lists of rows by the name of
            their stream, which need not be in order where the streams have timestamps.

    Raises:
        DataError: it is something else, names no stream of the catalog, or leaves open which row came first.
        PlatformError: a data frame is given, and pyarrow is not installed.
    """
    if isinstance(given, Mapping):
        return _merged(
            query, {name: _rows_of_frame(rows, str(name)) for name, rows in given.items()}, catalog
        )
    if hasattr(given, _ARROW):
        rows = _rows_of_frame(given, "the data frame")
        if not rows or "stream" in rows[0]:
            return rows
        return _merged(query, {_only(query).name: rows}, catalog)
    return _rows_of_frame(given, "events")


def rows_of(given: Any, catalog: Catalog) -> dict[str, Rows]:
    """The rows of static relations by name, each a list of rows or a data frame.

    Raises:
        DataError: it is something else, or names no relation of the catalog.
    """
    if not isinstance(given, Mapping):
        raise DataError(
            f"static is {shown(given)}", accepted='{"R": [{"K": 1}, ...]}, or a data frame for "R"'
        )
    by_stream = {str(name): _rows_of_frame(rows, str(name)) for name, rows in given.items()}
    _refuse_unknown(by_stream, catalog)
    return by_stream


def _only(query: Statement) -> Relation:
    arriving = _arriving(query)
    names = sorted(relation.name for relation in arriving)
    if len(names) != 1:
        wanted = ", ".join(f'"{name}": ...' for name in names)
        raise DataError(
            f"the query reads {', '.join(names)}, and the data frame does not say of which stream a row is",
            accepted=ACCEPTED,
            fix=f"give {{{wanted}}}, or a column stream",
        )
    return arriving[0]


def _arriving(query: Statement) -> list[Relation]:
    """The streams whose rows a query reads, itself or in sub-queries."""
    return [relation for relation in query.scanned if relation.kind is not RelationKind.STATIC]


def _merged(query: Statement, given: Mapping[str, Rows], catalog: Catalog) -> Rows:
    _refuse_unknown(given, catalog)
    merged: Rows = [{**row, "stream": name} for name, rows in given.items() for row in rows]
    read = {relation.name: relation for relation in _arriving(query) if relation.name in given}
    arriving: Rows = [row for row in merged if row["stream"] in read]
    timeless = [name for name, relation in read.items() if relation.timestamp is None]
    if timeless and len(read) > 1:
        raise DataError(
            f"it is open which rows came first: there is no timestamp of {', '.join(sorted(timeless))}",
            accepted=ACCEPTED,
            fix="give one list of events in the order of their arrival, or declare timestamps in the catalog",
        )
    return arriving if timeless else in_time(query, arriving)


def _refuse_unknown(given: Iterable[str], catalog: Catalog) -> None:
    if unknown := [name for name in given if name not in catalog.names]:
        raise DataError(
            f"{unknown[0]} is not in the catalog",
            accepted=", ".join(catalog.names),
            fix=meant(unknown[0], catalog.names),
        )


def _rows_of_frame(given: Any, what: str) -> Rows:
    """The rows of a data frame or of an iterable of mappings."""
    if hasattr(given, _ARROW):
        return _of_frame(given, what)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise DataError(f"{what}: found {shown(given)}", accepted=ACCEPTED)
    rows_ = []
    for number, row in enumerate(given):
        if not isinstance(row, Mapping):
            raise DataError(f"{what}: row {number} is {shown(row)}", accepted=ACCEPTED)
        rows_.append(row)
    return rows_


def _of_frame(frame: Any, what: str) -> Rows:
    rows: Rows = arrow_table(frame, what).to_pylist()
    return rows


def arrow_table(frame: Any, what: str) -> pa.Table:
    """A data frame as a table of Arrow, with times in microseconds and without the index of pandas.

    Raises:
        DataError: it has times between two microseconds.
        PlatformError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise PlatformError(
            f"a data frame is read by {error.name}, which is not installed",
            fix=f"{settings.installing('run')}, or give lists of rows",
        ) from None
    table = pa.table(frame)
    # An index without a name is the position of a row, not a column.
    table = table.drop_columns([name for name in table.column_names if name.startswith("__index_level_")])
    for position, field in enumerate(table.schema):
        if (kind := _in_microseconds(field.type)) != field.type:
            try:
                kept = table.column(position).cast(kind)
            except pa.ArrowInvalid:
                raise DataError(
                    f"{what}: column {field.name} has times between two microseconds",
                    accepted="timestamps of whole microseconds",
                    fix="round them, as with .dt.floor('us')",
                ) from None
            table = table.set_column(position, field.name, kept)
    return table


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    """A type, or a struct of such, with times of nanoseconds in microseconds."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        inner = (kind.field(n) for n in range(kind.num_fields))
        return pa.struct([field.with_type(_in_microseconds(field.type)) for field in inner])
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    return kind
