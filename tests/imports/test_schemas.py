"""Schemas of Avro, JSON Schema, Protobuf and Iceberg as catalogs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.cli import main
from streambound.errors import CatalogError, PlatformError
from streambound.imports import iceberg, protobuf
from streambound.imports.entry import Entry
from streambound.imports.schemas import avro, json_schema
from streambound.imports.text import document
from streambound.query.catalog import catalog_of_text

AVRO = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "was", "type": ["null", "State"]},
        {"name": "mixed", "type": ["int", "string"]},
        {"name": "raw", "type": "bytes"},
        {"name": "fine", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
        {"name": "lines", "type": {"type": "array", "items": {
            "type": "record", "name": "Line", "namespace": "shop",
            "fields": [{"name": "n", "type": "int"}]}}},
        {"name": "first", "type": "shop.Line"},
        {"name": "more", "type": {"type": "map", "values": "double"}},
    ],
}  # fmt: skip
JSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Payment",
    "type": "object",
    "required": ["id", "state", "payer"],
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "share": {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 101},
        "old": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
        "sum": {"oneOf": [{"type": "null"}, {"type": "number"}]},
        "at": {"type": "string", "format": "date-time"},
        "state": {"enum": ["NEW", "PAID"]},
        "payer": {"$ref": "#/definitions/Person"},
        "tags": {"type": ["array", "null"], "items": {"type": "string"}},
        "any": {},
    },
    "definitions": {"Person": {"type": "object", "properties": {"name": {"type": "string"}}}},
}
PROTO = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1;
  optional string note = 2;
  google.protobuf.Timestamp at = 3;
  repeated Line lines = 4;
  State state = 5;
  .shop.Line first = 6;
  map<string, int32> more = 7;
  oneof paid { bool cash = 8; string card = 9; }
  bytes raw = 10;
  uint64 big = 11;
  Other other = 12;
  enum State { NEW = 0; PAID = 1; }
  message Line { sint32 n = 1; Order order = 2; }
}
message Line { float x = 1; }
"""


def told(entry: Entry) -> dict[str, tuple[str | None, bool]]:
    catalog_of_text(document([entry], "a test"), "a test")
    return {one.name: (one.type, one.nullable) for one in entry.fields}


def domains(entry: Entry) -> dict[str, Any]:
    return {one.name: one.domain for one in entry.fields if one.domain is not None}


def test_avro() -> None:
    found = avro(AVRO, "order.avsc")
    assert found.name == "Order"
    assert told(found) == {
        "id": ("bigint", False),
        "at": ("timestamp", False),
        "day": ("date", True),
        "price": ("decimal(10,2)", False),
        "state": ("string", False),
        "was": ("string", True),
        "mixed": ("object(union)", False),
        "raw": ("object(bytes)", False),
        "fine": ("timestamp", False),
        "lines": ("array<struct<n: int>>", False),
        "first": ("struct<n: int>", False),
        "more": ("map<string, double>", False),
    }
    assert domains(found) == {key: {"values": ["NEW", "PAID"]} for key in ("state", "was")}


def test_json_schema() -> None:
    found = json_schema(JSON, "payment.json")
    assert found.name == "Payment"
    assert told(found) == {
        "id": ("bigint", False),
        "share": ("bigint", True),
        "old": ("bigint", True),
        "sum": ("double", True),
        "at": ("timestamp", True),
        "state": ("string", False),
        "payer": ("struct<name: string>", False),
        "tags": ("array<string>", True),
        "any": ("object(any)", True),
    }
    assert domains(found) == {
        "id": {"min": 1},
        "share": {"min": 1, "max": 100},
        "old": {"min": 1},
        "state": {"values": ["NEW", "PAID"]},
    }


def test_protobuf() -> None:
    found = protobuf.entry(PROTO, "order.proto")
    # Order.Line is within itself by way of Order: what is deeper is named and not followed.
    types = {name: (str(kind)[:24], null) for name, (kind, null) in told(found).items()}
    assert types == {
        "id": ("bigint", False),
        "note": ("string", True),
        "at": ("timestamp", True),
        "lines": ("array<struct<n: int, ord", True),
        "state": ("string", False),
        "first": ("struct<n: int, order: st", True),
        "more": ("map<string, int>", True),
        "cash": ("boolean", True),
        "card": ("string", True),
        "raw": ("object(bytes)", True),
        "big": ("bigint", False),
        "other": ("object(Other)", True),
    }
    assert domains(found) == {"state": {"values": ["NEW", "PAID"]}}
    assert told(protobuf.entry(PROTO, "order.proto", "Line")) == {"x": ("float", False)}
    second = 'syntax = "proto2";\nmessage A { required int32 a = 1; optional int32 b = 2; }\n'
    assert told(protobuf.entry(second, "a.proto")) == {"a": ("int", False), "b": ("int", True)}
    with pytest.raises(CatalogError, match="there is no message Lines"):
        protobuf.entry(PROTO, "order.proto", "Lines")


