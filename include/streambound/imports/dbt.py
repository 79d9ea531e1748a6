"""The sources and models of a dbt project with their columns, from its ``manifest.json`` (version 4 on)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from streambound.errors import CatalogError
from streambound.imports.entry import Entry, Field, typed
from streambound.imports.schemas import read_json
from streambound.query.catalog import RELATION_KEYS

RESOURCES = ("model", "seed", "snapshot")
_WHAT = "manifest.json, which dbt writes into target"


def entries(file: Path) -> tuple[Entry, ...]:
    """Sources first, then models, seeds and snapshots; those without columns are left out.

    Raises:
        CatalogError: it is no manifest, or none of them has columns.
    """
    body = read_json(file, _WHAT)
    try:
        resources = [
            *body["sources"].values(),
            *(node for node in body["nodes"].values() if node["resource_type"] in RESOURCES),
        ]
        listed = [entry for node in resources if (entry := _entry(node)) is not None]
    except (KeyError, TypeError, AttributeError):
        raise CatalogError("not a manifest of dbt", subject=str(file), accepted=_WHAT) from None
    entries = tuple(_apart(listed))
    if not entries:
        raise CatalogError(
            "no source or model of the manifest has columns",
            subject=str(file),
            accepted="columns with data_type in the project's YAML files",
            fix="name the columns of the sources there, and run dbt parse",
        )
    return entries


def _entry(node: Mapping[str, Any]) -> Entry | None:
    fields = tuple(_field(column) for column in node.get("columns", {}).values())
    own = _own(node)
    if "columns" in own:
        names = {field.name.lower() for field in fields}
        fields += tuple(typed(k, str(v)) for k, v in own["columns"].items() if k.lower() not in names)
    if not any(field.type is not None for field in fields):
        return None
    # What the project says under meta.streambound, a person has written.
    further = {key: own[key] for key in RELATION_KEYS if key in own and key not in ("columns", "not_null")}
    never = set(own.get("not_null", ()))
    name = node.get("alias") or node.get("identifier") or node["name"]
    fields = tuple(
        Field(f.name, f.type, f.nullable and f.name not in never, f.note, f.domain) for f in fields
    )
    return Entry(name, fields, further)


def _own(node: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = node.get("meta") or (node.get("config") or {}).get("meta") or {}
    own = meta.get("streambound") or {}
    if not isinstance(own, Mapping):
        raise TypeError(own)
    return own


def _field(column: Mapping[str, Any]) -> Field:
    constraints = {item.get("type") for item in column.get("constraints") or ()}
    nullable = not constraints & {"not_null", "primary_key"}
    kind = column.get("data_type")
    if not kind:
        return Field(column["name"], None, nullable, "type not known: give it a data_type in the project")
    return typed(column["name"], str(kind), nullable)


def _apart(entries: list[Entry]) -> Iterator[Entry]:
    """Those whose names are free: a catalog has no schemas, so the first of a name is taken, and says so."""
    named: dict[str, list[Entry]] = {}
    for entry in entries:
        named.setdefault(entry.name.lower(), []).append(entry)
    for first, *rest in named.values():
        more = f"The manifest has {len(rest) + 1} relations of this name: the first is here."
        yield replace(first, notes=(*first.notes, more)) if rest else first
