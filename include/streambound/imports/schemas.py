"""Schemas of messages: Avro (specification 1.12) and JSON Schema (draft 7 to 2020-12)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from streambound.errors import CatalogError
from streambound.imports.entry import NESTED, REFUSED, Entry, Field, struct, typed
from streambound.query.column_types import shown

_AVRO = {
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
}
_LOGICAL = {
    "date": "date",
    "uuid": "string",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "timestamp-nanos": "timestamp",
    "local-timestamp-millis": "timestamp",
    "local-timestamp-micros": "timestamp",
    "local-timestamp-nanos": "timestamp",
}
_JSON = {"integer": "bigint", "number": "double", "boolean": "boolean", "string": "string"}
_FORMATS = {"date": "date", "date-time": "timestamp"}
# Types within types that are followed.
DEPTH = 20


def read_text(file: Path, what: str) -> str:
    """A text file.

    Raises:
        CatalogError: it cannot be read, or is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CatalogError(f"cannot be read: {error.strerror}", subject=str(file), accepted=what) from None
    except UnicodeDecodeError as error:
        raise CatalogError(f"not UTF-8 text: byte {error.start}", subject=str(file), accepted=what) from None


def read_json(file: Path, what: str) -> Any:
    """A JSON file.

    Raises:
        CatalogError: it cannot be read, or is no JSON.
    """
    text = read_text(file, what)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CatalogError(f"not JSON: {error}", subject=str(file), accepted=what) from None


def checked(read: Callable[[], Entry], source: str, what: str) -> Entry:
    """What reads a schema, with one error for one that is none.

    Raises:
        CatalogError: a part of it is missing, or something else.
    """
    try:
        entry = read()
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise CatalogError(f"not {what}: {why}", subject=source, accepted=what) from None
    if not entry.fields:
        raise CatalogError(f"{what} without fields", subject=source, accepted="at least one field")
    return entry


def avro(schema: Any, source: str, name: str | None = None) -> Entry:
    """The record that a schema of Avro describes.

    Raises:
        CatalogError: it is none.
    """
    return checked(lambda: _Avro(schema).entry(name), source, "an Avro schema of a record")


