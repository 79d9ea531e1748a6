"""The stream catalog: what relations there are, validated when loaded.

One form serves the file ``streams.yml`` and the ``streams`` of a corpus line::

    streams:
      departures:
        kind: stream                       # stream (default), finite, static
        timestamp: departed_at             # the application timestamp
        granularity: minute
        columns: {departed_at: timestamp, origin: string, dep_delay: int}
        not_null: [origin]
        domains: {origin: {values: [EWR, JFK, LGA]}, dep_delay: {min: -120, max: 2000}}
        max_rows_per_timestamp: 60
        allowed_lateness: 2 days
        history: {path: departures, partition_by: date}

In the short form a relation is its columns alone, ``{A: int, ts: timestamp}``; the timestamp is
then the only column of type ``timestamp``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from streambound.errors import CatalogError, DataError, Place
from streambound.query.model import Column, Domain, History, Kind, Relation
from streambound.query.values import Family, Type, parse_type

GRANULARITIES = ("microsecond", "millisecond", "second", "minute", "hour", "day", "tick")
RELATION_KEYS = (
    "allowed_lateness",
    "columns",
    "description",
    "domains",
    "granularity",
    "history",
    "kind",
    "max_rows_per_timestamp",
    "not_null",
    "timestamp",
)


@dataclass(frozen=True)
class Catalog:
    """The relations that queries may name, and the file that they came from."""

    relations: tuple[Relation, ...]
    source: str = "catalog"

    def find(self, name: str) -> Relation | None:
        """The relation of that name, exactly or but for case; None if there is none."""
        exact = [r for r in self.relations if r.name == name]
        loose = exact or [r for r in self.relations if r.name.lower() == name.lower()]
        return loose[0] if loose else None

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(r.name for r in self.relations)


def load_catalog(path: Path) -> Catalog:
    """The catalog in a YAML file.

    Raises:
        CatalogError: the file is missing, not YAML, or not a catalog.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CatalogError(
            f"the stream catalog cannot be read: {reason}",
            subject=str(path),
            fix="name an existing file with --catalog FILE",
        ) from None
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _yaml_error(path, text, error) from None
    if not isinstance(document, Mapping) or set(document) != {"streams"}:
        found = sorted(map(str, document)) if isinstance(document, Mapping) else type(document).__name__
        raise CatalogError(
            f"the top level is {found}",
            subject=str(path),
            accepted="one key, streams, with a mapping of names to relations",
        )
    try:
        return catalog_from_mapping(document["streams"], source=str(path))
    except CatalogError as error:
        raise error.about(str(path)) from None


def catalog_from_mapping(streams: Any, source: str = "catalog") -> Catalog:
    """The catalog in a mapping of relation names to their descriptions.

    Raises:
        CatalogError: naming the relation, the key, what was found and what is accepted.
    """
    if not isinstance(streams, Mapping) or not streams:
        raise CatalogError(
            "no streams are declared",
            subject=source,
            accepted="a mapping of stream names to their columns",
        )
    relations = tuple(_relation(str(name), body) for name, body in streams.items())
    _refuse_twins([r.name for r in relations], "relation")
    return Catalog(relations, source)


def _yaml_error(path: Path, text: str, error: yaml.YAMLError) -> CatalogError:
    mark = getattr(error, "problem_mark", None)
    place = Place(mark.line + 1, mark.column + 1) if mark else None
    return CatalogError(
        f"not valid YAML: {getattr(error, 'problem', None) or error}",
        subject=str(path),
        place=place,
        text=text,
        fix="check the indentation and quotes at this place",
    )


def _refuse_twins(names: list[str], what: str) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if (twin := seen.setdefault(name.lower(), name)) is not name:
            raise CatalogError(f"{what}s {twin} and {name} differ only in case", fix="rename one of them")


def _relation(name: str, body: Any) -> Relation:
    if not isinstance(body, Mapping):
        raise CatalogError(f"stream {name}: found {body!r}", accepted="a mapping with columns")
    # A short form is recognised by its values: types are text, and no relation is described by text alone.
    short = bool(body) and all(isinstance(v, str) for v in body.values()) and "columns" not in body
    described: Mapping[str, Any] = {"columns": body} if short else body
    unknown = sorted(set(map(str, described)) - set(RELATION_KEYS))
    if unknown:
        raise CatalogError(
            f"stream {name}: unknown key {', '.join(unknown)}", accepted=", ".join(RELATION_KEYS)
        )
    types = _types(name, described.get("columns"))
    kind = _choice(name, "kind", described.get("kind", "stream"), [k.value for k in Kind])
    timestamp = _timestamp(name, types, described.get("timestamp"), short)
    nullable = set(types) - _not_null(name, types, described.get("not_null")) - {timestamp}
    domains = _domains(name, types, described.get("domains"))
    return Relation(
        name=name,
        kind=Kind(kind),
        columns=tuple(Column(c, t, domains.get(c), c in nullable) for c, t in types.items()),
        timestamp=timestamp,
        granularity=_granularity(name, described.get("granularity")),
        description=str(described.get("description") or ""),
        max_rows_per_timestamp=_positive(name, described.get("max_rows_per_timestamp")),
        allowed_lateness=_text(name, "allowed_lateness", described.get("allowed_lateness")),
        history=_history(name, described.get("history")),
    )