def test_iceberg_takes_the_newest_metadata_and_the_current_schema(tmp_path: Path) -> None:
    folder = tmp_path / "orders" / "metadata"
    folder.mkdir(parents=True)
    old = {"format-version": 1, "schema": {"fields": [{"name": "a", "type": "int", "required": True}]}}
    fields = [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "at", "required": False, "type": "timestamptz"},
        {"id": 3, "name": "price", "required": False, "type": "decimal(9, 2)"},
        {"id": 4, "name": "tags", "required": False, "type": {"type": "list", "element": "string"}},
        {"id": 5, "name": "key", "required": False, "type": "fixed[16]"},
    ]
    schemas = [{"schema-id": 0, "fields": fields[:1]}, {"schema-id": 3, "fields": fields}]
    new = {"format-version": 2, "current-schema-id": 3, "schemas": schemas}
    (folder / "v9.metadata.json").write_text(json.dumps(old))
    (folder / "00010-1f.metadata.json").write_text(json.dumps(new))
    found = iceberg.entry(tmp_path / "orders")
    assert found.name == "orders"
    assert told(found) == {
        "id": ("bigint", False),
        "at": ("timestamp", True),
        "price": ("decimal(9,2)", True),
        "tags": ("array<string>", True),
        "key": ("object(fixed(16))", True),
    }
    assert told(iceberg.entry(folder / "v9.metadata.json")) == {"a": ("int", False)}
    with pytest.raises(CatalogError, match="no metadata of an Iceberg table is there"):
        iceberg.entry(tmp_path)


@pytest.mark.parametrize(
    ("read", "schema", "said"),
    [
        (avro, "string", "not an Avro schema of a record"),
        (avro, {"type": "record", "name": "a"}, "'fields' is missing"),
        (avro, {"type": "record", "name": "a", "fields": []}, "without fields"),
        (avro, {"type": "enum", "name": "a", "symbols": ["x"]}, "its type is 'enum'"),
        (json_schema, {"type": "string"}, "'properties' is missing"),
        (json_schema, [], "not a JSON Schema of an object"),
        (protobuf.entry, "message {", "not a .proto file"),
        (protobuf.entry, 'syntax = "proto3";', "there is no message"),
        (protobuf.entry, "message A {}", "has no fields"),
    ],
)
def test_what_is_no_schema_is_refused(read: Callable[..., Entry], schema: Any, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        read(schema, "a test")


TREES = st.recursive(
    st.sampled_from(["null", "int", "string", "Line", "object", "array", 1, None, True]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "name", "fields", "items", "values", "properties", "$ref", "oneOf", "enum"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("read", [avro, json_schema], ids=["avro", "jsonschema"])
@given(tree=TREES)
def test_whatever_is_given_is_read_or_refused(read: Callable[..., Entry], tree: Any) -> None:
    part = {"type": "record", "name": "a", "fields": [{"name": "x", "type": tree}]}
    other = {"type": "object", "properties": {"x": tree}, "required": ["x"]}
    for schema in (tree, part, other):
        try:
            found = read(schema, "a test")
        except CatalogError:
            continue
        catalog_of_text(document([found], "a test"), "a test")


def test_a_reader_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("proto_schema_parser", "proto_schema_parser.parser"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PlatformError, match=r"proto_schema_parser.* is not installed"):
        protobuf.entry(PROTO, "a.proto")
    (tmp_path / "a.proto").write_text(PROTO)
    assert main(["import", "protobuf", str(tmp_path / "a.proto")]) == 3
    assert "[protobuf]" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "deltalake", None)
    assert main(["import", "delta", str(tmp_path)]) == 3
    assert "[run]" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["avro", "jsonschema", "protobuf", "iceberg", "dbt"])
def test_a_file_that_is_missing_or_no_text_is_one_error(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_bytes(b"\xff{")
    for name in ("missing", "a"):
        assert main(["import", source, str(tmp_path / name)]) == 2
        assert "accepted: " in capsys.readouterr().err
