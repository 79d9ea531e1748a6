"""The models of a dbt project, from its ``manifest.json`` and the ``catalog.json`` beside it.

What is read of the manifest's schema (versions 7 to 12, and Fusion's 20): of ``nodes`` the models with their
``compiled_code``, columns and tests, and of ``sources`` the columns. A model that another one reads is put in
place of its name, unless ``meta.streambound`` says what its rows are.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from streambound.errors import CatalogError, DataError, ProjectError, QueryError, StreamboundError, alike
from streambound.query.catalog import NamedQuery, catalog_from_mapping
from streambound.query.column_types import parse_type, shown
from streambound.query.dialects.languages import LANGUAGES
from streambound.query.registry import RegisteredQuery
from streambound.query.type_names import type_named

# The dialect of the adapters whose names are none.
_ADAPTERS = {
    **{name: "spark" for name in ("databricks", "databricks_spark", "glue", "fabricspark")},
    **{"ksqldb": "ksql", "proton": "timeplus", "confluent": "flink"},
}
_OLDEST = 7
_QUOTED = re.compile(r'`([^`]*)`|"([^"]*)"|\[([^\]]*)\]|([^.]+)')
_SELECTED = "NAME, tag:NAME or path:FOLDER; NAME and FOLDER may have *; a space means or, a comma and"
_COMPILE = "run dbt compile, which writes the manifest anew"

Node = Mapping[str, Any]


@dataclass(frozen=True)
class Model:
    """A model: its compiled text as a query of the compiled file, and the file that a person wrote."""

    query: RegisteredQuery
    written: Path


@dataclass(frozen=True)
class Manifest:
    """A manifest with what ``catalog.json`` says of columns."""

    file: Path
    root: Path
    nodes: Mapping[str, Node]
    sources: Mapping[str, Node]
    column_types: Mapping[str, Mapping[str, str]]
    project: str
    dialect: str

    def models(self, select: Sequence[str] = ()) -> list[Model]:
        """The models that are chosen, by name; all but the ephemeral ones if nothing is.

        Raises:
            ProjectError: what is to be chosen is not understood, or is none.
        """
        wanted = [alternative.split(",") for words in select for alternative in words.split()]
        models = {key: node for key, node in self.nodes.items() if node.get("resource_type") == "model"}
        if wanted:
            chosen = [key for key, node in models.items() if _chosen(key, node, wanted)]
        else:
            chosen = [key for key, node in models.items() if _materialized(node) != "ephemeral"]
        if not chosen:
            names = sorted(map(_name, models))
            raise ProjectError(
                f"no model is selected by {' '.join(select)}" if wanted else "there are no models",
                subject=str(self.file),
                accepted=_SELECTED if wanted else "models of SQL",
                fix=f"did you mean {near[0]}?" if (near := alike(" ".join(select), names)) else None,
            )
        often = Counter(map(_name, chosen))
        return [
            self._model(key, _name(key) if often[_name(key)] == 1 else key.partition(".")[2])
            for key in sorted(chosen, key=lambda key: (_name(key), key))
        ]

    @cached_property
    def streams(self) -> dict[str, Any]:
        """The entries of a catalog for what models read and are not put in place of: none that is wrong."""
        return {self._called[key]: body for key, body in self._bodies.items() if key not in self.wrong}

    @cached_property
    def queries(self) -> tuple[NamedQuery, ...]:
        """The models that are put in place of their names."""
        return tuple(
            NamedQuery(".".join(_path(node)), text, self.dialect)
            for key, node in self.nodes.items()
            if node.get("resource_type") == "model" and key not in self._bodies
            if _path(node) and (text := self._compiled(node)) is not None
        )

    @cached_property
    def wrong(self) -> dict[str, StreamboundError]:
        """By unique id, what of a source or model is not understood."""
        errors: dict[str, StreamboundError] = {}
        for key, body in self._bodies.items():
            try:
                if not body["columns"]:
                    raise CatalogError(
                        f"{_name(key)} has no columns in the manifest, nor in catalog.json beside it",
                        fix="run dbt docs generate, or list its columns with data_type in the project",
                    )
                catalog_from_mapping({self._called[key]: body})
            except CatalogError as error:
                node = self.nodes.get(key) or self.sources[key]
                errors[key] = error.about(str(self._written(node)))
        return errors

    @cached_property
    def _bodies(self) -> dict[str, dict[str, Any]]:
        bodies = {key: self._body(key, node) for key, node in self.sources.items()}
        for key, node in self.nodes.items():
            kind = node.get("resource_type")
            if kind == "seed" or (kind in ("model", "snapshot") and _said(node)):
                bodies[key] = self._body(key, node)
        return bodies

    @cached_property
    def _called(self) -> dict[str, str]:
        """By unique id the name in the catalog: the last part, or where several are called so the whole."""
        relations = {**self.nodes, **self.sources}
        often = Counter(_path(node)[-1].lower() for node in relations.values() if _path(node))
        return {
            key: path[-1] if often[path[-1].lower()] == 1 else ".".join(path)
            for key in self._bodies
            if (path := _path(relations[key]) or [_name(key)])
        }

    def _body(self, key: str, node: Node) -> dict[str, Any]:
        columns = {name: type_named(kind) for name, kind in self._types(key, node).items()}
        body: dict[str, Any] = {"kind": "static"} if node.get("resource_type") == "seed" else {}
        not_null, domains = self._promised(key, node, columns)
        said = dict(_said(node))
        if isinstance(stamp := (node.get("config") or {}).get("event_time"), str):
            # What dbt itself cuts batches by.
            said.setdefault("timestamp", stamp)
        own, promised = said.pop("columns", {}), said.pop("domains", {})
        columns |= own if isinstance(own, dict) else {}
        domains |= promised if isinstance(promised, dict) else {}
        if stamp := said.get("timestamp"):
            said["timestamp"] = _spelt(columns, str(stamp))
        more = said.pop("not_null", [])
        not_null += [_spelt(columns, name) for name in more if isinstance(name, str)]
        body |= {"columns": columns, **said}
        if not_null:
            body["not_null"] = list(dict.fromkeys(not_null))
        if domains:
            body["domains"] = {_spelt(columns, name): domain for name, domain in domains.items()}
        return body

    def _types(self, key: str, node: Node) -> dict[str, str]:
        """The types of columns: as the database has them, else as the project says."""
        listed = {
            str(column.get("name") or name): str(column.get("data_type") or "")
            for name, column in (node.get("columns") or {}).items()
        }
        if real := self.column_types.get(key):
            # Databases that fold to upper case tell the names so; people write them as they like.
            written = {name.lower(): name for name in listed}
            return {written.get(name.lower(), name): kind for name, kind in real.items()}
        return {name: kind for name, kind in listed.items() if kind}

    def _promised(self, key: str, node: Node, columns: Mapping[str, str]) -> tuple[list[str], dict[str, Any]]:
        """The columns that are never NULL, and those of listed values, by constraints and tests."""
        not_null, domains = list[str](), dict[str, Any]()
        for name, column in (node.get("columns") or {}).items():
            kinds = {item.get("type") for item in column.get("constraints") or ()}
            if kinds & {"not_null", "primary_key"}:
                not_null.append(_spelt(columns, name))
        for test in self.nodes.values():
            about = test.get("test_metadata") or {}
            arguments = about.get("kwargs") or {}
            column, of = test.get("column_name"), [test.get("attached_node")]
            if test.get("resource_type") != "test" or not column or not _always(test):
                continue
            if key not in (of if of[0] else (test.get("depends_on") or {}).get("nodes", ())):
                continue
            name = _spelt(columns, column)
            if about.get("name") == "not_null" and name in columns:
                not_null.append(name)
            values = arguments.get("values")
            if about.get("name") == "accepted_values" and name in columns and _are(columns[name], values):
                domains[name] = {"values": values}
        return not_null, domains

    def _model(self, key: str, name: str) -> Model:
        node = self.nodes[key]
        written, text = self._written(node), self._compiled(node)
        error: StreamboundError | None = None
        if str(node.get("language") or "sql") != "sql":
            error = QueryError("a model of Python has no SQL", accepted="models of SQL")
        elif text is None:
            error = ProjectError("it is not compiled", fix=_COMPILE)
        elif wrong := next((self.wrong[item] for item in self._reads(key) if item in self.wrong), None):
            error = wrong
        path = self._compiled_file(node)
        return Model(
            RegisteredQuery(
                name, text or "", path if path.is_file() else written, error, dialect=self.dialect
            ),
            written,
        )

    def _reads(self, key: str) -> Iterator[str]:
        """What a model reads, through those that are put in place of their names."""
        waiting, seen = [key], {key}
        while waiting:
            for item in (self.nodes[waiting.pop()].get("depends_on") or {}).get("nodes", ()):
                if item not in seen:
                    seen.add(item)
                    yield item
                    if item in self.nodes and item not in self._bodies:
                        waiting.append(item)

    def _compiled(self, node: Node) -> str | None:
        """The text with all references resolved; None where there is none."""
        code = node.get("compiled_code")
        if isinstance(code, str) and code.strip():
            return code
        try:
            return self._compiled_file(node).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raw = node.get("raw_code")
            return raw if isinstance(raw, str) and raw.strip() and "{" not in raw else None

    def _compiled_file(self, node: Node) -> Path:
        path = node.get("compiled_path")
        if not isinstance(path, str):
            path = f"target/compiled/{node.get('package_name')}/{node.get('original_file_path')}"
        return self.root / path

    def _written(self, node: Node) -> Path:
        path = str(node.get("original_file_path") or "")
        package = node.get("package_name")
        return self.root / (path if package == self.project else f"dbt_packages/{package}/{path}")


def load_manifest(file: Path, dialect: str | None = None) -> Manifest:
    """The manifest in a file; ``dialect`` comes before that of its adapter.

    Raises:
        ProjectError: it cannot be read, is none, or has an adapter of which no dialect is known.
    """
    document = _json(file, _COMPILE)
    about = document.get("metadata")
    version = re.search(r"/manifest/v(\d+)", str((about or {}).get("dbt_schema_version")))
    if not isinstance(about, dict) or not isinstance(document.get("nodes"), dict) or version is None:
        raise ProjectError(
            "it is no manifest of dbt", subject=str(file), accepted="target/manifest.json of a dbt project"
        )
    if int(version[1]) < _OLDEST:
        raise ProjectError(
            f"its schema is version {version[1]}",
            subject=str(file),
            accepted=f"versions from {_OLDEST}, of dbt 1.3 and later",
            fix="compile the project with a newer dbt",
        )
    return Manifest(
        file,
        _root(file),
        document["nodes"],
        document.get("sources") or {},
        _columns(file.with_name("catalog.json")),
        str(about.get("project_name") or ""),
        dialect or _dialect(file, about.get("adapter_type")),
    )


def _dialect(file: Path, adapter: Any) -> str:
    name = str(adapter or "").lower()
    dialect = _ADAPTERS.get(name, name)
    if dialect not in LANGUAGES:
        raise ProjectError(
            f"no dialect is known of the adapter {shown(adapter)}",
            subject=str(file),
            accepted=", ".join(sorted({*LANGUAGES, *_ADAPTERS})),
            fix="name the nearest dialect with --dialect",
        )
    return dialect


def _json(file: Path, fix: str) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ProjectError(f"cannot be read: {error.strerror}", subject=str(file), fix=fix) from None
    except (ValueError, RecursionError):
        raise ProjectError("it is not JSON that can be read", subject=str(file), fix=fix) from None
    if not isinstance(document, dict):
        raise ProjectError(f"the top level is {shown(document)}", subject=str(file), fix=fix)
    return document


def _columns(file: Path) -> dict[str, dict[str, str]]:
    """By unique id the types of columns in a ``catalog.json``; nothing where there is none."""
    if not file.is_file():
        return {}
    document = _json(file, "run dbt docs generate, which writes it anew, or remove it")
    by_model: dict[str, dict[str, str]] = {}
    for part in ("nodes", "sources"):
        for key, table in (document.get(part) or {}).items():
            columns = sorted((table.get("columns") or {}).values(), key=lambda entry: entry.get("index", 0))
            by_model[key] = {str(column["name"]): str(column["type"]) for column in columns}
    return by_model


def _root(file: Path) -> Path:
    """The folder of the project that a manifest is of: the nearest above with a ``dbt_project.yml``."""
    around = file.resolve().parents
    root = next((path for path in around if (path / "dbt_project.yml").is_file()), None)
    if root is None:
        return file.parent.parent if file.parent.name == "target" else file.parent
    return root.relative_to(Path.cwd()) if root.is_relative_to(Path.cwd()) else root


def _name(key: str) -> str:
    """The name in a unique id, ``model.package.name`` or ``source.package.source.name``, with a version."""
    return ".".join(key.split(".")[2:]) or key


def _path(node: Node) -> list[str]:
    """The parts of the name by which SQL calls a node; none of what the database does not have."""
    parts = _QUOTED.findall(str(node.get("relation_name") or ""))
    return [name for part in parts if (name := "".join(part))]


def _said(node: Node) -> dict[str, Any]:
    """What ``meta.streambound`` says, of a source before its table's."""
    promises: dict[str, Any] = {}
    for meta in (node.get("source_meta"), node.get("meta"), (node.get("config") or {}).get("meta")):
        said = meta.get("streambound") if isinstance(meta, dict) else None
        promises |= said if isinstance(said, dict) else {}
    return promises


