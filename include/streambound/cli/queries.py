"""The queries that a command line names, each with what it is decided with."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from streambound import settings
from streambound.errors import QueryError, meant
from streambound.projects.project import Project, project_of
from streambound.projects.registry import Registry, load_registry
from streambound.projects.scripts import SUFFIXES, read_scripts
from streambound.query.catalog import Catalog, load_catalog
from streambound.query.registry import Mentions, RegisteredQuery, named

# What a name may be that becomes the name of a folder.
_PLAIN = re.compile(r"\w[\w .=@-]*")


@dataclass(frozen=True)
class Around:
    """What queries are decided with; their catalog is a file's or ``streams``.

    ``errors`` are the outcomes that fail a check; None: all but bounded. ``engine`` is what runs the queries.
    """

    catalog: Catalog
    streams: Mapping[str, Any] | None = None
    errors: frozenset[str] | None = None
    engine: str | None = None

    @cached_property
    def mentions(self) -> Mentions:
        """The queries that others may name."""
        return Mentions(self.catalog.queries)

    def source(self, texts: Iterable[str]) -> str | Mapping[str, Any]:
        """The file of the catalog, or of its streams those of which the name is in one of some texts."""
        if self.streams is None:
            return self.catalog.source if self.catalog.relations else {}
        said = "\n".join(texts).lower()
        return {name: body for name, body in self.streams.items() if name.split(".")[-1].lower() in said}


@dataclass(frozen=True)
class Chosen:
    """A query with what it is decided with; ``written`` is the file that a person wrote, if it is another."""

    query: RegisteredQuery
    around: Around
    written: Path | None = None


def queries(paths: list[Path], catalog_file: Path | None) -> tuple[Chosen, ...]:
    """The queries of files and folders; without any, those of the project, or else the registered ones.

    Raises:
        StreamboundError: no catalog, or no .sql file in the paths.
    """
    given = None if catalog_file is None else load_catalog(catalog_file)
    if not paths:
        project = project_of(Path.cwd())
        if project is not None:
            return tuple(_of_project(project, given))
        if given is None:
            registry = _registry(str(Path.cwd()), "no streambound.toml in this folder or above")
            around = Around(registry.catalog, errors=registry.errors, engine=registry.engine)
            return tuple(Chosen(query, around) for query in registry.queries)
    listed: list[Chosen] = []
    arounds: dict[Path, Around] = {}
    for query, project in _read(paths or [settings.registry() / "queries"]):
        key = query.path.parent if project is None else project.file
        if key not in arounds:
            arounds[key] = _around(query.path, project, given)
        listed.append(Chosen(query, arounds[key]))
    if not listed:
        raise _nothing(paths)
    return tuple(listed)


def _read(paths: Iterable[Path]) -> Iterator[tuple[RegisteredQuery, Project | None]]:
    """The queries of paths, each with its project, which may be another one than that of its path."""
    of_folder: dict[Path, Project | None] = {}
    outer = {path: project_of(path) for path in paths}
    for path, project in outer.items():
        for query in read_scripts([path]) if project is None else project.read([path]):
            folder = query.path.parent
            if folder not in of_folder:
                of_folder[folder] = project_of(folder)
            mine = of_folder[folder]
            if mine is not None and (project is None or mine.file != project.file):
                query = replace(mine.read([query.path])[0], name=query.name)
            yield query, mine


def models(manifest: Path, select: Iterable[str], dialect: str | None) -> Iterator[Chosen]:
    """The models of a dbt project.

    Raises:
        ProjectError: the manifest cannot be read, or has no such model.
    """
    from streambound.projects.dbt import load_manifest

    project = project_of(manifest)
    project_manifest = load_manifest(manifest, dialect)
    errors, engine = (None, None) if project is None else (project.errors, project.engine)
    around = Around(
        Catalog((), str(manifest), queries=project_manifest.queries), project_manifest.streams, errors, engine
    )
    for model in project_manifest.models(tuple(select)):
        yield Chosen(model.query, around, model.written)


def registered_or_file(
    name: str, catalog_file: Path | None, dialect: str | None = None, query: str | None = None
) -> tuple[RegisteredQuery, Catalog]:
    """The query of a registered name or a file, with its catalog: see ``chosen``."""
    named = chosen(name, catalog_file, dialect, query)
    return named.query, named.around.catalog


def chosen(
    name: str, catalog_file: Path | None, dialect: str | None = None, query: str | None = None
) -> Chosen:
    """The query of a registered name or a file, with what it is decided with.

    Args:
        dialect: of the text, whatever is said elsewhere.
        query: which one, of a text of several.

    Raises:
        StreamboundError: it is not registered, or cannot be read.
    """
    if Path(name).suffix.lower() in SUFFIXES:
        if os.path.isdir(name):
            raise QueryError("this is a folder", subject=name, accepted="one .sql file")
        first = queries([Path(name)], catalog_file)[0]
        registered_query, around = first.query, first.around
    else:
        registry = _registry(name, "not a .sql file")
        if (os.path.lexists(name) or os.sep in name) and name not in {q.name for q in registry.queries}:
            why = "this is a folder" if os.path.isdir(name) else "not a .sql file"
            raise QueryError(why, subject=name, accepted="one .sql file, or the name of a registered query")
        (registered_query,) = registry.chosen([name])
        around = Around(registry.catalog_of(catalog_file), errors=registry.errors, engine=registry.engine)
    if registered_query.error is not None:
        raise registered_query.error
    if query is not None:
        if not _PLAIN.fullmatch(query):
            raise QueryError(f"--query is {query}", accepted="letters, digits, _ . = @ - and spaces")
        registered_query = replace(registered_query, name=f"{registered_query.name}/{query}")
    return Chosen(replace(registered_query, dialect=dialect or registered_query.dialect, query=query), around)


def _registry(subject: str, missing: str) -> Registry:
    """The registry that a name is looked up in.

    Raises:
        StreamboundError: there is none, or it cannot be read.
    """
    folder = settings.registry()
    if not folder.exists():
        raise QueryError(
            f"{missing}, and no registry of queries at {folder}",
            subject=subject,
            accepted="a .sql file, or a registered query",
            fix=meant(subject, [path.name for path in Path.cwd().glob("*.sql")], "name a .sql file"),
        )
    return load_registry(folder)


def _of_project(project: Project, given: Catalog | None) -> Iterator[Chosen]:
    if project.manifest is not None:
        yield from models(project.manifest, project.select, project.dialect)
    registered_queries = project.queries()
    if registered_queries:
        catalog = replace(_catalog(given, project), queries=named(registered_queries))
        around = Around(catalog, errors=project.errors, engine=project.engine)
        yield from (Chosen(query, around) for query in registered_queries)
    elif project.manifest is None:
        raise _nothing([project.folder / path for path in project.paths or ["."]])


def _around(file: Path, project: Project | None, given: Catalog | None) -> Around:
    """What a file is decided with: its project, or without any the files beside it."""
    catalog = _catalog(given, project)
    if project is None:
        beside = [path for path in file.parent.glob("*") if path.suffix.lower() in SUFFIXES]
        return Around(replace(catalog, queries=named(read_scripts(beside))))
    catalog = replace(catalog, queries=named(project.queries()))
    return Around(catalog, errors=project.errors, engine=project.engine)


def _nothing(paths: Iterable[Path]) -> QueryError:
    paths_text = ", ".join(map(str, paths))
    return QueryError(
        "there are no .sql files", subject=paths_text, accepted="a .sql file or a folder of them"
    )


def _catalog(given: Catalog | None, project: Project | None) -> Catalog:
    """The catalog that is given, or the project's, or else the registry's; empty where there is none."""
    if given is not None:
        return given
    if project is not None:
        # A script may declare its own.
        return Catalog(()) if project.catalog is None else load_catalog(project.catalog)
    default = settings.registry() / "streams.yml"
    return replace(load_catalog(default), default=True) if default.exists() else Catalog(())
