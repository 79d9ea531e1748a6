"""The registry that a user edits: ``streams.yml``, and one SQL file a query in ``queries/``.

A ``streambound.toml`` beside them or above says of it what it says of any files: the catalog, the dialects,
and what is an error. What is registered is what is in ``queries/``, whatever ``paths`` the file names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from streambound.errors import QueryError, meant
from streambound.projects.project import Project, project_of
from streambound.projects.scripts import with_dialect
from streambound.query.catalog import Catalog, load_catalog
from streambound.query.registry import RegisteredQuery, named, read_queries, read_query


@dataclass(frozen=True)
class Registry:
    """A folder with a catalog and queries over it; each file is read when it is asked for."""

    folder: Path
    project: Project | None

    @property
    def catalog_file(self) -> Path:
        """The catalog that the project names, else ``streams.yml``."""
        project_catalog = None if self.project is None else self.project.catalog
        return project_catalog or self.folder / "streams.yml"

    @property
    def errors(self) -> frozenset[str] | None:
        """The outcomes that fail a check; None: nobody said."""
        return None if self.project is None else self.project.errors

    @property
    def engine(self) -> str | None:
        """The engine that runs the queries; None: nobody said."""
        return None if self.project is None else self.project.engine

    @cached_property
    def queries(self) -> tuple[RegisteredQuery, ...]:
        """All queries, sorted by name."""
        return tuple(map(self._said, read_queries([self.folder / "queries"])))

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog with the queries, which may name each other.

        Raises:
            CatalogError: no or a malformed catalog.
        """
        return self.catalog_of(self.catalog_file)

    def catalog_of(self, file: Path | None) -> Catalog:
        """Another catalog, if one is named, with the queries.

        Raises:
            CatalogError: it cannot be read.
        """
        return replace(load_catalog(file), queries=named(self.queries)) if file else self.catalog

    def query(self, name: str) -> RegisteredQuery:
        """The query of a name; an entry with an error if it cannot be read."""
        return self._said(read_query(self._file(name)))

    def of_text(self, name: str, sql: str) -> RegisteredQuery:
        """A text as if it were registered under a name."""
        return self._said(RegisteredQuery(name, sql, self._file(name)))

    def chosen(self, names: Iterable[str]) -> tuple[RegisteredQuery, ...]:
        """The queries of the given names; all of them if there are none.

        Raises:
            QueryError: a name that is not registered.
        """
        wanted = list(names)
        by_name = {query.name: query for query in self.queries}
        if unknown := [name for name in wanted if name not in by_name]:
            raise QueryError(
                f"no query is registered as {', '.join(unknown)}",
                subject=str(self.folder / "queries"),
                accepted=", ".join(sorted(by_name)),
                fix=meant(unknown[0], by_name),
            )
        return tuple(by_name[name] for name in wanted) or self.queries

    def _said(self, query: RegisteredQuery) -> RegisteredQuery:
        project = self.project
        return query if project is None else with_dialect(query, project.dialect_of(query.path))

    def _file(self, name: str) -> Path:
        return self.folder / "queries" / f"{name}.sql"


def registry_of(folder: Path) -> Registry:
    """The registry in a folder, whether or not there is anything in it.

    Raises:
        ProjectError: its ``streambound.toml`` cannot be read, or says what is not understood.
    """
    return Registry(folder, project_of(folder))


def load_registry(folder: Path) -> Registry:
    """The registry in a folder.

    Raises:
        ProjectError: its ``streambound.toml`` cannot be read, or says what is not understood.
        CatalogError: no or a malformed catalog.
        QueryError: no query files.
    """
    registry = registry_of(folder)
    # What is wrong with the catalog is told first.
    _ = registry.catalog
    if not registry.queries:
        raise QueryError(
            "the registry is empty",
            subject=str(folder / "queries"),
            accepted="one .sql file a query",
            fix="add a file such as late_departures.sql",
        )
    return registry
