"""Corpus files: one query a line, with its streams, and for runs with its events.

``{"id": ..., "streams": {...}, "sql": ..., "events": [...], "static": {...}}``; further keys (such as
``expected``) are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streambound.errors import DataError, Place, StreamboundError
from streambound.query.catalog import Catalog, catalog_from_mapping


@dataclass(frozen=True)
class CorpusLine:
    """One line: the query's id and text, its catalog, and its input; ``error`` if it is malformed."""

    id: str
    sql: str = ""
    catalog: Catalog | None = None
    events: tuple[Mapping[str, Any], ...] = ()
    static: Mapping[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    error: StreamboundError | None = None


def read_corpus(path: Path) -> Iterator[CorpusLine]:
    """The lines of a corpus file; a malformed line is one with an error, the others still come.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"the corpus cannot be read: {reason}", subject=str(path)) from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _line(f"{path.name}:{number}", line)


def _line(where: str, text: str) -> CorpusLine:
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        place = Place(1, error.colno) if isinstance(error, json.JSONDecodeError) else None
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        return CorpusLine(where, error=DataError(f"not JSON: {reason}", subject=where, place=place))
    name = str(document.get("id", where)) if isinstance(document, dict) else where
    try:
        return _entry(name, document)
    except StreamboundError as error:
        return CorpusLine(name, error=error.about(name))


def _entry(name: str, document: Any) -> CorpusLine:
    if not isinstance(document, dict) or not isinstance(document.get("sql"), str):
        raise DataError("the line has no sql", accepted='{"id": ..., "streams": {...}, "sql": "SELECT ..."}')
    catalog = catalog_from_mapping(document.get("streams"), source=name)
    events, static = document.get("events", []), document.get("static", {})
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise DataError("events is no list of objects", accepted='[{"stream": "S", "ts": 0, ...}, ...]')
    if not isinstance(static, dict) or not all(_rows(rows) for rows in static.values()):
        raise DataError("static is no mapping to lists of objects", accepted='{"R": [{"K": 1}, ...]}')
    return CorpusLine(name, document["sql"], catalog, tuple(events), static)


def _rows(rows: Any) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
