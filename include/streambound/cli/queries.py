"""The queries and the catalog that a command line names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from streambound import settings
from streambound.errors import QueryError
from streambound.query.catalog import Catalog, load_catalog
from streambound.query.registry import RegisteredQuery, load_registry, read_queries, read_query


def queries(paths: list[Path], catalog_file: Path | None) -> tuple[tuple[RegisteredQuery, ...], Catalog]:
    """The queries of files and folders, or the registered ones, with their catalog.

    Raises:
        StreamboundError: no catalog, or no .sql file in the paths.
    """
    if not paths and catalog_file is None:
        registry = load_registry(settings.registry())
        return registry.queries, registry.catalog
    catalog = _catalog(catalog_file)
    found = read_queries(paths or [settings.registry() / "queries"])
    if not found:
        places = ", ".join(map(str, paths))
        raise QueryError(
            "there are no .sql files", subject=places, accepted="a .sql file or a folder of them"
        )
    return found, catalog


def one(name: str, catalog_file: Path | None) -> tuple[RegisteredQuery, Catalog]:
    """The query of a registered name or a .sql file, with its catalog.

    Raises:
        StreamboundError: it is not registered, or cannot be read.
    """
    if name.endswith(".sql"):
        query = read_query(Path(name))
        catalog = _catalog(catalog_file)
    else:
        registry = load_registry(settings.registry())
        (query,) = registry.chosen([name])
        catalog = load_catalog(catalog_file) if catalog_file else registry.catalog
    if query.error is not None:
        raise query.error
    return query, catalog


def _catalog(file: Path | None) -> Catalog:
    """The catalog of a file, or the registry's; empty where there is none: a script may declare its own."""
    default = settings.registry() / "streams.yml"
    if file is None and not default.exists():
        return Catalog(())
    return load_catalog(file) if file is not None else replace(load_catalog(default), default=True)
