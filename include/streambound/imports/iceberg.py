"""The columns of an Iceberg table, from its metadata (Iceberg's specification, "Table Metadata")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streambound.errors import CatalogError
from streambound.imports.entry import Entry, Field, struct, typed
from streambound.imports.schemas import checked, read_json

_VERSION = re.compile(r"v?(\d+)(?:-.*)?\.metadata\.json")
_NAMES = {"timestamptz": "timestamp", "timestamp_ns": "timestamp", "timestamptz_ns": "timestamp"}


def entry(path: Path, name: str | None = None) -> Entry:
    """A table by its folder, or by one of its metadata files.

    Raises:
        CatalogError: there is no metadata, or it is none.
    """
    file = path if path.is_file() else _newest(path)
    body = read_json(file, "Iceberg table metadata")
    schema = _current(body)
    if schema is None:
        raise CatalogError(
            "not Iceberg table metadata: it has no schema",
            subject=str(file),
            accepted="a *.metadata.json file",
        )
    table = file.resolve().parent.parent.name if file.parent.name == "metadata" else file.stem.split(".")[0]
    note = "For its history register it as a table of Spark, and declare history: {table: NAME}."

    def read() -> Entry:
        return Entry(name or table, tuple(map(_field, schema["fields"])), notes=(note,))

    return checked(read, str(file), "Iceberg table metadata")


def _newest(folder: Path) -> Path:
    versions = [
        (int(match[1]), file)
        for directory in (folder / "metadata", folder)
        if directory.is_dir()
        for file in directory.iterdir()
        if (match := _VERSION.fullmatch(file.name))
    ]
    if not versions:
        raise CatalogError(
            "no metadata of an Iceberg table is there",
            subject=str(folder),
            accepted="a folder with metadata/*.metadata.json, or one of these files",
        )
    return max(versions)[1]


def _current(body: Any) -> Mapping[str, Any] | None:
    if not isinstance(body, Mapping):
        return None
    listed = body.get("schemas")
    schemas = listed if isinstance(listed, list) else []
    current = [
        s for s in schemas if isinstance(s, Mapping) and s.get("schema-id") == body.get("current-schema-id")
    ]
    schema = current[0] if current else body.get("schema")
    return schema if isinstance(schema, Mapping) else None


def _field(entry: Mapping[str, Any]) -> Field:
    kind = entry["type"]
    note = "nanoseconds: evaluation needs microseconds" if str(kind).endswith("_ns") else ""
    return typed(entry["name"], _type(kind), not entry.get("required", False), note)


def _type(kind: Any) -> str:
    if not isinstance(kind, Mapping):
        # Brackets would be those of an array.
        return _NAMES.get(str(kind), str(kind).replace("[", "(").replace("]", ")"))
    if kind["type"] == "list":
        return f"array<{_type(kind['element'])}>"
    if kind["type"] == "map":
        return f"map<{_type(kind['key'])}, {_type(kind['value'])}>"
    return struct(Field(item["name"], _type(item["type"])) for item in kind.get("fields", ()))