def _spelt(columns: Mapping[str, str], name: str) -> str:
    return next((column for column in columns if column.lower() == name.strip('"`').lower()), name)


def _always(test: Node) -> bool:
    """Whether a test fails wherever its rows do not keep it."""
    config = test.get("config") or {}
    strict = str(config.get("severity") or "error").lower() == "error"
    return strict and not config.get("where") and config.get("enabled", True) is not False


def _are(kind: str, values: Any) -> bool:
    """Whether values that a test lists are of a type: many tests write numbers as text."""
    try:
        return isinstance(values, list) and all(
            parse_type(kind).encode(value) is not None for value in values
        )
    except (CatalogError, DataError):
        return False


def _materialized(node: Node) -> str:
    return str((node.get("config") or {}).get("materialized") or "view")


def _chosen(key: str, node: Node, wanted: Sequence[Sequence[str]]) -> bool:
    return any(all(_is_selected(key, node, word) for word in words) for words in wanted)


def _is_selected(key: str, node: Node, word: str) -> bool:
    if "+" in word or "@" in word or not word:
        raise ProjectError(f"--select has {word or 'nothing before or after a comma'}", accepted=_SELECTED)
    method, colon, rest = word.partition(":")
    path = str(node.get("original_file_path") or "")
    if colon and method == "tag":
        tags = [*(node.get("tags") or ()), *((node.get("config") or {}).get("tags") or ())]
        return any(fnmatchcase(str(tag), rest) for tag in tags)
    if (colon and method == "path") or (not colon and "/" in word):
        folder = (rest or word).rstrip("/")
        return fnmatchcase(path, folder) or fnmatchcase(path, f"{folder}/*")
    if colon:
        raise ProjectError(f"--select has {word}", accepted=_SELECTED)
    return fnmatchcase(_name(key), word)
