"""The Parquet files of a partition: what their footers promise, before any row is read.

Every reader of histories asks here whether the stored types hold values of the declared ones, and no
others, whatever reads the rows afterwards. What is not read exactly is refused by file and column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types

from streambound.errors import DataError
from streambound.query.column_types import (
    DAYS,
    INTEGERS,
    MICROSECONDS,
    Family,
    Type,
    digits_of,
    whole_numbers,
)
from streambound.query.model import Column, Relation
from streambound.query.type_names import MOST_DIGITS


@dataclass(frozen=True)
class Footers:
    """Rows in all files, for each column that cannot be read why not, and those whose exact numbers are
    read as doubles."""

    rows: int
    faults: dict[str, DataError]
    converted: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Footer:
    """What one file says of itself, and for each column that is wanted and cannot be read why not."""

    schema: pa.Schema
    metadata: pq.FileMetaData
    faults: dict[str, DataError]


def footer(relation: Relation, columns: Iterable[str], file: str) -> Footer:
    """What the footer of a file says of the columns that are needed.

    Raises:
        DataError: the file is missing or no Parquet.
    """
    with parquet_file(file) as parquet:
        schema, metadata = _with_paths(parquet.schema_arrow), parquet.metadata
    faults = ((name, _fault(relation, relation.column(name), file, metadata, schema)) for name in columns)
    return Footer(schema, metadata, {name: fault for name, fault in faults if fault is not None})


def footers(relation: Relation, columns: Iterable[str], files: Sequence[str]) -> Footers:
    """What the footers of a partition's files say of the columns that are needed.

    Raises:
        DataError: a file is missing, no Parquet, or its application timestamp is missing, of another type
            or NULL somewhere: without it no query can use the file.
    """
    stored = relation.stored(columns)
    wanted = list(dict.fromkeys([*stored, *([relation.timestamp] if relation.timestamp else [])]))
    doubles = [name for name in wanted if relation.column(name).type.name == "double"]
    rows, faults, converted = 0, dict[str, DataError](), dict[str, bool]()
    for file in files:
        own = footer(relation, wanted, file)
        rows += own.metadata.num_rows
        if relation.timestamp is not None:
            _require_timestamp(relation, relation.timestamp, file, own)
        for name in doubles:
            if name not in own.faults:
                exact = not types.is_floating(own.schema.field(name).type)
                if converted.setdefault(name, exact) is not exact:
                    own.faults[name] = _mixed(relation, name, file)
        faults = {**own.faults, **faults}
    return Footers(rows, faults, frozenset(name for name, exact in converted.items() if exact))


def require_alike(relation: Relation, heads: Sequence[Footers]) -> None:
    """Refuse to read partitions in one scan whose doubles would be taken for floats of 32 bits.

    Raises:
        DataError: some hold floats and others exact numbers in one column; alone each can be read.
    """
    for head in heads[1:]:
        for name in head.converted ^ heads[0].converted:
            raise _mixed(relation, name, None)


def _mixed(relation: Relation, column: str, file: str | None) -> DataError:
    return DataError(
        f"{relation.name}.{column} is stored as exact numbers in some files and as floats in others",
        subject=file,
        accepted="one of both in all files of a partition",
        fix="write the partition again with a double",
    )


@contextmanager
def readable(file: str) -> Iterator[None]:
    """Errors of reading a Parquet file as this project's own.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"not a readable Parquet file: {reason}",
            subject=file,
            fix="write the partition again, or exclude it",
        ) from None


@contextmanager
def parquet_file(file: str) -> Iterator[pq.ParquetFile]:
    """An open Parquet file; timestamps of 96 bits are read in microseconds, as Spark does.

    Raises:
        DataError: it cannot be read.
    """
    with readable(file), pq.ParquetFile(file, coerce_int96_timestamp_unit="us") as parquet:
        yield parquet


def _require_timestamp(relation: Relation, column: str, file: str, own: Footer) -> None:
    if column in own.faults:
        raise own.faults[column]
    if nulls := _nulls(column, file, own.metadata):
        rows = "1 row has" if nulls == 1 else f"{nulls:,} rows have"
        raise DataError(
            f"{rows} no application timestamp: {relation.name}.{column} is NULL",
            subject=file,
            accepted="a value in every row, since it orders the stream",
            fix="write the partition again without these rows, or exclude it",
        )


