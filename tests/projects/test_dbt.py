"""A dbt project by its manifest: ``shop`` was compiled by dbt 1.10, and macros taken out of the manifest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streambound.compiler.report import check
from streambound.errors import ProjectError
from streambound.projects.dbt import Manifest, load_manifest
from streambound.query.catalog import catalog_from_mapping

SHOP = Path(__file__).parent / "shop"
VERDICTS = {
    "regional": "bounded",
    "shipped": "unbounded",
    "shipped_in_time": "bounded",
    "statuses": "bounded",
    "stg_orders": "bounded",
    "pages": "invalid",
    "revenue": "unbounded",
}
Change = Callable[[dict[str, Any]], object]


def changed(folder: Path, change: Change, catalog: bool = True) -> Manifest:
    """The project with another manifest, with or without what the database says of columns."""
    shutil.copytree(SHOP, folder, dirs_exist_ok=True)
    file = folder / "target" / "manifest.json"
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))
    if not catalog:
        (folder / "target" / "catalog.json").unlink()
    return load_manifest(file)


def verdicts(found: Manifest, *select: str) -> dict[str, str]:
    catalog = replace(catalog_from_mapping(found.streams), queries=found.queries)
    told = {}
    for model in found.models(select):
        query = model.query
        report = None if query.error else check(query.sql, catalog, dialect=query.dialect, suggest=False)
        told[query.name] = "invalid" if report is None else report.verdict
    return told


def test_models_get_their_verdicts() -> None:
    assert verdicts(load_manifest(SHOP / "target" / "manifest.json")) == VERDICTS


def test_what_dbt_says_becomes_a_catalog() -> None:
    found = load_manifest(SHOP / "target" / "manifest.json")
    assert found.dialect == "duckdb"
    assert found.streams["orders"] == {
        "columns": {
            "id": "BIGINT",
            "customer_id": "BIGINT",
            "region": "INTEGER",
            "status": "VARCHAR",
            "ordered_at": "TIMESTAMP",
        },
        "not_null": ["id"],
        "domains": {"status": {"values": ["open", "paid", "test"]}},
        "allowed_lateness": "1 hour",
        "timestamp": "ordered_at",
        "max_rows_per_timestamp": 100,
    }
    # Of a source before its tables, and below config as dbt 1.10 writes it.
    assert found.streams["shipments"]["allowed_lateness"] == "1 hour"
    assert found.streams["shipments"]["timestamp"] == "shipped_at"
    assert found.streams["regions"] == {"kind": "static", "columns": {"region": "INTEGER", "name": "VARCHAR"}}
    assert "clicks" not in found.streams


def test_one_bad_declaration_refuses_those_that_read_it_alone() -> None:
    models = load_manifest(SHOP / "target" / "manifest.json").models()
    errors = {one.query.name: one.query.error for one in models if one.query.error is not None}
    assert list(errors) == ["pages"]
    assert "sources.yml" in str(errors["pages"]) and "unknown key domain" in str(errors["pages"])


@pytest.mark.parametrize(
    ("select", "names"),
    [
        (["stg_*"], ["stg_orders", "stg_shipments"]),
        (["tag:streaming"], ["pages", "regional", "revenue", "shipped", "shipped_in_time", "statuses"]),
        (["path:models/staging"], ["stg_orders", "stg_shipments"]),
        (["models/marts/s*"], ["shipped", "shipped_in_time", "statuses"]),
        (["revenue statuses", "pages"], ["pages", "revenue", "statuses"]),
        (["tag:streaming,ship*"], ["shipped", "shipped_in_time"]),
    ],
)
def test_models_are_selected(select: list[str], names: list[str]) -> None:
    found = load_manifest(SHOP / "target" / "manifest.json").models(select)
    assert [one.query.name for one in found] == names


@pytest.mark.parametrize(
    ("select", "said"),
    [
        ("shiped", "did you mean shipped?"),
        ("+shipped", "--select has +shipped"),
        ("state:new", "accepted: NAME"),
    ],
)
def test_what_selects_nothing_is_refused(select: str, said: str) -> None:
    with pytest.raises(ProjectError) as found:
        load_manifest(SHOP / "target" / "manifest.json").models([select])
    assert said in str(found.value)


def typed(document: dict[str, Any]) -> None:
    """The columns as a person may list them in the project."""
    orders, shipments = (document["sources"][f"source.shop.shop.{name}"] for name in ("orders", "shipments"))
    types = dict.fromkeys(("id", "customer_id"), "bigint")
    types |= {"region": "int", "status": "text", "ordered_at": "timestamp"}
    orders["columns"] = {name: {"name": name, "data_type": kind} for name, kind in types.items()}
    shipments["columns"] = {
        "order_id": {"name": "order_id", "data_type": "bigint"},
        "shipped_at": {"name": "shipped_at", "data_type": "timestamp with time zone"},
    }


def test_columns_come_from_the_project_where_there_is_no_catalog(tmp_path: Path) -> None:
    told = verdicts(changed(tmp_path, typed, catalog=False))
    # The seed lists none.
    assert told == {**VERDICTS, "regional": "invalid"}
    (bare,) = changed(tmp_path / "bare", lambda document: None, catalog=False).models(["shipped"])
    assert "run dbt docs generate" in str(bare.query.error)


def test_a_model_that_says_what_its_rows_are_is_a_relation(tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        node = document["nodes"]["model.shop.stg_orders"]
        said = {"timestamp": "ordered_at", "domains": {"id": {"min": 1, "max": 9}}}
        node["config"]["meta"] = {"streambound": said}

    found = changed(tmp_path, change)
    assert found.streams["stg_orders"]["domains"]["id"] == {"min": 1, "max": 9}
    assert "shop.main.stg_orders" not in [one.name for one in found.queries]
    # Rows of the source may be tests no more, and its status is of no domain.
    assert verdicts(found, "statuses") == {"statuses": "unbounded"}


def test_relations_of_one_name_are_told_apart(tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        node = document["nodes"]["model.shop.stg_orders"]
        node["relation_name"] = '"shop"."main"."orders"'
        for other in document["nodes"].values():
            code = str(other.get("compiled_code") or "")
            other["compiled_code"] = code.replace('"main"."stg_orders"', '"main"."orders"')

    found = changed(tmp_path, change)
    assert "shop.raw.orders" in found.streams and "orders" not in found.streams
    assert verdicts(found) == VERDICTS


@pytest.mark.parametrize("adapter", ["spark", "databricks", "risingwave", "materialize", "postgres", "flink"])
def test_an_adapter_says_the_dialect(tmp_path: Path, adapter: str) -> None:
    found = changed(tmp_path, lambda document: document["metadata"].update(adapter_type=adapter))
    assert found.dialect == {"databricks": "spark"}.get(adapter, adapter)


REFUSED: dict[str, tuple[Change, str]] = {
    "adapter": (
        lambda d: d["metadata"].update(adapter_type="snowflake"),
        "the nearest dialect",
    ),
    "old": (lambda d: d["metadata"].update(dbt_schema_version="https://x/manifest/v4.json"), "version 4"),
    "no manifest": (lambda d: d.pop("metadata"), "it is no manifest of dbt"),
    "run results": (lambda d: d.pop("nodes"), "it is no manifest of dbt"),
}


@pytest.mark.parametrize(("change", "said"), REFUSED.values(), ids=REFUSED)
def test_a_manifest_that_cannot_be_meant_is_refused(tmp_path: Path, change: Change, said: str) -> None:
    with pytest.raises(ProjectError) as found:
        changed(tmp_path, change)
    assert said in str(found.value) and "manifest.json" in str(found.value)


def test_a_manifest_that_is_none_is_refused(tmp_path: Path) -> None:
    for content in ("{", "[]", None):
        if content is not None:
            (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(ProjectError, match=r"JSON|cannot be read|top level"):
            load_manifest(tmp_path / "manifest.json" if content else tmp_path / "none.json")


def test_a_model_that_is_not_compiled_is_named(tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        for node in document["nodes"].values():
            node["compiled_code"] = node["compiled_path"] = None
        document["nodes"]["model.shop.pages"]["language"] = "python"
        shutil.rmtree(tmp_path / "target" / "compiled")

    models = {one.query.name: str(one.query.error) for one in changed(tmp_path, change).models()}
    assert "run dbt compile" in models["shipped"] and "Python" in models["pages"]