def _types(name: str, columns: Any) -> dict[str, Type]:
    if not isinstance(columns, Mapping) or not columns:
        raise CatalogError(f"stream {name}: columns is {columns!r}", accepted="a mapping of names to types")
    _refuse_twins([str(c) for c in columns], f"stream {name}: column")
    types = {}
    for column, text in columns.items():
        try:
            types[str(column)] = parse_type(text)
        except CatalogError as error:
            raise CatalogError(
                f"stream {name}, column {column}: {error.message}", accepted=error.accepted
            ) from None
    return types


def _choice(name: str, key: str, value: Any, accepted: list[str]) -> str:
    if value not in accepted:
        raise CatalogError(f"stream {name}: {key} is {value!r}", accepted=", ".join(accepted))
    return str(value)


def _granularity(name: str, value: Any) -> str | None:
    return None if value is None else _choice(name, "granularity", value, list(GRANULARITIES))


def _timestamp(name: str, types: dict[str, Type], declared: Any, short: bool) -> str | None:
    if declared is None:
        stamps = [c for c, t in types.items() if t.family is Family.TIMESTAMP]
        if short and len(stamps) > 1:
            raise CatalogError(
                f"stream {name}: several timestamp columns: {', '.join(stamps)}",
                fix="use the long form and name one with timestamp:",
            )
        return stamps[0] if short and stamps else None
    if declared not in types:
        raise CatalogError(
            f"stream {name}: timestamp names {declared!r}, which is not a column",
            accepted=", ".join(types),
        )
    kind = types[declared]
    if kind.family is not Family.TIMESTAMP and not (kind.family is Family.NUMBER and kind.step == 1):
        raise CatalogError(
            f"stream {name}: timestamp column {declared} has type {kind.name}",
            accepted="timestamp, or an integer tick count",
        )
    return str(declared)


def _not_null(name: str, types: dict[str, Type], columns: Any) -> set[str]:
    if columns is None:
        return set()
    if not isinstance(columns, list):
        raise CatalogError(f"stream {name}: not_null is {columns!r}", accepted="a list of columns")
    if unknown := [str(c) for c in columns if c not in types]:
        raise CatalogError(f"stream {name}: not_null names {', '.join(unknown)}", accepted=", ".join(types))
    return set(columns)


def _domains(name: str, types: dict[str, Type], domains: Any) -> dict[str, Domain]:
    if domains is None:
        return {}
    if not isinstance(domains, Mapping):
        raise CatalogError(f"stream {name}: domains is {domains!r}", accepted="a mapping of columns")
    if unknown := [str(c) for c in domains if c not in types]:
        raise CatalogError(f"stream {name}: domains names {', '.join(unknown)}", accepted=", ".join(types))
    return {c: _domain(f"stream {name}, domain of {c}", types[c], d) for c, d in domains.items()}


def _domain(where: str, kind: Type, body: Any) -> Domain:
    keys = set(body) if isinstance(body, Mapping) else {None}
    if not keys or not (keys <= {"min", "max"} or keys == {"values"}):
        raise CatalogError(f"{where}: found {body!r}", accepted="min and max, or values: [...]")
    if "values" in keys and not (isinstance(body["values"], list) and body["values"]):
        raise CatalogError(f"{where}: values is {body['values']!r}", accepted="a list of values")
    try:
        if "values" in keys:
            encoded = {kind.encode(v) for v in body["values"]} - {None}
            return Domain(values=tuple(sorted(v for v in encoded if v is not None)))
        low, high = kind.encode(body.get("min")), kind.encode(body.get("max"))
    except DataError as error:
        raise CatalogError(f"{where}: {error.message}") from None
    if low is not None and high is not None and high < low:
        raise CatalogError(f"{where}: min {body['min']} is above max {body['max']}")
    return Domain(minimum=low, maximum=high)


def _positive(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise CatalogError(
            f"stream {name}: max_rows_per_timestamp is {value!r}", accepted="a positive integer"
        )
    return value


def _text(name: str, key: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise CatalogError(f"stream {name}: {key} is {value!r}", accepted="text such as '2 days'")
    return value


def _history(name: str, body: Any) -> History | None:
    if body is None:
        return None
    if not isinstance(body, Mapping) or "path" not in body or set(body) - {"path", "partition_by"}:
        raise CatalogError(
            f"stream {name}: history is {body!r}", accepted="path, and partition_by or nothing"
        )
    key = body.get("partition_by")
    if key is not None and not (isinstance(key, str) and key.isidentifier()):
        raise CatalogError(f"stream {name}: partition_by is {key!r}", accepted="a plain name such as date")
    return History(str(body["path"]), key)