def _nulls(column: str, file: str, metadata: pq.FileMetaData) -> int:
    total = 0
    for statistics in _statistics(column, metadata):
        if statistics is None or not statistics.has_null_count:
            return int(_read(column, file).null_count)
        total += statistics.null_count
    return total


def _statistics(column: str, metadata: pq.FileMetaData) -> Iterator[pq.Statistics | None]:
    """What each row group says of a column; some writers leave that out."""
    for group in (metadata.row_group(i) for i in range(metadata.num_row_groups)):
        yield next(
            c.statistics for i in range(group.num_columns) if (c := group.column(i)).path_in_schema == column
        )


def _read(column: str, file: str) -> pa.ChunkedArray:
    with parquet_file(file) as parquet:
        table = parquet.read(columns=[column])
    while types.is_struct(table.schema.types[0]):
        table = table.flatten()
    return table.column(0)


def _with_paths(schema: pa.Schema) -> pa.Schema:
    """A schema with the fields of structs by their paths beside its columns."""
    fields = list(schema)
    for field in fields:
        if types.is_struct(field.type):
            fields += [pa.field(f"{field.name}.{inner.name}", inner.type) for inner in field.type]
    return pa.schema(fields)


def _fault(
    relation: Relation, column: Column, file: str, metadata: pq.FileMetaData, schema: pa.Schema
) -> DataError | None:
    if column.name not in schema.names:
        return _missing(relation, column.name, file, schema)
    # Engines take names that differ in case alone for one.
    alike = [name for name in schema.names if name.lower() == column.name.lower()]
    if len(alike) > 1:
        return DataError(
            f"the columns {', '.join(alike)} of {relation.name} differ at most in case",
            subject=file,
            accepted=f"one column {column.name}",
            fix="write the partition again with other names",
        )
    stored = schema.field(column.name).type
    if not fits(column.type, stored):
        return DataError(
            f"{relation.name}.{column.name} is stored as {stored}, and declared {column.type.name}",
            subject=file,
            accepted=_ACCEPTED[_form(column.type)],
            fix=_fix(relation, column.name, stored),
        )
    if column.type.name in INTEGERS and _wider(column.type, stored):
        return _beyond(relation, column, file, metadata)
    if column.type.family in (Family.DATE, Family.TIMESTAMP):
        return _outside_calendar(relation, column, file, metadata, stored)
    return None


def _fix(relation: Relation, column: str, stored: pa.DataType) -> str:
    if types.is_timestamp(stored) and stored.unit == "ns":
        return (
            "write the files in microseconds (pandas and PyArrow: coerce_timestamps='us'): nanoseconds would"
            " be cut"
        )
    # The time of the event may be declared as ticks, and never as text.
    timed = column == relation.timestamp and not types.is_integer(stored)
    declared = None if timed else declared_as(stored)
    correct = f"declare {relation.name}.{column} {declared} in the stream catalog, or " if declared else ""
    return f"{correct}write the files with an accepted type"


def _beyond(relation: Relation, column: Column, file: str, metadata: pq.FileMetaData) -> DataError | None:
    """Why the integers of a file are not those of the declared type; None if they are."""
    low, high = whole_numbers(column.type)
    ends = [end for end in _ends(column.name, file, metadata) if not low <= end <= high]
    if not ends:
        return None
    long = column.type.name == "bigint"
    return DataError(
        f"{relation.name}.{column.name} holds {ends[0]}, which is beyond a {column.type.name}",
        subject=file,
        accepted=f"integers from {low} to {high}",
        fix=f"write it as decimal({len(str(2**64))},0), and declare that"
        if long
        else f"declare {relation.name}.{column.name} bigint in the stream catalog",
    )


def _outside_calendar(
    relation: Relation, column: Column, file: str, metadata: pq.FileMetaData, stored: pa.DataType
) -> DataError | None:
    """Why the days or moments of a file are none, as far as its row groups say; None if they are."""
    calendar = DAYS if column.type.family is Family.DATE else MICROSECONDS
    unit = 1000 if types.is_timestamp(stored) and stored.unit == "ms" else 1
    for statistics in _statistics(column.name, metadata):
        # INT96 has none, and dates of 64 bits are written with 32.
        if statistics is None or not statistics.has_min_max:
            continue
        if statistics.min_raw * unit < calendar.start or statistics.max_raw * unit >= calendar.stop:
            return DataError(
                f"{relation.name}.{column.name} holds a {column.type.name} outside the calendar",
                subject=file,
                accepted="years 1 to 9999",
                fix="write the partition again without it",
            )
    return None