class _Avro:
    """A schema and the types that it names, which later parts refer to by name."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.names: dict[str, Mapping[str, Any]] = {}
        self._note_names(schema, "")

    def entry(self, name: str | None) -> Entry:
        record = self.schema
        if isinstance(record, Sequence) and not isinstance(record, str):
            # Several types of a file: the last one, which may use the others.
            record = record[-1]
        if record["type"] != "record":
            raise ValueError(f"its type is {shown(record['type'])}")
        return Entry(name or record["name"].split(".")[-1], tuple(map(self._field, record["fields"])))

    def _note_names(self, schema: Any, space: str) -> None:
        if isinstance(schema, list):
            for item in schema:
                self._note_names(item, space)
        elif isinstance(schema, Mapping):
            space = str(schema.get("namespace", space))
            if "name" in schema and schema.get("type") in ("record", "enum", "fixed", "error"):
                self.names[schema["name"]] = schema
                self.names[f"{space}.{schema['name']}"] = schema
            for part in (
                *schema.get("fields", ()),
                *(schema.get(key) for key in ("type", "items", "values")),
            ):
                if isinstance(part, (Mapping, list)):
                    self._note_names(part, space)

    def _field(self, field: Mapping[str, Any]) -> Field:
        kind, nullable = _without_null(self._resolved(field["type"]), lambda option: option == "null")
        kind = self._resolved(kind)
        name = field["name"]
        if isinstance(kind, Mapping) and kind["type"] == "enum":
            note = "the symbols of the schema's enum"
            return Field(name, "string", nullable, note, {"values": list(kind["symbols"])})
        type_name = self._type(kind, 0)
        if isinstance(kind, Mapping) and "nanos" in str(kind.get("logicalType")):
            return Field(name, type_name, nullable, "nanoseconds: evaluation needs microseconds")
        return (
            typed(name, type_name, nullable)
            if not type_name.startswith("object(")
            else _opaque(name, type_name, nullable)
        )

    def _resolved(self, kind: Any) -> Any:
        return self.names.get(kind, kind) if isinstance(kind, str) else kind

    def _type(self, kind: Any, depth: int) -> str:
        kind = self._resolved(kind)
        if depth > DEPTH:
            return "object(deeper)"
        if isinstance(kind, list):
            option, _ = _without_null(kind, lambda part: part == "null")
            return "object(union)" if isinstance(option, list) else self._type(option, depth + 1)
        if isinstance(kind, str):
            return _AVRO.get(kind, f"object({kind})")
        logical, base = kind.get("logicalType"), kind["type"]
        if logical == "decimal":
            return f"decimal({kind['precision']},{kind.get('scale', 0)})"
        if logical in _LOGICAL:
            return _LOGICAL[logical]
        if base == "array":
            return f"array<{self._type(kind['items'], depth + 1)}>"
        if base == "map":
            return f"map<string, {self._type(kind['values'], depth + 1)}>"
        if base == "record":
            return struct(Field(f["name"], self._type(f["type"], depth + 1)) for f in kind["fields"])
        if base == "enum":
            return "string"
        return f"object({logical or base})" if logical or base == "fixed" else self._type(base, depth + 1)


def _opaque(name: str, kind: str, nullable: bool) -> Field:
    inner = kind.removeprefix("object(").removesuffix(")")
    return Field(name, kind, nullable, f"{inner} is no type here: {REFUSED}")


def _without_null(kind: Any, is_null: Callable[[Any], bool]) -> tuple[Any, bool]:
    """What a union is apart from NULL, and whether NULL is in it."""
    if not isinstance(kind, list):
        return kind, is_null(kind)
    rest = [item for item in kind if not is_null(item)]
    return (rest[0] if len(rest) == 1 else rest), len(rest) < len(kind)


def json_schema(schema: Any, source: str, name: str | None = None) -> Entry:
    """The object that a JSON Schema describes.

    Raises:
        CatalogError: it describes none.
    """
    return checked(lambda: _Json(schema).entry(name, source), source, "a JSON Schema of an object")


class _Json:
    """A schema and what it defines for references within it."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema

    def entry(self, name: str | None, source: str) -> Entry:
        top = self._resolved(self.schema)
        title = str(top.get("title") or Path(source).name.split(".")[0])
        required = set(top.get("required", ()))
        fields = tuple(self._field(key, part, key in required) for key, part in top["properties"].items())
        note = "JSON has no types for times and exact numbers: those below are what the schema calls them."
        return Entry(name or title, fields, notes=(note,))

    def _resolved(self, part: Any, depth: int = 0) -> Mapping[str, Any]:
        if not isinstance(part, Mapping):
            return {}
        target = part.get("$ref")
        if not isinstance(target, str) or depth > DEPTH:
            return part
        target_schema: Any = self.schema
        for step in target.removeprefix("#").strip("/").split("/") if target != "#" else ():
            target_schema = (
                target_schema.get(step.replace("~1", "/").replace("~0", "~"), {})
                if isinstance(target_schema, Mapping)
                else {}
            )
        return self._resolved(target_schema, depth + 1) if target.startswith("#") else part

    def _without_null(self, part: Any) -> tuple[Mapping[str, Any], bool]:
        """A part without the alternative that it is null."""
        resolved = self._resolved(part)
        nullable = False
        for word in ("oneOf", "anyOf"):
            if word in resolved:
                ways = [self._resolved(item) for item in resolved[word]]
                option, nullable = _without_null(ways, lambda way: way.get("type") == "null")
                resolved = option if isinstance(option, Mapping) else {"type": "union"}
        kind, among = _without_null(resolved.get("type"), lambda word: word == "null")
        return {**resolved, "type": kind}, nullable or among

    def _field(self, name: str, part: Any, required: bool) -> Field:
        body, null = self._without_null(part)
        kind = self._type(body, 0)
        nullable = null or not required
        if kind.startswith("object("):
            return _opaque(name, kind, nullable)
        if isinstance(body["type"], str) and body["type"] in ("object", "array"):
            return Field(name, kind, nullable, NESTED)
        domain = _domain(body, kind)
        return Field(name, kind, nullable, "bounds as the schema has them" if domain else "", domain)

    def _type(self, part: Mapping[str, Any], depth: int) -> str:
        kind = part.get("type")
        if depth > DEPTH:
            return "object(deeper)"
        if kind == "string" and part.get("format") in _FORMATS:
            return _FORMATS[part["format"]]
        if kind is None and part.get("enum"):
            kind = "string" if all(isinstance(item, str) for item in part["enum"]) else None
        if isinstance(kind, str) and kind in _JSON:
            return _JSON[kind]
        if kind == "array":
            return f"array<{self._inner(part.get('items'), depth)}>"
        if kind == "object":
            properties = part.get("properties", {})
            return struct(Field(key, self._inner(property, depth)) for key, property in properties.items())
        return f"object({kind if isinstance(kind, str) else 'any'})"

    def _inner(self, part: Any, depth: int) -> str:
        return self._type(self._without_null(part)[0], depth + 1)


def _domain(part: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    """What a schema allows of a column, where a catalog can say it."""
    values = [item for item in part.get("enum", ()) if item is not None]
    if values and kind in ("string", "bigint"):
        return {"values": values}
    if kind != "bigint":
        return None
    ends: dict[str, int] = {}
    for key, word, open_word, step in (
        ("min", "minimum", "exclusiveMinimum", 1),
        ("max", "maximum", "exclusiveMaximum", -1),
    ):
        end, beyond = part.get(word), part.get(open_word)
        if isinstance(end, int) and not isinstance(end, bool):
            # Draft 4 says by a flag whether the end itself is meant.
            ends[key] = end + step if beyond is True else end
        elif isinstance(beyond, int) and not isinstance(beyond, bool):
            ends[key] = beyond + step
    return ends or None
