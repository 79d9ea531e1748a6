"""Folders of Parquet and ORC files, and Delta tables: their columns, and what their rows have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.errors import DataError
from streambound.imports.entry import NESTED, REFUSED, Entry, Field, struct, typed
from streambound.storage.files import declared_as

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds


# So many folders are named one by one.
NAMED = 5


@dataclass(frozen=True)
class Rows:
    """Where the rows of an entry are."""

    entry: Entry
    dataset: ds.Dataset


def files(path: Path, kind: str, name: str | None = None) -> Rows:
    """The columns that all files of a folder have, or one file.

    Args:
        kind: parquet or orc.

    Raises:
        DataError: there are none, they lie in several folders, or their columns differ in type.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    suffix = f".{kind}"
    paths = [path] if path.is_file() else sorted(p for p in path.rglob(f"*{suffix}") if _visible(p, path))
    if not paths:
        raise DataError(
            f"no {suffix} files are there", subject=str(path), accepted="a file or a folder of them"
        )
    _require_single(path, kind, paths)
    try:
        schemas = [ds.dataset(str(file), format=kind).schema for file in paths]
        # Of what some writers note beside a schema there may be several.
        schema = pa.unify_schemas([schema.remove_metadata() for schema in schemas])
        dataset = ds.dataset([str(file) for file in paths], format=kind, schema=schema)
    except (pa.ArrowException, OSError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"these {kind} files cannot be read together: {first}",
            subject=str(path),
            fix="name a folder whose files have one schema",
        ) from None
    keys = list(dict.fromkeys(part.split("=")[0] for file in paths for part in _folders(file, path)))
    entry = Entry(
        name or _named(path),
        tuple(field_of(column) for column in schema),
        {"history": _history(path, kind, keys)},
        tuple(_partitions(keys, schema.names)),
    )
    return Rows(entry, dataset)


def delta(path: Path, name: str | None = None) -> Rows:
    """The columns of a Delta table, as it is now.

    Raises:
        DataError: it is none, or has a feature that its reader lacks.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        table = DeltaTable(str(path))
        fields = json.loads(table.schema().to_json())["fields"]
        dataset = table.to_pyarrow_dataset()
    except (DeltaError, OSError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"not a Delta table that can be read: {first}", subject=str(path)) from None
    columns = tuple(typed(column["name"], of_delta(column["type"]), column["nullable"]) for column in fields)
    note = "For its history register it as a table of Spark, and declare history: {table: NAME}."
    return Rows(Entry(name or _named(path), columns, notes=(note,)), dataset)


def of_delta(kind: Any) -> str:
    """The type that Delta's protocol writes as text, or as an object if it is nested.

    >>> of_delta({"type": "array", "elementType": "long", "containsNull": True})
    'array<long>'
    """
    if not isinstance(kind, Mapping):
        return str(kind)
    if kind["type"] == "array":
        return f"array<{of_delta(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{of_delta(kind['keyType'])}, {of_delta(kind['valueType'])}>"
    return struct(Field(column["name"], of_delta(column["type"])) for column in kind["fields"])


def field_of(column: pa.Field) -> Field:
    """A column as Arrow describes it."""
    from pyarrow import types

    kind = column.type
    value = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_timestamp(value) and value.unit == "ns":
        note = "nanoseconds: evaluation needs files in microseconds"
        return Field(column.name, "timestamp", column.nullable, note)
    if (name := declared_as(value)) is not None:
        return Field(column.name, name, column.nullable)
    if types.is_nested(value):
        return Field(column.name, nested_type(value), column.nullable, NESTED)
    return Field(column.name, f"object({value})", column.nullable, f"{value} is no type here: {REFUSED}")


def nested_type(kind: pa.DataType) -> str:
    """The type that a catalog has for lists, maps and structs of Arrow's."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return nested_type(kind.value_type)
    if types.is_struct(kind):
        inner = (kind.field(i) for i in range(kind.num_fields))
        return struct(Field(child.name, nested_type(child.type)) for child in inner)
    if types.is_map(kind):
        return f"map<{nested_type(kind.key_type)}, {nested_type(kind.item_type)}>"
    if types.is_nested(kind) and hasattr(kind, "value_type"):
        return f"array<{nested_type(kind.value_type)}>"
    if types.is_timestamp(kind):
        return "timestamp"
    return declared_as(kind) or f"object({kind})"


def _visible(file: Path, root: Path) -> bool:
    return not any(part.startswith((".", "_")) for part in file.relative_to(root).parts)


def _folders(file: Path, root: Path) -> list[str]:
    """The folders KEY=VALUE above a file, below the one that was named."""
    parts = file.relative_to(root).parts[:-1] if file != root else ()
    return [part for part in parts if "=" in part]


def _require_single(path: Path, kind: str, paths: list[Path]) -> None:
    """Refuse the files of several streams, which lie in a folder each: partitions are folders KEY=VALUE.

    Raises:
        DataError: naming the folders.
    """
    folders = list(dict.fromkeys(_folder(file, path) for file in paths))
    if len(folders) > 1:
        raise DataError(
            f"its files lie in {len(folders):,} folders: {', '.join(folders[:NAMED])}"
            f"{', ...' if len(folders) > NAMED else ''}",
            subject=str(path),
            accepted="the folder of one stream, whose partitions are folders such as date=2026-01-31 in it",
            fix=f"import each as a stream of its own, such as streambound import {kind} {path / folders[-1]}",
        )


def _folder(file: Path, root: Path) -> str:
    """The folder of a file below a root, without those that name partitions."""
    parts = file.relative_to(root).parts[:-1] if file != root else ()
    return "/".join(part for part in parts if "=" not in part) or "."


def _named(path: Path) -> str:
    return path.resolve().stem if path.is_file() else path.resolve().name


def _history(path: Path, kind: str, keys: list[str]) -> dict[str, str]:
    folder = path.resolve().parent if path.is_file() else path.resolve()
    history = {"path": str(folder)}
    if keys and keys[0].isidentifier():
        history["partition_by"] = keys[0]
    return history if kind == "parquet" else {**history, "format": kind}


def _partitions(keys: list[str], columns: list[str]) -> list[str]:
    notes = []
    if outside := [key for key in keys if key not in columns]:
        notes.append(f"Of the names of folders, and no column of the files: {', '.join(outside)}.")
    if len(keys) > 1:
        notes.append("Only one level of folders is read: write the files again, such as in date=2026-01-31.")
    return notes