def _ends(column: str, file: str, metadata: pq.FileMetaData) -> list[int]:
    """The least and the greatest value of a column of integers; none where all are NULL."""
    ends: list[int] = []
    for statistics in _statistics(column, metadata):
        if statistics is None or not statistics.has_min_max:
            whole = pc.min_max(_read(column, file)).as_py()
            return [end for end in whole.values() if end is not None]
        ends += [statistics.min, statistics.max]
    return ends


def _missing(relation: Relation, column: str, file: str, schema: pa.Schema) -> DataError:
    stamp = "application timestamp" if column == relation.timestamp else "column"
    return DataError(
        f"{relation.name} lacks the {stamp} {column}; found {', '.join(schema.names) or 'no columns'}",
        subject=file,
        accepted=", ".join(c.name for c in relation.own),
        fix="write the partition again, or correct the catalog",
    )


def fits(declared: Type, stored: pa.DataType) -> bool:
    """Whether stored values are read exactly as values of a declared type.

    The width of an integer does not matter here: see ``_beyond``. Exact numbers become doubles where that is
    declared, as in Spark's ``CAST``.
    """
    value = stored.value_type if types.is_dictionary(stored) else stored
    return _FITS[_form(declared)](declared, value)


def declared_as(stored: pa.DataType) -> str | None:
    """The type of the catalog for what is stored; None if there is none."""
    value = stored.value_type if types.is_dictionary(stored) else stored
    if types.is_integer(value):
        return "int" if value.bit_width < 64 else "bigint"
    if _fits_decimal128(value):
        return f"decimal({value.precision},{value.scale})"
    names = {"float": "float", "double": "double", "bool": "boolean", "date32[day]": "date"}
    if _is_text(value):
        return "string"
    if types.is_timestamp(value):
        return None if value.unit == "ns" else "timestamp"
    return names.get(str(value))


def _wider(declared: Type, stored: pa.DataType) -> bool:
    value = stored.value_type if types.is_dictionary(stored) else stored
    return bool(value.bit_width == 64 and (declared.name != "bigint" or types.is_uint64(value)))


def _form(declared: Type) -> str:
    if declared.family is not Family.NUMBER or declared.resolution is None:
        return declared.name
    return "integer" if declared.name in INTEGERS else "decimal"


def _fits_decimal128(stored: pa.DataType) -> bool:
    """Whether it is a decimal that every engine holds: one of 256 bits is none, whatever its digits."""
    return bool(types.is_decimal(stored) and not types.is_decimal256(stored) and stored.scale >= 0)


def _decimal(declared: Type, stored: pa.DataType) -> bool:
    if not _fits_decimal128(stored):
        return False
    precision, scale = digits_of(declared.name)
    return bool(stored.scale <= scale and stored.precision - stored.scale <= precision - scale)


def _double(declared: Type, stored: pa.DataType) -> bool:
    return bool(
        types.is_float32(stored)
        or types.is_float64(stored)
        or types.is_integer(stored)
        or _fits_decimal128(stored)
    )


def _is_text(stored: pa.DataType) -> bool:
    return bool(types.is_string(stored) or types.is_large_string(stored) or types.is_string_view(stored))


_FITS: dict[str, Callable[[Type, pa.DataType], bool]] = {
    "integer": lambda _, stored: bool(types.is_integer(stored)),
    "decimal": _decimal,
    "float": lambda _, stored: bool(types.is_float32(stored)),
    "double": _double,
    "string": lambda _, stored: _is_text(stored),
    "boolean": lambda _, stored: bool(types.is_boolean(stored)),
    "date": lambda _, stored: bool(types.is_date(stored)),
    "timestamp": lambda _, stored: bool(types.is_timestamp(stored)) and stored.unit != "ns",
}
_ACCEPTED = {
    "integer": "integers of any width, with a sign or without",
    "decimal": f"decimals of up to {MOST_DIGITS} digits, no more before the point and after it than declared",
    "float": "floats of 32 bits",
    "double": f"doubles, floats of 32 bits, integers, and decimals of up to {MOST_DIGITS} digits",
    "string": "text: string, large_string, string_view, or a dictionary of them",
    "boolean": "booleans",
    "date": "dates",
    "timestamp": "timestamps in milliseconds, microseconds or INT96, in UTC or without a time zone",
}
