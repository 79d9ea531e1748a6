"""Corpus files: one query a line, with its streams, and for runs with its events.

``{"id": ..., "streams": {...}, "sql": ..., "events": [...], "static": {...}}``; further keys (such as
``expected``) are ignored. ``statement``, the text as users have it, counts before ``sql``; ``dialect`` is
that of both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from streambound.errors import DataError, Location, StreamboundError
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.dialects.guess import language

# Half of a pair that has no other half: no character, and nothing that UTF-8 could hold.
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATE = re.compile(f"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}")


@dataclass(frozen=True)
class CorpusLine:
    """One line: the query's id and text, its catalog, and its input; ``error`` if it is malformed.

    ``streams`` is the catalog as the line has it.
    """

    id: str
    sql: str = ""
    catalog: Catalog | None = None
    events: tuple[Mapping[str, Any], ...] = ()
    static: Mapping[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    error: StreamboundError | None = None
    streams: Mapping[str, Any] = field(default_factory=dict)
    dialect: str | None = None
    # Which query, of a text of several.
    query: str | None = None


def queries_of(line: CorpusLine) -> Iterator[CorpusLine]:
    """The queries of a line: itself, or ``id/NAME`` for each of several."""
    # Loaded here: what decides a line in a process of its own reads no SQL.
    from streambound.query.parse import named_queries

    if line.error is not None or line.catalog is None:
        yield line
        return
    for query in named_queries(line.sql, line.catalog, line.dialect):
        yield line if query is None else replace(line, id=f"{line.id}/{query}", query=query)


def read_corpus(path: Path) -> Iterator[CorpusLine]:
    """The lines of a corpus file; a malformed line is one with an error, the others still come.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"the corpus cannot be read: {reason}", subject=str(path)) from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _line(f"{path.name}:{number}", line)


def _line(where: str, text: str) -> CorpusLine:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        return _unreadable(where, f"not JSON: {error.msg}", Location(1, error.colno))
    except RecursionError:
        return _unreadable(where, "not JSON that can be read: nested too deeply")
    except ValueError:
        # Python converts no integer of more than 4300 digits.
        return _unreadable(where, "not JSON that can be read: an integer of thousands of digits")
    if (match := _SURROGATE.search(text)) and not _writable(document):
        problem = f"{match[0]} is a lone surrogate, which is no character"
        return _unreadable(where, problem, Location(1, match.start() + 1, len(match[0])))
    given = document.get("id") if isinstance(document, dict) else None
    name = str(given) if isinstance(given, (str, int)) else where
    try:
        return _entry(name, document)
    except StreamboundError as error:
        return CorpusLine(name, error=error.about(name))


def _unreadable(where: str, problem: str, location: Location | None = None) -> CorpusLine:
    return CorpusLine(where, error=DataError(problem, subject=where, location=location, fix="mend the line"))


def _writable(document: Any) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _entry(name: str, document: Any) -> CorpusLine:
    text = document.get("statement", document.get("sql")) if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(text, str):
        raise DataError("the line has no sql", accepted='{"id": ..., "streams": {...}, "sql": "SELECT ..."}')
    dialect, streams = document.get("dialect"), document.get("streams")
    if dialect is not None:
        language(dialect)
    # A statement may declare its tables itself.
    bare = streams is None and "statement" in document
    catalog = Catalog((), name) if bare else catalog_from_mapping(streams, source=name)
    events, static = document.get("events", []), document.get("static", {})
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise DataError("events is no list of objects", accepted='[{"stream": "S", "ts": 0, ...}, ...]')
    if not isinstance(static, dict) or not all(_are_rows(rows) for rows in static.values()):
        raise DataError("static is no mapping to lists of objects", accepted='{"R": [{"K": 1}, ...]}')
    return CorpusLine(name, text, catalog, tuple(events), static, streams=streams or {}, dialect=dialect)


def _are_rows(rows: Any) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
