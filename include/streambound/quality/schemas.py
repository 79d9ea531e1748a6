"""Whether a Parquet file has the columns that the catalog declares, in types that can hold them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from streambound.query.model import Relation
from streambound.query.values import Family, Type


def read_footer(path: Path) -> tuple[pa.Schema, int]:
    """The schema and the number of rows of a Parquet file, from its footer.

    Raises:
        OSError, pyarrow.ArrowInvalid: the file is not readable Parquet.
    """
    with pq.ParquetFile(path) as file:
        return file.schema_arrow, file.metadata.num_rows


def misfit(relation: Relation, schema: pa.Schema) -> str | None:
    """What the file's schema lacks of the relation's columns, as one phrase; None if it fits."""
    names = set(schema.names)
    if relation.timestamp is not None and relation.timestamp not in names:
        return f"has no timestamp column {relation.timestamp} (its columns: {_listed(schema)})"
    missing = [column.name for column in relation.columns if column.name not in names]
    if missing:
        return f"has no column {', '.join(missing)} (its columns: {_listed(schema)})"
    wrong = [
        f"{column.name} is {schema.field(column.name).type}, declared {column.type.name}"
        for column in relation.columns
        if not compatible(column.type, schema.field(column.name).type)
    ]
    return f"has columns of other types: {'; '.join(wrong)}" if wrong else None


def compatible(declared: Type, found: pa.DataType) -> bool:
    """Whether a column of Arrow type ``found`` holds values of the declared type, and no others.

    The width of an integer does not matter: a type's width is no bound.
    """
    if declared.family is Family.NUMBER:
        return _number(declared, found)
    return _FAMILIES[declared.family](found)


def _number(declared: Type, found: pa.DataType) -> bool:
    if declared.step is None:
        return bool(types.is_floating(found))
    if declared.step == 1 and not declared.name.startswith("decimal"):
        return bool(types.is_integer(found))
    return bool(types.is_decimal(found)) and declared.step <= 1 and 10**found.scale * declared.step <= 1


def _string(found: pa.DataType) -> bool:
    value = found.value_type if types.is_dictionary(found) else found
    return bool(types.is_string(value) or types.is_large_string(value))


_FAMILIES: dict[Family, Callable[[pa.DataType], bool]] = {
    Family.BOOLEAN: types.is_boolean,
    Family.DATE: types.is_date,
    Family.TIMESTAMP: types.is_timestamp,
    Family.STRING: _string,
}


def _listed(schema: pa.Schema) -> str:
    return ", ".join(schema.names) or "none"
