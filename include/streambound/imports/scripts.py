"""The tables that a script in some processor's SQL declares."""

from __future__ import annotations

from pathlib import Path

from streambound.errors import CatalogError
from streambound.imports.entry import NESTED, REFUSED, Entry, Field
from streambound.query.catalog import Catalog
from streambound.query.model import Relation, RelationKind
from streambound.query.parse import read_script
from streambound.query.registry import read_query
from streambound.query.type_names import nested


def entries(file: Path, dialect: str) -> tuple[Entry, ...]:
    """The tables that a script declares with their columns.

    Raises:
        StreamboundError: it cannot be read, or declares none.
    """
    query = read_query(file)
    if query.error is not None:
        raise query.error
    script = read_script(query.sql, Catalog((), default=True), str(file), dialect)
    if not script.catalog.relations:
        raise CatalogError(
            f"the script declares no table with columns in {dialect}",
            subject=str(file),
            accepted="CREATE TABLE, SOURCE or STREAM with a list of columns",
            fix="name the file that has the declarations, or another dialect",
        )
    return tuple(entry_of(relation) for relation in script.catalog.relations)


def entry_of(relation: Relation) -> Entry:
    """A relation of a catalog as an entry."""
    plain = (Field(c.name, c.type.name, c.nullable or c.name == relation.timestamp) for c in relation.columns)
    further: dict[str, object] = {}
    if relation.kind is not RelationKind.STREAM:
        further["kind"] = relation.kind.value
    if relation.timestamp is not None:
        further["timestamp"] = relation.timestamp
    if relation.primary_key:
        further["primary_key"] = list(relation.primary_key)
    if relation.allowed_lateness is not None:
        further["allowed_lateness"] = relation.allowed_lateness
    opaque = (Field(name, kind, note=_note(kind)) for name, kind in relation.opaque)
    return Entry(relation.name, (*plain, *opaque), further)


def _note(kind: str) -> str:
    if kind.startswith("computed("):
        return f"computed in the script: {REFUSED}"
    own = kind.startswith("object(") and not nested(kind.removeprefix("object(").removesuffix(")"))
    return f"no type here: {REFUSED}" if own else NESTED
