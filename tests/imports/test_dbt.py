"""The sources and models of a dbt project as a catalog."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streambound.errors import CatalogError
from streambound.imports.dbt import entries
from streambound.imports.text import document
from streambound.query.catalog import catalog_of_text

COLUMNS = {
    "id": {"name": "id", "data_type": "INT64", "constraints": [{"type": "not_null"}]},
    "at": {"name": "at", "data_type": "TIMESTAMP_NTZ(9)"},
    "what": {"name": "what", "data_type": None},
    "body": {"name": "body", "data_type": "VARIANT"},
}
META = {
    "streambound": {
        "timestamp": "at",
        "domains": {"id": {"min": 1}},
        "not_null": ["extra"],
        "columns": {"extra": "int"},
    }
}


def _manifest(tmp_path: Path, sources: Any, nodes: Any) -> Path:
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps({"metadata": {}, "sources": sources, "nodes": nodes}))
    return file


def test_columns_types_and_what_meta_says(tmp_path: Path) -> None:
    sources = {
        "source.shop.raw.orders": {
            "name": "orders",
            "identifier": "orders_raw",
            "columns": COLUMNS,
            "meta": META,
        },
        "source.shop.raw.none": {"name": "none", "columns": {}},
        "source.shop.old.orders": {"name": "orders", "identifier": "Orders_Raw", "columns": COLUMNS},
    }
    nodes = {
        "model.shop.daily": {
            "resource_type": "model",
            "name": "daily",
            "alias": "daily",
            "columns": {"n": {"name": "n", "data_type": "number(38,0)"}},
            "config": {"meta": {"streambound": {"kind": "static"}}},
        },
        "test.shop.x": {"resource_type": "test", "name": "x", "columns": COLUMNS},
    }
    found = entries(_manifest(tmp_path, sources, nodes))
    text = document(found, "a test")
    orders, daily = catalog_of_text(text, "a test").relations
    assert (orders.name, orders.timestamp, daily.kind.value) == ("orders_raw", "at", "static")
    assert {c.name: (c.type.name, c.nullable) for c in orders.columns} == {
        "id": ("bigint", False),
        "at": ("timestamp", False),
        "extra": ("int", False),
    }
    assert orders.opaque == (("body", "VARIANT"),) and daily.column("n").type.name == "decimal(38,0)"
    assert "# The manifest has 2 relations of this name: the first is here." in text
    assert "# what: type not known: give it a data_type in the project" in text


@pytest.mark.parametrize("body", [[], {}, {"sources": [], "nodes": {}}, {"sources": {}, "nodes": {"a": 1}}])
def test_what_is_no_manifest_is_refused(tmp_path: Path, body: Any) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(body))
    with pytest.raises(CatalogError, match="not a manifest of dbt"):
        entries(file)


def test_a_project_without_columns_is_told_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="has columns") as refused:
        entries(_manifest(tmp_path, {}, {}))
    assert "dbt parse" in str(refused.value)
