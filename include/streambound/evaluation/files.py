"""The Parquet files of a partition: what their footers promise, before any row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from streambound.errors import DataError
from streambound.query.model import Column, Relation
from streambound.query.values import Family, Type


@dataclass(frozen=True)
class Footers:
    """Rows in all files, and for each column that cannot be read why not."""

    rows: int
    faults: dict[str, DataError]


def footers(relation: Relation, columns: Iterable[str], files: Sequence[str]) -> Footers:
    """What the footers of a partition's files say of the columns that are needed.

    Raises:
        DataError: a file is missing, no Parquet, or its application timestamp is missing, of another type
            or NULL somewhere: without it no query can use the file.
    """
    wanted = [relation.column(name) for name in columns]
    rows, faults = 0, dict[str, DataError]()
    for file in files:
        schema, metadata = _footer(file)
        rows += metadata.num_rows
        if relation.timestamp is not None:
            _require_timestamp(relation, relation.column(relation.timestamp), file, metadata, schema)
        for column in wanted:
            if (fault := _fault(relation, column, file, schema)) is not None:
                faults.setdefault(column.name, fault)
    return Footers(rows, faults)


@contextmanager
def readable(file: str) -> Iterator[None]:
    """Errors of reading a Parquet file as this project's own."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"not a readable Parquet file: {reason}",
            subject=file,
            fix="write the partition again, or exclude it",
        ) from None


def _footer(file: str) -> tuple[pa.Schema, pq.FileMetaData]:
    with readable(file), pq.ParquetFile(file) as parquet:
        return parquet.schema_arrow, parquet.metadata


def _require_timestamp(
    relation: Relation, column: Column, file: str, metadata: pq.FileMetaData, schema: pa.Schema
) -> None:
    if (fault := _fault(relation, column, file, schema)) is not None:
        raise fault
    if nulls := _nulls(column.name, file, metadata):
        rows = "1 row has" if nulls == 1 else f"{nulls:,} rows have"
        raise DataError(
            f"{rows} no application timestamp: {relation.name}.{column.name} is NULL",
            subject=file,
            accepted="a value in every row, since it orders the stream",
            fix="write the partition again without these rows, or exclude it",
        )


def _nulls(column: str, file: str, metadata: pq.FileMetaData) -> int:
    total = 0
    for group in (metadata.row_group(i) for i in range(metadata.num_row_groups)):
        here = next(c for i in range(group.num_columns) if (c := group.column(i)).path_in_schema == column)
        if here.statistics is None or not here.statistics.has_null_count:
            return _counted(column, file)
        total += here.statistics.null_count
    return total


def _counted(column: str, file: str) -> int:
    # Some writers leave statistics out.
    with readable(file), pq.ParquetFile(file) as parquet:
        return int(parquet.read(columns=[column]).column(0).null_count)


def _fault(relation: Relation, column: Column, file: str, schema: pa.Schema) -> DataError | None:
    if column.name not in schema.names:
        return _missing(relation, column.name, file, schema)
    found = schema.field(column.name).type
    if fits(column.type, found):
        return None
    return DataError(
        f"{relation.name}.{column.name} is stored as {found}",
        subject=file,
        accepted=f"a {column.type.name}, as the catalog declares",
        fix="write the partition again, or correct the catalog",
    )


def _missing(relation: Relation, column: str, file: str, schema: pa.Schema) -> DataError:
    stamp = "application timestamp" if column == relation.timestamp else "column"
    return DataError(
        f"{relation.name} lacks the {stamp} {column}; found {', '.join(schema.names) or 'no columns'}",
        subject=file,
        accepted=", ".join(c.name for c in relation.columns),
        fix="write the partition again, or correct the catalog",
    )


def fits(declared: Type, found: pa.DataType) -> bool:
    """Whether stored values are values of a declared type; the width of an integer does not matter."""
    return _FITS[declared.family](declared, found)


def _number(declared: Type, found: pa.DataType) -> bool:
    if declared.step is None:
        return bool(types.is_float32(found) or types.is_float64(found))
    if not declared.name.startswith("decimal"):
        return bool(types.is_integer(found))
    return bool(types.is_decimal(found)) and 10**found.scale * declared.step <= 1


def _string(declared: Type, found: pa.DataType) -> bool:
    value = found.value_type if types.is_dictionary(found) else found
    return bool(types.is_string(value) or types.is_large_string(value))


_FITS: dict[Family, Callable[[Type, pa.DataType], bool]] = {
    Family.NUMBER: _number,
    Family.STRING: _string,
    Family.BOOLEAN: lambda _, found: bool(types.is_boolean(found)),
    Family.DATE: lambda _, found: bool(types.is_date(found)),
    Family.TIMESTAMP: lambda _, found: bool(types.is_timestamp(found)),
}
